"""Byte pair encoding of words with the codes that subword-nmt learns, each word once.

subword-nmt also ends lines at Unicode's line separators, which it keeps. So does this file, so that
the result is the same.
"""

import collections
import io
import re
from contextlib import redirect_stderr
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

from subword_nmt.apply_bpe import BPE

from ..command_line import UserError
from .utf8_lines import start_of_text

WORDS_IN_CACHE = 500_000
LONGEST_CACHED_WORD = 64
# The time of subword-nmt, quadratic in the length of a word, matters from this length on.
LONG_WORD = 200
WORDS_TRIED, OTHER_CODES = 1000, 1 / 3  # of a dictionary; the share of them that is suspicious
STRIPPED = "\r\n "  # from both ends of a line
END = "</w>"  # marks the end of a word
WORD_STARTS = ("\u0120", "\u2581")  # how GPT-2 and SentencePiece mark the start of a word
LONGEST_COMPLAINT = 100  # it ends with the wrong line
ACCEPTED = "what subword-nmt learn-bpe writes, a pair of symbols a line"


def read_codes(path: str, flag: str = "--codes") -> BPE:
    """Read codes into subword-nmt's encoder; UserError, with the flag, for another file."""
    complaint = io.StringIO()
    called = f"{flag} {path}"
    try:
        text = start_of_text(Path(path).read_bytes(), called).decode("utf-8")
        with redirect_stderr(complaint):
            bpe = BPE(io.StringIO(text, newline="\n"))
        if bpe.version not in ((0, 1), (0, 2)):
            raise ValueError(f"version {'.'.join(map(str, bpe.version))} of the format is unknown")
        check_pairs(sorted(bpe.bpe_codes, key=bpe.bpe_codes.get), text.startswith("#version"))
    except SystemExit:
        # subword-nmt prints its complaint and exits.
        line = complaint.getvalue().splitlines()[0].removeprefix("Error: ")[:LONGEST_COMPLAINT]
        raise UserError(f"{called}: {line if text else 'the file is empty'} ({ACCEPTED})") from None
    except ValueError as error:
        raise UserError(f"{called}: not codes of subword-nmt: {error} ({ACCEPTED})") from None
    return bpe


def check_pairs(pairs: Sequence[Tuple[str, str]], has_version: bool) -> None:
    """Raise ValueError for another file whose lines have two columns.

    subword-nmt joins characters, and what it joined before. A few pairs of another kind, as in
    codes that somebody has shortened, are without effect.
    """
    known = set()
    strange = []
    for pair in pairs:
        if not all(len(symbol.removesuffix(END)) < 2 or symbol in known for symbol in pair):
            strange.append(pair)
        known.add("".join(pair))
    numbers = sum(second.isdecimal() for _, second in pairs)
    if not has_version and 2 * numbers > len(pairs):
        raise ValueError("these are words and their numbers, a vocabulary or a dictionary")
    if 2 * len(strange) > len(pairs):
        raise ValueError(f"no earlier line makes the symbols of '{' '.join(strange[0])}'")
    joined = "".join(map("".join, pairs))
    if END not in joined and any(first.startswith(WORD_STARTS) for first, _ in pairs):
        raise ValueError("these are GPT-2's or SentencePiece's merges, which mark starts of words")


class LongWordEncoder:
    """Encodes a word in time that grows with its length, not with the square of its length.

    subword-nmt merges all occurrences of the best pair, from the left, and searches the word for
    the next best pair. This class keeps lists of occurrences instead, and skips those that a merge
    has changed.
    """

    def __init__(self, bpe: BPE):
        self.ranks = bpe.bpe_codes
        self.pairs = {rank: pair for pair, rank in bpe.bpe_codes.items()}
        self.end_apart = bpe.version == (0, 1)

    def __call__(self, word: str) -> List[str]:
        symbols = [*word, END] if self.end_apart else [*word[:-1], word[-1] + END]
        self._merge(symbols)
        symbols = [symbol for symbol in symbols if symbol]
        if symbols[-1] == END:
            return symbols[:-1]
        symbols[-1] = symbols[-1].removesuffix(END)
        return symbols

    def _merge(self, symbols: List[str]) -> None:
        """Merge in place. A symbol that was merged into the one on its left becomes empty."""
        after = list(range(1, len(symbols) + 1))
        before = list(range(-1, len(symbols) - 1))
        places: Dict[int, List[int]] = collections.defaultdict(list)

        def note(left: int) -> None:
            if left >= 0 and after[left] < len(symbols):
                rank = self.ranks.get((symbols[left], symbols[after[left]]))
                if rank is not None:
                    places[rank].append(left)

        for left in range(len(symbols)):
            note(left)
        while places:
            rank = min(places)
            pair = self.pairs[rank]
            merged = []
            for left in sorted(set(places.pop(rank))):
                right = after[left]
                if right == len(symbols) or (symbols[left], symbols[right]) != pair:
                    continue
                symbols[left], symbols[right] = "".join(pair), ""
                after[left] = after[right]
                if after[right] < len(symbols):
                    before[after[right]] = left
                merged.append(left)
            for left in merged:
                note(before[left])
                note(left)


class WordPieces(dict):
    """A cache of encoded words."""

    def __init__(self, bpe: BPE):
        super().__init__()
        self.bpe = bpe
        self.encode_long = LongWordEncoder(bpe)

    def __missing__(self, word: str) -> str:
        if len(word) > LONG_WORD:
            return f"{self.bpe.separator} ".join(self.encode_long(word))
        pieces = " ".join(self.bpe.segment_tokens([word]))
        self.bpe.cache.clear()  # it has no bound
        if len(word) <= LONGEST_CACHED_WORD:
            if len(self) >= WORDS_IN_CACHE:
                self.clear()
            self[word] = pieces
        return pieces


def line_encoder(codes: str, flag: str = "--codes") -> Callable[[str], str]:
    """A function from a tokenised line to one of subwords, as ``subword-nmt apply-bpe``."""
    pieces = WordPieces(read_codes(codes, flag))

    def encode(line: str) -> str:
        """Encode words. White space stays around the line, and becomes one space inside it."""
        words = line.strip(STRIPPED)
        if not words:
            return line
        start = line.index(words[0])
        encoded = " ".join([pieces[word] for word in words.split(" ") if word])
        return line[:start] + encoded + line[start + len(words) :]

    def encode_line(line: str) -> str:
        parts = line.splitlines(keepends=True)
        return encode(line) if len(parts) < 2 else "".join(map(encode, parts))

    return encode_line


def remove_bpe(line: str) -> str:
    """Join subwords: ``B@@ on@@ jour`` becomes ``Bonjour``."""
    return re.sub(r"@@( |$)", "", line)


def codes_of_another_model(encode: Callable[[str], str], symbols: Sequence[str]) -> str:
    """A remark if a dictionary is not of these codes, or an empty text.

    The right codes keep each word of the dictionary in one piece; those of another model of the
    same language split half of them.

    Args:
        encode: of :func:`line_encoder`
        symbols: of the source dictionary
    """
    words = [symbol for symbol in symbols if symbol.isalpha() and len(symbol) > 1][:WORDS_TRIED]
    apart = sum(encode(word) != word for word in words)
    if apart <= OTHER_CODES * len(words):
        return ""
    return (
        f"of another model? {apart} of {len(words)} words of the dictionary would be more than one "
        "subword"
    )
