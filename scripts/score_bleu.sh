#!/usr/bin/env bash
# Scores translations: sacreBLEU, chrF2 and tokenised BLEU, each with its signature.
#
#   scripts/score_bleu.sh --hyp FILE... --ref FILE... --lang LANG [options]
#
#   --hyp FILE...            the translation, one sentence a line, or the log of fairseq-generate.
#                            Several systems are compared with the first by sacrebleu's paired
#                            bootstrap: scores with 95 % intervals, and p-values
#   --ref FILE...            the raw reference, one sentence a line. Several are alternatives, as for
#                            sacrebleu; an empty line in one of them is an empty translation
#   --lang LANG              target language, for example fr, fra or fr_FR
#   --ter                    also TER (slow on long sentences)
#   --bootstrap-samples N    resamplings of the test set, with several systems (default: 1000)
#   --domains FILE           one label a line; also prints sacreBLEU for each label. Of a line with
#                            tabs the first column counts, of that the text before a colon.
#   --json FILE              also write all figures there
#
# Files are UTF-8, a name in .gz is decompressed. Quote sacreBLEU together with its signature, which
# names its tokeniser: that of the language for Chinese, and for Japanese and Korean, which need
# `pip install 'sacrebleu[ja]'` and `'sacrebleu[ko]'`; characters for Thai, Lao, Khmer, Burmese,
# Tibetan and Dzongkha; 13a for all others.
#
# Tokenised BLEU is what older papers quote (case-sensitive multi-bleu on Moses-tokenised text, both
# sides): compare it with such figures only. Where Moses has no rules for the language, it is left
# out. With --lang de there is also compound-split BLEU, which many papers quote for English-German;
# never with other languages.
#
# Of a log, the D- lines are taken. Where they were not detokenised (fairseq-generate without
# --tokenizer), that is done here, with a note. T- lines are never the reference: they contain <unk>.
# Give fairseq-generate --required-batch-size-multiple 1: by default it leaves out the last batch
# if that has not a multiple of 8 sentences, and then the log is refused here.
#
# Example
#
#   fairseq-generate data-bin --path checkpoints/average.pt --user-dir realformer_fairseq \
#     --source-lang en --target-lang fr --tokenizer realformer_moses --bpe subword_nmt \
#     --bpe-codes data-bin/code --required-batch-size-multiple 1 > generate.log
#   scripts/score_bleu.sh --hyp generate.log --ref test.fr --lang fr
#
# Example: is ours better than the baseline?
#
#   scripts/score_bleu.sh --hyp baseline.fr ours.fr --ref test.fr --lang fr
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
run_module realformer_runtime.scores.scoring "$@"
