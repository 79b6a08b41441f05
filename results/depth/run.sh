#!/usr/bin/env bash
# Does residual attention help a very deep translation model? Trains narrow models of 60 encoder and
# 12 decoder layers, or others, with and without it, on real text and the same batches, and scores
# each on the test set; and says which of them read their source. On a CPU.
#
#   results/depth/run.sh --corpus DIR [--out DIR] [options] [NAME...]
#
#   --corpus DIR   what data-prep/prepare-debian-en2fr.sh made
#   --out DIR      logs, checkpoints, translations (default: data/depth in the project)
#   --layers E-D   of encoder and decoder          (default: 60-12)
#   --seeds LIST   one training each               (default: "1 2")
#   --updates N    length of a training            (default: 5000, three epochs)
#   --lr LIST      peak learning rate; of several, each model takes the one that is best in a
#                  training of a tenth of the length (default: 5e-4; the README says why one)
#   --dropout X    of sub-layers and embeddings    (default: 0.1; of attention and activations none)
#   --jobs N       trainings at a time, a thread each (default: the number of cores)
#   --no-translation   train and validate only
#   NAME...        which of them                   (default: all)
#
#   admin                      ours on ADMIN, without residual scores
#   admin-mean, admin-sum      with their mean, their sum
#   admin-cross                with their mean in cross-attention alone
#   fairseq-pre-ln             fairseq's own Transformer
#   deepnorm, admin-analytic   ours with another scaling of sub-layers, without residual scores
#   none                       ours, Post-LN
#
# What is done is not done again; what was interrupted goes on, but short trainings start anew. A
# training takes about 90 minutes on one core, and a short one 8. At the end there are curves.csv,
# table.md and loss.png of all that is there so far, with several rates also rates.csv, and the
# scores of each seed, in scores-NAME-SEED.json with the comparisons with NAME (none, admin, mean,
# admin-mean); of all that are trained also source_use.csv, layers.csv and layers.png, and
# omega_by_depth.png.
#
# Example
#
#   results/depth/run.sh --corpus data/debian-en2fr --seeds 1 admin admin-mean

# shellcheck disable=SC2034  # what the experiment is told
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../translation_experiment.sh"

ALL=(admin admin-mean admin-sum admin-cross fairseq-pre-ln deepnorm admin-analytic none)
OUT="$PROJECT/data/depth" WIDTH=64 LAYERS=60-12
UPDATES=5000 WARMUP=500 INTERVAL=250 LR=5e-4
run_experiment "$@"

trained=() news=""
for run in "$OUT"/*.trained; do
  [[ -f "${run%.trained}/checkpoint_last.pt" ]] || continue
  trained+=("$(basename "${run%.trained}")=${run%.trained}/checkpoint_last.pt")
  [[ ! "$run" -nt "$OUT/source_use.csv" ]] || news=yes
done
[[ -z "$news" ]] || python3 -m results.depth.source_use --data "$CORPUS/data-bin" \
  --out "$OUT" "${trained[@]}"

runs=()
for name in "${ALL[@]}"; do
  checkpoint="$OUT/$name-${SEEDS[0]}/checkpoint_last.pt"
  [[ "$name" != *admin* || ! -f "$checkpoint" ]] ||
    runs+=(--run "$checkpoint" "$OUT/$name-${SEEDS[0]}.log")
done
[[ ${#runs[@]} -eq 0 ]] || "$PROJECT/scripts/plot_omega.sh" "${runs[@]}" \
  --title "omega by depth, $LAYERS layers" --output "$OUT/omega_by_depth.png"
exit "$FAILED"
