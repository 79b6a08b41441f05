"""Drop pairs that are empty, too long or too unequal, as Moses' clean-corpus-n.perl does.

Its rules, in its order: white space of every kind is one space; ``|`` is removed, unless the first
pair of the corpus has one, which marks factored text; a side must have 1 to ``MAX_TOKENS`` tokens;
neither side may have more than ``RATIO`` times the tokens of the other; no token (or factor) may be
longer than ``MAX_CHARACTERS``.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Iterator

from realformer_runtime.command_line import UserError
from realformer_runtime.text.utf8_lines import read_utf8_lines

from .progress import Progress
from .step import step_output

MAX_TOKENS = 250
RATIO = 1.5
MAX_CHARACTERS = 1000

# What \s is in Perl's Unicode strings; Python's \s has U+001C to U+001F besides.
PERL_SPACE = "[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
UNEVEN_SPACE = re.compile(f"^ | $|  |(?! ){PERL_SPACE}")
SPACES = re.compile(f"{PERL_SPACE}+")
LONG_TOKEN = re.compile(f"[^{PERL_SPACE[1:-1]}]{{{MAX_CHARACTERS + 1}}}")
LONG_FACTOR = re.compile(f"[^|{PERL_SPACE[1:-1]}]{{{MAX_CHARACTERS + 1}}}")
BLANK_FACTOR = re.compile(r"[ |]\|")


class PairCleaner:
    """Decides pair by pair; keep one for a whole corpus, for its first pair matters.

    Args:
        bars: whether ``|`` separates factors or is removed; otherwise it is text
    """

    def __init__(
        self, max_tokens: int = MAX_TOKENS, ratio: float = RATIO, bars: bool = True
    ) -> None:
        self.max_tokens, self.ratio, self.bars = max_tokens, ratio, bars
        self.long = LONG_FACTOR if bars else LONG_TOKEN
        self.factored: bool | None = None
        self.dropped: Counter[str] = Counter()  # number of pairs by reason
        self.pairs = 0

    def clean(self, first: str, second: str) -> tuple[str, str] | None:
        """The pair as it is to be written, or None."""
        self.pairs += 1
        if self.factored is None:
            self.factored = "|" in first or "|" in second
        first, second = self._tidied(first), self._tidied(second)
        if reason := self._reason(first, second):
            self.dropped[reason] += 1
            return None
        for side in (first, second):
            if self.bars and "|" in side and BLANK_FACTOR.search(side):
                raise UserError(f"pair {self.pairs} of factored text has a blank factor: {side}")
        return first, second

    def _tidied(self, line: str) -> str:
        if self.bars and not self.factored and "|" in line:
            line = line.replace("|", "")
        if UNEVEN_SPACE.search(line):
            line = SPACES.sub(" ", line).removeprefix(" ").removesuffix(" ")
        return line

    def _reason(self, first: str, second: str) -> str | None:
        if not first or not second:
            return "empty"
        counts = first.count(" ") + 1, second.count(" ") + 1
        if max(counts) > self.max_tokens:
            return f"over {self.max_tokens} tokens"
        if max(counts) / min(counts) > self.ratio:
            return f"ratio over {self.ratio:g}"
        if any(len(side) > MAX_CHARACTERS and self.long.search(side) for side in (first, second)):
            return f"token over {MAX_CHARACTERS} characters"
        return None


def clean_files(
    parts: list[Path],
    languages: tuple[str, str],
    out: Path,
    lines: int,
    cleaner: PairCleaner | None = None,
) -> PairCleaner:
    """Clean ``PART.LANG`` of all parts, in order, into ``OUT.LANG``; ``lines`` are expected."""
    cleaner = cleaner or PairCleaner()
    with ExitStack() as stack:
        outputs = [stack.enter_context(step_output(_named(out, lang))) for lang in languages]
        first, second = (stack.enter_context(path.open("wb")) for path in outputs)
        progress = stack.enter_context(Progress(f"cleaning {out.name}", lines, "lines"))
        for pair in _pairs(parts, languages):
            progress.advance(1)
            if kept := cleaner.clean(*pair):
                first.write(f"{kept[0]}\n".encode())
                second.write(f"{kept[1]}\n".encode())
    return cleaner


def _named(stem: Path, lang: str) -> Path:
    return stem.with_name(f"{stem.name}.{lang}")


def _pairs(parts: list[Path], languages: tuple[str, str]) -> Iterator[tuple[str, str]]:
    for part in parts:
        names = [_named(part, lang) for lang in languages]
        with open(names[0], "rb") as first, open(names[1], "rb") as second:
            files = zip((first, second), names)
            sides = [read_utf8_lines(file, f"'{name}'") for file, name in files]
            for pair in itertools.zip_longest(*sides):
                if None in pair:
                    more = "more" if pair[0] is None else "fewer"
                    raise UserError(f"'{names[1]}' has {more} lines than '{names[0]}'")
                yield pair
