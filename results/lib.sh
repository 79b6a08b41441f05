# shellcheck shell=bash
# What the commands of results/ share: their options. To be sourced, after `set -euo pipefail`.

source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"

# Reads a command line: --option VALUE into OPTION, [--switch] into SWITCH as `yes`, and the rest
# into NAMES if there may be any. --updates and --jobs are counts.
read_options() { # what is accepted, such as '--data --lr [--no-validation] NAME'; the command line
  local accepted=" $1 " variable
  shift
  NAMES=()
  while [[ $# -gt 0 ]]; do
    variable="$(tr a-z- A-Z_ <<<"${1#--}")"
    case "$1 $accepted" in
      -h\ * | --help\ *) help_text; exit ;;
      --*" $1 "*)
        need_value "$1" $# "${2-}"
        [[ "$1" != --updates && "$1" != --jobs ]] || need_count "$1" "$2"
        printf -v "$variable" '%s' "$2"
        shift
        ;;
      --*" [$1] "*) printf -v "$variable" yes ;;
      [!-]*" NAME "*) NAMES+=("$1") ;;
      *) die "unknown option '$1' (-h for help)" ;;
    esac
    shift
  done
}
