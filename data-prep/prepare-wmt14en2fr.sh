#!/usr/bin/env bash
# Prepares WMT'14 English-French for fairseq-train, step by step as fairseq's
# examples/translation/prepare-wmt14en2fr.sh does.
#
#   data-prep/prepare-wmt14en2fr.sh [options]
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
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
source "$PROJECT/data-prep/lib/wmt14_pipeline.sh"

# shellcheck disable=SC2034  # archive_pipeline.sh reads them
RECIPE=en-fr SOURCE_LANG=en TARGET_LANG=fr BPE_MERGES=40000
archive_options "$@"
prepare_from_archives
