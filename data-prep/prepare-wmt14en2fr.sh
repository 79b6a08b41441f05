#!/usr/bin/env bash
# Prepares WMT'14 English-French for fairseq-train, step by step as fairseq's
# examples/translation/prepare-wmt14en2fr.sh does.
#
#   data-prep/prepare-wmt14en2fr.sh [--out DIR] [--corpora DIR | --mirror URL]
#                                   [--bpe-merges N | --bpe-codes FILE] [--dict FILE] [--jobs N]
#                                   [--fetch-only] [--recipe FILE] [--tries N] [--retry-pause S]
#
#   --out DIR         where everything goes   (default: data/wmt14-en2fr in the project)
#   --corpora DIR     where the archives are; nothing is fetched then, and nothing written there
#   --mirror URL      instead of statmt.org: its paths below this address, or just its file names
#   --bpe-merges N    joint byte pair encoding (default: 40000)
#   --bpe-codes FILE  use these codes instead of learning some
#   --dict FILE       use this dict.*.txt of fairseq for both languages
#   --jobs N          processes               (default: the number of cores)
#   --fetch-only      have all archives, and no more
#   --recipe FILE     other archives or corpora: see data-prep/wmt14_corpus/recipes
#   --tries N         a download that fails so often in a row without progress is given up
#                     (default: 8)
#   --retry-pause S   seconds before the second try; doubles each time (default: 5)
#
# 41 million pairs: 6.6 GB to download and 80 GB of disk in all; data-prep/README.md has corpora,
# licences, counts and times. A rerun goes on where it was stopped, and with other options makes
# again what depends on them.
#
# Examples
#
#   data-prep/prepare-wmt14en2fr.sh --out /data/wmt14-en2fr --jobs 32
#   data-prep/prepare-wmt14en2fr.sh --corpora ~/downloads --bpe-codes old/code --dict old/dict.en.txt
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
# shellcheck source=data-prep/lib/wmt14_pipeline.sh
source "$PROJECT/data-prep/lib/wmt14_pipeline.sh"

# shellcheck disable=SC2034  # wmt14_pipeline.sh reads them
RECIPE=en-fr SOURCE_LANG=en TARGET_LANG=fr
OUT="$PROJECT/data/wmt14-en2fr"
BPE_MERGES=40000
JOBS="$(cores)"
wmt14_options "$@"
prepare_wmt14
