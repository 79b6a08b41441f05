#!/usr/bin/env bash
# Prepares IWSLT'14 German-English for fairseq-train, step by step as fairseq's
# examples/translation/prepare-iwslt14.sh does, in lower case and with 10,000 merges.
#
#   data-prep/prepare-iwslt14de2en.sh [options]
#
# 167,522 pairs of TED talks, of which every 23rd is for validation, and 6,750 for the test: one
# archive, de-en.tgz, of 20 MB, and 300 MB of disk in all. docs/iwslt14.md has counts and the way to
# BLEU. A rerun goes on where it was stopped, and with other options makes again what depends on
# them.
#
# Example
#
#   data-prep/prepare-iwslt14de2en.sh --out /data/iwslt14-de2en
#   data-prep/prepare-iwslt14de2en.sh --corpora ~/downloads   # has de-en.tgz
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
source "$PROJECT/data-prep/lib/archive_pipeline.sh"

# shellcheck disable=SC2034  # archive_pipeline.sh reads them
RECIPE=iwslt14-de-en CORPUS_NAME=iwslt14-de2en SOURCE_LANG=de TARGET_LANG=en BPE_MERGES=10000
NOT_IN_HELP="dict|recipe" MAX_TOKENS=175 RATIO=1.5 VALID_EVERY=23
DICTIONARIES=() WORDS=split
# What public logs of fairseq's script say it makes, with 10,000 merges.
PUBLISHED=(train 160239 valid 7283 test 6750)

unpack_iwslt14() {
  unpack_archives
  check_sides "$OUT/raw" "${NAMES[@]}"
}

tokenize_iwslt14() { # name, language
  tokenize_file "$1" "$2" --moses --keep-hyphens --lowercase
}

clean_iwslt14() {
  mkdir -p "$OUT/clean"
  drop_pairs tok clean train.ted "$MAX_TOKENS" "$RATIO"
}

split_iwslt14() {
  local lang number lines
  mkdir -p "$OUT/split"
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    make_file "$OUT/split/train.$lang" awk "NR % $VALID_EVERY" "$OUT/clean/train.ted.$lang"
    make_file "$OUT/split/valid.$lang" awk "NR % $VALID_EVERY == 0" "$OUT/clean/train.ted.$lang"
  done
  keep_test_set tok split
  for ((number = 0; number < ${#PUBLISHED[@]}; number += 2)); do
    lines="$(count_lines "$OUT/split/${PUBLISHED[number]}.$TARGET_LANG")"
    [[ "$lines" == "${PUBLISHED[number + 1]}" ]] ||
      say "warning: ${PUBLISHED[number]}: $lines pairs, others have ${PUBLISHED[number + 1]}"
  done
}

make_iwslt14_codes() {
  if [[ -n "$CODES" ]]; then
    copy_codes
  else
    make_file "$OUT/code" learn_from_text
  fi
}

run_stages() { # what the raw text depends on
  NAMES=(train.ted test)
  run_stage raw raw "recipe and archives $(hash_text "$1")" unpack_iwslt14
  say "tokenising"
  run_stage tok tok "$(tool_versions sacremoses subword-nmt)" make_stage raw tok tokenize_iwslt14
  run_stage clean clean "1 to $MAX_TOKENS tokens, ratio $RATIO" clean_iwslt14
  run_stage split split "every $VALID_EVERY" split_iwslt14
  NAMES=("${SPLITS[@]}")
  run_stage code code "${CODES:+--bpe-codes }$(file_hash "$CODES") --bpe-merges $BPE_MERGES" \
    make_iwslt14_codes
  run_stage bpe bpe joint make_stage split bpe encode_file
  run_stage data-bin data-bin "a dictionary for each language" binarize_corpus "$OUT/bpe"
  say_done "$OUT/bpe"
}

archive_options "$@"
[[ -z "$DICT" ]] || die "--dict: each language has a dictionary of its own here"
[[ "$RECIPE" == iwslt14-de-en ]] || die "--recipe '$RECIPE': only iwslt14-de-en is prepared here"
prepare_from_archives
