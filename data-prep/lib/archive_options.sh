# shellcheck shell=bash
# shellcheck disable=SC2034  # archive_pipeline.sh reads what is set here
# The options of what is prepared from archives. To be sourced by archive_pipeline.sh. The script sets
# SOURCE_LANG, TARGET_LANG and the default of BPE_MERGES, and may set CORPUS_NAME and
# NOT_IN_HELP, names of options that it refuses, as "dict|recipe".

CORPUS_NAME="" CORPORA="" MIRROR="" CODES="" DICT="" MERGES_GIVEN=""
TRIES=8 RETRY_PAUSE=5 FETCH_ONLY=""

archive_help() {
  help_text
  grep -Ev "^  --(${NOT_IN_HELP:-none}) " <<HELP

Options

  --out DIR         where everything goes   (default: data/$CORPUS_NAME in the project)
  --corpora DIR     where the archives are; nothing is fetched then, and nothing written there
  --mirror URL      instead of the server: its paths below this address, or its file names
  --bpe-merges N    joint byte pair encoding (default: $BPE_MERGES)
  --bpe-codes FILE  use these codes instead of learning some
  --dict FILE       use this dict.*.txt of fairseq for both languages
  --jobs N          processes               (default: the number of cores)
  --fetch-only      have all archives, and no more
  --recipe FILE     other archives or corpora: see data-prep/public_corpora/recipes
  --tries N         a download that fails so often in a row without progress is given up
                    (default: $TRIES)
  --retry-pause S   seconds before the second try; doubles each time (default: $RETRY_PAUSE)
HELP
}

archive_options() { # arguments of the script
  CORPUS_NAME="${CORPUS_NAME:-wmt14-${SOURCE_LANG}2$TARGET_LANG}"
  OUT="$PROJECT/data/$CORPUS_NAME"
  JOBS="$(cores)"
  while [[ $# -gt 0 ]]; do
    case "$1" in
      -h | --help) archive_help; exit ;;
      --out) need_value "$1" $# "${2-}"; OUT="$2"; shift 2 ;;
      --corpora) need_value "$1" $# "${2-}"; CORPORA="$2"; shift 2 ;;
      --mirror) need_value "$1" $# "${2-}"; MIRROR="$2"; shift 2 ;;
      --recipe) need_value "$1" $# "${2-}"; RECIPE="$2"; shift 2 ;;
      --bpe-merges) need_value "$1" $# "${2-}"; need_count "$1" "$2"; MERGES_GIVEN="$2"; shift 2 ;;
      --bpe-codes) need_value "$1" $# "${2-}"; need_file "$1" "$2"; CODES="$2"; shift 2 ;;
      --dict) need_value "$1" $# "${2-}"; need_file "$1" "$2"; DICT="$2"; shift 2 ;;
      --jobs) need_value "$1" $# "${2-}"; need_count "$1" "$2"; JOBS="$2"; shift 2 ;;
      --fetch-only) FETCH_ONLY=yes; shift ;;
      --tries) need_value "$1" $# "${2-}"; need_count "$1" "$2"; TRIES="$2"; shift 2 ;;
      --retry-pause) need_value "$1" $# "${2-}"; need_seconds "$1" "$2"; RETRY_PAUSE="$2"; shift 2 ;;
      *) die "unknown option '$1' (-h for help)" ;;
    esac
  done
  [[ -z "$CORPORA" || -d "$CORPORA" ]] || die "--corpora: no such folder: '$CORPORA'"
  [[ -z "$CORPORA" || -z "$MIRROR" ]] || die "--mirror has no use with --corpora"
  [[ -z "$CODES" || -z "$MERGES_GIVEN" ]] || die "--bpe-merges has no use with --bpe-codes"
  BPE_MERGES="${MERGES_GIVEN:-$BPE_MERGES}"
  make_absolute OUT CORPORA CODES DICT
}

need_seconds() { # flag, value
  [[ "$2" =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "$1: '$2' is not a number of seconds"
}
