#!/usr/bin/env bash
# Exports a trained model to a folder that translates without fairseq and torch.
#
#   scripts/export_onnx.sh --checkpoint FILE --data DIR --output FOLDER [options]
#
#   --checkpoint FILE    a trained realformer, or fairseq's own transformer
#   --data DIR           folder with the dictionaries (what fairseq-preprocess wrote)
#   --output FOLDER      what is made; must not be there yet
#   --bpe-codes FILE     subword-nmt codes            (default: code in --data, if it is there)
#   --sentencepiece-model FILE
#                        instead of codes             (default: sentencepiece.bpe.model in --data)
#   --moses              for models of WMT'14 data, as in translate.sh
#   --int8               also with 8-bit integers
#   --source-lang LANG   language of the text         (default: as the checkpoint says)
#   --target-lang LANG
#
# The folder has all that a translation needs, and says what it was made from. ADMIN's omega is folded
# into the weights first. Before the folder is there, some sentences are translated with both: if they
# differ, nothing is written. What cannot be exported (adaptive softmax and the like) is named. Of an
# ensemble, export each checkpoint, and join the folders by a colon.
#
# Example
#
#   scripts/export_onnx.sh --checkpoint demo/checkpoints/average.pt --data demo/corpus/data-bin \
#     --output demo/onnx
#   echo 'The cat sleeps.' | scripts/translate.sh --onnx demo/onnx
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_fairseq.export.onnx_export "$@"
