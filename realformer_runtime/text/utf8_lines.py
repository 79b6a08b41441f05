"""Lines of UTF-8, ended by a line feed and by nothing else.

Splitting at Unicode's other separators would put the two sides of a corpus out of step.
"""

from typing import BinaryIO, Iterator

from ..command_line import UserError


def decode_line(line: bytes, number: int, name: str) -> str:
    """Decode one line; a UserError has its number and the name of its file if it is not UTF-8."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{name}, line {number}: not UTF-8: {error.reason}") from None


def read_utf8_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """Lines as they come, without what ends them."""
    for number, line in enumerate(file, 1):
        yield decode_line(line, number, name).rstrip("\r\n")
