"""An environment whose programs do at once what takes torch and fairseq seconds."""

import contextlib
import os
import signal
import subprocess
import sys

from conftest import wait_for

# Python, but for what takes seconds: the plan of a training, and an average.
STAND_IN_PYTHON = """#!/bin/bash
case "$2" in
  *.training.plan) printf '%s\\n' "updates 9" "checkpoints 2" "checkpoint_bytes 9" ;;
  *.averaging) echo "$*" >"${!#}" ;;
  *) exec "$PYTHON" "$@" ;;
esac
"""
STAND_IN_TRAINING = """#!/bin/bash
exec "$PYTHON" -S - "$@" <<'END'
import os, pathlib, signal, sys, time

folder = pathlib.Path(sys.argv[sys.argv.index("--save-dir") + 1])

def save(number, frame):
    for each in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(each, signal.SIG_IGN)
    time.sleep(0.3)
    (folder / "saved").touch()
    sys.exit(128 + number)

for each in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(each, save)
for epoch in range(int(os.environ["EPOCHS_DONE"])):
    (folder / f"checkpoint{epoch + 1}.pt").touch()
if os.environ.get("WAIT"):
    (folder / "is waiting").touch()
    for _ in range(600):  # one long sleep would miss a signal that comes just before it
        time.sleep(0.1)
END
"""
STAND_IN_TRANSLATION = """#!/bin/bash
echo "Generate test with beam=5: BLEU4 = 30.50, 60.0/40.0 (BP=1.000)"
"""


def stand_in_environment(folder, training=STAND_IN_TRAINING):
    """The variables with which a script takes it; a training with WAIT waits for a signal."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    stand_ins = {"python3": STAND_IN_PYTHON, "fairseq-train": training}
    for name, text in {**stand_ins, "fairseq-generate": STAND_IN_TRANSLATION}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return {**os.environ, "VENV": str(folder), "PYTHON": sys.executable, "EPOCHS_DONE": "2"}


def exit_code_after(number, line, environment, folder, to_all=False):
    """Of a script that gets a signal, or all of its processes do, once its training waits."""
    with subprocess.Popen(
        line,
        env={**environment, "WAIT": "yes"},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            wait_for((folder / "is waiting").exists, process, seconds=60)
            (os.killpg if to_all else os.kill)(process.pid, number)
            return process.wait(30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
