#!/usr/bin/env bash
# Prepares WMT'14 English-German for fairseq-train, step by step as fairseq's
# examples/translation/prepare-wmt14en2de.sh does, with 32,000 merges.
#
#   data-prep/prepare-wmt14en2de.sh [--icml17] [--out DIR] [--corpora DIR | --mirror URL]
#                                   [--bpe-merges N | --bpe-codes FILE] [--dict FILE] [--jobs N]
#                                   [--fetch-only] [--recipe FILE] [--tries N] [--retry-pause S]
#
#   --icml17          news-commentary v9, of WMT'14 itself, instead of v12, of WMT'17
#   --out DIR         where everything goes   (default: data/wmt14-en2de in the project)
#   --corpora DIR     where the archives are; nothing is fetched then, and nothing written there
#   --mirror URL      instead of statmt.org: its paths below this address, or just its file names
#   --bpe-merges N    joint byte pair encoding (default: 32000)
#   --bpe-codes FILE  use these codes instead of learning some
#   --dict FILE       use this dict.*.txt of fairseq for both languages
#   --jobs N          processes               (default: the number of cores)
#   --fetch-only      have all archives, and no more
#   --recipe FILE     other archives or corpora: see data-prep/wmt14_corpus/recipes
#   --tries N         a download that fails so often in a row without progress is given up
#                     (default: 8)
#   --retry-pause S   seconds before the second try; doubles each time (default: 5)
#
# 4.6 million pairs: 1.7 GB to download and 9 GB of disk in all; data-prep/README.md has corpora,
# licences, counts and times. A rerun goes on where it was stopped, and with other options makes
# again what depends on them.
#
# Example
#
#   data-prep/prepare-wmt14en2de.sh --icml17 --out /data/wmt14-en2de --jobs 16
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
# shellcheck source=data-prep/lib/wmt14_pipeline.sh
source "$PROJECT/data-prep/lib/wmt14_pipeline.sh"

# shellcheck disable=SC2034  # wmt14_pipeline.sh reads them
RECIPE=en-de SOURCE_LANG=en TARGET_LANG=de
OUT="$PROJECT/data/wmt14-en2de"
BPE_MERGES=32000
JOBS="$(cores)"
options=()
for option in "$@"; do
  if [[ "$option" == --icml17 ]]; then RECIPE=en-de-icml17; else options+=("$option"); fi
done
wmt14_options ${options[@]+"${options[@]}"}
prepare_wmt14
