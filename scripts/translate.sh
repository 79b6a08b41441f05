#!/usr/bin/env bash
# Translates raw text into raw text: tokenises, applies BPE, searches, removes BPE, detokenises.
#
#   scripts/translate.sh --checkpoint FILE --data DIR [options] < input > output
#
#   --checkpoint FILE    model; several as a.pt:b.pt are an ensemble
#   --data DIR           folder with the dictionaries (what fairseq-preprocess wrote)
#   --bpe-codes FILE     subword-nmt codes            (default: code in --data)
#   --input FILE         one sentence a line          (default: standard input)
#   --output FILE        where the translation goes   (default: standard output)
#   --source-lang LANG   (default: en)
#   --target-lang LANG   (default: fr)
#   --beam N             beam size                    (default: 5)
#   --lenpen X           length penalty               (default: 0.8, WMT'14 En-Fr)
#   --max-tokens N       source tokens in a batch     (default: 2000)
#   -- ...               everything after it goes to fairseq-interactive, for example --cpu
#
# The output has a line for each line of the input, in its order; an empty line stays empty. Text
# is UTF-8. A GPU is used if there is one.
#
# Example
#
#   echo 'The cat sleeps.' | scripts/translate.sh --checkpoint demo/checkpoints/average.pt \
#     --data demo/corpus/data-bin
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

CHECKPOINT="" DATA="" CODES="" INPUT="" OUTPUT=""
SOURCE_LANG=en TARGET_LANG=fr
BEAM=5 LENPEN=0.8 MAX_TOKENS=2000
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) help_text; exit ;;
    --checkpoint) need_value "$1" $#; CHECKPOINT="$2"; shift 2 ;;
    --data) need_value "$1" $#; DATA="$2"; shift 2 ;;
    --bpe-codes) need_value "$1" $#; CODES="$2"; shift 2 ;;
    --input) need_value "$1" $#; INPUT="$2"; shift 2 ;;
    --output) need_value "$1" $#; OUTPUT="$2"; shift 2 ;;
    --source-lang) need_value "$1" $#; SOURCE_LANG="$2"; shift 2 ;;
    --target-lang) need_value "$1" $#; TARGET_LANG="$2"; shift 2 ;;
    --beam) need_value "$1" $#; BEAM="$2"; shift 2 ;;
    --lenpen) need_value "$1" $#; LENPEN="$2"; shift 2 ;;
    --max-tokens) need_value "$1" $#; MAX_TOKENS="$2"; shift 2 ;;
    --) shift; break ;;
    *) die "unknown option '$1' (-h for help; fairseq's own options go after --)" ;;
  esac
done

check_arguments() {
  local file lang files
  [[ -n "$CHECKPOINT" ]] || die "--checkpoint is missing (-h for help)"
  [[ -n "$DATA" ]] || die "--data is missing (-h for help)"
  IFS=: read -ra files <<<"$CHECKPOINT"
  for file in "${files[@]}"; do
    need_file --checkpoint "$file"
  done
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    need_file --data "$DATA/dict.$lang.txt"
  done
  CODES="${CODES:-$DATA/code}"
  need_file --bpe-codes "$CODES"
  [[ -z "$INPUT" || ( -r "$INPUT" && ! -d "$INPUT" ) ]] || die "--input: no such file: '$INPUT'"
  [[ -z "$OUTPUT" || -d "$(dirname "$OUTPUT")" ]] || die "--output: no such folder: '$OUTPUT'"
  need_count --beam "$BEAM"
  [[ "$LENPEN" =~ ^-?[0-9]+(\.[0-9]+)?$ ]] || die "--lenpen: '$LENPEN' is not a number"
  need_count --max-tokens "$MAX_TOKENS"
}

# The log stays where it is, for whoever wants to know more than its first or last error.
give_up() { # message
  trap - EXIT
  die "$1 (log: '$WORK/log')"
}

read_input() {
  if [[ -n "$INPUT" ]]; then cat -- "$INPUT"; else cat; fi
}

tokenize_and_encode() {
  read_input | python3 -m realformer_fairseq.tokenization --lang "$SOURCE_LANG" \
    >"$WORK/tokenised" || exit 1
  subword-nmt apply-bpe --codes "$CODES" <"$WORK/tokenised" >"$WORK/encoded" 2>"$WORK/log" ||
    give_up "--bpe-codes '$CODES': $(grep -i error "$WORK/log" | head -n 1)"
}

# Numbers of the lines that are not empty go to one file, the lines to another: fairseq would
# translate an empty line into something.
set_empty_lines_apart() {
  awk -v numbers="$WORK/numbers" 'NF { print NR > numbers; print }' "$WORK/encoded" >"$WORK/source"
}

last_error() {
  grep -E '^[A-Za-z_.]*(Error|Exception|error:)' "$WORK/log" | tail -n 1
}

search() {
  fairseq-interactive "$DATA" --path "$CHECKPOINT" --user-dir "$USER_DIR" --task translation \
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" \
    --beam "$BEAM" --lenpen "$LENPEN" --remove-bpe --max-tokens "$MAX_TOKENS" \
    --buffer-size 2000 --required-batch-size-multiple 1 --num-workers 0 \
    --skip-invalid-size-inputs-valid-test \
    "$@" <"$WORK/source" >"$WORK/generated" 2>"$WORK/log" ||
    give_up "fairseq-interactive failed with --checkpoint '$CHECKPOINT': $(last_error)"
}

# H-<number> <score> <text> in any order; number counts the lines that are not empty from 0.
restore_order() {
  grep '^H-' "$WORK/generated" | sed 's/^H-//' | sort -n -s -k 1,1 -t $'\t' |
    awk -F '\t' '!seen[$1]++ { print $3 }' >"$WORK/found" || true
  [[ "$(wc -l <"$WORK/found")" -eq "$(wc -l <"$WORK/source")" ]] ||
    give_up "of $(wc -l <"$WORK/source") sentences $(wc -l <"$WORK/found") came out; are some longer \
than the model's --max-source-positions, or than --max-tokens $MAX_TOKENS?"
  awk -v numbers="$WORK/numbers" -v lines="$(wc -l <"$WORK/encoded")" '
    { text[NR] = $0 }
    END {
      while ((getline number < numbers) > 0) place[number] = text[++found]
      for (line = 1; line <= lines; line++) print place[line]
    }' "$WORK/found" >"$WORK/target"
}

# A file is replaced as a whole; a device, a pipe or a link is written to.
write_output() {
  if [[ -z "$OUTPUT" ]]; then
    cat "$WORK/translation"
  elif [[ -e "$OUTPUT" && ! -f "$OUTPUT" || -L "$OUTPUT" ]]; then
    cat "$WORK/translation" >"$OUTPUT"
  else
    cp "$WORK/translation" "$OUTPUT.tmp.$$" && mv "$OUTPUT.tmp.$$" "$OUTPUT"
  fi
}

check_arguments
use_environment
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
: >"$WORK/numbers"
: >"$WORK/log"
tokenize_and_encode
set_empty_lines_apart
: >"$WORK/generated"
[[ ! -s "$WORK/source" ]] || search "$@"
restore_order
python3 -m realformer_fairseq.tokenization --lang "$TARGET_LANG" --detokenize \
  <"$WORK/target" >"$WORK/translation"
write_output
