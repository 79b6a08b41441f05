"""Whether a fairseq dictionary from elsewhere goes with the text."""

from __future__ import annotations

from pathlib import Path

from realformer_runtime.command_line import UserError
from realformer_runtime.text.utf8_lines import read_utf8_lines

MAX_UNKNOWN = 0.01


def read_dictionary(path: Path) -> set[str]:
    """Tokens of a ``dict.*.txt`` of fairseq; a UserError names the first line of another kind."""
    called, tokens = f"--dict '{path}'", set()
    with path.open("rb") as file:
        for number, line in enumerate(read_utf8_lines(file, called), 1):
            token, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
            if not token or not count.isdecimal():
                raise UserError(f"{called}, line {number}: not a token and its count")
            tokens.add(token)
    if not tokens:
        raise UserError(f"{called} is empty")
    return tokens


def check_fit(path: Path, texts: list[Path]) -> float:
    """Share of the tokens of the texts that the dictionary lacks; at most MAX_UNKNOWN."""
    known = read_dictionary(path)
    total = unknown = 0
    for text in texts:
        with text.open("rb") as file:
            for line in read_utf8_lines(file, str(text)):
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
