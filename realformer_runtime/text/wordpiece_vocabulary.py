"""The vocabulary of BERT's WordPiece: one word a line, in the order of their numbers."""

from typing import List

from .utf8_lines import read_utf8_lines

UNKNOWN = "[UNK]"


def read_vocabulary(path: str, name: str) -> List[str]:
    """The words of a file.

    Args:
        name: what the user gives the file as

    Raises:
        UserError: not UTF-8
        OSError: the file cannot be read
    """
    with open(path, "rb") as file:
        return [line.strip() for line in read_utf8_lines(file, f"{name} '{path}'")]
