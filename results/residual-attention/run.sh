#!/usr/bin/env bash
# Does residual attention help a small translation model? Trains the same model with and without it,
# on real text and the same batches, and scores each on the test set. On a CPU.
#
#   results/residual-attention/run.sh --corpus DIR [--out DIR] [options] [NAME...]
#
#   --corpus DIR   what data-prep/prepare-debian-en2fr.sh made
#   --out DIR      logs, checkpoints, translations (default: data/residual-attention in the project)
#   --layers E-D   of encoder and decoder          (default: 3-3)
#   --seeds LIST   one training each               (default: "1 2")
#   --updates N    length of a training            (default: 1700)
#   --lr LIST      peak learning rate; of several, each model takes the one that is best in a
#                  training of a tenth of the length (default: 4e-3)
#   --dropout X    of sub-layers and embeddings    (default: 0.1; of attention and activations none)
#   --jobs N       trainings at a time, a thread each (default: the number of cores)
#   --no-translation   train and validate only
#   NAME...        which of them                   (default: all)
#
#   fairseq-post-ln, fairseq-pre-ln          fairseq's own Transformer
#   none, mean, sum                          ours: without residual scores, their mean, their sum
#   encoder, decoder, cross                  ours: the mean, in this one of the three attentions
#   admin, admin-mean, admin-encoder, ...    ours on ADMIN
#
# What is done is not done again; what was interrupted goes on, but short trainings start anew. A
# training takes about 15 minutes on one quiet core. At the end there are curves.csv, table.md and
# loss.png of all that is there so far, with several rates also rates.csv, and the scores of each
# seed, in scores-NAME-SEED.json with the comparisons with NAME (none, admin, mean, admin-mean).
#
# Example
#
#   results/residual-attention/run.sh --corpus data/debian-en2fr --seeds 1 none mean

# shellcheck disable=SC2034  # what the experiment is told
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../translation_experiment.sh"

ALL=(
  none mean fairseq-post-ln sum fairseq-pre-ln encoder decoder cross
  admin admin-mean admin-sum admin-encoder admin-decoder admin-cross
)
OUT="$PROJECT/data/residual-attention" WIDTH=128 LAYERS=3-3
UPDATES=1700 WARMUP=400 INTERVAL=100 LR=4e-3
run_experiment "$@"
exit "$FAILED"
