"""Command line: python -m debian_corpus --out OUT --cache CACHE [--jobs N] [--mirror URL]."""

import argparse
import os
import sys
import time

from realformer_runtime.command_line import ArgumentParser, run_main
from realformer_runtime.text.parallel_lines import number_of_processes

from . import host_requirements as host
from .apt_archive import DebianArchive, open_archive
from .corpus_files import split_summary, write_corpus
from .extraction import Extraction, extract_all
from .held_out_split import cap_templates, drop_repeats, split_held_out
from .sources import PACKAGES, SUITES, UNSEEN_SOURCES

PROGRAM = "prepare-debian-en2fr"
# Measured: 430 MB of lists and packages, 30 MB of corpus. The rest is margin.
CACHE_BYTES = 1_000_000_000
OUT_BYTES = 200_000_000
SPLIT_SIZE = "{}: {pairs} pairs, {en_words} English and {fr_words} French words"


def main() -> None:
    options = _parse()
    try:
        prepare(os.path.abspath(options.out), os.path.abspath(options.cache), options)
    except KeyboardInterrupt:
        message = "interrupted; run it again to go on, what is downloaded is kept"
        raise KeyboardInterrupt(message) from None


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(
        prog=PROGRAM,
        description="Build an English-French corpus from Debian packages, fetched with apt."
        " Nothing is installed.",
    )
    add = parser.add_argument
    add("--out", metavar="FOLDER", required=True, help="for the corpus")
    add("--cache", metavar="FOLDER", required=True, help="for downloads, kept for a rerun")
    add("--jobs", metavar="N", type=number_of_processes, default=2, help="processes (default 2)")
    add("--mirror", metavar="URL", help="of a Debian archive (default: that of this machine's apt)")
    return parser.parse_args()


def prepare(out: str, cache: str, options: argparse.Namespace) -> None:
    """Write the corpus into `out`, with the archive's state in `cache`; both are made if needed.

    Raises UserError or OSError; files that were in `out` before are kept then.
    """
    start = time.monotonic()
    host.check_tools()
    mirror = options.mirror or host.debian_archive()
    for folder, size in ((cache, CACHE_BYTES), (out, OUT_BYTES)):
        os.makedirs(folder, exist_ok=True)
        host.check_disk_space(folder, size)
    archive = open_archive(cache, mirror, SUITES, list(PACKAGES))
    splits, manifest = _assemble(archive, extract_all(archive, options.jobs))
    manifest["seconds"] = round(time.monotonic() - start, 1)
    write_corpus(out, splits, manifest)
    for name in splits:
        print(SPLIT_SIZE.format(name, **manifest[name]), file=sys.stderr)
    print(f"wrote {out} in {manifest['seconds']:.0f} s", file=sys.stderr)


def _assemble(archive: DebianArchive, extractions: list[Extraction]) -> tuple[dict, dict]:
    """Return the sets of pairs and the manifest."""
    distinct = drop_repeats(pair for extraction in extractions for pair in extraction.pairs)
    capped = cap_templates(distinct)
    splits = split_held_out(capped, lambda pair: pair.source in UNSEEN_SOURCES)
    manifest = {
        "suites": {suite.suite: suite.release_date() for suite in archive.suites},
        "sources": {
            e.name: {"raw": e.raw, "clean": len(e.pairs), "seconds": round(e.seconds, 1)}
            for e in extractions
        },
        "repeats_dropped": sum(len(e.pairs) for e in extractions) - len(distinct),
        "template_capped": len(distinct) - len(capped),
        "near_duplicates_dropped": len(capped) - sum(map(len, splits.values())),
        **{name: split_summary(name, pairs) for name, pairs in splits.items()},
        "debs": sorted(map(os.path.basename, archive.deb_paths.values())),
    }
    return splits, manifest


if __name__ == "__main__":
    run_main(main, PROGRAM)
