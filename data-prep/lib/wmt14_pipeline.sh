# shellcheck shell=bash
# The WMT'14 preparation, the same for both pairs. To be sourced after scripts/lib/common.sh. The caller
# sets
#
#   RECIPE        what to read: a name in wmt14_corpus/recipes
#   SOURCE_LANG, TARGET_LANG, OUT, BPE_MERGES
#
# and calls wmt14_options with the arguments, then prepare_wmt14. Stages: $OUT/archives, raw, tok,
# code, bpe, clean, data-bin.

# shellcheck source=data-prep/lib/text_pipeline.sh
source "$PROJECT/data-prep/lib/text_pipeline.sh"
# shellcheck source=data-prep/lib/stages.sh
source "$PROJECT/data-prep/lib/stages.sh"
# shellcheck source=data-prep/lib/wmt14_options.sh
source "$PROJECT/data-prep/lib/wmt14_options.sh"

wmt14() { # step, arguments...
  PROGRAM="$(basename "$0")" STARTED_BY=$$ PYTHONPATH="$PROJECT/data-prep:$PYTHONPATH" \
    python3 -m wmt14_corpus "$@"
}

# Passes on standard input, and reports the lines.
counted() { # label, lines expected
  wmt14 count --label "$1" --lines "$2"
}

fetch_archives() { # [--recorded-will-do]; prints what the raw text depends on
  mkdir -p "$OUT/archives"
  wmt14 fetch "${STORE[@]}" "$@"
}

extract_archives() {
  fetch_archives >/dev/null # those that were deleted after an earlier run
  say "unpacking"
  mkdir -p "$OUT/raw"
  wmt14 extract --recipe "$RECIPE" --archives "${CORPORA:-$OUT/archives}" --out "$OUT/raw"
  local lang
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    part_files "$OUT/raw/valid." ".$lang"
    make_file "$OUT/raw/valid.$lang" cat "${FILES[@]}"
  done
  check_parts raw
}

# The disk that text and binary data of this raw text take: README, "WMT'14".
need_disk_for_text() {
  local raw there
  raw="$(du -sm "$OUT/raw" | cut -f 1)"
  there="$({ du -smc "$OUT"/{tok,bpe,clean,data-bin} 2>/dev/null || true; } | tail -n 1 | cut -f 1)"
  need_disk $((raw * 4 > there ? raw * 4 - there : 0))
}

tokenize_as_moses() { # language, file, options of the tokeniser...
  local lines
  lines="$(count_lines "$2")"
  python3 -m realformer_runtime.text.tokenization --lang "$1" --jobs "$JOBS" --moses "${@:3}" <"$2" |
    counted "tokenising ${2##*/}" "$lines"
}

# Sets FILES to the names that the training parts have in a stage.
part_files() { # folder and start of the names, end of the names
  local part
  FILES=()
  for part in "${PARTS[@]}"; do FILES+=("$1$part$2"); done
}

# Both sides of every part of a stage have as many lines. Sets FILES.
check_parts() { # stage
  local name
  part_files train. ""
  for name in "${FILES[@]}" valid test; do
    check_same_length "$OUT/$1/$name.$SOURCE_LANG" "$OUT/$1/$name.$TARGET_LANG"
  done
}

tokenize_train() { # part, language
  local raw="$OUT/raw/train.$1.$2" tok="$OUT/tok/train.$1.$2"
  if [[ ! -f "$tok.counts" ]]; then
    rm -f "$tok"
    make_file "$tok" tokenize_as_moses "$2" "$raw" --normalize-punctuation --remove-non-printing \
      --word-counts "$tok.counts.$$.tmp"
    mv "$tok.counts.$$.tmp" "$tok.counts"
  fi
  check_same_length "$raw" "$tok"
}

tokenize_held_out() { # split, language, options of the tokeniser...
  local raw="$OUT/raw/$1.$2" tok="$OUT/tok/$1.$2"
  make_file "$tok" tokenize_as_moses "$2" "$raw" "${@:3}"
  check_same_length "$raw" "$tok"
}

tokenize_wmt14() {
  local part lang
  say "tokenising"
  mkdir -p "$OUT/tok"
  rm -f "$OUT"/tok/*.tmp
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    for part in "${PARTS[@]}"; do tokenize_train "$part" "$lang"; done
    tokenize_held_out valid "$lang" --normalize-punctuation --remove-non-printing
    tokenize_held_out test "$lang" # the reference keeps its punctuation
  done
  check_parts tok
}

learn_codes() {
  python3 -m realformer_runtime.text.byte_pair_encoding learn --merges "$BPE_MERGES" \
    --word-counts "$OUT"/tok/train.*.counts | counted "learning merges" "$((BPE_MERGES + 1))"
}

make_codes() {
  say "byte pair encoding, $BPE_MERGES joint merges"
  make_file "$OUT/code" learn_codes
}

copy_codes() {
  wmt14 fit --codes "$CODES"
  make_file "$OUT/code" cat "$CODES"
}

encode_file() { # file
  local lines
  lines="$(count_lines "$1")"
  python3 -m realformer_runtime.text.byte_pair_encoding apply --codes "$OUT/code" --jobs "$JOBS" <"$1" |
    counted "encoding ${1##*/}" "$lines"
}

encode_wmt14() {
  local name lang tok
  say "applying the codes"
  mkdir -p "$OUT/bpe"
  part_files train. ""
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    for name in "${FILES[@]}" valid test; do
      tok="$OUT/tok/$name.$lang"
      make_file "$OUT/bpe/$name.$lang" encode_file "$tok"
      check_same_length "$tok" "$OUT/bpe/$name.$lang"
    done
  done
  check_parts bpe
}

clean_split() { # split, names of its parts...
  local split="$1" clean="$OUT/clean/$1" lines=0 name parts=()
  [[ ! -f "$clean.$SOURCE_LANG" || ! -f "$clean.$TARGET_LANG" ]] || return 0
  for name in "${@:2}"; do
    parts+=("$OUT/bpe/$name")
    lines=$((lines + $(count_lines "$OUT/bpe/$name.$SOURCE_LANG")))
  done
  wmt14 clean --recipe "$RECIPE" ${CLEAN_LIKE[@]+"${CLEAN_LIKE[@]}"} --lines "$lines" \
    --out "$OUT/clean/$split" "${parts[@]}"
}

clean_wmt14() {
  local lang
  say "dropping pairs that are too long or too unequal, from train and valid"
  mkdir -p "$OUT/clean"
  rm -f "$OUT"/clean/*.tmp
  part_files train. ""
  clean_split train "${FILES[@]}"
  clean_split valid valid
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    make_file "$OUT/clean/test.$lang" cat "$OUT/bpe/test.$lang"
  done
  check_stage "$OUT/clean"
}

# fairseq says nothing while it works; its files hold two bytes a token and line.
watch_binarizing() {
  local tokens
  tokens="$(cat "$OUT"/clean/{train,valid,test}.* | wc -w)"
  wmt14 watch --label binarising --bytes "$((tokens * 2 + 1))" --until "$OUT/data-bin" \
    "$OUT/data-bin.$$.tmp"
}

# All or nothing: what is there is not of this stage's making, or some of it is missing.
binarize_wmt14() {
  local watcher
  rm -rf "$OUT/data-bin"
  if [[ -n "$DICT" ]]; then wmt14 fit --dict "$DICT" "$OUT"/clean/{valid,test}.*; fi
  watch_binarizing &
  watcher=$!
  binarize_corpus "$OUT/clean" ${DICT:+--srcdict "$DICT"}
  wait "$watcher"
}

file_hash() { # file or nothing
  [[ -z "$1" ]] || sha256sum <"$1" | cut -c 1-64
}

tool_versions() {
  python3 -c 'from importlib.metadata import version
print(*(f"{name} {version(name)}" for name in ("sacremoses", "subword-nmt")), sep=", ")'
}

prepare_wmt14() {
  local inputs merges="--bpe-merges $BPE_MERGES" make_code=make_codes kept=()
  use_environment
  make_folder --out "$OUT"
  lock_folder --out "$OUT"
  STORE=(--recipe "$RECIPE" --out "$OUT" --tries "$TRIES" --retry-pause "$RETRY_PAUSE"
    ${CORPORA:+--corpora "$CORPORA"} ${MIRROR:+--mirror "$MIRROR"})
  mapfile -t PARTS < <(wmt14 names --recipe "$RECIPE")
  [[ ${#PARTS[@]} -gt 0 ]] || exit 1 # the reason has been said
  CLEAN_LIKE=(--merges "$BPE_MERGES")
  if [[ -n "$CODES" ]]; then
    merges="--bpe-codes $(file_hash "$CODES")" make_code=copy_codes CLEAN_LIKE=()
  fi

  if stage_is_intact raw raw && [[ -z "$FETCH_ONLY" ]]; then
    kept=(--recorded-will-do) # once unpacked, archives may be deleted
  else
    need_disk "$(wmt14 need "${STORE[@]}" ${FETCH_ONLY:+--archives-only})"
  fi
  say "archives"
  inputs="$(fetch_archives ${kept[@]+"${kept[@]}"} 9>&-)"
  if [[ -n "$FETCH_ONLY" ]]; then
    say "done: '${CORPORA:-$OUT/archives}' has them all"
    return
  fi
  run_stage raw raw "recipe and archives $(hash_text "$inputs")" extract_archives
  stage_is_intact data-bin data-bin || need_disk_for_text
  run_stage tok tok "$(tool_versions)" tokenize_wmt14
  run_stage code code "$merges" "$make_code"
  run_stage bpe bpe "joint" encode_wmt14
  run_stage clean clean "1 to 250 tokens, ratio 1.5" clean_wmt14
  run_stage data-bin data-bin "dictionary ${DICT:+--dict }$(file_hash "$DICT")" binarize_wmt14
  say_done "$OUT/clean"
}
