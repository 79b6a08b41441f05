"""Which pairs of symbols byte pair encoding merges, as subword-nmt's learn-bpe finds them.

subword-nmt's own statistics, and its way of leaving rare pairs out of the search, decide which
pairs come first in rare cases; so they are used as they are. What is faster here is the search for
the most frequent pair and the replacement of it in words.
"""

import itertools
from typing import Dict, Iterator, List, Mapping, Tuple

from subword_nmt.learn_bpe import (
    get_pair_statistics,
    prune_stats,
    replace_pair,
    update_pair_statistics,
)

from ..command_line import UserError

MIN_FREQUENCY = 2
PRUNING_INTERVAL = 100  # merges

Pair = Tuple[str, str]
Word = Tuple[str, ...]


def most_frequent(stats: Mapping[Pair, int]) -> Pair:
    """Of the pairs with the highest frequency, the last in alphabetical order."""
    highest = max(stats.values())
    return max(itertools.compress(stats, map(highest.__eq__, stats.values())))


def merge_symbols(word: Word, pair: Pair) -> Word:
    """Merge each occurrence of a pair, from the left."""
    first, second = pair
    symbols: List[str] = []
    start, last = 0, len(word) - 1
    while True:
        try:
            place = word.index(first, start, last)
        except ValueError:
            break
        if word[place + 1] == second:
            symbols += word[start:place]
            symbols.append(first + second)
            start = place + 2
        else:
            symbols += word[start : place + 1]
            start = place + 1
    symbols += word[start:]
    return tuple(symbols)


def _replace_pair(pair: Pair, words: list, indices) -> list:
    """What subword-nmt's ``replace_pair`` does, for symbols without white space."""
    changes = []
    for number, occurrences in indices[pair].items():
        if occurrences >= 1:
            word, frequency = words[number]
            merged = merge_symbols(word, pair)
            words[number] = (merged, frequency)
            changes.append((number, merged, word, frequency))
    return changes


def learn_merges(counts: Dict[str, int], merges: int) -> Iterator[Pair]:
    """The pairs to merge, in order; fewer than ``merges`` if no other pair occurs twice.

    Args:
        counts: frequency of each word

    Raises:
        UserError: there is no pair of characters in the words
    """
    words = [((*word[:-1], word[-1] + "</w>"), count) for word, count in counts.items() if word]
    words.sort(key=lambda item: item[1], reverse=True)
    # subword-nmt's own takes white space within a word for the end of a symbol.
    odd_spaces = any(word.split() != [word] for word in counts)
    replace = replace_pair if odd_spaces else _replace_pair
    stats, indices = get_pair_statistics(words)
    if not stats:
        raise UserError("no text to learn from: no word has two characters")
    all_stats = stats.copy()
    threshold = max(stats.values()) / 10
    for done in range(merges):
        best = most_frequent(stats) if stats else None
        if best is None or (done and stats[best] < threshold):
            # Pairs that were left out may be more frequent than what is left.
            prune_stats(stats, all_stats, threshold)
            stats = all_stats.copy()
            best = most_frequent(stats)
            threshold = stats[best] * done / (done + 10000.0)
            prune_stats(stats, all_stats, threshold)
        if stats[best] < MIN_FREQUENCY:
            return
        yield best
        changes = replace(best, words, indices)
        update_pair_statistics(best, changes, stats, indices)
        stats[best] = 0
        if done % PRUNING_INTERVAL == 0:
            prune_stats(stats, all_stats, threshold)
