"""Which word combinations are kept out of training, and what combinations a sentence contains.

A combination is an adjective with its noun, or a verb with (the head of) its object.  A stable
hash of the two English words puts a few per cent of all combinations aside for the test set and
as many for the validation set.
"""

import hashlib

from .modifiers import Adjective
from .structure import (
    Clause,
    Comparison,
    Existential,
    Imperative,
    Located,
    NounPhrase,
    Part,
    Question,
    Sentence,
    noun_phrases,
)

Combination = tuple[str, str]

TEST_PERCENT = 5
VALID_PERCENT = 5

_splits: dict[Combination, str] = {}


def stable_percentile(text: str) -> int:
    """Map a text to 0..99 in the same way on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:4], "big") % 100


def split_of(combination: Combination) -> str:
    """Say where a combination may occur: "test", "valid" or "train"."""
    if combination not in _splits:
        percentile = stable_percentile(" + ".join(combination))
        kept = "valid" if percentile < TEST_PERCENT + VALID_PERCENT else "train"
        _splits[combination] = "test" if percentile < TEST_PERCENT else kept
    return _splits[combination]


def _in_phrase(argument) -> list[Combination]:
    found: list[Combination] = []
    for phrase in noun_phrases(argument):
        noun = phrase.noun.en
        found += [(adjective.en, noun) for adjective in phrase.adjectives]
        if phrase.relative:
            found += _in_clause(phrase.relative.clause)
            if phrase.relative.role == "object":
                found.append((phrase.relative.clause.verb.key, noun))
    return found


def _in_clause(clause: Clause) -> list[Combination]:
    found = _in_phrase(clause.subject) + _in_phrase(clause.direct) + _in_phrase(clause.recipient)
    if isinstance(clause.direct, NounPhrase):
        found.append((clause.verb.key, clause.direct.noun.en))
    predicate, subject = clause.predicate, clause.subject
    adjective = predicate.adjective if isinstance(predicate, Comparison) else predicate
    if isinstance(adjective, Adjective) and isinstance(subject, NounPhrase):
        found.append((adjective.en, subject.noun.en))
    if isinstance(predicate, Comparison):
        found += _in_phrase(predicate.than)
        if isinstance(predicate.than, NounPhrase):
            found.append((adjective.en, predicate.than.noun.en))
    for complement in clause.complements:
        if isinstance(complement, Located):
            found += _in_phrase(complement.place)
    return found


def _in_part(part: Part) -> list[Combination]:
    if isinstance(part, Clause):
        return _in_clause(part)
    if isinstance(part, Question):
        found = _in_clause(part.clause) + _in_phrase(part.word)
        if isinstance(part.word, NounPhrase):
            found.append((part.clause.verb.key, part.word.noun.en))
        return found
    if isinstance(part, Imperative):
        return _in_clause(part.clause)
    if isinstance(part, Existential):
        return _in_phrase(part.phrase)
    return _in_phrase(part)


def combinations(sentence: Sentence) -> frozenset[Combination]:
    """Return the combinations that a sentence contains."""
    return frozenset(pair for part in sentence.parts for pair in _in_part(part))
