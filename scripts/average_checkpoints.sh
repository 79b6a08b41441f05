#!/usr/bin/env bash
# Averages the parameters of several checkpoints into one.
#
#   scripts/average_checkpoints.sh --inputs PATH... --output FILE [options]
#
#   --inputs PATH...              checkpoint files, or one directory together with one of
#   --num-epoch-checkpoints N     the last N checkpoint<epoch>.pt of that directory
#   --num-update-checkpoints N    the last N checkpoint_<epoch>_<update>.pt of that directory
#   --checkpoint-upper-bound N    ... up to epoch (with the latter option: update) N
#   --output FILE                 where to write; may be one of the inputs
#
# The options are those of fairseq's scripts/average_checkpoints.py. Configuration and epoch of the
# result are those of the last input (the newest of a directory); the optimizer's state is left out.
# It can be given to fairseq-generate, and to fairseq-train with
# --restore-file FILE --reset-optimizer.
#
# Example: average the last 5 epochs up to epoch 50, that is 46 to 50
#
#   scripts/average_checkpoints.sh --inputs checkpoints --num-epoch-checkpoints 5 \
#     --checkpoint-upper-bound 50 --output checkpoints/average.pt
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
run_module realformer_fairseq.averaging "$@"
