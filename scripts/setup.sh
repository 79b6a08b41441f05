#!/usr/bin/env bash
# Makes a Python environment with torch, fairseq and everything else the project needs.
#
#   scripts/setup.sh [--from-source]
#
#   --from-source   build fairseq-fixed from its source instead of taking a prebuilt fairseq
#                   (needs g++, about 4 minutes)
#
# On Python 3.9 and 3.10 it builds fairseq 0.12.2 from source, with the older pip and libraries that
# this one needs (g++, about 3 minutes).
#
# Environment variables
#
#   VENV     where to put the environment             (default: .venv in the project)
#   PYTHON   the Python to make it with, 3.9 or later (default: python3.11 or python3.12)
#   TORCH    what to install as torch, for example another version or the path of a wheel
#            (default: torch==2.13.0, the version the project is tested with; on Python 3.9, which
#            that version is not made for, torch==2.8.0)
#
# Takes about 2 minutes and, with a CPU build of torch, 1.5 GB. An environment that is complete is
# left as it is, one that an interrupted set-up left behind is completed, and one that this script
# did not make is never changed. pip's own settings (PIP_INDEX_URL, ...) apply.
#
# Example: another place, another Python
#
#   VENV=~/envs/realformer PYTHON=python3.12 scripts/setup.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

FROM_SOURCE=false
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) help_text; exit ;;
    --from-source) FROM_SOURCE=true; shift ;;
    *) die "unknown option '$1' (-h for help)" ;;
  esac
done

runs() { # python
  command -v "$1" >/dev/null && "$1" -c 'import ensurepip, venv' 2>/dev/null
}

version_of() { # python
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

choose_python() {
  local candidate
  if [[ -n "${PYTHON:-}" ]]; then
    runs "$PYTHON" || die "PYTHON='$PYTHON' does not run, or lacks the venv module"
    echo "$PYTHON"
    return
  fi
  for candidate in python3.11 python3.12 python3; do
    if runs "$candidate" && [[ "$(version_of "$candidate")" =~ ^3\.1[12]$ ]]; then
      echo "$candidate"
      return
    fi
  done
  die "needs Python 3.11 or 3.12 with the venv module (Debian: apt install python3-venv);" \
    "name one with PYTHON="
}

check_wheel_exists() { # Python version
  [[ "$(uname -sm)" == "Linux x86_64" ]] ||
    die "prebuilt fairseq is for Linux x86_64, this is $(uname -sm): use --from-source"
  [[ "$1" =~ ^3\.1[12]$ ]] ||
    die "prebuilt fairseq is for Python 3.11 and 3.12, PYTHON='$PYTHON' is $1: use --from-source"
}

# Whether this Python runs fairseq 0.12.2, and nothing newer is made for it.
is_old() { # Python version
  [[ "$1" == 3.9 || "$1" == 3.10 ]]
}

# Before torch: where torch is, its setup.py wants C++ files that its source does not hold.
build_fairseq_0_12_2() {
  say "building fairseq 0.12.2 from source"
  # pip from 24.1 on refuses the metadata of omegaconf 2.0.
  "${PIP[@]}" 'pip<24.1'
  "${PIP[@]}" 'setuptools<81' wheel 'cython<3.1' 'numpy<1.24'
  env -u CUDA_HOME "${PIP[@]}" --no-deps --no-build-isolation fairseq==0.12.2
}

install_fairseq() {
  if "$FROM_SOURCE"; then
    say "building fairseq-fixed 0.12.3.1 from source"
    "${PIP[@]}" wheel setuptools cython numpy
    # CUDA_HOME would make it compile CUDA code that translation does not use.
    env -u CUDA_HOME "${PIP[@]}" --no-deps --no-build-isolation --no-binary fairseq-fixed \
      fairseq-fixed==0.12.3.1
  else
    say "installing a prebuilt fairseq (scripts/fairseq-wheels.txt)"
    "${PIP[@]}" --no-deps --require-hashes -r "$PROJECT/scripts/fairseq-wheels.txt"
  fi
}

if environment_complete; then
  say "the environment '$VENV' is complete"
  exit
fi
if [[ -e "$VENV" && ! -e "$VENV/setup-is-incomplete" ]]; then
  die "VENV='$VENV' was not made by this script and lacks $(missing_modules "$VENV/bin/python3"):" \
    "install that there, or choose another VENV="
fi
python="$(choose_python)"
version="$(version_of "$python")"
if is_old "$version"; then
  command -v g++ >/dev/null || die "Python $version needs g++, to build fairseq 0.12.2"
elif ! "$FROM_SOURCE"; then
  check_wheel_exists "$version"
fi
TORCH="${TORCH:-torch==$([[ "$version" == 3.9 ]] && echo 2.8.0 || echo 2.13.0)}"

say "making an environment in '$VENV' with $("$python" --version)"
make_folder VENV= "$VENV"
: >"$VENV/setup-is-incomplete"
"$python" -m venv "$VENV" || die "cannot make an environment in '$VENV'"
# pip would warn that fairseq's torchaudio is missing; translation does without.
PIP=("$VENV/bin/python3" -m pip install --quiet --disable-pip-version-check --no-warn-conflicts)

is_old "$version" && build_fairseq_0_12_2
say "installing $TORCH"
"${PIP[@]}" "$TORCH"
is_old "$version" || install_fairseq
say "installing the other requirements (setup.py)"
"${PIP[@]}" --editable \
  "${PROJECT}[training,export,fairseq-runtime,wordpiece,sentencepiece,plots,debian-corpus,test]"

has_everything "$VENV/bin/python3" ||
  die "'$VENV' still lacks $(missing_modules "$VENV/bin/python3")"
rm "$VENV/setup-is-incomplete"
say "done: $("${PIP[@]:0:3}" list 2>/dev/null | awk '$1 ~ /^(torch|.*fairseq.*)$/ { print $1, $2 }' |
  paste -s -d , -)"
