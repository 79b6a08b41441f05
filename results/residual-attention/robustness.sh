#!/usr/bin/env bash
# Is a model with residual scores less sensitive to dropout and learning rate? Short trainings of
# run.sh's `none` and `mean`, one seed, at other values; the paper's Table 6 and its study of learning
# rates in small. On a CPU.
#
#   results/residual-attention/robustness.sh --corpus DIR [--out DIR] [--updates N] [--jobs N]
#
#   --corpus DIR   what data-prep/prepare-debian-en2fr.sh made
#   --out DIR      a folder for each value (default: data/residual-attention-robustness)
#   --updates N    length of a training    (default: 850)
#   --jobs N       trainings at a time, a thread each (default: the number of cores)
#
# Learning rates 1e-3, 2e-3, 4e-3 and 8e-3 with dropout 0.1, and dropout 0, 0.1 and 0.3 (of
# sub-layers and embeddings) with learning rate 2e-3: 12 trainings of 12 minutes on one core. What is
# done is not done again. Prints the validation losses after the last update, in bits per subword, as
# a Markdown table; those on the way are in robustness.csv.
#
# Example
#
#   results/residual-attention/robustness.sh --corpus data/debian-en2fr
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

CORPUS="" OUT="$PROJECT/data/residual-attention-robustness" UPDATES=850 JOBS="$(cores)"
read_options "--corpus --out --updates --jobs" "$@"
[[ -n "$CORPUS" ]] || die "--corpus is needed (-h for help)"
make_absolute OUT

VALUES=("1e-3 0.1" "2e-3 0.1" "4e-3 0.1" "8e-3 0.1" "2e-3 0" "2e-3 0.3")
FILES=()
for value in "${VALUES[@]}"; do
  read -r lr dropout <<<"$value"
  folder="$OUT/lr-$lr-dropout-$dropout"
  "$PROJECT/results/residual-attention/run.sh" --corpus "$CORPUS" --out "$folder" \
    --seeds 1 --updates "$UPDATES" --lr "$lr" --dropout "$dropout" --jobs "$JOBS" \
    --no-translation none mean >/dev/null || true # a training that diverges is a result, too
  [[ ! -f "$folder/curves.csv" ]] || FILES+=("lr=$lr" "dropout=$dropout" "$folder/curves.csv")
done
[[ ${#FILES[@]} -gt 0 ]] || die "--out '$OUT': no training got anywhere, see $OUT/*/*.log"
awk 'NR == 1 { print "learning_rate,dropout," $0 } FNR > 1 { print lr "," dropout "," $0 }' \
  "${FILES[@]}" >"$OUT/robustness.csv.tmp"
mv "$OUT/robustness.csv.tmp" "$OUT/robustness.csv"

loss() { # learning rate, dropout, name
  awk -F, -v lr="$1" -v dropout="$2" -v name="$3" -v updates="$UPDATES" \
    '$1 "" == lr && $2 "" == dropout && $3 == name && $6 == updates { print $7 }' "$OUT/robustness.csv"
}

echo "| learning rate | dropout | none | mean |"
echo "|---|---|---|---|"
for value in "${VALUES[@]}"; do
  read -r lr dropout <<<"$value"
  none="$(loss "$lr" "$dropout" none)" mean="$(loss "$lr" "$dropout" mean)"
  echo "| $lr | $dropout | ${none:-not reached} | ${mean:-not reached} |"
done
