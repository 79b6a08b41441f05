# shellcheck shell=bash
# What is prepared from public archives: WMT'14 and IWSLT'14. To be sourced after scripts/lib/common.sh.
# The caller sets
#
#   RECIPE        what to read: a name in public_corpora/recipes
#   SOURCE_LANG, TARGET_LANG, BPE_MERGES
#   run_stages    a function from raw text to data-bin; its argument is what the raw text depends on
#
# and calls archive_options with the arguments, then prepare_from_archives.

source "$PROJECT/data-prep/lib/text_pipeline.sh"
source "$PROJECT/data-prep/lib/archive_options.sh"

# Passes on standard input, and reports the lines.
counted() { # label, lines expected
  corpus_step count --label "$1" --lines "$2"
}

fetch_archives() { # [--recorded-will-do]; prints what the raw text depends on
  mkdir -p "$OUT/archives"
  corpus_step fetch "${STORE[@]}" "$@"
}

need_disk_for_archives() { # options of the step `need`...
  need_disk "$(corpus_step need "${STORE[@]}" "$@")"
}

unpack_archives() {
  need_disk_for_archives # and for all that is made of them
  fetch_archives >/dev/null # those that were deleted after an earlier run
  say "unpacking"
  mkdir -p "$OUT/raw"
  corpus_step extract --recipe "$RECIPE" --archives "${CORPORA:-$OUT/archives}" --out "$OUT/raw"
}

copy_codes() {
  corpus_step fit --codes "$CODES"
  make_file "$OUT/code" copy_text "$CODES"
}

prepare_from_archives() {
  local inputs kept="" archives_only="$FETCH_ONLY"
  use_environment
  make_folder --out "$OUT"
  lock_folder --out "$OUT"
  STORE=(--recipe "$RECIPE" --out "$OUT" --tries "$TRIES" --retry-pause "$RETRY_PAUSE"
    ${CORPORA:+--corpora "$CORPORA"} ${MIRROR:+--mirror "$MIRROR"})
  mapfile -t PARTS < <(corpus_step names --recipe "$RECIPE")
  [[ ${#PARTS[@]} -gt 0 ]] || exit 1 # the reason has been said

  if [[ -z "$FETCH_ONLY" ]] && stage_is_intact raw raw; then
    kept=--recorded-will-do archives_only=yes # once unpacked, archives may be deleted
  fi
  need_disk_for_archives ${kept:+"$kept"} ${archives_only:+--archives-only}
  say "archives"
  inputs="$(fetch_archives ${kept:+"$kept"})"
  if [[ -n "$FETCH_ONLY" ]]; then
    say "done: '${CORPORA:-$OUT/archives}' has them all"
  else
    run_stages "$inputs"
  fi
}
