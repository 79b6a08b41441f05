#!/usr/bin/env bash
# Translates raw text into raw text: tokenises, applies BPE, searches, removes BPE, detokenises; or
# with SentencePiece in place of the rest.
#
#   scripts/translate.sh --checkpoint FILE --data DIR [options] < input > output
#   scripts/translate.sh --onnx FOLDER [options] < input > output
#
#   --onnx FOLDER        what scripts/export_onnx.sh made of a checkpoint, its dictionaries and codes:
#                        faster, without fairseq and torch; several as a:b are an ensemble
#   --checkpoint FILE    model; several as a.pt:b.pt are an ensemble
#   --data DIR           folder with the dictionaries (what fairseq-preprocess wrote)
#   --bpe-codes FILE     subword-nmt codes            (default: code in --data)
#   --sentencepiece-model FILE
#                        instead of codes             (default: sentencepiece.bpe.model in --data)
#   --input FILE         one sentence a line          (default: standard input)
#   --output FILE        where the translation goes   (default: standard output)
#   --moses              for models of WMT'14 data: punctuation is normalised, then tokenised
#                        as Moses does, as data-prep/prepare-wmt14en2*.sh did with the training set
#   --int8               on a CPU, with 8-bit integers in place of float32 in linear layers: faster,
#                        and translations differ a little
#   --interactive        translate each line of standard input as it comes
#   --source-lang LANG   language of the text, for a checkpoint that does not name it, or names it
#   --target-lang LANG   otherwise than fr, fr_FR, fra ... (default: as the checkpoint says)
#   --beam N             beam size                    (default: 5)
#   --lenpen X           length penalty               (default: 0.8, WMT'14 En-Fr)
#   --max-tokens N       source tokens in a batch     (default: 2000)
#   --overlong HOW       a line of more subwords than the model or --max-tokens takes:
#                        split  translate it in parts (default)
#                        skip   leave its translation empty
#                        error  translate nothing
#                        In any case such lines are named.
#   --dry-run            print fairseq-interactive's command for the same search, and no more; with
#                        --onnx the options of the search
#   -- ...               options of fairseq-interactive, for example --cpu; with --onnx those of
#                        them that change the search, for example --unkpen 1
#
# The output has a line for each line of the input, in its order; an empty line stays empty. Text
# is UTF-8. With a checkpoint, a GPU is used if there is one, and fairseq-interactive's command for
# the same search goes to standard error: it reads and writes subwords, here the longest lines
# first, and has no 8-bit integers. Unlike fairseq by default, a translation may be longer than 200
# subwords if its source is long (--max-len-a 1).
#
# Example
#
#   echo 'The cat sleeps.' | scripts/translate.sh --checkpoint demo/checkpoints/average.pt \
#     --data demo/corpus/data-bin
#   echo 'The cat sleeps.' | scripts/translate.sh --onnx demo/onnx
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
module=realformer_fairseq.inference.translation
for word in "$@"; do
  case "$word" in
    --) break ;;
    --onnx | --onnx=*)
      module=realformer_runtime.engine.translation
      # shellcheck disable=SC2034  # common.sh reads it
      NEEDED_MODULES="$ENGINE_MODULES"
      ;;
  esac
done
keep_freed_memory
run_module "$module" "$@"
