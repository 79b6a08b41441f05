#!/usr/bin/env bash
# Draws loss, accuracy, gradient norm or speed by update from the logs of one or several trainings.
#
#   scripts/plot_learning_curve.sh --logs FILE... --output FILE [--quantity NAME] [--title TEXT]
#
#   --logs FILE...   what fairseq-train --log-format simple printed (2>&1 | tee FILE) or its
#                    --log-file has; the name of a file, without its ending, is the name of the curve
#   --output FILE    a PNG picture
#   --quantity NAME  loss (the default; bits a subword, of a masked language model a masked one),
#                    accuracy (of a masked language model, or of classification), gradient-norm or
#                    speed (tokens a second; a translation model counts those of the target)
#   --title TEXT     stands above it
#
# Example
#
#   scripts/plot_learning_curve.sh --logs post-ln.log realformer.log --output curves.png
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_checkpoints.learning_curve "$@"
