"""Fetch a file over HTTP so that it survives a bad week.

What is there already is kept and continued (HTTP ranges), a failure is tried again after a pause
that doubles each time, and a dead link ends at once. The standard library does it: curl and wget
are not on every machine, and ``requests`` would be one more dependency for one loop.
"""

from __future__ import annotations

import errno
import http.client
import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import UserError

from .progress import BLOCK, Progress

TIMEOUT = 60  # seconds without a byte
LONGEST_PAUSE = 600  # seconds
USER_AGENT = "realformer_fairseq data preparation"
# Worth another try although the server answered: too slow, too many, and the range was refused.
PASSING = (408, 416, 425, 429)


class DeadLink(Exception):
    """This address will not give the file; another one may."""


def download(urls: list[str], part: Path, tries: int, pause: float) -> str:
    """Fetch the first address that works, which is returned, into ``part``; continue what is there.

    Args:
        tries: how often in a row an address may fail without progress
        pause: seconds before the second try

    Raises:
        UserError: naming each address and why it failed, or the full disk
    """
    failures = []
    for url in urls:
        try:
            _download_from(url, part, tries, pause)
            return url
        except DeadLink as error:
            failures.append(str(error))
    raise UserError("; ".join(failures))


def discard(part: Path) -> None:
    """Remove what is left of a download."""
    for path in (part, _note(part)):
        path.unlink(missing_ok=True)


def _note(part: Path) -> Path:
    return part.with_name(part.name + ".from")


def _download_from(url: str, part: Path, tries: int, first_pause: float) -> None:
    failures = 0
    while True:
        before = size(part)
        try:
            return _continue(url, part)
        except urllib.error.HTTPError as error:
            if 400 <= error.code < 500 and error.code not in PASSING:
                raise DeadLink(f"{url}: HTTP {error.code} {error.reason}") from None
            cause = f"HTTP {error.code} {error.reason}"
        except (OSError, http.client.HTTPException, ValueError) as error:
            if getattr(error, "errno", None) == errno.ENOSPC:
                raise UserError(f"{part}: no space left on the disk") from None
            cause = str(getattr(error, "reason", None) or error or type(error).__name__)
        failures = 1 if size(part) > before else failures + 1
        if failures >= tries:
            raise DeadLink(f"{url}: given up after {failures} tries: {cause}")
        pause = min(first_pause * 2 ** (failures - 1), LONGEST_PAUSE)
        print(f"{url}: {cause}; trying again in {pause:g} s", file=sys.stderr)
        time.sleep(pause)


def _continue(url: str, part: Path) -> None:
    """One request, for what is missing. What arrives is appended to ``part``."""
    offset, headers = size(part), {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    known = _read_note(_note(part), url)
    if offset and offset == known.get("total"):
        return
    if offset and known.get("validator"):
        headers.update({"Range": f"bytes={offset}-", "If-Range": known["validator"]})
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # more is here than there: not the same file
            discard(part)
        raise
    with response:
        where = response.headers.get("Content-Range", "")
        if response.status != 206 or not where.startswith(f"bytes {offset}-"):
            offset = 0
        length = response.headers.get("Content-Length")
        total = offset + int(length) if length else None
        _write_note(_note(part), url, response.headers, total)
        label = f"fetching {part.name.removesuffix('.part')}"
        with part.open("r+b" if offset else "wb") as sink, Progress(label, total, "B") as progress:
            sink.seek(offset)
            progress.advance(offset)
            while block := response.read1(BLOCK):
                sink.write(block)
                sink.flush()  # a killed run keeps what has arrived
                progress.advance(len(block))
    if total is not None and size(part) != total:
        raise ConnectionError(f"ended after {size(part)} of {total} bytes")


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _read_note(note: Path, url: str) -> dict:
    """What identifies the file that a part is of, and its bytes, if it is from this address."""
    try:
        content = json.loads(note.read_text())
    except (OSError, ValueError):
        return {}
    return content if content.get("url") == url else {}


def _write_note(note: Path, url: str, headers, total: int | None) -> None:
    """Weak ETags may not be used with ranges (RFC 9110, 13.1.5)."""
    tag = headers.get("ETag", "")
    validator = tag if tag.startswith('"') else headers.get("Last-Modified")
    with atomic_output(note) as temporary:
        temporary.write_text(json.dumps({"url": url, "validator": validator, "total": total}))
