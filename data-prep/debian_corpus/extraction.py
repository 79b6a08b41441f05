"""Clean pairs of sentences of every source, extracted by several processes."""

import signal
import sys
import tarfile
import time
import zipfile
import zlib
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, starmap
from typing import NamedTuple

from realformer_runtime.command_line import UserError

from .alignment import align_block_sentences
from .apt_archive import DebianArchive
from .held_out_split import CorpusPair
from .pair_filters import clean_pair
from .sources import SOURCES, Source
from .text_normalisation import comparison_key


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
    start = time.monotonic()
    raw = 0
    pairs: dict[str, CorpusPair] = {}
    try:
        for document, blocks in source.read(archive):
            for sentences in chain.from_iterable(starmap(align_block_sentences, blocks)):
                raw += 1
                if clean := clean_pair(*sentences):
                    pair = CorpusPair(source.name, document, *clean)
                    pairs.setdefault(comparison_key(pair.english), pair)
    except (ValueError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
        packages = ", ".join(source.packages) or "the lists"
        advice = f"delete {packages} from the cache and run this again"
        raise UserError(f"cannot read {source.name} ({error}): {advice}") from error
    return Extraction(source.name, raw, list(pairs.values()), time.monotonic() - start)


def extract_all(archive: DebianArchive, jobs: int) -> list[Extraction]:
    """Return the extractions of SOURCES in order, with a progress line for each on stderr."""
    extractions = []
    end_silently = signal.SIGINT, signal.SIG_DFL
    try:
        with ProcessPoolExecutor(jobs, None, signal.signal, end_silently) as executor:
            for extraction in executor.map(partial(extract, archive), SOURCES):
                extractions.append(extraction)
                name, raw, pairs, seconds = extraction
                line = f"{name}: {raw} raw, {len(pairs)} clean, {seconds:.0f} s"
                print(f"[{len(extractions):2}/{len(SOURCES)}] {line}", file=sys.stderr, flush=True)
    except BrokenProcessPool as error:
        raise UserError(
            "a process that reads the packages was killed, maybe for lack of memory:"
            " run this again with --jobs 1, what is downloaded is kept"
        ) from error
    return extractions
