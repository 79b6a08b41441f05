# shellcheck shell=bash
# The WMT'14 preparation, the same for both pairs. To be sourced after scripts/lib/common.sh, as
# archive_pipeline.sh says. Stages: $OUT/archives, raw, tok, code, bpe, clean, data-bin.

source "$PROJECT/data-prep/lib/archive_pipeline.sh"

unpack_wmt14() {
  local lang
  unpack_archives
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    make_file "$OUT/raw/valid.$lang" join_valid "$lang"
  done
  check_sides "$OUT/raw" "${NAMES[@]}"
}

join_valid() { # language
  local files=("${PARTS[@]/#/valid.}")
  (cd "$OUT/raw" && cat "${files[@]/%/.$1}")
}

tokenize_as_moses() { # name, language
  local options=(--moses --normalize-punctuation --remove-non-printing)
  case "$1" in
    train.*) options+=(--word-counts "$OUT/tok/$1.$2.counts") ;;
    test) options=(--moses) ;; # the reference keeps its punctuation
  esac
  tokenize_file "$1" "$2" "${options[@]}" |
    counted "tokenising $1.$2" "$(count_lines "$OUT/raw/$1.$2")"
}

tokenize_wmt14() {
  local part lang
  say "tokenising"
  mkdir -p "$OUT/tok"
  rm -f "$OUT"/tok/{,.}*.tmp
  for part in "${TRAIN_PARTS[@]}"; do
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      [[ -f "$OUT/tok/$part.$lang.counts" ]] || rm -f "$OUT/tok/$part.$lang"
    done
  done
  make_stage raw tok tokenize_as_moses
}

learn_from_counts() {
  learn_codes --merges "$BPE_MERGES" --word-counts "$OUT"/tok/train.*.counts |
    counted "learning merges" "$((BPE_MERGES + 1))"
}

make_codes() {
  say "byte pair encoding, $BPE_MERGES joint merges"
  make_file "$OUT/code" learn_from_counts
}

encode_and_count() { # name, language
  encode_file "$1" "$2" | counted "encoding $1.$2" "$(count_lines "$OUT/tok/$1.$2")"
}

encode_wmt14() {
  say "applying the codes"
  make_stage tok bpe encode_and_count
}

clean_split() { # split, names of its parts...
  local clean="$OUT/clean/$1" lines=0 name parts=()
  [[ ! -f "$clean.$SOURCE_LANG" || ! -f "$clean.$TARGET_LANG" ]] || return 0
  for name in "${@:2}"; do
    parts+=("$OUT/bpe/$name")
    lines=$((lines + $(count_lines "$OUT/bpe/$name.$SOURCE_LANG")))
  done
  corpus_step clean --recipe "$RECIPE" ${CLEAN_LIKE[@]+"${CLEAN_LIKE[@]}"} --lines "$lines" \
    --out "$clean" "${parts[@]}"
}

clean_wmt14() {
  say "dropping pairs that are too long or too unequal, from train and valid"
  mkdir -p "$OUT/clean"
  rm -f "$OUT"/clean/{,.}*.tmp
  clean_split train "${TRAIN_PARTS[@]}"
  clean_split valid valid
  keep_test_set bpe clean
}

# fairseq says nothing while it works; its files hold two bytes a token and line.
watch_binarizing() {
  local tokens
  tokens="$(cat "$OUT"/clean/{train,valid,test}.* | wc -w)"
  corpus_step watch --label binarising --bytes "$((tokens * 2 + 1))" --until "$OUT/data-bin" \
    "$OUT/data-bin.$$.tmp"
}

binarize_wmt14() {
  rm -rf "$OUT/data-bin" # until which it is watched
  if [[ -n "$DICT" ]]; then
    corpus_step fit --dict "$DICT" "$OUT"/clean/{valid,test}.*
    rm -f "$OUT/dict"
    make_file "$OUT/dict" copy_text "$DICT"
  fi
  watch_binarizing 9>&- &
  binarize_corpus "$OUT/clean" ${DICT:+--srcdict "$OUT/dict"}
  rm -f "$OUT/dict"
  wait
}

run_stages() { # what the raw text depends on
  local codes=(code "--bpe-merges $BPE_MERGES" make_codes)
  TRAIN_PARTS=("${PARTS[@]/#/train.}") CLEAN_LIKE=(--merges "$BPE_MERGES")
  NAMES=("${TRAIN_PARTS[@]}" valid test)
  if [[ -n "$CODES" ]]; then
    codes=(code "--bpe-codes $(file_hash "$CODES")" copy_codes) CLEAN_LIKE=()
  fi
  run_stage raw raw "recipe and archives $(hash_text "$1")" unpack_wmt14
  need_disk_for_text
  run_stage tok tok "$(tool_versions sacremoses subword-nmt)" tokenize_wmt14
  run_stage code "${codes[@]}"
  run_stage bpe bpe "joint" encode_wmt14
  run_stage clean clean "1 to 250 tokens, ratio 1.5" clean_wmt14
  run_stage data-bin data-bin "dictionary ${DICT:+--dict }$(file_hash "$DICT")" binarize_wmt14
  say_done "$OUT/clean"
}
