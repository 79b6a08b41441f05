"""French clauses: negation, compound tenses and agreement, word order, inversion."""

from typing import NamedTuple, Optional

from . import french_conjugation as conjugation
from . import french_morphology as morphology
from .french_clitics import Roles, clitics, roles, subject_pronoun, takes_en
from .french_phrase import argument, compared, located, noun_phrase
from .modifiers import Adjective
from .structure import (
    THERE,
    Argument,
    Clause,
    Comparison,
    Located,
    NounPhrase,
    Pronoun,
    Trace,
    Word,
)

_NEGATIONS = {
    "not": ["pas"],
    "not yet": ["pas", "encore"],
    "never": ["jamais"],
    "no longer": ["plus"],
}


def _simple_tense(clause: Clause) -> str:
    """Return the French tense of the finite verb, or "compound"."""
    tense = clause.tense
    if tense == "past" and (clause.verb.stative or clause.modal or clause.progressive):
        return "imperfect"
    return {"past": "compound", "perfect": "compound", "near": "present"}.get(tense, tense)


def _participle(clause: Clause, view: Roles) -> str:
    """Return the past participle: it agrees with an être subject or a preceding object."""
    verb = clause.verb
    masculine = conjugation.participle(verb.fr)
    if conjugation.auxiliary(verb.fr, verb.reflexive) == "être":
        return morphology.agree(masculine, view.subject.gender, view.subject.number)
    if isinstance(view.direct, (Pronoun, Trace)):
        return morphology.agree(masculine, view.direct.gender, view.direct.number)
    return masculine


class _Group(NamedTuple):
    """A verb group: pronouns, finite verb, and what follows the negation."""

    pronouns: list[str]
    finite: str
    after: list[str]


def _group(clause: Clause, view: Roles) -> _Group:
    person, number = view.subject.person, view.subject.number
    tense = _simple_tense(clause)
    pronouns = clitics(clause)
    helper = clause.modal.fr if clause.modal else "aller" if clause.tense == "near" else ""
    if helper:
        finite = conjugation.conjugate(helper, tense, person, number)
        return _Group([], finite, pronouns + [clause.verb.fr])
    verb = clause.verb
    if tense == "compound":
        auxiliary = conjugation.auxiliary(verb.fr, verb.reflexive)
        finite = conjugation.conjugate(auxiliary, "present", person, number)
        return _Group(pronouns, finite, [_participle(clause, view)])
    return _Group(pronouns, conjugation.conjugate(verb.fr, tense, person, number), [])


def _negation(clause: Clause, view: Roles) -> tuple[bool, list[str]]:
    """Say whether the clause takes "ne", and which word follows the finite verb."""
    if view.direct == Word("nothing", "rien"):
        return True, ["rien"]
    nobody = any(isinstance(phrase, Word) and phrase.fr == "personne" for phrase in view)
    return (
        nobody or clause.polarity != "positive",
        _NEGATIONS.get(clause.polarity, []),
    )


def _is_clitic(phrase: Optional[Argument]) -> bool:
    return phrase is None or isinstance(phrase, (Pronoun, Trace))


def objects(clause: Clause, view: Roles) -> list[str]:
    """Return the objects that are not pronouns, direct object first."""
    words = clause.verb.fr_rest.split()
    negated = clause.polarity not in ("positive", "only")
    if clause.polarity == "only":
        words.append("que")
    if not _is_clitic(view.direct) and view.direct != Word("nothing", "rien"):
        words += argument(view.direct, negated=negated)
    if not _is_clitic(view.to):
        words += argument(view.to, "à")
    if view.of is not None and not takes_en(view.of):
        words += argument(view.of, "de")
    return words


def _predicate(clause: Clause, subject: Argument) -> list[str]:
    predicate = clause.predicate
    if isinstance(predicate, Adjective):
        return [predicate.french(subject.gender, subject.number)]
    if isinstance(predicate, NounPhrase):
        return noun_phrase(predicate)
    if isinstance(predicate, Comparison):
        words = compared(predicate.adjective, predicate.degree, subject)
        return words + ["que"] + argument(predicate.than)
    return []


def complements(clause: Clause) -> list[str]:
    words: list[str] = []
    for complement in clause.complements:
        if isinstance(complement, Located):
            words += located(complement)
        elif complement != THERE:
            words += complement.fr.split()
    return words


def _subject(phrase: Argument) -> list[str]:
    return [subject_pronoun(phrase)] if isinstance(phrase, Pronoun) else argument(phrase)


def clause(clause: Clause, inverted: bool = False) -> list[str]:
    """Realise a clause; ``inverted`` puts a subject pronoun after the verb, as in a question."""
    view = roles(clause)
    group = _group(clause, view)
    subject, finite = _subject(view.subject), group.finite
    if inverted:
        finite = conjugation.invert(finite, subject_pronoun(view.subject))
        subject = [] if isinstance(view.subject, Pronoun) else subject
    ne, second = _negation(clause, view)
    words = subject + (["ne"] if ne else []) + group.pronouns + [finite] + second
    words += [clause.adverb.fr] if clause.adverb else []
    words += group.after + _predicate(clause, view.subject) + objects(clause, view)
    return words + complements(clause)
