"""Byte pair encoding of words with the codes that subword-nmt learns, each word once.

subword-nmt also ends lines at Unicode's line separators, which it keeps. So does this file, so that
the result is the same.
"""

import collections
import io
from contextlib import redirect_stderr
from typing import Callable, Dict, List

from subword_nmt.apply_bpe import BPE

from ..command_line import UserError

WORDS_IN_CACHE = 500_000
LONGEST_CACHED_WORD = 64
# The time of subword-nmt, quadratic in the length of a word, matters from this length on.
LONG_WORD = 200
STRIPPED = "\r\n "  # from both ends of a line


def read_codes(path: str, flag: str = "--codes") -> BPE:
    """Read codes into subword-nmt's encoder; UserError, with the flag, for another file."""
    complaint = io.StringIO()
    try:
        with open(path, encoding="utf-8", newline="\n") as file, redirect_stderr(complaint):
            bpe = BPE(file)
        if bpe.version not in ((0, 1), (0, 2)):
            raise ValueError(f"version {'.'.join(map(str, bpe.version))} of the format is unknown")
    except SystemExit:
        # subword-nmt prints its complaint and exits.
        raise UserError(f"{flag} {path}: {complaint.getvalue().splitlines()[0]}") from None
    except ValueError as error:
        raise UserError(f"{flag} {path}: not codes of subword-nmt: {error}") from None
    return bpe


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
        symbols = [*word, "</w>"] if self.end_apart else [*word[:-1], word[-1] + "</w>"]
        self._merge(symbols)
        symbols = [symbol for symbol in symbols if symbol]
        if symbols[-1] == "</w>":
            return symbols[:-1]
        symbols[-1] = symbols[-1].removesuffix("</w>")
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
