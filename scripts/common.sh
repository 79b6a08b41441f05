# shellcheck shell=bash
# What every script shares: where the project is, which Python to use, how to fail.
# To be sourced, after `set -euo pipefail`.

PROJECT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# The folder that fairseq's --user-dir takes.
# shellcheck disable=SC2034
USER_DIR="$PROJECT/realformer_fairseq"
VENV="${VENV:-$PROJECT/.venv}"

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

need_value() { # flag, number of arguments left with the flag
  [[ "$2" -ge 2 ]] || die "$1 needs a value (-h for help)"
}

has_everything() { # python
  "$1" - 2>/dev/null <<'PYTHON'
import importlib.util, sys
modules = "bitarray", "fairseq", "hydra", "sacrebleu", "sacremoses", "subword_nmt", "torch"
sys.exit(not all(map(importlib.util.find_spec, modules)))
PYTHON
}

set_up_if_needed() {
  if [[ ! -x "$VENV/bin/python" ]] && has_everything python3; then
    return
  fi
  "$PROJECT/scripts/setup.sh"
}

# Chooses $VENV if it is there, else the Python of the active environment if it can run the
# project. Puts its commands first on the PATH.
use_environment() {
  local python
  # Keeps Python 3.11 and later from importing a fairseq/ or torch/ of the user's current folder.
  export PYTHONSAFEPATH=1
  if [[ -x "$VENV/bin/python" ]]; then
    python="$VENV/bin/python"
    has_everything "$python" || die "the environment '$VENV' is incomplete: run scripts/setup.sh"
  elif has_everything python3; then
    python="$(python3 -c 'import sys; print(sys.executable)')"
  else
    die "no environment at '$VENV', and python3 lacks torch or fairseq: run scripts/setup.sh"
  fi
  PATH="$(dirname "$python"):$PATH"
  PYTHONPATH="$PROJECT${PYTHONPATH:+:$PYTHONPATH}"
  # Left to themselves, torch's thread pools oversubscribe a small machine: 8 times slower.
  OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(cores)}"
  export PATH PYTHONPATH OMP_NUM_THREADS
}

# glibc gives large tensors back to the kernel at once and faults them in again, page by page.
# Keeping the memory, in huge pages, made training on a CPU 1.2 times as fast.
keep_freed_memory() {
  local tunables="glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592"
  export GLIBC_TUNABLES="${GLIBC_TUNABLES:-$tunables:glibc.malloc.hugetlb=1}"
}

cores() {
  nproc 2>/dev/null || getconf _NPROCESSORS_ONLN
}
