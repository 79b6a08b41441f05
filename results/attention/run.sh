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
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

DATA="" OUT=""
read_options "--data --out NAME" "$@"
[[ -n "$DATA" && -n "$OUT" && ${#NAMES[@]} -gt 0 ]] ||
  die "--data, --out and at least one NAME=CHECKPOINT are needed (-h for help)"
names=" "
for model in "${NAMES[@]}"; do
  name="${model%%=*}"
  [[ "$model" == *=* ]] || die "'$model' is not NAME=CHECKPOINT (-h for help)"
  need_file "$name" "${model#*=}"
  [[ "$names" != *" $name "* ]] || die "'$name' is given twice"
  names+="$name "
done
make_folder --out "$OUT"

folders=()
for model in "${NAMES[@]}"; do
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
