#!/usr/bin/env bash
# Builds an English-French corpus from Debian packages and prepares it for fairseq-train.
#
#   data-prep/prepare-debian-en2fr.sh [--out DIR] [--corpus DIR] [--cache DIR] [--mirror URL]
#                                     [--bpe-merges N] [--jobs N]
#
#   --out DIR         where everything goes  (default: data/debian-en2fr in the project)
#   --corpus DIR      use the text that is there instead of building it from packages:
#                     {train,valid,test}.{en,fr}, plain or .gz
#   --cache DIR       where downloads are kept (default: cache in --out)
#   --mirror URL      Debian archive           (default: the one that apt uses)
#   --bpe-merges N    joint byte pair encoding (default: 8000)
#   --jobs N          processes                (default: the number of cores)
#
# About 133,000 pairs of package descriptions, manuals, help and game dialogue, written and
# translated by people; data-prep/README.md has sources, counts and licences. Building needs a Debian
# machine (its apt client; nothing is installed, root is not needed) and polib, which scripts/setup.sh
# installs. It downloads 290 MB, once, and takes about 5 minutes and 1.2 GB, preparing 2 more. A rerun
# goes on where it was stopped, and with other text or options makes again what depends on them.
#
# Examples
#
#   data-prep/prepare-debian-en2fr.sh
#   data-prep/prepare-debian-en2fr.sh --corpus ~/corpora/debian-en-fr --out /tmp/debian
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
source "$PROJECT/data-prep/lib/text_pipeline.sh"

# shellcheck disable=SC2034  # text_pipeline.sh reads them
SOURCE_LANG=en TARGET_LANG=fr
OUT="$PROJECT/data/debian-en2fr"
CORPUS="" CORPUS_FILES=() CACHE="" MIRROR=()
BPE_MERGES=8000
JOBS="$(cores)"
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) help_text; exit ;;
    --out) need_value "$1" $# "${2-}"; OUT="$2"; shift 2 ;;
    --corpus) need_value "$1" $# "${2-}"; CORPUS="$2"; shift 2 ;;
    --cache) need_value "$1" $# "${2-}"; CACHE="$2"; shift 2 ;;
    --mirror) need_value "$1" $# "${2-}"; MIRROR=(--mirror "$2"); shift 2 ;;
    --bpe-merges) need_value "$1" $# "${2-}"; need_count "$1" "$2"; BPE_MERGES="$2"; shift 2 ;;
    --jobs) need_value "$1" $# "${2-}"; need_count "$1" "$2"; JOBS="$2"; shift 2 ;;
    *) die "unknown option '$1' (-h for help)" ;;
  esac
done

find_corpus() {
  local split extension file
  [[ ! "$CORPUS" -ef "$OUT/raw" ]] ||
    die "--corpus '$CORPUS' is what --out '$OUT' was made with: choose another --out"
  for split in "${SPLITS[@]}"; do
    for extension in en fr src; do
      file="$split.$extension"
      [[ -f "$CORPUS/$file" ]] || file+=.gz
      if [[ -f "$CORPUS/$file" ]]; then
        CORPUS_FILES+=("$file")
      elif [[ "$extension" != src ]]; then # where each pair is from: nice to have
        die "--corpus '$CORPUS': no $split.$extension and no $split.$extension.gz"
      fi
    done
  done
}

copy_corpus() {
  local file
  mkdir -p "$OUT/raw"
  for file in "${CORPUS_FILES[@]}"; do
    make_file "$OUT/raw/${file%.gz}" copy_text "$CORPUS/$file"
  done
  check_sides "$OUT/raw" "${SPLITS[@]}"
}

build_corpus() {
  say "building the corpus from Debian packages"
  PYTHONPATH="$PROJECT/data-prep:$PYTHONPATH" python3 -m debian_corpus --out "$OUT/raw" \
    --cache "${CACHE:-$OUT/cache}" --jobs "$JOBS" ${MIRROR[@]+"${MIRROR[@]}"}
}

[[ -z "$CORPUS" || -d "$CORPUS" ]] || die "--corpus: no such folder: '$CORPUS'"
make_absolute OUT CORPUS CACHE
[[ -z "$CORPUS" ]] || CORPUS="$(cd "$CORPUS" && pwd)"
use_environment
make_folder --out "$OUT"
lock_folder --out "$OUT"
need_disk 300
if [[ -n "$CORPUS" ]]; then
  find_corpus
  run_stage raw raw "text $(cd "$CORPUS" && sha256sum "${CORPUS_FILES[@]}" | file_hash /dev/stdin)" \
    copy_corpus
else
  run_stage raw raw "Debian packages" build_corpus
  # They may be newer ones when a damaged file is made again.
  STAGE_KEY+="$(cat "$OUT"/raw/*.{en,fr} | file_hash /dev/stdin)"
fi
prepare_data
