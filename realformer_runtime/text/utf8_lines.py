"""Lines of UTF-8, ended by a line feed and by nothing else.

Splitting at Unicode's other separators would put the two sides of a corpus out of step. A byte
order mark at the start of a file is no text. The command copies a file to standard output. It
unpacks what is named ``.gz``, and ends the last line with a line feed:

    python -m realformer_runtime.text.utf8_lines FILE > text
"""

import codecs
import gzip
import re
import sys
import zlib
from contextlib import contextmanager
from typing import BinaryIO, Iterator

import regex

from ..command_line import ArgumentParser, UserError, run_main

PROGRAM = "utf8_lines"
BYTE_ORDER_MARK = "\ufeff"
GZIP = b"\x1f\x8b"
UTF_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
# With its byte order mark, or two letters of ASCII.
UTF_16 = re.compile(b"\xff\xfe|(\0\0)?\xfe\xff|[^\0]\0[^\0]\0|\0[^\0]\0[^\0]")
# Some of Unicode's format characters are signs: those before an Arabic number.
NOTHING = regex.compile(
    r"[[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]"
    r"--\p{Prepended_Concatenation_Mark}]*",
    regex.VERSION1,
)


def drop_byte_order_mark(line: str) -> str:
    """The first line of a text without the mark that some editors put there."""
    return line[1:] if line.startswith(BYTE_ORDER_MARK) else line


def start_of_text(data: bytes, name: str) -> bytes:
    """The first bytes of a text without a byte order mark; UserError if they are no text."""
    if data.startswith(GZIP):
        raise UserError(f"{name}: packed by gzip (gzip -dc unpacks it)")
    if UTF_16.match(data):
        encoding = "UTF-32" if data.startswith(UTF_32) else "UTF-16"
        raise UserError(f"{name}: {encoding}, not UTF-8 (iconv -f {encoding} -t UTF-8 converts it)")
    return data[len(codecs.BOM_UTF8) :] if data.startswith(codecs.BOM_UTF8) else data


def shows_nothing(line: str) -> bool:
    """Whether a line has only white space, control and format characters, and other invisible ones.

    These are, for instance, the soft hyphen, U+200B, fillers, variation selectors and a Braille
    cell without dots.
    """
    return NOTHING.fullmatch(line) is not None


def decode_line(line: bytes, number: int, name: str) -> str:
    """Decode one line; a UserError has its number and the name of its file if it is not UTF-8."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{name}, line {number}: not UTF-8: {error.reason}") from None


def whole_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """Lines as they come, with what ends them."""
    for number, line in enumerate(file, 1):
        if number == 1 and not (line := start_of_text(line, name)):
            continue
        yield decode_line(line, number, name)


def read_utf8_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """Lines as they come, without what ends them."""
    return (line.rstrip("\r\n") for line in whole_lines(file, name))


@contextmanager
def open_text(path: str) -> Iterator[BinaryIO]:
    """A file to read, unpacked if its name ends in ``.gz``; UserError where it is damaged."""
    opener = gzip.open if path.endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: {error}") from None


def main() -> None:
    parser = ArgumentParser(__doc__)
    parser.add_argument("file", metavar="FILE", help="UTF-8")
    path = parser.parse_args().file
    with open_text(path) as file:
        for line in whole_lines(file, path):
            ended = line.removesuffix("\n") + "\n"
            sys.stdout.buffer.write(ended.encode("utf-8"))


if __name__ == "__main__":
    run_main(main, PROGRAM)
