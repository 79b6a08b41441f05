"""A process that a preparation script starts: it ends with the script, which may be killed.

A new run may be at work on the same files soon after.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from realformer_runtime.atomic_output import atomic_output

BETWEEN_LOOKS = 0.5  # seconds


def end_if_script_is_gone() -> None:
    """End this process if there is no process ``STARTED_BY`` any more."""
    try:
        os.kill(int(os.environ.get("STARTED_BY", os.getpid())), 0)
    except ProcessLookupError:
        os._exit(1)


def end_with_script() -> None:
    """Have this process end soon after the script, whatever it waits for then."""

    def watch() -> None:
        while True:
            end_if_script_is_gone()
            time.sleep(BETWEEN_LOOKS)

    if "STARTED_BY" in os.environ:
        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def step_output(path: Path) -> Iterator[Path]:
    """``atomic_output`` that gives no file its name once the script is gone."""
    with atomic_output(path) as temporary:
        yield temporary
        end_if_script_is_gone()
