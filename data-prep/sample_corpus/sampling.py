"""Random choices of words, noun phrases and clauses that make sense."""

import random
from collections.abc import Sequence
from typing import Optional

from .noun_phrases import PLURAL, noun_phrase
from .nouns import ADJECTIVES, HUMAN, MASS, Adjective, Noun, adjectives_for, nouns_of
from .structure import HE, IT, ME, SHE, THEY, WE, YOU, Clause, Nominal
from .verbs import NEGATIVE, NONE, NOT, USES, Bilingual, Use, Verb

PERSONS = (ME, HE, SHE, WE, YOU, THEY)
_PLACES = ("building", "sight", "place", "room", "opening")
#: Determiners by the kind of the noun, each as often as it is to be drawn.
_DETERMINERS = {
    "name": [""],
    "kin": ["own"],
    **dict.fromkeys(("person", *_PLACES), "the the the this".split()),
    **dict.fromkeys(MASS, "the a a".split()),
}
_NEGATED = {"a": "any", "bare": "none", "two": "this", "three": "this", "five": "this"}
_SINGULAR = ("name", "kin", "instrument", "sight", "place")
_USUAL = "the the the a a a a this own own own whose two three five".split()


def _others(subject: Nominal) -> list[Nominal]:
    """Return the pronouns of persons that are not the subject again."""
    used = {0: (0, 2), 2: (0, 2), 3: (3,)}.get(subject.person, ())
    return [pronoun for pronoun in PERSONS if pronoun.person not in used]


class Sampler:
    """Draws from the lexicon; only ``random()`` is used, as its sequence never changes.

    ``combinations`` are the adjectives with their nouns and the verbs with their objects that have
    been drawn since it was last emptied.
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self.combinations: set[Bilingual] = set()

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random.random() < probability

    def pick(self, items: Sequence):
        """Choose one item, all equally likely."""
        return items[int(self._random.random() * len(items))]

    def adjective(self, noun: Optional[Noun], fitting: Sequence[Adjective]) -> Adjective:
        """Choose an adjective for a noun or a pronoun."""
        chosen = self.pick(fitting)
        if noun:
            self.combinations.add((chosen.en, noun.en))
        return chosen

    def phrase(self, noun: Noun, determiners=(), owner=IT, negated=False, plain=False) -> Nominal:
        """Choose determiner, number and, unless ``plain``, adjectives for a noun."""
        chosen = self.pick(determiners or _DETERMINERS.get(noun.kind, _USUAL))
        chosen = _NEGATED.get(chosen, chosen) if negated else chosen
        plural = noun.kind not in _SINGULAR and self.chance(0.25)
        plural = noun.kind not in MASS and (plural or chosen in PLURAL)
        if chosen == "own":
            own = owner is not IT and self.chance(0.7)
            chosen = owner.pronoun if own else self.pick(PERSONS)
        elif chosen == "whose":
            owners = [other for other in nouns_of("name kin") if other != owner.noun]
            chosen = self.phrase(self.pick(owners))
        adjectives = []
        for position in () if plain or noun.kind in ("name", "kin") else ("before", "after"):
            fitting = [item for item in adjectives_for(noun) if item.position == position]
            if fitting and self.chance(0.2):
                adjectives.append(self.adjective(noun, fitting))
        return noun_phrase(noun, chosen, plural, adjectives)

    def subject(self, unlike: Nominal = IT, persons: Sequence[Nominal] = PERSONS) -> Nominal:
        """Choose a person; half of them are pronouns."""
        if self.chance(0.5):
            return self.pick([it for it in _others(unlike) if it in persons and it != unlike])
        return self.somebody(unlike)

    def somebody(self, unlike: Nominal) -> Nominal:
        """Choose a person, by name or by description."""
        nouns = nouns_of(self.pick(HUMAN))
        return self.phrase(self.pick([noun for noun in nouns if noun != unlike.noun]), (), unlike)

    def object_of(self, clause: Clause, determiners=(), plain=False) -> Nominal:
        """Choose an object for a clause, for a habit a general one ("She reads novels")."""
        verb = clause.verb
        noun = self.pick([it for it in nouns_of(verb.objects) if it != clause.subject.noun])
        self.combinations.add((verb.key, noun.en))
        if not determiners and noun.kind not in ("kin", "person", *_PLACES):
            habit = clause.tense in ("present", "habitual") and not clause.modal
            if "generic" in verb.traits:
                determiners = ["generic"]
            elif verb.preposition == "de":
                determiners = ["the", "the", "this"]
            elif habit and "event" in verb.traits:
                eaten = noun.kind in (*MASS, "fruit", "snack")
                determiners = ["bare"] if eaten else ["bare", "own"]
        negated = clause.adverb in NEGATIVE
        return self.phrase(noun, determiners, clause.subject, negated, plain)

    def _predicate(self, verb: Verb, subject: Nominal) -> Adjective:
        """Choose an adjective that the verb lists or the subject can be; "new" would be "neuf"."""
        listed = [ADJECTIVES[word] for word in verb.objects.split()]
        suiting = adjectives_for(subject.noun or nouns_of("name")[0])
        return self.adjective(subject.noun, listed or [it for it in suiting if it.en != "new"])

    def _complements(self, clause: Clause) -> dict:
        """Choose the predicate, the place or the objects that a verb takes."""
        verb, subject = clause.verb, clause.subject
        if verb.key == "be":
            return {"predicate": self._predicate(verb, subject)}
        if "place" in verb.traits and self.chance(0.6):
            place = noun_phrase(self.pick(nouns_of(verb.objects)))
            words = ("in", "dans") if place.noun.kind in ("open", "room") else ("at", "à")
            return {"circumstances": ((f"{words[0]} {place.en}", f"{words[1]} {place.fr}"),)}
        if "place" in verb.traits or not verb.objects:
            return {}
        if "noun" in verb.traits or self.chance(0.8):
            found = {"direct": self.object_of(clause)}
        elif any(noun.kind in HUMAN for noun in nouns_of(verb.objects)):
            found = {"direct": self.pick(_others(subject))}
        else:
            found = {"direct": self.pick((IT, IT, THEY))}
        if "giving" in verb.traits:
            pronoun = self.chance(0.5)
            found["recipient"] = self.pick(_others(subject)) if pronoun else self.somebody(subject)
        return found

    def event(self, subject: Nominal, verbs: list[Verb], uses: list[str], full=False) -> Clause:
        """Choose a clause about a subject, with one of the verbs in a use that suits it.

        Only a ``full`` clause has a time, or an adverb that the use does not demand.
        """
        suitable: list[Use] = []
        while not suitable:
            verb = self.pick(verbs)
            suitable = [USES[use] for use in uses if USES[use].trait in verb.traits]
        use = self.pick(suitable)
        adverb = self.pick(use.adverbs) if full or len(use.adverbs) == 1 else NONE
        clause = Clause(subject, verb, use.tense, adverb, self.pick(use.modals))
        clause = clause._replace(**self._complements(clause))
        times = use.times[:3] if verb.reflexive else use.times
        if full and times and adverb in (NONE, NOT) and self.chance(0.4):
            clause = clause._replace(circumstances=(*clause.circumstances, self.pick(times)))
        return clause
