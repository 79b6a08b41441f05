"""Alignment of English with French text: of sentences within a block, of blocks within a document.

Both are dynamic programmes over the lengths of the texts in characters, after Gale and Church
(1993), with costs set by hand instead of estimated probabilities.
"""

import math
import re
from typing import Callable

from .html_blocks import Block
from .sentence_splitting import split_sentences
from .text_normalisation import normalise

Pair = tuple[str, str]

FRENCH_PER_ENGLISH = 1.13  # characters
LENGTH_SMOOTHING = 5  # characters
LENGTH_WEIGHT = 2.2
EMPTY_COST = 4.0

# (English texts, French texts, cost besides that of the match); the first of equal ones is taken
SENTENCE_MOVES = ((2, 1, 0.9), (1, 2, 0.9), (1, 1, 0), (1, 0, 3), (0, 1, 3))
BLOCK_MOVES = ((1, 0, 1.5), (1, 1, 0), (0, 1, 1.5))
CLEAR_SENTENCE_COST = 1.6  # below it, equally many sentences are paired in order
MOST_SENTENCES = 40  # of a block; longer ones are tables or lists that lost their structure

WORST_MATCH_COST = 4
CLEAR_BLOCK_COST = 1.2
LEAST_ANCHOR_OVERLAP = 0.3
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


def _cheapest_matches(n: int, m: int, moves: tuple, cost_of: Callable, band: int) -> list[tuple]:
    """Return the matches of `n` English with `m` French texts whose costs have the least sum.

    A match is (first English text, first French text, English texts, French texts), and `cost_of`
    takes these four. `band` is how many French texts off the diagonal are tried.
    """
    best: dict[tuple[int, int], tuple] = {(0, 0): (0.0, 0, 0)}  # {texts passed: cost, last move}
    for i in range(n + 1):
        diagonal = int(i * (m / max(n, 1)))
        for j in range(max(0, diagonal - band), min(m, diagonal + band) + 1):
            for x, y, cost in moves:
                if (i - x, j - y) not in best:
                    continue
                cost += best[i - x, j - y][0]
                if x and y:
                    cost += cost_of(i - x, j - y, x, y)
                if cost < best.get((i, j), (math.inf,))[0]:
                    best[i, j] = cost, x, y
    matches = []
    i, j = n, m
    while i or j:
        _, x, y = best[i, j]
        i, j = i - x, j - y
        if x and y:
            matches.append((i, j, x, y))
    return matches[::-1]


def align_block_sentences(english: str, french: str) -> list[Pair]:
    """Return the sentence pairs of two blocks that translate each other.

    Up to two sentences on one side are joined to match one on the other; a sentence without
    counterpart is left out, as is everything of blocks of more than MOST_SENTENCES sentences.
    """
    english, french = normalise(english), normalise(french)
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
    lengths = [len(s) for s in english], [len(s) for s in french]

    def cost(i, j, x, y):
        return length_cost(sum(lengths[0][i : i + x]), sum(lengths[1][j : j + y]))

    matches = _cheapest_matches(len(english), len(french), SENTENCE_MOVES, cost, len(french))
    return [(" ".join(english[i : i + x]), " ".join(french[j : j + y])) for i, j, x, y in matches]


def anchors(text: str) -> set[str]:
    """Return the words of `text` that a translation is expected to keep: names, numbers, paths."""
    return {word.strip(".,") for word in ANCHOR.findall(text) if len(word) >= SHORTEST_ANCHOR}


def _match(english: tuple, french: tuple) -> tuple[float, bool]:
    """Return the cost of matching two (kind, text, anchors), and whether it is a clear match."""
    kind, text, words = english
    french_kind, french_text, french_words = french
    if kind != french_kind:
        return math.inf, False
    cost = length_cost(len(text), len(french_text))
    is_clear = cost < CLEAR_BLOCK_COST
    if words or french_words:
        overlap = len(words & french_words) / len(words | french_words)  # Jaccard index
        cost += ANCHOR_WEIGHT * (1 - overlap) - ANCHOR_BONUS
        is_clear = is_clear and overlap >= LEAST_ANCHOR_OVERLAP
    return min(cost, WORST_MATCH_COST), is_clear


def align_blocks(english: list[Block], french: list[Block]) -> list[Pair]:
    """Return the text pairs of two documents' (kind, text) blocks, in order.

    Documents with the same kinds in the same order are paired block by block. Otherwise only
    blocks of the same kind are matched, and only clear matches are returned: none at all where
    the documents are too long or too different to be compared.
    """
    if [kind for kind, _ in english] == [kind for kind, _ in french]:
        return [(en, fr) for (_, en), (_, fr) in zip(english, french)]
    band = max(NARROWEST_BAND, abs(len(english) - len(french)) + BAND_MARGIN)
    if not english or not french or len(english) * band > MOST_BAND_CELLS:
        return []
    english = [(kind, text, anchors(text)) for kind, text in english]
    french = [(kind, text, anchors(text)) for kind, text in french]

    def cost(i, j, *_):
        return _match(english[i], french[j])[0]

    matches = _cheapest_matches(len(english), len(french), BLOCK_MOVES, cost, band)
    matched = [(english[i], french[j]) for i, j, *_ in matches]
    return [(en[1], fr[1]) for en, fr in matched if _match(en, fr)[1]]
