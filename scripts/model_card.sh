#!/usr/bin/env bash
# Writes a model card (Markdown) from what the files of a training say about it.
#
#   scripts/model_card.sh --checkpoint FILE [options]
#
#   --checkpoint FILE   trained or averaged, ours or of fairseq's transformer, roberta (also one that
#                       classifies sentences) or transformer_lm
#   --data DIR          what fairseq-preprocess wrote: sizes of dictionaries and splits
#   --scores FILE       what scripts/score_bleu.sh --json wrote about this model, if it translates
#   --log FILE          the log of fairseq-train: speed, GPUs, validation loss; of other models their
#                       accuracy and perplexity
#   --name NAME         of the model                        (default: architecture and languages)
#   --licence ID        as model hubs write it, for example mit
#   --template FILE     Markdown with fields such as $layers
#                       (default: realformer_checkpoints/model_card/template.md)
#   --output FILE       (default: standard output)
#
# Every figure comes from one of the files; what is in none of them is "not recorded". What only a
# person can know (intended use, origin of the texts, limitations) is left to fill in. Of paths only
# the last part is written.
#
# Example
#
#   scripts/model_card.sh --checkpoint demo/checkpoints/average.pt --data demo/corpus/data-bin \
#     --scores demo/scores.json --log demo/train.log --output demo/MODEL_CARD.md
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_checkpoints.model_card "$@"
