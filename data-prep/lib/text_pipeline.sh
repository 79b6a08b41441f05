# shellcheck shell=bash
# From raw parallel text to what fairseq-train reads; the stages that every corpus shares.
# To be sourced after scripts/lib/common.sh. The caller sets
#
#   OUT          the folder that everything goes into
#   SOURCE_LANG, TARGET_LANG
#   JOBS         worker processes
#   BPE_MERGES   joint byte pair encoding: number of merges
#
# Stage by stage: $OUT/raw, $OUT/tok, $OUT/bpe, $OUT/data-bin. A file is written under a temporary
# name and renamed, so what exists is complete, and a rerun goes on with what is missing.

SPLITS=(train valid test)

# Runs a command whose output becomes a file, unless the file is there.
make_file() { # file, command...
  local file="$1"
  shift
  [[ -f "$file" ]] && return
  # What a killed run left may still be written to by one of its children: not by this name.
  rm -f "$file.tmp"
  "$@" >"$file.tmp" || die "failed: $* (for '$file')"
  mv "$file.tmp" "$file"
}

count_lines() { # file
  wc -l <"$1" | tr -d ' '
}

check_same_length() { # file, file
  local first second
  first="$(count_lines "$1")"
  second="$(count_lines "$2")"
  [[ "$first" == "$second" ]] || die "'$1' has $first lines, but '$2' has $second"
  [[ "$first" -gt 0 ]] || die "'$1' is empty"
}

check_stage() { # folder
  local split
  for split in "${SPLITS[@]}"; do
    check_same_length "$1/$split.$SOURCE_LANG" "$1/$split.$TARGET_LANG"
  done
}

need_disk() { # MB
  local free
  free="$(df -Pm "$OUT" | awk 'NR == 2 { print $4 }')"
  [[ "$free" -ge "$1" ]] || die "--out '$OUT': needs $1 MB of disk, there are $free MB"
}

tokenize_file() { # language, file
  python3 -m realformer_runtime.text.tokenization --lang "$1" --jobs "$JOBS" <"$2"
}

tokenize_corpus() {
  local split lang
  say "tokenising (sacremoses)"
  mkdir -p "$OUT/tok"
  for split in "${SPLITS[@]}"; do
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      make_file "$OUT/tok/$split.$lang" tokenize_file "$lang" "$OUT/raw/$split.$lang"
      check_same_length "$OUT/raw/$split.$lang" "$OUT/tok/$split.$lang"
    done
  done
  check_stage "$OUT/tok"
}

learn_joint_bpe() {
  cat "$OUT/tok/train.$SOURCE_LANG" "$OUT/tok/train.$TARGET_LANG" |
    subword-nmt learn-bpe --symbols "$BPE_MERGES" 2>"$OUT/learn-bpe.log"
}

apply_bpe() { # file
  subword-nmt apply-bpe --codes "$OUT/code" <"$1" 2>>"$OUT/apply-bpe.log"
}

encode_corpus() {
  local split lang
  say "byte pair encoding, $BPE_MERGES joint merges (subword-nmt)"
  make_file "$OUT/code" learn_joint_bpe
  mkdir -p "$OUT/bpe"
  for split in "${SPLITS[@]}"; do
    for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
      make_file "$OUT/bpe/$split.$lang" apply_bpe "$OUT/tok/$split.$lang"
      check_same_length "$OUT/tok/$split.$lang" "$OUT/bpe/$split.$lang"
    done
  done
  check_stage "$OUT/bpe"
}

binarize_corpus() { # folder of encoded text, further options of fairseq-preprocess...
  # The name is this run's own: a child of a killed run may still be writing into its folder.
  local text="$1" making="$OUT/data-bin.$$.tmp"
  say "binarising (fairseq-preprocess)"
  if [[ ! -d "$OUT/data-bin" ]]; then
    rm -rf "$OUT"/data-bin*.tmp
    fairseq-preprocess --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" \
      --trainpref "$text/train" --validpref "$text/valid" --testpref "$text/test" \
      --joined-dictionary --workers "$JOBS" --destdir "$making" "${@:2}" \
      >"$OUT/preprocess.log" 2>&1 || die "fairseq-preprocess failed, see '$OUT/preprocess.log'"
    # Where scripts/translate.sh looks for them.
    cp "$OUT/code" "$making/code"
    mv "$making" "$OUT/data-bin"
  fi
}

# Makes $OUT/raw with a command that fills the folder it is given, unless it is there.
make_raw() { # options in words, command...
  local options="$1"
  shift
  if [[ ! -d "$OUT/raw" ]]; then
    rm -rf "$OUT/raw.tmp"
    mkdir "$OUT/raw.tmp"
    "$@" "$OUT/raw.tmp"
    check_stage "$OUT/raw.tmp"
    check_options "$OUT" "$options" write
    mv "$OUT/raw.tmp" "$OUT/raw"
  fi
  check_options "$OUT" "$options"
}

say_done() { # folder of encoded text
  say "done: '$OUT/data-bin' ($(count_lines "$1/train.$SOURCE_LANG") training pairs," \
    "dictionary of $(count_lines "$OUT/data-bin/dict.$TARGET_LANG.txt") types)"
}

# Everything after the raw text.
prepare_from_raw() {
  tokenize_corpus
  encode_corpus
  binarize_corpus "$OUT/bpe"
  say_done "$OUT/bpe"
}
