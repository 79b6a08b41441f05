"""Whether a fairseq dictionary and BPE codes from elsewhere are what they should be."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

from project_command_line import UserError

MAX_UNKNOWN = 0.01


def utf8_lines(path: Path, flag: str) -> Iterator[tuple[int, str]]:
    """Numbered lines, ended by a line feed and by nothing else.

    Raises:
        UserError: naming the first line that is not UTF-8
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield number, line.decode("utf-8")
            except UnicodeDecodeError:
                raise UserError(f"{flag} '{path}', line {number}: not UTF-8") from None


def check_codes(path: Path) -> None:
    """Raises UserError unless the file looks like what ``subword-nmt learn-bpe`` writes."""
    for number, line in utf8_lines(path, "--bpe-codes"):
        if number == 1 and line.startswith("#version:"):
            continue
        if len(line.split(" ")) != 2:
            raise UserError(f"--bpe-codes '{path}', line {number}: not two symbols")
        return
    raise UserError(f"--bpe-codes '{path}': no merges in it")


def read_dictionary(path: Path) -> set[str]:
    """Tokens of a ``dict.*.txt`` of fairseq.

    Raises:
        UserError: naming the first line that is not a token and its count
    """
    tokens: set[str] = set()
    for number, line in utf8_lines(path, "--dict"):
        token, _, count = line.rstrip("\n").removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not token or not count.isdecimal():
            raise UserError(f"--dict '{path}', line {number}: not a token and its count")
        tokens.add(token)
    if not tokens:
        raise UserError(f"--dict '{path}' is empty")
    return tokens


def check_fit(path: Path, texts: list[Path]) -> float:
    """Share of the tokens of the texts that the dictionary does not have.

    Raises:
        UserError: above MAX_UNKNOWN, as with a dictionary made with other BPE codes
    """
    known = read_dictionary(path)
    total = unknown = 0
    for text in texts:
        with text.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                tokens = line.split()
                total += len(tokens)
                unknown += sum(token not in known for token in tokens)
    share = unknown / max(total, 1)
    if share > MAX_UNKNOWN:
        raise UserError(
            f"--dict '{path}': {share:.1%} of the tokens of valid and test are not in it"
            f" (at most {MAX_UNKNOWN:.0%}): was it made with other --bpe-codes?"
        )
    return share
