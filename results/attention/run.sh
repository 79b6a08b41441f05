#!/usr/bin/env bash
# Is the attention of a RealFormer sparser than that of a Post-LN Transformer, and are neighbouring
# layers more alike? Measures both over the test set, with models that
# results/residual-attention/run.sh trained.
#
#   results/attention/run.sh --data DIR --out DIR NAME=CHECKPOINT...
#
#   --data DIR         what fairseq-preprocess wrote
#   --out DIR          a folder for each NAME, and table.md
#   NAME=CHECKPOINT    models to compare, the baseline first
#
# One to two minutes a model on one core. What is done is not done again.
#
# Example
#
#   results/attention/run.sh --data data/debian-en2fr/data-bin --out data/attention \
#     none=data/residual-attention/none-1/average.pt mean=data/residual-attention/mean-1/average.pt
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"

DATA="" OUT="" MODELS=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) help_text; exit ;;
    --data) need_value "$1" $# "${2-}"; DATA="$2"; shift 2 ;;
    --out) need_value "$1" $# "${2-}"; OUT="$2"; shift 2 ;;
    *=*)
      need_file "${1%%=*}" "${1#*=}"
      [[ " ${MODELS[*]%%=*} " != *" ${1%%=*} "* ]] || die "'${1%%=*}' is given twice"
      MODELS+=("$1")
      shift
      ;;
    *) die "unknown option '$1' (-h for help)" ;;
  esac
done
[[ -n "$DATA" && -n "$OUT" && ${#MODELS[@]} -gt 0 ]] ||
  die "--data, --out and at least one NAME=CHECKPOINT are needed (-h for help)"
make_folder --out "$OUT"

folders=()
for model in "${MODELS[@]}"; do
  name="${model%%=*}"
  say "$name"
  make_folder --out "$OUT/$name"
  keep_options "$OUT/$name" "$(realpath "${model#*=}") $(realpath "$DATA")"
  if [[ ! -e "$OUT/$name/done" ]]; then
    "$PROJECT/scripts/analyze_attention.sh" --checkpoint "${model#*=}" --data "$DATA" \
      --out "$OUT/$name" --title "$name" --cpu
    : >"$OUT/$name/done"
  fi
  folders+=("$OUT/$name")
done
use_environment
write_versions "$OUT/versions.txt"
python3 "$PROJECT/results/attention/compare.py" "${folders[@]}" >"$OUT/table.md.tmp"
mv "$OUT/table.md.tmp" "$OUT/table.md"
cat "$OUT/table.md"
