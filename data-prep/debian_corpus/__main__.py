"""Command line: python -m debian_corpus --out OUT --cache CACHE [--jobs N] [--mirror URL]."""

from __future__ import annotations

import argparse
import os
import sys
import time

from realformer_runtime.command_line import ArgumentParser, run_main

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
    parser.add_argument("--out", metavar="FOLDER", required=True, help="for the corpus")
    parser.add_argument(
        "--cache", metavar="FOLDER", required=True, help="for what is downloaded, kept for a rerun"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_positive, default=2, help="processes (default 2)"
    )
    parser.add_argument(
        "--mirror", metavar="URL", help="of a Debian archive (default: that of this machine's apt)"
    )
    return parser.parse_args()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def prepare(out: str, cache: str, options: argparse.Namespace) -> None:
    """Write the corpus into `out`, with the archive's state in `cache`; both are made if needed.

    Raises UserError or OSError; files that were in `out` before are kept then.
    """
    start = time.monotonic()
    host.check_commands()
    host.check_keyring()
    mirror = options.mirror or host.debian_archive()
    for folder in (out, cache):
        os.makedirs(folder, exist_ok=True)
    host.check_disk_space(cache, max(0, CACHE_BYTES - host.folder_size(cache)))
    host.check_disk_space(out, OUT_BYTES)
    archive = open_archive(cache, mirror, SUITES, list(PACKAGES))
    extractions = extract_all(archive, options.jobs)
    splits, manifest = _assemble(archive, extractions)
    manifest["seconds"] = round(time.monotonic() - start, 1)
    write_corpus(out, splits, manifest)
    for name in splits:
        size = manifest[name]
        print(
            f"{name}: {size['pairs']} pairs, {size['en_words']} English and"
            f" {size['fr_words']} French words",
            file=sys.stderr,
        )
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
