# shellcheck shell=bash
# What every script shares: where the project is, which Python to use, how to fail.
# To be sourced, after `set -euo pipefail`.

# A closed standard stream is occupied by one that refuses to work, so that no file gets its number.
[[ -e /dev/fd/0 ]] || exec 0>/dev/null
[[ -e /dev/fd/1 ]] || exec 1</dev/null
[[ -e /dev/fd/2 ]] || exec 2>/dev/null

# Would change text, keep a script from ending, and hide or break the environment.
unset PYTHONIOENCODING PYTHONINSPECT PYTHONHOME
[[ "${PYTHONWARNINGS:-}" != *error* ]] || unset PYTHONWARNINGS

PROJECT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# The folder that fairseq's --user-dir takes.
# shellcheck disable=SC2034
USER_DIR="$PROJECT/realformer_fairseq"
VENV="${VENV:-$PROJECT/.venv}"
[[ "$VENV" == /* ]] || VENV="$PWD/$VENV"

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

say() {
  printf '\n== %s\n' "$*" >&2
}

# Prints the comment block at the head of the calling script: its help text.
help_text() {
  awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
}

need_file() { # flag, value
  [[ -f "$2" ]] || die "$1: no such file: '$2'"
}

OPTIONS_GIVEN=" "

need_value() { # flag, number of arguments left with the flag, [value]
  # Only the last one would count.
  [[ "$OPTIONS_GIVEN" != *" $1 "* ]] || die "$1 is given twice"
  OPTIONS_GIVEN+="$1 "
  [[ "$2" -ge 2 ]] || die "$1 needs a value (-h for help)"
  # An empty one is a variable that was never set, and no reason to take the default.
  [[ $# -lt 3 || -n "$3" ]] || die "$1: '' is empty, it needs a value (-h for help)"
}

# Larger numbers would overflow the shell's arithmetic, or a process pool.
need_count() { # flag, value
  [[ "$2" =~ ^[1-9][0-9]*$ ]] || die "$1: '$2' is not a whole number above 0"
  [[ "${#2}" -le 9 ]] || die "$1: '$2' is above 999999999"
}

need_number() { # flag, value
  [[ "$2" == 0 ]] || { [[ "$2" =~ ^[1-9][0-9]*$ ]] && need_count "$@"; } ||
    die "$1: '$2' is not a whole number"
}

# `read -a` takes the end of the first line for the end.
split_words() { # name of an array, text; words are between any white space
  read -rd '' -a "$1" <<<"$2" || true
}

# Makes paths absolute, so that no command takes one for an option, and no cd loses it.
make_absolute() { # names of variables; what is empty stays so
  local name
  for name in "$@"; do
    [[ -z "${!name}" || "${!name}" == /* ]] || printf -v "$name" '%s/%s' "$PWD" "${!name}"
  done
}

# What translates with exported models, and what does everything else.
ENGINE_MODULES="numpy onnxruntime regex sacremoses subword_nmt tqdm"
NEEDED_MODULES="$ENGINE_MODULES bitarray fairseq hydra omegaconf onnx sacrebleu sklearn torch"

# Prints those of NEEDED_MODULES that a Python lacks, on one line.
missing_modules() { # python
  "$1" - "$NEEDED_MODULES" <<'PYTHON' 2>/dev/null || echo "a Python that runs"
import importlib.util, sys
print(*(module for module in sys.argv[1].split() if importlib.util.find_spec(module) is None))
PYTHON
}

has_everything() { # python
  [[ -z "$(missing_modules "$1")" ]]
}

# Whether $VENV is there and not what an interrupted scripts/setup.sh left behind.
environment_complete() {
  [[ ! -e "$VENV/setup-is-incomplete" ]] && has_everything "$VENV/bin/python3"
}

set_up_if_needed() {
  if [[ -e "$VENV" ]] || ! has_everything python3; then
    "$PROJECT/scripts/setup.sh"
  fi
}

# Chooses $VENV if it is there, else the Python of the active environment if it can run the
# project. Puts its commands first on the PATH.
use_environment() {
  # Keeps Python 3.11 and later from importing a fairseq/ or torch/ of the user's current folder.
  export PYTHONSAFEPATH=1
  # Text is UTF-8, whatever the locale.
  export PYTHONUTF8=1
  local bin="$VENV/bin"
  if [[ ! -e "$VENV" ]]; then
    has_everything python3 ||
      die "no environment at '$VENV', and python3 lacks $(missing_modules python3):" \
        "run scripts/setup.sh"
    bin="$(dirname "$(python3 -c 'import sys; print(sys.executable)')")"
  elif ! environment_complete; then
    die "the environment '$VENV' is incomplete: run scripts/setup.sh"
  fi
  PATH="$bin:$PATH"
  PYTHONPATH="$PROJECT${PYTHONPATH:+:$PYTHONPATH}"
  # Left to themselves, torch's thread pools oversubscribe a small machine: 8 times slower.
  OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(cores)}"
  export PATH PYTHONPATH OMP_NUM_THREADS
}

# For those who want to know what a result was made with.
write_versions() { # file
  python3 -m realformer_runtime.installed_versions >"$1.tmp"
  mv "$1.tmp" "$1"
}

# Refuses to go on in a folder that was made with other options. Call it again with `write` once
# something in the folder is worth keeping.
check_options() { # folder, options in words, [write], [flag of the folder]
  local record="$1/options.txt"
  if [[ "${3:-}" == write ]]; then
    printf '%s\n' "$2" >"$record.tmp"
    mv "$record.tmp" "$record"
  elif [[ -f "$record" && "$(<"$record")" != "$2" ]]; then
    die "${4:---out} '$1' was made with '$(<"$record")', not '$2': choose another ${4:---out}," \
      "or delete it"
  fi
}

# For a folder whose options are known before anything is in it: check and record in one.
keep_options() { # folder, options in words
  check_options "$@"
  check_options "$@" write
}

make_folder() { # flag, folder
  [[ "$2" != *:* ]] || die "$1 '$2': a colon separates paths, and cannot be in one"
  mkdir -p "$2" 2>/dev/null || die "$1 '$2': cannot make this folder"
  [[ -w "$2" ]] || die "$1 '$2': cannot write there"
}

# Waits a few seconds for a lock: what a killed run leaves behind may still be ending.
need_lock() { # what to say if another process keeps it, arguments of flock...
  local status=0
  command -v flock >/dev/null || return 0
  flock --timeout "${LOCK_PATIENCE:-10}" "${@:2}" 2>/dev/null || status=$?
  # Other codes: the folder or its file system takes no locks.
  [[ "$status" != 1 ]] || die "$1"
}

# All that a script has to do if a Python module does the work.
run_module() { # module, arguments...
  case "${2:-}" in
    -h | --help) help_text; exit ;;
  esac
  use_environment
  exec python3 -m "$@"
}

# glibc gives large tensors back to the kernel at once and faults them in again, page by page.
# Keeping the memory, in huge pages, makes training on a CPU faster.
keep_freed_memory() {
  local tunables="glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592"
  export GLIBC_TUNABLES="${GLIBC_TUNABLES:-$tunables:glibc.malloc.hugetlb=1}"
}

cores() {
  nproc 2>/dev/null || getconf _NPROCESSORS_ONLN
}

# Runs a command and passes on to it what tells this script to stop. Ctrl-C becomes TERM: nothing in
# the background gets Ctrl-C by itself. The script then ends with the command's exit code.
with_signals() { # command, arguments...
  local heard=true status=0 stopped=""
  trap 'heard=true stopped=TERM; kill -TERM "${!:-}" 2>/dev/null || true' INT TERM
  trap 'heard=true stopped=USR1; kill -USR1 "${!:-}" 2>/dev/null || true' USR1
  "$@" &
  # One that came before there was a command.
  [[ -z "$stopped" ]] || kill -s "$stopped" $! 2>/dev/null || true
  while "$heard"; do # a signal ends `wait`, not the command
    heard=false status=0
    wait $! || status=$?
  done
  trap - INT TERM USR1
  # A command that was about to end does so with 0, but then the script is not at its end.
  [[ -z "$stopped" ]] || exit $((status ? status : 128 + $(kill -l "$stopped")))
  return "$status"
}
