"""French noun phrases and strong pronouns, as lists of words."""

from . import french_morphology as morphology
from .modifiers import Adjective
from .structure import Argument, Located, Named, NounPhrase, Pronoun, Trace, Word


def _surround(phrase: NounPhrase) -> list[str]:
    """Return the noun between its adjectives."""
    noun = phrase.noun.fr_plural if phrase.number == "pl" else phrase.noun.fr
    after = [
        adjective.french(phrase.gender, phrase.number)
        for adjective in phrase.adjectives
        if adjective.position == "post"
    ]
    words = [noun] + after
    for adjective in reversed(phrase.adjectives):
        if adjective.position == "pre":
            words.insert(0, adjective.french(phrase.gender, phrase.number, words[0]))
    return words


def _superlative(phrase: NounPhrase) -> list[str]:
    """Return "la plus petite clé", "la voiture la plus chère" or "le meilleur livre"."""
    (adjective,) = phrase.adjectives
    article = morphology.definite(phrase.gender, phrase.number)
    noun = phrase.noun.fr_plural if phrase.number == "pl" else phrase.noun.fr
    if adjective.position == "pre":
        return [article] + compared(adjective, "more", phrase, noun) + [noun]
    return [article, noun, article] + compared(adjective, "more", phrase)


def compared(adjective: Adjective, degree: str, phrase: Argument, following: str = "") -> list[str]:
    """Return a compared adjective that agrees with a phrase (and suits the word after it)."""
    if adjective.en == "good" and degree == "more":
        return [morphology.agree("meilleur", phrase.gender, phrase.number)]
    form = adjective.french(phrase.gender, phrase.number, following)
    return [{"more": "plus", "less": "moins", "as": "aussi"}[degree], form]


def _indefinite(phrase: NounPhrase, words: list[str], reduced: bool) -> list[str]:
    """Return un, une, du, de la, des, or de where negation or an adjective reduces it."""
    adjective_first = phrase.adjectives and phrase.adjectives[0].position == "pre"
    any_first = any(adjective.position == "pre" for adjective in phrase.adjectives)
    if reduced or (phrase.number == "pl" and (adjective_first or any_first)):
        return ["de"]
    if phrase.determiner == "some" or phrase.number == "pl":
        return morphology.partitive(phrase.gender, phrase.number, words[0])
    return ["un" if phrase.gender == "m" else "une"]


def _determiner(phrase: NounPhrase, words: list[str], reduced: bool) -> list[str]:
    chosen, gender, number = phrase.determiner, phrase.gender, phrase.number
    if isinstance(chosen, Pronoun):
        owner = (chosen.person, chosen.number)
        return [morphology.possessive(*owner, gender, number, words[0])]
    if isinstance(chosen, tuple):
        return [chosen[1]]
    if chosen == "role":
        return []
    if chosen in ("indef", "some"):
        return _indefinite(phrase, words, reduced)
    if chosen == "this":
        return [morphology.demonstrative(gender, number, words[0])]
    if chosen == "which":
        return [morphology.agree("quel", gender, number, "quelle")]
    if chosen == "many":
        return ["combien", "de"]
    return [morphology.definite(gender, number)]


def noun_phrase(phrase: NounPhrase, preposition: str = "", negated: bool = False) -> list[str]:
    """Realise a noun phrase, after a preposition if one is given."""
    if phrase.superlative:
        words = _superlative(phrase)
    else:
        words = _surround(phrase)
        absorbed = preposition == "de" and (phrase.determiner == "some" or _plain_plural(phrase))
        determiner = [] if absorbed else _determiner(phrase, words, negated)
        words = determiner + words
        if isinstance(phrase.determiner, (NounPhrase, Named)):
            words += argument(phrase.determiner, "de")
    if preposition:
        words = morphology.contract(preposition, words)
    if phrase.relative:
        words = words + _relative(phrase)
    return words


def _plain_plural(phrase: NounPhrase) -> bool:
    return phrase.determiner == "indef" and phrase.number == "pl"


def _relative(phrase: NounPhrase) -> list[str]:
    from .french_clause import clause

    relative = phrase.relative
    case = relative.clause.verb.case
    word = "qui" if relative.role == "subject" else "dont" if case == "de" else "que"
    return [word] + clause(relative.clause)


def strong_pronoun(pronoun: Pronoun) -> str:
    """Return moi, lui, elle, nous, vous, eux or elles."""
    if pronoun.person == 1:
        return "moi" if pronoun.number == "sg" else "nous"
    if pronoun.person == 2:
        return "vous"
    masculine, feminine = ("lui", "elle") if pronoun.number == "sg" else ("eux", "elles")
    return masculine if pronoun.gender == "m" else feminine


def argument(phrase: Argument, preposition: str = "", negated: bool = False) -> list[str]:
    """Realise a subject or an object that is not a clitic."""
    if isinstance(phrase, Trace):
        return []
    if isinstance(phrase, NounPhrase):
        return noun_phrase(phrase, preposition, negated)
    before = [preposition] if preposition else []
    if isinstance(phrase, Word):
        return before + [phrase.fr]
    if isinstance(phrase, Named):
        return before + [phrase.name.fr]
    return before + [strong_pronoun(phrase)]


def located(place: Located) -> list[str]:
    """Realise a place ("au marché", "dans la forêt")."""
    return noun_phrase(place.place, place.fr)
