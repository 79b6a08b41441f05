"""Random choices of words and noun phrases that make sense together."""

import random
from collections.abc import Sequence
from typing import Optional, TypeVar

from .modifiers import COUNTS, Adjective, adjectives_for
from .nouns import NAMES, Noun, nouns_of
from .structure import Argument, Located, Named, NounPhrase, Pronoun
from .verbs import HAVE, NEED, Verb

Item = TypeVar("Item")

HE = Pronoun(3, "sg")
SHE = Pronoun(3, "sg", "f")
YOU = Pronoun(2, "pl")
PERSONS = (Pronoun(1, "sg"), HE, SHE, Pronoun(1, "pl"), YOU, Pronoun(3, "pl"))
IT = Pronoun(3, "sg", "m", animate=False)
THEM_THINGS = Pronoun(3, "pl", "m", animate=False)

_SEVERAL = ("sister", "brother", "son", "daughter", "friend")


def _same(one: Optional[Argument], other: Argument) -> bool:
    """Say whether two phrases would name the same person or use the same noun."""
    if isinstance(one, NounPhrase):
        alike = isinstance(other, NounPhrase) and one.noun == other.noun
        return alike or one.determiner == other
    return one == other


class Sampler:
    """Draws from the lexicon; only ``random()`` is used, as its sequence never changes.

    Methods with an ``unlike`` argument return something other than that phrase.
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random.random() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """Choose one item, all equally likely."""
        return items[int(self._random.random() * len(items))]

    def weighted(self, options: Sequence[tuple[Item, float]]) -> Item:
        """Choose one item from (item, weight) pairs."""
        left = self._random.random() * sum(weight for _, weight in options)
        for item, weight in options:
            left -= weight
            if left < 0:
                return item
        return options[-1][0]

    def pronoun(self, asked: bool = False) -> Pronoun:
        """Choose a personal subject pronoun (never "I" when it is ``asked`` about)."""
        return self.pick(PERSONS[1:] if asked else PERSONS)

    def named(self, unlike: Optional[Argument] = None) -> Named:
        """Choose a person's name."""
        return Named(self.pick([name for name in NAMES if unlike != Named(name)]))

    def owner(self, subject: Optional[Argument] = None) -> Pronoun:
        """Choose a possessor: often the subject itself, so that "his" follows from "Paul"."""
        if subject is not None and self.chance(0.7):
            return Pronoun(subject.person, subject.number, subject.gender)
        return self.pick(PERSONS)

    def adjectives(self, noun: Noun, chance: float = 0.32) -> tuple[Adjective, ...]:
        """Choose no, one or two adjectives; two only on both sides of the French noun."""
        fitting = adjectives_for(noun)
        if not fitting or not self.chance(chance):
            return ()
        first = self.pick(fitting)
        others = [entry for entry in fitting if entry.position != first.position]
        if others and "animate" not in noun.kinds and self.chance(0.2):
            pair = (first, self.pick(others))
            return pair if first.position == "pre" else pair[::-1]
        return (first,)

    def kin(self, subject: Optional[Argument] = None) -> NounPhrase:
        """Choose a relative of somebody ("her mother", "Paul's sisters")."""
        noun = self.pick(nouns_of("kin"))
        owner = self.named(subject) if self.chance(0.2) else self.owner(subject)
        plural = noun.en in _SEVERAL and self.chance(0.2)
        return NounPhrase(noun, owner, "pl" if plural else "sg")

    def person(self, labels: str = "person") -> NounPhrase:
        """Choose a definite or demonstrative person ("the young doctor", "these girls")."""
        noun = self.pick(nouns_of(labels))
        determiner = self.weighted((("def", 7), ("this", 2)))
        number = "pl" if self.chance(0.2) and noun.en not in ("king", "queen") else "sg"
        return NounPhrase(noun, determiner, number, self.adjectives(noun, 0.25))

    def somebody(self, unlike: Optional[Argument] = None) -> Argument:
        """Choose a person, by name or by description."""
        kind = self.weighted((("name", 4), ("kin", 3), ("person", 4)))
        if kind == "name":
            found = self.named()
        else:
            found = self.kin(unlike) if kind == "kin" else self.person()
        return self.somebody(unlike) if _same(unlike, found) else found

    def subject(self, asked: bool = False, unlike: Optional[Argument] = None) -> Argument:
        """Choose a human subject; half of them are pronouns."""
        if self.chance(0.5):
            found = self.pronoun(asked)
            return self.named() if found == unlike else found
        return self.somebody(unlike)

    def _thing(self, noun: Noun, subject: Optional[Argument]) -> NounPhrase:
        """Choose a noun phrase around a countable thing."""
        chosen = self.weighted(
            (("def", 30), ("indef", 24), ("some", 8), ("this", 10), ("own", 14), ("count", 8))
            + (("genitive", 4),)
        )
        number = "pl" if self.chance(0.25) else "sg"
        number = {"indef": "sg", "some": "pl", "count": "pl"}.get(chosen, number)
        determiner = {"own": self.owner(subject), "count": self.pick(COUNTS)}.get(chosen, chosen)
        if chosen == "genitive":
            determiner = self.named(subject) if self.chance(0.6) else self.kin(subject)
        return NounPhrase(noun, determiner, number, self.adjectives(noun))

    def _simple(self, noun: Noun, determiners, adjectives: float = 0.3) -> NounPhrase:
        """Choose a noun phrase from (determiner, weight) pairs, now and then plural."""
        determiner = self.weighted(determiners)
        singular = determiner == "indef" or "mass" in noun.kinds or "opening" in noun.kinds
        number = "pl" if self.chance(0.22) and not singular else "sg"
        return NounPhrase(noun, determiner, number, self.adjectives(noun, adjectives))

    def _possession(self, noun: Noun) -> NounPhrase:
        """Choose what one has or needs ("a car", "two keys")."""
        if self.chance(0.75):
            return NounPhrase(noun, "indef", "sg", self.adjectives(noun, 0.5))
        return NounPhrase(noun, self.pick(COUNTS), "pl", self.adjectives(noun, 0.3))

    def object_of(self, verb: Verb, subject: Optional[Argument] = None) -> NounPhrase:
        """Choose an object that suits a verb and does not repeat the subject's noun."""
        used = subject.noun if isinstance(subject, NounPhrase) else None
        noun = self.pick([entry for entry in nouns_of(verb.objects) if entry != used])
        mass = "mass" in noun.kinds
        if verb.en.base in ("love", "hate") and (mass or "fruit" in noun.kinds):
            return NounPhrase(noun, "generic", "sg" if mass else "pl")
        if verb is NEED and mass:
            return NounPhrase(noun, "some")
        if verb in (HAVE, NEED):
            return self._possession(noun)
        if verb.case == "de" and "instrument" in noun.kinds:
            return NounPhrase(noun)
        if "kin" in noun.kinds:
            return NounPhrase(noun, self.named(subject) if self.chance(0.2) else self.owner())
        if mass:
            return self._simple(noun, (("some", 6), ("def", 4), ("this", 1.5)), 0.25)
        if "animate" in noun.kinds or "building" in noun.kinds or verb.en.base == "wear":
            return self._simple(noun, (("def", 5), ("indef", 3), ("this", 2)))
        if "place" in noun.kinds or "opening" in noun.kinds:
            return self._simple(noun, (("def", 6), ("this", 2)))
        return self._thing(noun, subject)

    def object_pronoun(self, subject: Argument) -> Pronoun:
        """Choose a personal object pronoun that is not the subject again."""
        return self.pick([p for p in PERSONS if p.person == 3 or p.person != subject.person])

    def clitic_object(self, verb: Verb, subject: Argument) -> Pronoun:
        """Choose a pronoun that can be the object of a verb: of a person, or it and them.

        "Visit them" is kept for people, because visiting people and places differ in French.
        """
        if verb.is_personal:
            return self.object_pronoun(subject)
        return IT if verb.fr == "visiter" else self.pick((IT, IT, THEM_THINGS))

    def place(self) -> Located:
        """Choose a place ("at the market", "in the garden")."""
        noun = self.pick(nouns_of("place"))
        return Located(*noun.locative, NounPhrase(noun))
