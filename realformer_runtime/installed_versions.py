"""Print the installed versions, one a line, so that others can reproduce a result."""

import os
import platform
from importlib import metadata
from typing import Iterator

from . import __version__
from .command_line import run_main

# One of the three distributions of fairseq is installed.
DISTRIBUTIONS = """
    torch fairseq ve-fairseq fairseq-fixed numpy sacrebleu sacremoses subword-nmt onnx onnxruntime
"""


def installed_versions() -> Iterator[str]:
    """``realformer_fairseq 0.2.0``, ``Python 3.11.7``, ``torch 2.13.0+cpu``, ..."""
    yield f"realformer_fairseq {__version__}"
    yield f"Python {platform.python_version()}"
    for name in DISTRIBUTIONS.split():
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    yield f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores"


def main() -> None:
    print(*installed_versions(), sep="\n")


if __name__ == "__main__":
    run_main(main)
