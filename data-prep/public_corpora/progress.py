"""How far a step is and how long it will take, on standard error.

On a terminal one line that is updated (tqdm), elsewhere a line now and then, for a log file.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from tqdm import tqdm

BLOCK = 1 << 20
FORMAT = "{desc}: {n_fmt} of {total_fmt} ({percentage:.0f} %), {rate_fmt}, {remaining} left"
FORMAT_OPEN = "{desc}: {n_fmt}, {rate_fmt}"


class Progress:
    """Counts towards a total; a context manager.

    Args:
        label: what is being done
        total: units that there will be, None where nobody knows
        unit: "lines" or "B"
    """

    def __init__(self, label: str, total: int | None, unit: str):
        self.every = float(os.environ.get("PROGRESS_SECONDS", 30))
        self.format = {
            "total": total or None,
            "unit": unit if unit == "B" else f" {unit}",
            "unit_scale": True,
            "bar_format": FORMAT if total else FORMAT_OPEN,
        }
        self.label = label
        self.bar = tqdm(desc=label, disable=not sys.stderr.isatty(), **self.format)
        self.count = 0
        self.start = self.last = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        self.bar.close()

    def advance(self, count: int) -> None:
        """Add ``count`` units."""
        self.count += count
        self.bar.update(count)
        now = time.monotonic()
        if self.bar.disable and now - self.last >= self.every:
            self.last, elapsed = now, now - self.start
            line = tqdm.format_meter(self.count, elapsed=elapsed, prefix=self.label, **self.format)
            print(line, file=sys.stderr, flush=True)


def copy_lines(label: str, total: int | None) -> None:
    """Copy standard input to standard output, counting lines."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    with Progress(label, total, "lines") as progress:
        while block := source.read1(BLOCK):
            sink.write(block)
            progress.advance(block.count(b"\n"))
        sink.flush()


def watch_folder(label: str, folder: Path, until: Path, total: int, pause: float = 0.5) -> None:
    """Report the size of the ``.bin`` files in a folder, ``until`` it has been renamed to that."""
    with Progress(label, total, "B") as progress:
        while not until.exists():
            with suppress(OSError):  # fairseq removed a file meanwhile
                size = sum(path.stat().st_size for path in folder.glob("*.bin"))
                progress.advance(min(size, total) - progress.count)
            time.sleep(pause)
