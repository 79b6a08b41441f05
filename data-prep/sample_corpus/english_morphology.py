"""English inflection: plurals, a/an, verb forms, comparatives."""

from collections.abc import Sequence
from typing import NamedTuple

_VOWELS = "aeiou"
#: Verbs of one stressed syllable (or none of the rule's exceptions) that double a consonant.
_DOUBLING = frozenset("get swim run stop travel put forget sit plan".split())


class EnglishVerb(NamedTuple):
    """The forms of a verb; ``rest`` is an invariable part that follows it ("up", "dressed")."""

    base: str
    past: str
    participle: str
    rest: str = ""

    @property
    def key(self) -> str:
        """A name for the verb, with its particle."""
        return " ".join(part for part in (self.base, self.rest) if part)


def pluralise(noun: str) -> str:
    """Form a regular plural."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def regular_past(base: str) -> str:
    """Form a regular past tense."""
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return (base + base[-1] if base in _DOUBLING else base) + "ed"


def third_person(base: str) -> str:
    """Form the third person singular of the present."""
    if base in ("be", "have"):
        return {"be": "is", "have": "has"}[base]
    if base in ("go", "do"):
        return base + "es"
    return pluralise(base)


def gerund(base: str) -> str:
    """Form the -ing form."""
    if base in _DOUBLING:
        return base + base[-1] + "ing"
    if base.endswith("ie"):
        return base[:-2] + "ying"
    return (base[:-1] if base.endswith("e") and base not in ("be", "see") else base) + "ing"


def verb(forms: str, rest: str = "") -> EnglishVerb:
    """Build a verb from "base", or from "base past participle" when it is irregular."""
    parts = forms.split()
    if len(parts) == 1:
        past = regular_past(parts[0])
        parts = [parts[0], past, past]
    return EnglishVerb(parts[0], parts[1], parts[2], rest)


BE = verb("be was been")
HAVE = verb("have had had")
DO = verb("do did done")


def present(base: str, person: int, number: str) -> str:
    """Return the present form for a subject."""
    if base == "be":
        if number == "pl" or person == 2:
            return "are"
        return "am" if person == 1 else "is"
    return third_person(base) if (person, number) == (3, "sg") else base


def past(form: EnglishVerb, person: int, number: str) -> str:
    """Return the simple past form for a subject."""
    if form.base == "be":
        return "were" if number == "pl" or person == 2 else "was"
    return form.past


def article(following: str) -> str:
    """Choose a or an by sound, well enough for the words of the lexicon."""
    return "an" if following[0] in "aeio" or following.startswith(("umb", "ugl", "unc")) else "a"


_COMPARATIVES = {"good": "better", "bad": "worse"}


_SHORT_OF_TWO = frozenset("happy heavy dirty pretty angry busy quiet".split())


def is_short(adjective: str) -> bool:
    """Say whether an adjective is compared with -er rather than with more."""
    vowel_groups = 0
    previous = False
    for letter in adjective[:-1] if adjective.endswith("e") else adjective:
        vowel = letter in "aeiouy"
        vowel_groups += vowel and not previous
        previous = vowel
    return vowel_groups == 1 or adjective in _SHORT_OF_TWO


def _stem(adjective: str) -> str:
    if adjective.endswith("y") and adjective[-2] not in _VOWELS:
        return adjective[:-1] + "i"
    if adjective.endswith("e"):
        return adjective[:-1]
    doubles = adjective in ("big", "hot", "sad", "red")
    return adjective + adjective[-1] if doubles else adjective


def comparative(adjective: str) -> str:
    """Form the comparative of superiority ("taller", "more expensive")."""
    if adjective in _COMPARATIVES:
        return _COMPARATIVES[adjective]
    return _stem(adjective) + "er" if is_short(adjective) else "more " + adjective


def superlative(adjective: str) -> str:
    """Form the superlative, without its article ("tallest", "most expensive")."""
    if adjective in _COMPARATIVES:
        return {"good": "best", "bad": "worst"}[adjective]
    return _stem(adjective) + "est" if is_short(adjective) else "most " + adjective


def join(tokens: Sequence[str]) -> str:
    """Join tokens into text; commas and final punctuation stick to the word before."""
    text = ""
    for token in tokens:
        glued = not text or token in (",", ".", "?", "'s", "'")
        text += token if glued else " " + token
    return text
