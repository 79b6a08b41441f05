#!/usr/bin/env bash
# Runs the test suite, after scripts/setup.sh if there is no environment yet.
#
#   scripts/test.sh [pytest's options]
#
# Takes 4 to 5 minutes on 2 quiet cores. Tests marked slow are left out; `-m slow` runs those.
#
# Environment variables
#
#   PYTEST_PROCESSES   how many at a time (default: the number of cores)
#   VENV               another environment than .venv in the project
#
# Example: only the tests of the model, stop at the first failure
#
#   scripts/test.sh -x tests/test_model.py
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

case "${1:-}" in
  -h | --help) help_text; exit ;;
esac
set_up_if_needed
use_environment
python3 -c 'import hypothesis, pytest, xdist' 2>/dev/null ||
  die "no pytest, pytest-xdist or hypothesis in this environment:" \
    "python3 -m pip install -e '${PROJECT}[test]'"
cd "$PROJECT"
# Files stay together: their tests share what takes long to make.
exec python3 -m pytest --numprocesses "${PYTEST_PROCESSES:-$(cores)}" --dist loadfile "$@"
