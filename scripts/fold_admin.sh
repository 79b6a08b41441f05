#!/usr/bin/env bash
# Takes ADMIN's omega out of a trained checkpoint without changing what the model computes.
#
#   scripts/fold_admin.sh --checkpoint FILE --output FILE
#
#   --checkpoint FILE   a model with --sublayer-scaling admin, admin-analytic or deepnorm
#   --output FILE       the same model with --sublayer-scaling none; may be the same file
#
# Omega moves into the layer norm below each sub-layer. The first sub-layer of a stack has none below
# it: its omega moves into the embeddings, after which encoder and decoder no longer share them and
# positions are a learned table. A masked language model has a layer norm on its embeddings, which
# takes that omega. With --residual-attention none the result is a plain `transformer`, `roberta` or
# `transformer_lm` of fairseq, which loads without this plugin; a masked language model with
# --token-types or a --layer-norm-eps of its own stays ours, for a roberta has neither. Average
# checkpoints first, fold afterwards; the optimizer's state is left out.
#
# Example
#
#   scripts/fold_admin.sh --checkpoint checkpoints/average.pt --output checkpoints/folded.pt
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_fairseq.checkpoints.folding "$@"
