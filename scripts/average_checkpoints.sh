#!/usr/bin/env bash
# Averages the parameters of several checkpoints into one.
#
#   scripts/average_checkpoints.sh --inputs PATH... --output FILE [options]
#   scripts/average_checkpoints.sh --show FILE
#
#   --inputs PATH...              checkpoint files, or one directory together with one of
#   --num-epoch-checkpoints N     the last N checkpoint<epoch>.pt of that directory
#   --num-update-checkpoints N    the last N checkpoint_<epoch>_<update>.pt of that directory
#   --num-best-checkpoints N      the N best checkpoint.best_<metric>_<value>.pt of that directory, or
#                                 of the files given (fairseq-train --keep-best-checkpoints)
#   --checkpoint-upper-bound N    ... up to epoch (--num-update-checkpoints: update) N
#   --best-is lowest|highest      (default: as the training had it, which the checkpoints tell)
#   --weights X...                how much each file counts, in their order (default: the same)
#   --ema                         average the EMA weights of fairseq-train --store-ema, which become
#                                 the model; of one file, too
#   --output FILE                 where to write; may be one of the inputs
#   --show FILE                   prints which files an average was made from
#
# The options are those of fairseq's scripts/average_checkpoints.py, but for --best-is, --weights,
# --ema and --show. Configuration and epoch of the result are those of the last input (the newest or
# best of a directory); the optimizer's state is left out. It can be given to fairseq-generate, and to
# fairseq-train with --restore-file FILE --reset-optimizer.
#
# A checkpoint's EMA weights are beside its model, where fairseq-generate and translate.sh do not
# look. With --ema the result has the mean of them as its model and as its EMA, so that --store-ema
# and --ema-seed-model can start from it. Without --ema it has no EMA, and fairseq's --store-ema
# starts from no such file.
#
# These are named, and nothing is written: a missing epoch between those asked for; a parameter that
# is not in all files or has another shape; NaN or infinity in a parameter; a model of another
# residual attention, number of heads, activation, layer norm or language; several models from
# fold_admin.sh; a truncated file. Nothing in a file is run. Memory is needed for one model, disk for
# the result; benchmarks/averaging.py measures both.
#
# Example: average the last 5 epochs up to epoch 50, that is 46 to 50
#
#   scripts/average_checkpoints.sh --inputs checkpoints --num-epoch-checkpoints 5 \
#     --checkpoint-upper-bound 50 --output checkpoints/average.pt
#
# Example: take one more epoch into an average of five, each epoch counting the same
#
#   scripts/average_checkpoints.sh --inputs average5.pt checkpoint51.pt --weights 5 1 \
#     --output average6.pt
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_checkpoints.averaging "$@"
