"""English noun phrases, pronouns and places, as lists of words."""

from . import english_morphology as morphology
from .structure import Argument, Located, Named, NounPhrase, Pronoun, Trace, Word

_SUBJECT = {(1, "sg"): "I", (1, "pl"): "we", (2, "pl"): "you", (3, "pl"): "they"}
_OBJECT = {(1, "sg"): "me", (1, "pl"): "us", (2, "pl"): "you", (3, "pl"): "them"}
_POSSESSIVE = {(1, "sg"): "my", (1, "pl"): "our", (2, "pl"): "your", (3, "pl"): "their"}


def _third_singular(pronoun: Pronoun, masculine: str, feminine: str, neuter: str) -> str:
    if not pronoun.animate:
        return neuter
    return masculine if pronoun.gender == "m" else feminine


def subject_pronoun(pronoun: Pronoun) -> str:
    """Return I, he, she, it, we, you or they."""
    person = (pronoun.person, pronoun.number)
    return _SUBJECT.get(person) or _third_singular(pronoun, "he", "she", "it")


def object_pronoun(pronoun: Pronoun) -> str:
    """Return me, him, her, it, us, you or them."""
    person = (pronoun.person, pronoun.number)
    return _OBJECT.get(person) or _third_singular(pronoun, "him", "her", "it")


def possessive(owner: Pronoun) -> str:
    """Return the possessive determiner: it agrees with the owner."""
    person = (owner.person, owner.number)
    return _POSSESSIVE.get(person) or _third_singular(owner, "his", "her", "its")


def _noun(phrase: NounPhrase) -> str:
    return phrase.noun.en_plural if phrase.number == "pl" else phrase.noun.en


def _genitive(owner: Argument) -> list[str]:
    words = argument(owner)
    return words + ["'" if owner.number == "pl" and words[-1].endswith("s") else "'s"]


def _determiner(phrase: NounPhrase, following: str, negated: bool) -> list[str]:
    chosen = phrase.determiner
    if isinstance(chosen, Pronoun):
        return [possessive(chosen)]
    if isinstance(chosen, (NounPhrase, Named)):
        return _genitive(chosen)
    if isinstance(chosen, tuple):
        return [chosen[0]]
    plural = phrase.number == "pl"
    some = "any" if negated else "some"
    return {
        "def": ["the"],
        "indef": [some] if plural else [morphology.article(following)],
        "role": [] if plural else [morphology.article(following)],
        "some": [some],
        "generic": [],
        "none": ["no"],
        "this": ["these" if plural else "this"],
        "which": ["which"],
        "many": ["how", "many"],
    }[chosen]


def noun_phrase(phrase: NounPhrase, negated: bool = False) -> list[str]:
    """Realise a noun phrase; adjectives of size and quality come before colours."""
    ordered = sorted(phrase.adjectives, key=lambda adjective: adjective.position == "post")
    adjectives = [adjective.en for adjective in ordered]
    if phrase.superlative:
        adjectives = [morphology.superlative(adjectives[0])]
    words = adjectives + [_noun(phrase)]
    words = _determiner(phrase, words[0], negated) + words
    if phrase.relative:
        from .english_clause import clause

        human = phrase.animate and phrase.relative.role == "subject"
        words += ["who" if human else "that"] + clause(phrase.relative.clause)
    return words


def argument(phrase: Argument, subject: bool = False, negated: bool = False) -> list[str]:
    """Realise a subject or an object."""
    if isinstance(phrase, Trace):
        return []
    if isinstance(phrase, Word):
        return [phrase.en]
    if isinstance(phrase, Named):
        return [phrase.name.en]
    if isinstance(phrase, Pronoun):
        return [subject_pronoun(phrase) if subject else object_pronoun(phrase)]
    return noun_phrase(phrase, negated)


def located(place: Located) -> list[str]:
    """Realise a place."""
    return [place.en] + noun_phrase(place.place)
