"""What a command costs as a process of its own: time, processor time and memory.

Needs no torch, as options.py says.
"""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Dict, Sequence, Tuple

from benchmarks.options import PROJECT
from realformer_runtime.command_line import UserError


def anonymous_bytes(process: int) -> int:
    """Memory that is a process' own; pages of mapped files are the system's to take back."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return int(found.group(1)) * 1024 if found else 0


def last_line(written: str) -> str:
    """Why a command failed; one that was killed may have said nothing."""
    return (written.strip().splitlines() or ["it was ended from outside, maybe for memory"])[-1]


def called(*command: str, **environment: str) -> str:
    """What a command prints.

    Raises:
        UserError: it fails
    """
    found = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if found.returncode:
        raise UserError(f"{command[0]}: {last_line(found.stdout)}")
    return found.stdout


def run_measured(command: Sequence[str]) -> Tuple[Dict[str, float], str]:
    """Run a command in the project's folder.

    Returns:
        ``seconds``, ``processor_seconds`` and ``peak_bytes``; what it wrote on stderr

    Raises:
        UserError: it fails
    """
    with tempfile.TemporaryFile("w+") as log:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=log)
        anonymous = [0]
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            anonymous.append(anonymous_bytes(process.pid))
            time.sleep(0.005)
        _, status, usage = ended
        seconds = time.perf_counter() - start
        log.seek(0)
        written = log.read()
    if status:
        raise UserError(f"{' '.join(command)}: {last_line(written)}")
    figures = {
        "seconds": seconds,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": max(anonymous),
    }
    return figures, written
