"""French sentences: questions, commands, "il y a", and the joining of clauses."""

from . import french_conjugation as conjugation
from . import french_morphology as morphology
from .french_clause import clause, complements, objects
from .french_clitics import clitics, roles
from .french_phrase import located, noun_phrase, strong_pronoun
from .structure import (
    Existential,
    Imperative,
    NounPhrase,
    Part,
    Phrase,
    Pronoun,
    Question,
    Sentence,
    Word,
)


def _question(question: Question) -> list[str]:
    word, inner = question.word, question.clause
    if isinstance(inner.subject, Word):
        return clause(inner)
    if word is None:
        return ["est-ce", "que"] + clause(inner)
    if isinstance(word, Word) and word.fr == "que" and not isinstance(inner.subject, Pronoun):
        return ["qu'est-ce", "que"] + clause(inner)
    words = word.fr.split() if isinstance(word, (Phrase, Word)) else noun_phrase(word)
    return words + clause(inner, inverted=True)


def _imperative(command: Imperative) -> list[str]:
    inner = command.clause
    view = roles(inner)
    finite = conjugation.conjugate(inner.verb.fr, "present", 2, "pl")
    pronouns = clitics(inner)
    if inner.polarity == "not":
        words = ["ne"] + pronouns + [finite, "pas"]
    else:
        pronouns = sorted(pronouns, key=("le", "la", "les").__contains__, reverse=True)
        strong = [strong_pronoun(Pronoun(1, "sg")) if p == "me" else p for p in pronouns]
        words = ["-".join([finite] + strong)]
    return words + objects(inner, view) + complements(inner)


def _existential(part: Existential) -> list[str]:
    tense = "imperfect" if part.tense == "past" else part.tense
    finite = conjugation.conjugate("avoir", tense, 3, "sg")
    before, after = (["ne"], ["pas"]) if part.negative else ([], [])
    place = located(part.place) if part.place else []
    found = noun_phrase(part.phrase, negated=part.negative)
    return ["il"] + before + ["y", finite] + after + found + place


def _part(part: Part) -> list[str]:
    if isinstance(part, Phrase):
        return part.fr.split()
    if isinstance(part, Question):
        return _question(part)
    if isinstance(part, Imperative):
        return _imperative(part)
    if isinstance(part, Existential):
        return _existential(part)
    if isinstance(part, NounPhrase):
        return noun_phrase(part)
    return clause(part)


def sentence(whole: Sentence) -> str:
    """Realise a sentence as text."""
    words = [word for part in whole.parts for word in _part(part)]
    return morphology.capitalise(morphology.join(words)) + (
        " ?" if whole.mark == "?" else whole.mark
    )
