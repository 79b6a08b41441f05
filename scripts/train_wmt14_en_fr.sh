#!/usr/bin/env bash
# Trains a row of RealFormer's Table 7 for English-French.
#
#   scripts/train_wmt14_en_fr.sh [--row 6-6|60-12] [--model M] [options] [-- fairseq-train's options]
#
#   --row ROW    encoder and decoder layers: 6-6 (default) or 60-12
#
# Recipe and sources: scripts/lib/recipes.sh. One GPU, all of a machine and several machines train
# with the same number of tokens an update: 640,000 in row 6-6, 1,280,000 in row 60-12.
#
# Example: the row of 43.97 BLEU, on the GPUs of this machine
#
#   scripts/train_wmt14_en_fr.sh --row 60-12 --data data/wmt14-en2fr/data-bin --save-dir deep
#
# Example: the first of two machines with 8 GPUs each
#
#   scripts/train_wmt14_en_fr.sh --row 60-12 --nodes 2 --node-rank 0 --master-addr first-machine
#
# Example: a small model for two minutes on a CPU
#
#   scripts/train_wmt14_en_fr.sh --data demo/corpus/data-bin --save-dir /tmp/try --gpus 0 \
#     --max-tokens 1000 --effective-batch 4000 --epochs 2 -- --arch realformer_tiny
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
source "$PROJECT/scripts/lib/training.sh"

# shellcheck disable=SC2034  # the file above reads it
TARGET_LANG=fr ROWS="6-6 60-12"
train_recipe "$@"
