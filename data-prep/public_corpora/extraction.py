"""From archives to raw text: one file a corpus and language, every n-th line to validation.

The field's script tokenises first and splits afterwards. As its tokeniser works line by line,
splitting first gives the same files, and the words counted while tokenising the training part
are those that BPE is to be learnt from.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import tarfile
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Callable, Iterable, Iterator

from realformer_runtime.command_line import UserError
from realformer_runtime.text.utf8_lines import start_of_text

from .progress import BLOCK, Progress
from .recipe import Corpus, Recipe
from .step import step_output

DAMAGE = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile)
GZIP_MAGIC = b"\x1f\x8b"
# Nothing in the corpora is near it. Bounds the memory for an archive that is not what it should be.
LONGEST_LINE = 1 << 26
SPACE = r"[ \t\r\f\v]*"
ABOUT_A_TALK = (b"<url>", b"<talkid>", b"<keywords>")
TITLE_OR_DESCRIPTION = re.compile(b"</?(?:title|description)>")

# Whether a line of a corpus, by its number from 1, is for validation.
HeldOut = Callable[[int], bool]


def extract_all(recipe: Recipe, folder: Path, out: Path) -> None:
    """Write ``train.NAME.LANG``, ``valid.NAME.LANG`` and ``test.LANG`` into ``out``.

    Test sets with names of their own are also there by themselves, as ``NAME.LANG``.

    A corpus whose files are all there is kept: its number of lines is in ``NAME.lines``.

    Args:
        folder: where the archives are
    """
    for stale in out.glob("*.tmp"):
        stale.unlink(missing_ok=True)
    before = 0
    for corpus in recipe.training:
        files, held_out = [f"train.{corpus.name}"], never
        if not recipe.valid_of_cleaned:
            files.append(f"valid.{corpus.name}")
            held_out = every_nth(recipe.valid_every, before)
        before += _extract(corpus, folder / corpus.archive, out, files, held_out)
    for test in recipe.tests:
        _extract(test, folder / test.archive, out, [test.name], never)
    if [test.name for test in recipe.tests] != ["test"]:
        _join_tests(recipe, out)


def _join_tests(recipe: Recipe, out: Path) -> None:
    for lang in recipe.languages:
        with step_output(out / f"test.{lang}") as temporary:
            parts = [(out / f"{test.name}.{lang}").read_bytes() for test in recipe.tests]
            temporary.write_bytes(b"".join(parts))


def every_nth(n: int, before: int) -> HeldOut:
    """Lines for validation are those with numbers divisible by ``n``, counted over all corpora."""
    return lambda number: (before + number) % n == 0


def never(number: int) -> bool:
    return False


def _extract(corpus: Corpus, archive: Path, out: Path, files: list[str], held_out: HeldOut) -> int:
    """Write a corpus to one file a language, or to two; ``files`` are without the language."""
    note = out / f"{corpus.name}.lines"
    texts = [out / f"{name}.{lang}" for name in files for lang in corpus.members]
    if note.exists() and all(text.exists() for text in texts):
        text = note.read_text("utf-8", errors="replace").strip()
        if not text.isdecimal() or len(text) > 18:
            raise UserError(f"{note}: '{text:.20}' is not a number of lines: delete this file")
        return int(text)
    if not archive.exists():
        raise UserError(f"{archive}: no such archive")
    try:
        counts = _write_members(corpus, archive, [out / name for name in files], held_out)
    except DAMAGE as error:
        raise UserError(f"{archive}: damaged or truncated: {error}") from None
    _check_counts(corpus, archive, counts)
    lines = next(iter(counts.values()))
    with step_output(note) as temporary:
        temporary.write_text(f"{lines}\n")
    return lines


def _write_members(
    corpus: Corpus, archive: Path, files: list[Path], held_out: HeldOut
) -> dict[str, int]:
    """Write the raw text of both sides; returns the number of lines by language."""
    counts: dict[str, int] = {}
    wanted = {name: lang for lang, name in corpus.members.items()}
    for name, stream in members(archive, set(wanted), corpus.name):
        lang, called = wanted[name], f"{archive}: '{name}'"
        lines = READERS[corpus.form](bounded_lines(stream, called), called)
        named = [path.with_name(f"{path.name}.{lang}") for path in files]
        counts[lang] = _write_lines(lines, named, held_out)
    return counts


def _check_counts(corpus: Corpus, archive: Path, counts: dict[str, int]) -> None:
    sides = [f"'{corpus.members[lang]}' has {lines} lines" for lang, lines in counts.items()]
    if len(set(counts.values())) != 1:
        raise UserError(f"{archive}: {', but '.join(sides)}")
    found = next(iter(counts.values()))
    if corpus.lines not in (None, found):
        message = f"{archive}: {sides[0]}, {corpus.lines} are {corpus.lines_are}"
        if corpus.lines_are == "published":
            raise UserError(message)
        print(f"warning: {message}", file=sys.stderr)


def members(archive: Path, wanted: set[str], label: str) -> Iterator[tuple[str, BinaryIO]]:
    """Members of a tar, plain or compressed by gzip, in one pass; ``.gz`` ones are unpacked.

    Each stream must be read before the next is asked for. The archive is read to its end, so that
    a checksum at the end counts. One of DAMAGE may be raised, also while a stream is read.
    """
    found, others = set(), []
    with (
        Progress(f"unpacking {label}", archive.stat().st_size, "B") as progress,
        io.BufferedReader(CountingReader(archive, progress), BLOCK) as file,
    ):
        stream = gzip.GzipFile(fileobj=file) if file.peek(2).startswith(GZIP_MAGIC) else file
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if name in wanted and member.isfile():
                    found.add(name)
                    content = tar.extractfile(member)
                    unpacked = gzip.GzipFile(fileobj=content) if name[-3:] == ".gz" else content
                    yield name, io.BufferedReader(unpacked, BLOCK)
                else:
                    others.append(name)
        while stream.read(BLOCK):
            pass
    for name in sorted(wanted - found):
        listed = ", ".join(others[:20]) + (", ..." if len(others) > 20 else "")
        raise UserError(f"{archive}: no member '{name}', only {listed or 'nothing'}")


class CountingReader(io.FileIO):
    """A file that reports what is read of it."""

    def __init__(self, path: Path, progress: Progress):
        super().__init__(path)
        self.progress = progress

    def readinto(self, buffer) -> int:
        count = super().readinto(buffer)
        self.progress.advance(count)
        return count


def _write_lines(lines: Iterator[bytes], files: list[Path], place: HeldOut) -> int:
    """Write line number i to ``files[place(i)]``, all of them at once or none."""
    number = 0
    with ExitStack() as stack:
        outputs = [stack.enter_context(step_output(file)) for file in files]
        sinks = [stack.enter_context(path.open("wb", BLOCK)) for path in outputs]
        for number, line in enumerate(lines, 1):  # noqa: B007
            sinks[place(number)].write(line)
    return number


def bounded_lines(stream: BinaryIO, called: str) -> Iterator[bytes]:
    """Lines, ended by a line feed and by nothing else, of at most ``LONGEST_LINE`` bytes.

    A byte order mark at the start is left out.
    """
    reading = iter(lambda: stream.readline(LONGEST_LINE + 1), b"")
    for number, line in enumerate(reading, 1):
        if number == 1 and not (line := start_of_text(line, called)):
            continue
        if len(line) > LONGEST_LINE:
            raise UserError(f"{called}, line {number}: longer than {LONGEST_LINE >> 20} MB")
        yield line


def valid_utf8(stream: Iterable[bytes], called: str) -> Iterator[bytes]:
    """Lines, ended by a line feed and by nothing else; bytes that are not UTF-8 become U+FFFD.

    Perl warns and goes on where such bytes are, so the field's corpora may have them.
    """
    bad = first = 0
    for number, line in enumerate(stream, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            bad, first = bad + 1, first or number
            line = line.decode("utf-8", "replace").encode("utf-8")
        yield line if line.endswith(b"\n") else line + b"\n"
    if bad:
        print(
            f"warning: {called}: {bad} lines are not UTF-8, the first is {first};"
            " their bad bytes are U+FFFD now",
            file=sys.stderr,
        )


def talks(stream: Iterable[bytes], called: str) -> Iterator[bytes]:
    """Lines of IWSLT's talks: title and description are text, what else is about a talk is not."""
    for line in valid_utf8(stream, called):
        if not any(tag in line for tag in ABOUT_A_TALK):
            yield TITLE_OR_DESCRIPTION.sub(b"", line)


def segments(stream: Iterable[bytes], called: str = "") -> Iterator[bytes]:
    """Text of the ``<seg id=...>`` lines of an sgm file; a curly apostrophe becomes straight.

    XML entities stay: the field scores against references in which Moses has escaped them.
    """
    for line in stream:
        if b"<seg id" in line:
            text = line.rstrip(b"\n").decode("utf-8", "replace")
            text = re.sub(f'<seg id="[0-9]*">{SPACE}', "", text)
            text = re.sub(f"{SPACE}</seg>{SPACE}", "", text)
            yield text.replace("’", "'").encode("utf-8") + b"\n"


READERS = {"lines": valid_utf8, "talks": talks, "segments": segments}
