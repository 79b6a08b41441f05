"""Check at import that the plugin runs with the installed Python, torch and fairseq.

Without this check a combination that cannot work ends in a traceback from deep within fairseq.
"""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Optional, Tuple

OLDEST_PYTHON = (3, 9)
OLDEST_TORCH = (2, 6)  # older ones run code from a checkpoint in fairseq's loader; ours fails
OLDEST_FAIRSEQ = (0, 12)
ACCEPTED = (
    "realformer_fairseq needs Python 3.9 or later, torch 2.6 or later, and fairseq 0.12.2 on"
    " Python 3.9 and 3.10, ve-fairseq 0.12.3 on 3.11, fairseq-fixed 0.12.3.1 on 3.12"
)


def release(version: str) -> Tuple[int, ...]:
    """Major and minor number, ``(2, 13)`` of ``2.13.0+cpu``. Without numbers a version is new."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return tuple(map(int, match.groups())) if match else (sys.maxsize,)


def python_version() -> str:
    return "Python {}.{}.{}".format(*sys.version_info[:3])


def is_installed(package: str) -> bool:
    """Whether a package is there, without importing it. A folder of its name does not count."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


def fairseq_version() -> str:
    """Version of the installed fairseq, from its files since importing it may fail."""
    folder = Path(importlib.util.find_spec("fairseq").origin).parent
    for name in ("version.txt", "version.py"):
        if (folder / name).is_file():
            return (folder / name).read_text("utf-8").split("=")[-1].strip().strip("\"'")
    return "(version unknown)"


def import_failure(package: str) -> Optional[str]:
    """Import a package. The error on one line, or None."""
    try:
        __import__(package)  # -X importtime does not see importlib's imports
    except Exception as error:  # old releases fail on new Pythons in many ways
        reason = str(error).split("\n")[0]
        return f"does not import on {python_version()} ({type(error).__name__}: {reason})"
    return None


def why_unsupported() -> Optional[str]:
    """The package that is missing or too old, with the version found, or None."""
    if sys.version_info[:2] < OLDEST_PYTHON:
        return f"this is {python_version()}"
    for package in ("torch", "fairseq"):
        if not is_installed(package):
            return f"{package} is not installed for {python_version()}"
    failure = import_failure("torch")
    if failure:
        return f"the installed torch {failure}"
    torch_version = sys.modules["torch"].__version__
    if release(torch_version) < OLDEST_TORCH:
        return f"this is torch {torch_version}"
    if release(fairseq_version()) < OLDEST_FAIRSEQ:
        return f"this is fairseq {fairseq_version()}"
    failure = import_failure("fairseq")
    return f"fairseq {fairseq_version()} {failure}" if failure else None


def check_versions() -> None:
    """Refuse to go on with a Python, torch or fairseq that the plugin cannot run on.

    A command of fairseq exits with one line that says why, any other program gets ImportError.
    """
    reason = why_unsupported()
    if reason is None:
        return
    program = Path(sys.argv[0] if sys.argv else "")
    if program.name.startswith("fairseq-") or program.parent.name == "fairseq_cli":
        sys.exit(f"{program.name}: {reason}: {ACCEPTED}")
    raise ImportError(f"{reason}: {ACCEPTED}")
