"""Sampling of the whole corpus and its division into training, validation and test sets."""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from . import english_sentence, french_sentence
from .grammar import sample
from .heldout import Combination, combinations, split_of, stable_percentile
from .sampling import Sampler

SIZES = {"train": 20000, "valid": 500, "test": 500}
SEED = 2023
#: How many sentences of a set may contain the same held-out combination.
REPEATS = 12
#: Share of valid and test that is only new as a sentence, with no held-out combination.
PLAIN_SHARE = 0.06


class Pair(NamedTuple):
    """A sentence pair and the word combinations in it."""

    en: str
    fr: str
    combinations: frozenset


def pairs(seed: int = SEED) -> Iterator[Pair]:
    """Yield sentence pairs for ever, each English sentence once.

    An English sentence that comes up again must come up with the same French.
    """
    sampler = Sampler(seed)
    translations: dict[str, str] = {}
    while True:
        sentence = sample(sampler)
        english = english_sentence.sentence(sentence)
        french = french_sentence.sentence(sentence)
        known = translations.get(english)
        if known is None:
            translations[english] = french
            yield Pair(english, french, combinations(sentence))
        elif known != french:
            raise ValueError(f"two translations of {english!r}: {known!r} and {french!r}")


def _destination(pair: Pair) -> str:
    """Say to which set a pair belongs ("" to leave it out).

    A pair with a combination held out for one set may go nowhere else, so one that mixes
    combinations of the valid and the test set is left out.
    """
    splits = {split_of(combination) for combination in pair.combinations} - {"train"}
    if len(splits) > 1:
        return ""
    if splits:
        return splits.pop()
    return {0: "plain test", 1: "plain valid"}.get(stable_percentile(pair.en), "train")


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text))


class _Known(NamedTuple):
    """The words and the sentences of a set, in both languages."""

    english: set[str]
    french: set[str]
    sentences: set[str]


def _known(pairs: list[Pair]) -> _Known:
    english = {word for pair in pairs for word in _words(pair.en)}
    french = {word for pair in pairs for word in _words(pair.fr)}
    return _Known(english, french, {text for pair in pairs for text in pair[:2]})


def _fill(pools: dict[str, list[Pair]], split: str, known: _Known) -> list[Pair]:
    """Make up valid or test: mostly held-out combinations, some sentences merely unseen.

    Only known words are allowed, and no known sentence in either language.
    """
    fit = [
        [
            pair
            for pair in pools[pool]
            if _words(pair.en) <= known.english
            and _words(pair.fr) <= known.french
            and not known.sentences.intersection(pair[:2])
        ]
        for pool in ("plain " + split, split)
    ]
    plain = fit[0][: int(SIZES[split] * PLAIN_SHARE)]
    return _spread(plain, fit[1][: SIZES[split] - len(plain)])


def _spread(few: list[Pair], many: list[Pair]) -> list[Pair]:
    """Put the elements of a short list among those of a long one at even distances."""
    step = max(1, len(many) // max(1, len(few)))
    mixed: list[Pair] = []
    for position, pair in enumerate(many):
        if position % step == 0 and position // step < len(few):
            mixed.append(few[position // step])
        mixed.append(pair)
    return mixed


def _enough(pools: dict[str, list[Pair]]) -> bool:
    """Say whether every pool has the pairs it needs, with a margin for those left out later."""
    return len(pools["train"]) == SIZES["train"] and all(
        len(pools[split]) >= 1.15 * SIZES[split] for split in ("valid", "test")
    )


def build(seed: int = SEED) -> dict[str, list[Pair]]:
    """Return the pairs of the three sets, by name."""
    names = ("train", "valid", "test", "plain valid", "plain test")
    pools: dict[str, list[Pair]] = {name: [] for name in names}
    counts: dict[Combination, int] = {}
    for pair in pairs(seed):
        name = _destination(pair)
        if not name or (name == "train" and len(pools["train"]) == SIZES["train"]):
            continue
        held_out = [words for words in pair.combinations if split_of(words) != "train"]
        if all(counts.get(words, 0) < REPEATS for words in held_out):
            pools[name].append(pair)
            counts.update({words: counts.get(words, 0) + 1 for words in held_out})
        if _enough(pools):
            break
    known = _known(pools["train"])
    valid = _fill(pools, "valid", known)
    known.sentences.update(text for pair in valid for text in pair[:2])
    return {"train": pools["train"], "valid": valid, "test": _fill(pools, "test", known)}


def _write(path: str, lines: list[str]) -> None:
    """Write a text file under a temporary name, then move it into place."""
    temporary = path + ".tmp"
    with open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)
    os.replace(temporary, path)


def write(directory: str, seed: int = SEED) -> dict[str, int]:
    """Write {train,valid,test}.{en,fr} into a directory and return the number of pairs."""
    corpus = build(seed)
    os.makedirs(directory, exist_ok=True)
    for split, chosen in corpus.items():
        for language in ("en", "fr"):
            lines = [getattr(pair, language) for pair in chosen]
            _write(os.path.join(directory, f"{split}.{language}"), lines)
    return {split: len(chosen) for split, chosen in corpus.items()}
