"""Sampling of the whole corpus and its division into training, validation and test sets."""

import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from realformer_runtime.atomic_output import atomic_output

from .patterns import sentence
from .sampling import Sampler

SIZES = {"train": 20000, "valid": 500, "test": 500}
SEED = 2023
HELD_OUT = 5  # per cent of the combinations of words are kept for valid, and as many for test
REPEATS = 12  # sentences of valid or test, at most, share a held-out combination
PLAIN_SHARE = 0.06  # of valid and test are new as sentences only


class Pair(NamedTuple):
    """A sentence pair, and the combinations of words that may be held out."""

    en: str
    fr: str
    combinations: frozenset[tuple[str, str]]


def pairs(seed: int = SEED) -> Iterator[Pair]:
    """Yield sentence pairs for ever, each English sentence once.

    An English sentence that comes up again must come up with the same French.
    """
    sampler = Sampler(seed)
    translations: dict[str, str] = {}
    while True:
        sampler.combinations.clear()
        pair = Pair(*sentence(sampler), frozenset(sampler.combinations))
        known = translations.get(pair.en)
        if known is None:
            translations[pair.en] = pair.fr
            yield pair
        elif known != pair.fr:
            raise ValueError(f"two translations of {pair.en!r}: {known!r} and {pair.fr!r}")


def _set_of(text: str, per_cent: int) -> str:
    """Assign some per cent of all texts to valid and as many to test, the same everywhere."""
    place = zlib.crc32(text.encode()) % 100
    return "valid" if place < per_cent else "test" if place < 2 * per_cent else "train"


def destination(pair: Pair) -> str:
    """Return the set of a pair, or "" if combinations of valid and test meet in it."""
    sets = {_set_of(" ".join(words), HELD_OUT) for words in pair.combinations} - {"train"}
    if len(sets) > 1:
        return ""
    return sets.pop() if sets else _set_of(pair.en, 1)


def _words(pair: Pair) -> set[tuple[str, str]]:
    texts = {"en": pair.en, "fr": pair.fr}
    return {(name, word) for name, text in texts.items() for word in re.findall(r"\w+", text)}


def _unseen(name: str, stream: Iterator[Pair], known: set, taken: set[str]) -> list[Pair]:
    """Make up valid or test: known words, new sentences, and mostly held-out combinations."""
    limits, counts = {"": round(PLAIN_SHARE * SIZES[name])}, Counter()
    chosen: list[Pair] = []
    while len(chosen) < SIZES[name]:
        pair = next(stream)
        if destination(pair) != name or not _words(pair) <= known or taken & set(pair[:2]):
            continue
        held_out = [it for it in pair.combinations if _set_of(" ".join(it), HELD_OUT) == name]
        if all(counts[label] < limits.get(label, REPEATS) for label in held_out or [""]):
            chosen.append(pair)
            counts.update(held_out or [""])
            taken.update(pair[:2])
    return chosen


def build(seed: int = SEED) -> dict[str, list[Pair]]:
    """Return the pairs of the three sets, by name."""
    stream = pairs(seed)
    train = (pair for pair in stream if destination(pair) == "train")
    corpus = {"train": list(islice(train, SIZES["train"]))}
    known = set().union(*map(_words, corpus["train"]))
    taken = {text for pair in corpus["train"] for text in pair[:2]}
    for name in ("valid", "test"):
        corpus[name] = _unseen(name, stream, known, taken)
    return corpus


def write(directory: str, seed: int = SEED) -> None:
    """Write {train,valid,test}.{en,fr} into a directory."""
    os.makedirs(directory, exist_ok=True)
    for name, chosen in build(seed).items():
        for language in ("en", "fr"):
            path = os.path.join(directory, f"{name}.{language}")
            text = "".join(getattr(pair, language) + "\n" for pair in chosen)
            with atomic_output(path) as temporary:
                temporary.write_bytes(text.encode("utf-8"))
        print(f"{name}: {len(chosen)} sentence pairs", file=sys.stderr)
