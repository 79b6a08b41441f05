#!/usr/bin/env bash
# Draws what residual attention is, from a trained model: in each layer the scores of one head that
# come from the layer below, those that the layer adds, and the attention that follows.
#
#   scripts/draw_residual_attention.sh --checkpoint FILE --data DIR --output FILE [options]
#
#   --checkpoint FILE  a model with residual scores: realformer, realformer_masked_lm, realformer_lm
#   --data DIR         binarised data, of a realformer with the references (what fairseq-preprocess
#                      wrote)
#   --output FILE      PNG
#   --gen-subset NAME  split of the data                        (default: test)
#   --sentence N       counts from 0, as in S-N of fairseq-generate (default: 0); of a
#                      language model a sample, as in scripts/analyze_attention.sh
#   --attention A      encoder or decoder (self-attention), or cross (default: cross, or of a
#                      language model its self-attention)
#   --head N           counts from 0                            (default: 0)
#
# The bottom layer is at the bottom, layers count from 0. Queries go down and keys go right; in
# cross-attention a row is named after the token that it predicts, and the decoder reads the
# reference. All scores have the same scale, red above 0 and blue below.
#
# Example: the picture in README.md, after scripts/demo.sh
#
#   scripts/draw_residual_attention.sh --checkpoint demo/checkpoints/average.pt \
#     --data demo/corpus/data-bin --sentence 3 --output residual_attention.png
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_fairseq.analysis.residual_scores_figure "$@"
