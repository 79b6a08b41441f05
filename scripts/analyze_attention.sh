#!/usr/bin/env bash
# Measures the attention of a trained model over a test set, head by head: how sparse it is, and how
# much it differs from the layer below.
#
#   scripts/analyze_attention.sh --checkpoint FILE --data DIR --out DIR [options]
#
#   --checkpoint FILE  a realformer, realformer_masked_lm or realformer_lm; or a transformer, roberta
#                      or transformer_lm of fairseq's
#   --data DIR         binarised data with the references (what fairseq-preprocess wrote); of a
#                      language model binarised text and dict.txt (fairseq-preprocess --only-source)
#   --out DIR          where table and pictures go
#   --gen-subset NAME  split of the data               (default: test)
#   --max-tokens N     tokens in a batch               (default: 2000)
#   --title TEXT       stands above the pictures
#   --no-pictures      only the table
#   --sentence N       instead of all that, maps of the attention of one sentence; N counts from 0,
#                      as in S-N of fairseq-generate; of a language model a sample
#   --layer N          with --sentence: which layer    (default: the top layer of each stack)
#   --cpu              even if there is a GPU
#
# attention.csv has a row for each measure, attention (encoder, decoder: self-attention; cross),
# layer and head, both counted from 0 as in parameter names: the number of distributions, their mean
# and quartiles. Measures: entropy, in nats; normalised_entropy, divided by the logarithm of the
# number of keys that could be attended to; jsd, the Jensen-Shannon divergence from the same head of
# the layer below, in nats (at most 0.693). Left out are padding and queries with only one key to
# attend to, such as the decoder's first position. Means are exact, quartiles to 0.0041 (entropy),
# 0.0005 (normalised) and 0.0004 (jsd).
#
# A translation model's decoder reads the reference. A masked language model reads each sample as
# its training did, with words masked, the same ones for each model with the same options of the
# task; a language model reads each sample from left to right. Samples are what --sample-break-mode
# and --tokens-per-sample of the training make of the text: sentences with eos, else blocks.
#
# entropy-encoder.png, jsd-cross.png and so on have a violin for each head, the layers as rows,
# coloured by median in the bins of the RealFormer paper. In a map, queries go down and keys go
# right; in cross-attention a row is named after the token that it predicts.
#
# Example
#
#   scripts/analyze_attention.sh --checkpoint demo/checkpoints/average.pt \
#     --data demo/corpus/data-bin --out attention
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_fairseq.analysis.attention_analysis "$@"
