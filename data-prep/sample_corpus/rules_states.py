"""Rules for descriptions, comparisons, existence, weather, time and age."""

from . import modifiers, verbs
from .modifiers import ABSOLUTE, Adjective, adjectives_for
from .nouns import NOUN, REGIONS, Noun, nouns_of
from .sampling import Sampler
from .structure import (
    Clause,
    Comparison,
    Existential,
    Located,
    NounPhrase,
    Phrase,
    Sentence,
    Word,
)
from .tenses import inflected
from .verbs import Verb

_DESCRIBED = "thing opening building public outdoor food foodstuff drink animal room"
_KIN = NOUN["mother"]
PERSONAL_STATES = tuple(
    entry
    for entry in adjectives_for(_KIN, predicate=True)
    if entry.position == "predicate" and entry.en not in ("tall", "ready")
)


def _fitting(noun: Noun, comparable: bool) -> list[Adjective]:
    personal = "person" in noun.kinds or "kin" in noun.kinds
    fitting = adjectives_for(_KIN if personal else noun, predicate=True)
    return [entry for entry in fitting if not (comparable and entry.en in ABSOLUTE)]


_DESCRIBED_NOUNS = {
    comparable: [noun for noun in nouns_of(_DESCRIBED) if _fitting(noun, comparable)]
    for comparable in (False, True)
}


def described(s: Sampler, comparable: bool = False):
    """Choose a subject and an adjective that suits it ("the soup", "hot")."""
    if s.chance(0.4):
        subject = s.subject()
        noun = subject.noun if isinstance(subject, NounPhrase) else _KIN
        return subject, s.pick(_fitting(noun, comparable))
    noun = s.pick(_DESCRIBED_NOUNS[comparable])
    number = "pl" if s.chance(0.25) and "mass" not in noun.kinds else "sg"
    owner = s.owner() if "thing" in noun.kinds else "def"
    determiner = s.weighted((("def", 6), ("this", 3), (owner, 2)))
    return NounPhrase(noun, determiner, number), s.pick(_fitting(noun, comparable))


def description(s: Sampler) -> Sentence:
    """Write "The bottles are empty"."""
    subject, adjective = described(s)
    return Sentence((inflected(s, Clause(subject, verbs.BE, predicate=adjective)),))


_GENERAL_KINDS = frozenset(("thing", "place", "animate", "mass", "fragile", "sight"))


def _rival(s: Sampler, noun: Noun, adjective: Adjective):
    """Choose what a thing is compared with: a noun of its kind, or None."""
    kinds = set(noun.kinds) - _GENERAL_KINDS
    fits = [
        other
        for other in _DESCRIBED_NOUNS[True]
        if kinds.intersection(other.kinds)
        and other != noun
        and adjective in adjectives_for(other, predicate=True)
    ]
    return NounPhrase(s.pick(fits)) if fits else None


def comparison(s: Sampler) -> Sentence:
    """Write "Paul is taller than Mary" or "The chair is less expensive than the table"."""
    subject, adjective = described(s, comparable=True)
    degree = s.weighted((("more", 6), ("less", 2), ("as", 3)))
    if isinstance(subject, NounPhrase) and not subject.animate:
        than = _rival(s, subject.noun, adjective)
        if than is None:
            return comparison(s)
    else:
        than = s.object_pronoun(subject) if s.chance(0.3) else s.somebody(subject)
    clause = Clause(subject, verbs.BE, predicate=Comparison(adjective, degree, than))
    tense = s.weighted((("present", 7), ("past", 2)))
    return Sentence((clause.but(tense=tense, polarity="not" if s.chance(0.12) else "positive"),))


_ROLES_ANY = ("doctor", "teacher")
_ROLES = {"m": ("baker", "lawyer", "student"), "f": ("nurse", "actress")}


def role(s: Sampler) -> Sentence:
    """Write "My aunt is a nurse" ("Ma tante est infirmière")."""
    subject = s.pick((s.pronoun(), s.named(), s.kin()))
    noun = NOUN[s.pick(_ROLES_ANY + _ROLES[subject.gender])]
    predicate = NounPhrase(noun, "role", subject.number)
    return Sentence((inflected(s, Clause(subject, verbs.BE, predicate=predicate)),))


def presentation(s: Sampler) -> Sentence:
    """Write "This is Paul's car" ("C'est la voiture de Paul")."""
    noun = s.pick(nouns_of("thing building kin"))
    owner = s.named() if s.chance(0.5) else s.kin() if s.chance(0.4) else s.owner()
    if "kin" in noun.kinds:
        owner = s.named() if s.chance(0.5) else s.owner()
    plural = "kin" not in noun.kinds and s.chance(0.25)
    start = Phrase("these are", "ce sont") if plural else Phrase("this is", "ce est")
    adjectives = s.adjectives(noun, 0.2) if "kin" not in noun.kinds else ()
    shown = NounPhrase(noun, owner, "pl" if plural else "sg", adjectives)
    return Sentence((start, shown))


_WHEREABOUTS = (
    ("person", "public outdoor"),
    ("animal", "outdoor kitchen station bakery"),
    ("thing", "kitchen office hotel library museum market"),
    ("food", "kitchen market bakery restaurant"),
)


def existence(s: Sampler) -> Sentence:
    """Write "There are two cats in the kitchen"."""
    things, places = s.pick(_WHEREABOUTS)
    noun = s.pick(nouns_of(things))
    determiner = s.weighted((("indef", 4), ("some", 3), (s.pick(modifiers.COUNTS), 4)))
    number = "sg" if determiner == "indef" else "pl"
    found = NounPhrase(noun, determiner, number, s.adjectives(noun))
    negative = determiner not in modifiers.COUNTS and s.chance(0.3)
    tense = s.weighted((("present", 6), ("past", 3), ("future", 1)))
    place = s.pick(nouns_of(places))
    located = Located(*place.locative, NounPhrase(place))
    return Sentence((Existential(found, tense, negative, located),))


def _state(english: str, french: str, rest: str) -> Verb:
    return Verb(verbs.verb("be was been", english), french, fr_rest=rest, stative=True)


_WEATHER = (
    ("it", _state("cold", "faire", "froid")),
    ("it", _state("hot", "faire", "chaud")),
    ("it", _state("dark", "faire", "nuit")),
    ("the weather", _state("nice", "faire", "beau")),
    ("the weather", _state("bad", "faire", "mauvais")),
)


def weather(s: Sampler) -> Sentence:
    """Write "It is raining" or "The weather was nice in Rome"."""
    region = s.pick(REGIONS)
    place = (Phrase("in " + region.en, region.fr_in),) if s.chance(0.7) else ()
    name, verb = s.pick(_WEATHER)
    if s.chance(0.5):
        name, verb = "it", s.pick((verbs.RAIN, verbs.SNOW))
    return Sentence((inflected(s, Clause(Word(name, "il"), verb, complements=place)),))


def hour(s: Sampler) -> Sentence:
    """Write "It is three o'clock"."""
    plain, morning, evening = (
        ("", ""),
        (" in the morning", " du matin"),
        (" in the evening", " du soir"),
    )
    when = s.weighted(((plain, 3), (morning, 1), (evening, 1)))
    english, french = s.pick(modifiers.HOURS[4:] if when == evening else modifiers.HOURS)
    time = Phrase(f"{english} o'clock{when[0]}", f"{french} heures{when[1]}")
    tense = s.weighted((("present", 4), ("past", 2)))
    polarity = "not" if s.chance(0.2) else "positive"
    return Sentence((Clause(Word("it", "il"), verbs.BE, tense, polarity, complements=(time,)),))


_YOUNG = frozenset("child boy girl brother sister son daughter".split())


def age(s: Sampler) -> Sentence:
    """Write "My sister is ten years old" ("Ma sœur a dix ans")."""
    subject = s.subject()
    grown = isinstance(subject, NounPhrase) and subject.noun.en not in _YOUNG
    if grown and subject.noun.en in ("mother", "father", "grandmother"):
        subject = s.named()
    english, french = s.pick(modifiers.TENS if grown else modifiers.NUMBERS[1:])
    verb = _state(f"{english} years old", "avoir", f"{french} ans")
    return Sentence((Clause(subject, verb, s.weighted((("present", 6), ("past", 2)))),))


def feeling(s: Sampler) -> Sentence:
    """Write "The children are hungry" ("Les enfants ont faim")."""
    clause = inflected(s, Clause(s.subject(), s.pick(verbs.BODILY)))
    if clause.tense == "present" and clause.polarity == "positive" and s.chance(0.3):
        clause = clause.but(adverb=s.pick(modifiers.FREQUENCY[:2]))
    return Sentence((clause,))
