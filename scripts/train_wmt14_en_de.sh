#!/usr/bin/env bash
# Trains a row of RealFormer's Table 7 for English-German.
#
#   scripts/train_wmt14_en_de.sh [--row 6-6|12-12|18-18] [--model M] [options] [-- fairseq-train's]
#
#   --row ROW    encoder and decoder layers: 6-6 (default), 12-12 or 18-18
#
# Recipe and sources: scripts/lib/recipes.sh. One GPU, all of a machine and several machines train
# with the same number of tokens an update: 32,768.
#
# Example: ADMIN, row 18-18, on one GPU
#
#   scripts/train_wmt14_en_de.sh --row 18-18 --model admin --gpus 1 --data data/wmt14-en2de/data-bin
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
source "$PROJECT/scripts/lib/training.sh"

# shellcheck disable=SC2034  # the file above reads it
TARGET_LANG=de ROWS="6-6 12-12 18-18"
train_recipe "$@"
