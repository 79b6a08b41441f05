#!/usr/bin/env bash
# The run in this folder, from the corpus to the scores: a small RealFormer on real text, on a CPU.
#
#   results/debian-en-fr/run.sh [--corpus DIR] [--out DIR]
#
#   --corpus DIR   text that is already there (see data-prep/prepare-debian-en2fr.sh)
#   --out DIR      where everything goes (default: data/debian-en2fr-run in the project)
#
# Takes about two hours on 2 cores and 3 GB. Started again, it goes on where it was stopped.
#
# Example
#
#   results/debian-en-fr/run.sh --out /tmp/debian-run
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

CORPUS="" OUT="$PROJECT/data/debian-en2fr-run"
read_options "--corpus --out" "$@"

"$PROJECT/data-prep/prepare-debian-en2fr.sh" --out "$OUT/corpus" ${CORPUS:+--corpus "$CORPUS"}
use_environment
keep_freed_memory

train() {
  fairseq-train "$OUT/corpus/data-bin" --user-dir "$USER_DIR" --arch realformer \
    --task translation --source-lang en --target-lang fr \
    --encoder-embed-dim 256 --encoder-ffn-embed-dim 1024 --encoder-layers 3 \
    --encoder-attention-heads 4 --decoder-ffn-embed-dim 1024 --decoder-layers 3 \
    --decoder-attention-heads 4 --share-all-embeddings --dropout 0.05 \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
    --lr 1e-3 --lr-scheduler polynomial_decay --warmup-updates 500 \
    --total-num-update 6000 --max-update 6000 \
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
    --max-tokens 1280 --required-batch-size-multiple 1 --seed 1 --cpu --num-workers 0 \
    --save-dir "$OUT/checkpoints" --no-epoch-checkpoints --save-interval-updates 250 \
    --keep-interval-updates 8 --validate-interval-updates 500 \
    --log-format simple --log-interval 50 2>&1 | tee -a "$OUT/train.log"
  : >"$OUT/training-is-done"
}

say "training"
[[ -e "$OUT/training-is-done" ]] || train

say "averaging the last 4 checkpoints"
"$PROJECT/scripts/average_checkpoints.sh" --inputs "$OUT/checkpoints" \
  --num-update-checkpoints 4 --output "$OUT/average.pt"

say "translating the test set, beam 5, lenpen 0.8"
"$PROJECT/scripts/translate.sh" --checkpoint "$OUT/average.pt" --data "$OUT/corpus/data-bin" \
  --input "$OUT/corpus/raw/test.en" --output "$OUT/test.translation" -- --cpu

say "scores"
"$PROJECT/scripts/score_bleu.sh" --hyp "$OUT/test.translation" --ref "$OUT/corpus/raw/test.fr" \
  --lang fr --domains "$OUT/corpus/raw/test.src" --json "$OUT/scores.json" | tee "$OUT/scores.txt"
"$PROJECT/scripts/plot_learning_curve.sh" --logs "$OUT/train.log" --output "$OUT/learning_curve.png" \
  --title "RealFormer (mean), d 256, 3-3, Debian English-French"
