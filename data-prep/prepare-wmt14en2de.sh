#!/usr/bin/env bash
# Prepares WMT'14 English-German for fairseq-train, step by step as fairseq's
# examples/translation/prepare-wmt14en2de.sh does, with 32,000 merges.
#
#   data-prep/prepare-wmt14en2de.sh [--icml17] [options]
#
#   --icml17          news-commentary v9, of WMT'14 itself, instead of v12, of WMT'17
#
# 4.6 million pairs: 1.7 GB to download and 9 GB of disk in all; data-prep/README.md has corpora,
# licences, counts and times. A rerun goes on where it was stopped, and with other options makes
# again what depends on them.
#
# Example
#
#   data-prep/prepare-wmt14en2de.sh --icml17 --out /data/wmt14-en2de --jobs 16
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
source "$PROJECT/data-prep/lib/wmt14_pipeline.sh"

# shellcheck disable=SC2034  # archive_pipeline.sh reads them
RECIPE=en-de SOURCE_LANG=en TARGET_LANG=de BPE_MERGES=32000
options=()
for option in "$@"; do
  if [[ "$option" == --icml17 ]]; then RECIPE=en-de-icml17; else options+=("$option"); fi
done
archive_options ${options[@]+"${options[@]}"}
prepare_from_archives
