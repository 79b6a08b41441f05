"""Alignment of English with French text: of sentences within a block, of blocks within a document.

Both are dynamic programmes over the lengths of the texts in characters, after Gale and Church
(1993), with costs set by hand instead of estimated probabilities.
"""

from __future__ import annotations

import math
import re

from .html_blocks import Block
from .sentence_splitting import split_sentences

Pair = tuple[str, str]

FRENCH_PER_ENGLISH = 1.13  # characters
LENGTH_SMOOTHING = 5  # characters
LENGTH_WEIGHT = 2.2
EMPTY_COST = 4.0

# (English sentences, French sentences, cost besides that of the lengths)
SENTENCE_MOVES = ((1, 1, 0), (1, 2, 0.9), (2, 1, 0.9), (1, 0, 3), (0, 1, 3))
CLEAR_SENTENCE_COST = 1.6  # below it, equally many sentences are paired in order
MOST_SENTENCES = 40  # of a block; longer ones are tables or lists that lost their structure

SKIP_BLOCK_COST = 1.5
WORST_MATCH_COST = 4
CLEAR_BLOCK_COST = 1.2
LEAST_ANCHOR_OVERLAP = 0.3
NO_ANCHORS_OVERLAP = 0.5
ANCHOR_WEIGHT = 1.5
ANCHOR_BONUS = 0.5
NARROWEST_BAND = 60  # blocks on each side of the diagonal that are tried
BAND_MARGIN = 20
MOST_BAND_CELLS = 400_000  # a few seconds of work

# Names, numbers and paths stay as they are in a translation.
ANCHOR = re.compile(r"[A-Za-z0-9_./-]*[0-9A-Z_/][A-Za-z0-9_./-]*")
SHORTEST_ANCHOR = 3


def length_cost(english_length: int, french_length: int) -> float:
    """Return how unlikely a translation from one length to the other (in characters) is, >= 0."""
    if not english_length or not french_length:
        return EMPTY_COST
    expected = FRENCH_PER_ENGLISH * english_length + LENGTH_SMOOTHING
    return abs(math.log((french_length + LENGTH_SMOOTHING) / expected)) * LENGTH_WEIGHT


def align_block_sentences(english: str, french: str) -> list[Pair]:
    """Return the sentence pairs of two blocks that translate each other.

    Up to two sentences on one side are joined to match one on the other; a sentence without
    counterpart is left out, as is everything of blocks of more than MOST_SENTENCES sentences.
    """
    english_sentences, french_sentences = split_sentences(english), split_sentences(french)
    if len(english_sentences) == len(french_sentences):
        pairs = list(zip(english_sentences, french_sentences))
        if len(pairs) == 1:
            return [(english, french)]
        if all(length_cost(len(en), len(fr)) < CLEAR_SENTENCE_COST for en, fr in pairs):
            return pairs
    if max(len(english_sentences), len(french_sentences)) > MOST_SENTENCES:
        return []
    return align_sentences(english_sentences, french_sentences)


def align_sentences(english: list[str], french: list[str]) -> list[Pair]:
    """Return the pairs of the cheapest alignment of two lists of sentences.

    Sentences are matched 1-1, 1-2 or 2-1 (joined by a space), or left out.
    """
    moves = _cheapest_moves([len(s) for s in english], [len(s) for s in french])
    pairs = []
    i = j = 0
    for english_count, french_count in moves:
        if english_count and french_count:
            pairs.append(
                (" ".join(english[i : i + english_count]), " ".join(french[j : j + french_count]))
            )
        i += english_count
        j += french_count
    return pairs


def _cheapest_moves(english: list[int], french: list[int]) -> list[tuple[int, int]]:
    """Return the (English, French) sentence counts of the cheapest path, given the lengths."""
    n, m = len(english), len(french)
    costs = {(0, 0): 0.0}
    last_move: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(n + 1):
        for j in range(m + 1):
            for x, y, penalty in SENTENCE_MOVES:
                if i + x > n or j + y > m:
                    continue
                cost = costs[i, j] + penalty
                if x and y:
                    cost += length_cost(sum(english[i : i + x]), sum(french[j : j + y]))
                if cost < costs.get((i + x, j + y), math.inf):
                    costs[i + x, j + y] = cost
                    last_move[i + x, j + y] = (x, y)
    return _trace_back(last_move, n, m)


def _trace_back(last_move: dict, i: int, j: int) -> list[tuple[int, int]]:
    moves = []
    while i or j:
        x, y = last_move[i, j]
        moves.append((x, y))
        i -= x
        j -= y
    return moves[::-1]


def anchors(text: str) -> set[str]:
    """Return the words of `text` that a translation is expected to keep: names, numbers, paths."""
    return {word.strip(".,") for word in ANCHOR.findall(text) if len(word) >= SHORTEST_ANCHOR}


def align_blocks(english: list[Block], french: list[Block]) -> list[Pair]:
    """Return the text pairs of two documents' (kind, text) blocks, in order.

    Documents with the same kinds in the same order are paired block by block. Otherwise only
    blocks of the same kind are matched, and only clear matches are returned: none at all where
    the documents are too long or too different to be compared.
    """
    if [kind for kind, _ in english] == [kind for kind, _ in french]:
        return [(en, fr) for (_, en), (_, fr) in zip(english, french)]
    if not english or not french:
        return []
    band = max(NARROWEST_BAND, abs(len(english) - len(french)) + BAND_MARGIN)
    if len(english) * band > MOST_BAND_CELLS:
        return []
    return _BlockAligner(english, french).clear_matches(band)


class _BlockAligner:
    """The dynamic programme over two documents: a block is matched 1-1 or left out."""

    def __init__(self, english: list[Block], french: list[Block]):
        self._english, self._french = english, french
        self._english_anchors = [anchors(text) for _, text in english]
        self._french_anchors = [anchors(text) for _, text in french]

    def clear_matches(self, band: int) -> list[Pair]:
        pairs = []
        i = j = 0
        for x, y in self._cheapest_moves(band):
            if x and y and self._is_clear(i, j):
                pairs.append((self._english[i][1], self._french[j][1]))
            i += x
            j += y
        return pairs

    def _cheapest_moves(self, band: int) -> list[tuple[int, int]]:
        n, m = len(self._english), len(self._french)
        last_move: dict[tuple[int, int], tuple[int, int]] = {}
        above: dict[int, float] = {}  # {j: cost} of the row for i - 1 English blocks
        for i in range(n + 1):
            diagonal = int(i * (m / n))
            row = {0: 0.0} if i == 0 else {}
            for j in range(max(0, diagonal - band), min(m, diagonal + band) + 1):
                best = row.get(j, math.inf)
                if above.get(j, math.inf) + SKIP_BLOCK_COST < best:
                    best = above[j] + SKIP_BLOCK_COST
                    last_move[i, j] = (1, 0)
                if j - 1 in above and self._english[i - 1][0] == self._french[j - 1][0]:
                    cost = above[j - 1] + min(self._match_cost(i - 1, j - 1), WORST_MATCH_COST)
                    if cost < best:
                        best = cost
                        last_move[i, j] = (1, 1)
                if row.get(j - 1, math.inf) + SKIP_BLOCK_COST < best:
                    best = row[j - 1] + SKIP_BLOCK_COST
                    last_move[i, j] = (0, 1)
                if best < math.inf:
                    row[j] = best
            above = row
        return _trace_back(last_move, n, m)

    def _length_cost(self, i: int, j: int) -> float:
        return length_cost(len(self._english[i][1]), len(self._french[j][1]))

    def _anchor_overlap(self, i: int, j: int) -> float | None:
        """Return the Jaccard index of the blocks' anchors; None if they have none."""
        either = self._english_anchors[i] | self._french_anchors[j]
        if not either:
            return None
        return len(self._english_anchors[i] & self._french_anchors[j]) / len(either)

    def _match_cost(self, i: int, j: int) -> float:
        overlap = self._anchor_overlap(i, j)
        cost = self._length_cost(i, j)
        return cost if overlap is None else cost + (ANCHOR_WEIGHT * (1 - overlap) - ANCHOR_BONUS)

    def _is_clear(self, i: int, j: int) -> bool:
        overlap = self._anchor_overlap(i, j)
        if overlap is None:
            overlap = NO_ANCHORS_OVERLAP
        return self._length_cost(i, j) < CLEAR_BLOCK_COST and overlap >= LEAST_ANCHOR_OVERLAP
