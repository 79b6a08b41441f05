"""English sentences: questions, commands, "there is", and the joining of clauses."""

from dataclasses import replace

from . import english_morphology as morphology
from .english_clause import after_verb, clause, middle
from .english_morphology import BE
from .english_phrase import argument, located, noun_phrase
from .structure import (
    Existential,
    Imperative,
    NounPhrase,
    Part,
    Phrase,
    Question,
    Sentence,
)


def _question(question: Question) -> list[str]:
    if question.word is None:
        return clause(question.clause, question=True)
    word = question.word
    words = [word.en] if isinstance(word, Phrase) else argument(word)
    return words + clause(question.clause, question=True)


def _imperative(command: Imperative) -> list[str]:
    inner = command.clause
    before = ["do", "not"] if inner.polarity == "not" else middle(inner)
    return before + [inner.verb.en.base] + after_verb(inner)


def _existential(part: Existential) -> list[str]:
    number = part.phrase.number
    verb = {
        "present": [morphology.present("be", 3, number)],
        "past": [morphology.past(BE, 3, number)],
        "future": ["will", "be"],
    }[part.tense]
    phrase = replace(part.phrase, determiner="none") if part.negative else part.phrase
    place = located(part.place) if part.place else []
    return ["there"] + verb + noun_phrase(phrase) + place


def _part(part: Part) -> list[str]:
    if isinstance(part, Phrase):
        return [part.en]
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
    text = morphology.join(words + [whole.mark]).replace("can not", "cannot")
    return text[:1].upper() + text[1:]
