#!/usr/bin/env bash
# Fine-tunes a masked language model on a task of GLUE and measures it on the dev set.
#
#   scripts/finetune_glue.sh --task TASK --data DIR --checkpoint FILE [options] [-- OPTIONS]
#
#   --task TASK         CoLA, SST-2, MRPC, STS-B, QQP, MNLI, QNLI or RTE
#   --data DIR          folder of the task in GLUE's public archive, with train.tsv and dev.tsv
#   --checkpoint FILE   the pre-trained model: realformer_masked_lm, or roberta of fairseq
#   --dict FILE         its dictionary; default: dict.txt in the folder of the checkpoint
#   --output DIR        for models, logs and results.json; default: glue/TASK
#   --seeds "N ..."     one fine-tuning each; default: "1 2 3 4 5"
#   -- OPTIONS          of fairseq-train, such as --lr 3e-5 or --bpe, in place of the recipe's
#
# Prints the task's own measures in percent, for each seed and their median. The recipe is BERT's: 3
# epochs, batches of 32, learning rate 2e-5. The model of the last epoch is measured. The same command
# goes on where it was stopped, and leaves seeds alone that are done. docs/masked-lm.md has more.
#
# Example
#
#   scripts/finetune_glue.sh --task RTE --data glue_data/RTE --checkpoint checkpoints/model.pt
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_fairseq.finetuning.finetune_glue "$@"
