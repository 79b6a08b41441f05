"""Have every archive of a recipe, with the bytes that it should have.

Archives are looked for in the user's folder, or fetched. Size, sha256 and md5 are compared where
they are published; what was seen first is recorded and compared from then on.
"""

from __future__ import annotations

import hashlib
import json
import sys
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from realformer_runtime.command_line import UserError

from .download import discard, download, size
from .progress import BLOCK, Progress
from .recipe import Archive, Recipe
from .step import end_if_script_is_gone, step_output


@dataclass(frozen=True)
class Store:
    """Where archives are and come from.

    Args:
        folder: where they lie; with ``mine`` the user's own, which is only read
        record: file in which sha256 of what was seen is kept
        mirror: replaces scheme and host of the addresses
    """

    folder: Path
    record: Path
    mine: bool = False
    mirror: str | None = None
    tries: int = 8
    pause: float = 5.0

    def path(self, archive: Archive) -> Path:
        return self.folder / archive.name

    def addresses(self, archive: Archive) -> list[str]:
        """On a mirror: the path of the original, else the bare name."""
        if self.mirror is None:
            return list(archive.urls)
        base = self.mirror.rstrip("/")
        originals = [base + urllib.parse.urlsplit(url).path for url in archive.urls[:1]]
        return [*originals, f"{base}/{archive.name}"]


def have_archives(recipe: Recipe, store: Store, recorded_will_do: bool = False) -> dict[str, str]:
    """Fetch and check what is needed; the sha256 by name.

    Args:
        recorded_will_do: an archive that was checked once need not be there any more
    """
    hashes = {}
    for archive in recipe.archives.values():
        seen = _read_record(store.record).get(archive.name)
        path = store.path(archive)
        if path.exists():
            hashes[archive.name] = _checked(archive, path, store)
        elif recorded_will_do and seen:
            hashes[archive.name] = seen["sha256"]
        elif store.mine:
            raise UserError(f"--corpora '{store.folder}': no {archive.name} there")
        else:
            hashes[archive.name] = _fetch(archive, store)
    return hashes


def missing_bytes(recipe: Recipe, store: Store, recorded_will_do: bool = False) -> int:
    """Bytes that :func:`have_archives` still has to fetch, as far as they are known."""
    if store.mine:
        return 0
    missing, recorded = 0, _read_record(store.record) if recorded_will_do else {}
    for archive in recipe.archives.values():
        if not store.path(archive).exists() and archive.name not in recorded:
            there = size(store.folder / f"{archive.name}.part")
            missing += max(0, (archive.bytes or 0) - there)
    return missing


def _fetch(archive: Archive, store: Store) -> str:
    path = store.path(archive)
    part = path.with_name(path.name + ".part")
    url = download(store.addresses(archive), part, store.tries, store.pause)
    try:
        sha256 = _check(archive, part, store, url)
    except UserError:
        discard(part)
        raise
    end_if_script_is_gone()
    part.replace(path)
    discard(part)
    _write_record(store.record, archive.name, path, sha256)
    return sha256


def _checked(archive: Archive, path: Path, store: Store) -> str:
    """The sha256 of a file, taken anew only if size or time of the file have changed."""
    seen, status = _read_record(store.record).get(archive.name, {}), path.stat()
    if (seen.get("bytes"), seen.get("mtime_ns")) == (status.st_size, status.st_mtime_ns):
        _compare(archive, path, "sha256", archive.sha256, seen["sha256"])
        return seen["sha256"]
    sha256 = _check(archive, path, store, str(path))
    _write_record(store.record, archive.name, path, sha256)
    return sha256


def _check(archive: Archive, path: Path, store: Store, called: str) -> str:
    """Compare a file with all that is known; ``called`` is its name in the error."""
    _compare(archive, called, "bytes", archive.bytes, path.stat().st_size)
    found = {"sha256": hashlib.sha256(), "md5": hashlib.md5(usedforsecurity=False)}
    with (
        path.open("rb") as file,
        Progress(f"checking {archive.name}", path.stat().st_size, "B") as progress,
    ):
        while block := file.read(BLOCK):
            for digest in found.values():
                digest.update(block)
            progress.advance(len(block))
    sha256 = found["sha256"].hexdigest()
    _compare(archive, called, "sha256", archive.sha256, sha256)
    _compare(archive, called, "md5", archive.md5, found["md5"].hexdigest())
    seen = _read_record(store.record).get(archive.name, {}).get("sha256")
    if seen not in (None, sha256):
        raise UserError(f"{called}: sha256 is {sha256}, but was {seen} before ({store.record})")
    if not (archive.sha256 or archive.md5 or seen):
        print(f"{archive.name}: no checksum published; sha256 {sha256} recorded", file=sys.stderr)
    return sha256


def _compare(archive: Archive, called, what: str, expected, found) -> None:
    if expected not in (None, found):
        raise UserError(
            f"{called}: {what} {found} instead of {expected}: truncated, or not {archive.name}"
        )


def _read_record(record: Path) -> dict:
    if not record.exists():
        return {}
    try:
        content = json.loads(record.read_text("utf-8"))
        if all(isinstance(entry["sha256"], str) for entry in content.values()):
            return content
    except (ValueError, TypeError, AttributeError, KeyError):
        pass
    raise UserError(f"{record}: not a record of archives: delete this file")


def _write_record(record: Path, name: str, path: Path, sha256: str) -> None:
    status = path.stat()
    entry = {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": sha256}
    content = json.dumps({**_read_record(record), name: entry}, indent=2, sort_keys=True)
    with step_output(record) as temporary:
        temporary.write_text(content + "\n", "utf-8")
