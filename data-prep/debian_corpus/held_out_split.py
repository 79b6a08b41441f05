"""Training, validation and test sets: whole documents are held out, near-duplicates dropped."""

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from operator import attrgetter
from typing import Callable, NamedTuple

from .text_normalisation import comparison_key

VALID_PERCENT = 1.5  # of documents
TEST_PERCENT = 2.5

NGRAM_WORDS = 4
MOST_SHARED_NGRAMS = 0.5  # of the shorter sentence's

FREQUENT_WORD = 60  # occurrences; rarer words are the blanks of a template
MOST_PER_TEMPLATE = 4


class CorpusPair(NamedTuple):
    """A pair of sentences and where it is from; `source` may be "group:member"."""

    source: str
    document: str
    english: str
    french: str

    @property
    def group(self) -> str:
        """The part of `source` before its colon."""
        return self.source.split(":")[0]


def drop_repeats(pairs: Iterable[CorpusPair]) -> list[CorpusPair]:
    """Return the pairs of which neither side has the words of an earlier pair's, in order."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for pair in pairs:
        keys = {("en", comparison_key(pair.english)), ("fr", comparison_key(pair.french))}
        if seen.isdisjoint(keys):
            seen |= keys
            kept.append(pair)
    return kept


def cap_templates(pairs: list[CorpusPair]) -> list[CorpusPair]:
    """Return the pairs shuffled, with few that differ only in rare words of their English.

    "This package contains the X modules for Y." is such a template: MOST_PER_TEMPLATE are kept.
    The order is the same in every run.
    """
    keyed = [(pair, comparison_key(pair.english).split()) for pair in pairs]
    frequency = Counter(word for _, words in keyed for word in words)
    random.Random(1).shuffle(keyed)
    template_count: Counter[str] = Counter()
    kept = []
    for pair, words in keyed:
        template = " ".join(w if frequency[w] >= FREQUENT_WORD else "_" for w in words)
        template_count[template] += 1
        if template_count[template] <= MOST_PER_TEMPLATE:
            kept.append(pair)
    return kept


def split_name(pair: CorpusPair) -> str:
    """Return "train", "valid" or "test" by a hash of the pair's document."""
    digest = hashlib.md5(f"{pair.group}|{pair.document}".encode()).hexdigest()
    percent = int(digest, 16) % 10_000 / 100
    if percent < TEST_PERCENT:
        return "test"
    return "valid" if percent < TEST_PERCENT + VALID_PERCENT else "train"


def ngrams(sentence: str) -> set[str]:
    """Return the runs of NGRAM_WORDS words of `sentence`; of a shorter one, all its words."""
    words = comparison_key(sentence).split()
    starts = range(max(1, len(words) - NGRAM_WORDS + 1))
    return {" ".join(words[start : start + NGRAM_WORDS]) for start in starts}


def drop_near_duplicates(pairs: list[CorpusPair], held_out: list[CorpusPair]) -> list[CorpusPair]:
    """Return the `pairs` of which neither side resembles that side of a held-out pair.

    Two sentences resemble each other if they share more than MOST_SHARED_NGRAMS of the n-grams
    of the one that has fewer.
    """
    for side in map(attrgetter, ("english", "french")):
        resembles = _resemblance(map(side, held_out))
        pairs = [pair for pair in pairs if not resembles(side(pair))]
    return pairs


def _resemblance(held_out: Iterable[str]) -> Callable[[str], bool]:
    """Return a function: whether a sentence resembles one of those held out."""
    held_out_ngrams = [ngrams(sentence) for sentence in held_out]
    holders = defaultdict(list)  # {n-gram: indexes of the held-out sentences that have it}
    for index, grams in enumerate(held_out_ngrams):
        for gram in grams:
            holders[gram].append(index)

    def resembles(sentence: str) -> bool:
        grams = ngrams(sentence)
        shared = Counter(holder for gram in grams for holder in holders.get(gram, ()))
        return any(
            count > MOST_SHARED_NGRAMS * min(len(held_out_ngrams[holder]), len(grams))
            for holder, count in shared.items()
        )

    return resembles


def split_held_out(pairs: list[CorpusPair], is_unseen: Callable) -> dict[str, list[CorpusPair]]:
    """Return {"train", "valid", "test", "unseen": pairs}, without near-duplicates between them.

    "unseen" has the pairs for which `is_unseen`: sources that are in no other set. Near-duplicates
    are dropped from "train" first, then from "valid".
    """
    splits: dict[str, list[CorpusPair]] = {"train": [], "valid": [], "test": [], "unseen": []}
    for pair in pairs:
        splits["unseen" if is_unseen(pair) else split_name(pair)].append(pair)
    test = splits["test"] + splits["unseen"]
    splits["train"] = drop_near_duplicates(splits["train"], splits["valid"] + test)
    splits["valid"] = drop_near_duplicates(splits["valid"], test)
    return splits
