#!/usr/bin/env bash
# Draws ADMIN's omega by depth: after training, and where the profile put it.
#
#   scripts/plot_omega.sh --run CHECKPOINT LOG [--run CHECKPOINT LOG ...] --output FILE [--title TEXT]
#
#   --run CHECKPOINT LOG   a training with --sublayer-scaling; LOG is what fairseq-train printed, and
#                          its name, without its ending, is the name of the curve
#   --output FILE          a PNG picture: mean over the dimensions and standard deviation
#   --title TEXT           stands above it
#
# Example
#
#   scripts/plot_omega.sh --run checkpoints/checkpoint_last.pt train.log --output omega.png
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_checkpoints.omega_by_depth "$@"
