"""English clauses: auxiliaries, do-support, order of objects and adverbs."""

from typing import NamedTuple

from . import english_morphology as morphology
from .english_morphology import BE
from .english_phrase import argument, located, noun_phrase
from .modifiers import Adjective
from .structure import (
    Clause,
    Comparison,
    Located,
    NounPhrase,
    Pronoun,
)


class _Group(NamedTuple):
    """A verb group: the auxiliary that questions move ("" if none) and the words after it."""

    auxiliary: str
    words: list[str]


def _finite(form, clause: Clause) -> str:
    subject = clause.subject
    if clause.tense == "past":
        return morphology.past(form, subject.person, subject.number)
    return morphology.present(form.base, subject.person, subject.number)


def _infinitive(clause: Clause) -> list[str]:
    base = clause.verb.en.base
    if not clause.modal:
        return [base]
    if clause.tense in ("present", "past"):
        return (["to"] if clause.modal.en_to else []) + [base]
    return [clause.modal.en.base, "to", base]


def _lexical(clause: Clause, supported: bool) -> _Group:
    """A group without auxiliary of its own; ``supported`` asks for "do"."""
    form = clause.modal.en if clause.modal else clause.verb.en
    after = _infinitive(clause) if clause.modal else []
    if form.base == "can":
        return _Group(form.past if clause.tense == "past" else "can", after)
    if form.base == "be":
        return _Group(_finite(form, clause), after)
    if supported:
        return _Group(_finite(morphology.DO, clause), [form.base] + after)
    return _Group("", [_finite(form, clause)] + after)


def _group(clause: Clause, question: bool) -> _Group:
    subject = clause.subject
    tense = clause.tense
    if tense == "future":
        return _Group("will", _infinitive(clause))
    if tense == "conditional":
        return _Group("would", _infinitive(clause))
    if tense == "near":
        be = morphology.present("be", subject.person, subject.number)
        return _Group(be, ["going", "to"] + _infinitive(clause))
    if tense == "perfect":
        have = morphology.present("have", subject.person, subject.number)
        return _Group(have, [clause.verb.en.participle])
    if tense == "imperfect":
        return _Group("", ["used", "to"] + _infinitive(clause))
    if clause.progressive:
        return _Group(_finite(BE, clause), [morphology.gerund(clause.verb.en.base)])
    return _lexical(clause, question or clause.polarity in ("not", "not yet"))


def _negated(clause: Clause) -> bool:
    return clause.polarity not in ("positive", "only")


def middle(clause: Clause) -> list[str]:
    words = {"positive": [], "not yet": ["not"]}.get(clause.polarity, clause.polarity.split())
    return words + ([clause.adverb.en] if clause.adverb else [])


def _objects(clause: Clause) -> list[str]:
    direct, recipient = clause.direct, clause.recipient
    if direct is None:
        return []
    preposition = clause.verb.en_preposition.split()
    first = preposition + argument(direct, negated=_negated(clause))
    if recipient is None:
        return first
    if isinstance(recipient, Pronoun) and isinstance(direct, NounPhrase):
        return argument(recipient) + first
    return first + ["to"] + argument(recipient)


def _predicate(clause: Clause) -> list[str]:
    predicate = clause.predicate
    if isinstance(predicate, Adjective):
        return [predicate.en]
    if isinstance(predicate, NounPhrase):
        return noun_phrase(predicate)
    if isinstance(predicate, Comparison):
        adjective = predicate.adjective.en
        words = {
            "more": [morphology.comparative(adjective), "than"],
            "less": ["less", adjective, "than"],
            "as": ["as", adjective, "as"],
        }[predicate.degree]
        return words + argument(predicate.than)
    return []


def _complements(clause: Clause) -> list[str]:
    words: list[str] = []
    for complement in clause.complements:
        words += located(complement) if isinstance(complement, Located) else [complement.en]
    return words + (["yet"] if clause.polarity == "not yet" else [])


def after_verb(clause: Clause) -> list[str]:
    rest = clause.verb.en.rest.split()
    return rest + _predicate(clause) + _objects(clause) + _complements(clause)


def clause(clause: Clause, question: bool = False) -> list[str]:
    """Realise a clause, with its auxiliary before the subject in a question."""
    group = _group(clause, question)
    subject = argument(clause.subject, subject=True)
    auxiliary = [group.auxiliary] if group.auxiliary else []
    before = auxiliary + subject if question else subject + auxiliary
    return before + middle(clause) + group.words + after_verb(clause)
