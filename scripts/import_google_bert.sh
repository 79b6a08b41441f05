#!/usr/bin/env bash
# Turns Google's released weights of a RealFormer-BERT into a folder that fairseq loads.
#
#   scripts/import_google_bert.sh --checkpoint PREFIX --config FILE --vocab FILE --output FOLDER
#
#   --checkpoint PREFIX   TensorFlow's checkpoint, without .index and .data-...: bert_model.ckpt
#   --config FILE         bert_config.json
#   --vocab FILE          vocab.txt
#   --output FOLDER       what is made: model.pt, dict.txt, vocab.txt; must not be there yet
#   --residual-attention sum|mean|none
#                         what the scores are (default: mean if --config has use_running_mean, else
#                         the sum). The files of a plain BERT look like those of a sum: for one of
#                         these say none.
#
# TensorFlow is not needed, and nothing in the files is run. Anything that is missing, unknown or of
# another size is named, and nothing is written then. Google's pooler and next-sentence layer become
# the classification head next_sentence. What is text needs the extra wordpiece (docs/masked-lm.md).
#
# Example
#
#   scripts/import_google_bert.sh --checkpoint bert_base/bert_model.ckpt \
#     --config bert_base/bert_config.json --vocab bert_base/vocab.txt --output bert-base
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_fairseq.checkpoints.google_import "$@"
