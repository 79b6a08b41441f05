#!/usr/bin/env bash
# Speed of text preparation, against the command lines of sacremoses and subword-nmt.
#
#   benchmarks/data_prep.sh --corpus DIR [--pairs N] [--rounds N] [--jobs N] [--merges N]
#                           [--work DIR] [--json FILE]
#
#   --corpus DIR   folder with train.en and train.fr, plain or .gz; repeated as often as needed
#   --pairs N      sentence pairs                        (default: 200000)
#   --rounds N     rounds, each of both in turns         (default: 3)
#   --jobs N       processes, the same for both          (default: the number of cores)
#   --merges N     byte pair encoding                    (default: 8000)
#   --work DIR     where the texts go; kept              (default: a temporary folder, removed)
#   --json FILE    the seconds of every round            (default: benchmarks/raw/data_prep.json)
#
# Three stages, each on both languages: normalise punctuation, remove non-printing characters and
# tokenise; learn joint BPE; apply it. The table, in Markdown, has medians and spreads of lines per
# second and core. Ends with 1 if a BPE result is not the same bytes.
#
# Example
#
#   benchmarks/data_prep.sh --corpus ~/corpora/debian-en-fr --pairs 20000 --rounds 1
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"

case "${1:-}" in
  -h | --help) help_text; exit ;;
esac
use_environment
exec python3 -m benchmarks.data_prep "$@"
