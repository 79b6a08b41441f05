"""Rules for statements about what somebody does to something or somebody, and commands."""

from . import modifiers, verbs
from .modifiers import ABSOLUTE, adjectives_for
from .nouns import nouns_of
from .rules_actions import REFLEXIVE
from .sampling import IT, THEM_THINGS, YOU, Sampler
from .structure import Clause, Imperative, NounPhrase, Phrase, Sentence, Word
from .tenses import fronted, inflected

_ALL = verbs.TRANSITIVE + verbs.STATIVE
_WITH_PRONOUN = tuple(verb for verb in _ALL if verb not in (verbs.HAVE, verbs.HATE))


def _only(clause: Clause) -> bool:
    """Say whether a clause can take "only" ("ne ... que") before its object."""
    simple = clause.tense in ("present", "past", "future") and not clause.progressive
    plain = clause.polarity == "positive" and clause.adverb is None and not clause.complements
    return simple and plain and clause.verb.case == "direct"


def transitive(s: Sampler) -> Sentence:
    """Write "Mary is reading a long letter"."""
    verb = s.pick(_ALL)
    subject = s.subject()
    clause = inflected(s, Clause(subject, verb, direct=s.object_of(verb, subject)))
    if _only(clause) and s.chance(0.07):
        return Sentence((clause.but(polarity="only"),))
    return fronted(s, clause)


def with_pronoun(s: Sampler) -> Sentence:
    """Write "I did not see them"."""
    verb = s.pick(_WITH_PRONOUN)
    subject = s.subject()
    return fronted(s, inflected(s, Clause(subject, verb, direct=s.clitic_object(verb, subject))))


def giving(s: Sampler) -> Sentence:
    """Write "She gave the book to Paul" or "She gave me the book"."""
    verb = s.pick(verbs.DITRANSITIVE)
    subject = s.subject()
    recipient = s.object_pronoun(subject) if s.chance(0.55) else s.somebody(subject)
    direct = s.object_of(verb, subject)
    return fronted(s, inflected(s, Clause(subject, verb, direct=direct, recipient=recipient)))


def giving_it(s: Sampler) -> Sentence:
    """Write "He will not give it to her"."""
    verb = s.pick(verbs.DITRANSITIVE)
    subject = s.subject()
    recipient = s.object_pronoun(subject) if s.chance(0.75) else s.somebody(subject)
    direct = s.pick((IT, IT, THEM_THINGS))
    return fronted(s, inflected(s, Clause(subject, verb, direct=direct, recipient=recipient)))


def missing(s: Sampler) -> Sentence:
    """Write "I miss her" ("Elle me manque")."""
    subject = s.pronoun() if s.chance(0.7) else s.named()
    missed = s.object_pronoun(subject) if s.chance(0.5) else s.somebody(subject)
    return Sentence((inflected(s, Clause(subject, verbs.MISS, direct=missed)),))


def liking(s: Sampler) -> Sentence:
    """Write "She likes this dress" ("Cette robe lui plaît")."""
    thing = s.object_of(verbs.LIKE)
    determiner = s.weighted((("this", 5), ("def", 1), (s.owner(), 1)))
    number = thing.number if "clothes" in thing.noun.kinds else "sg"
    thing = NounPhrase(thing.noun, determiner, number, thing.adjectives)
    return Sentence((inflected(s, Clause(s.subject(), verbs.LIKE, direct=thing)),))


_WITH_NOTHING = "eat drink buy sell see find lose".split()
_WITH_NOBODY = "see help invite meet call hear talk".split()


def nothing(s: Sampler) -> Sentence:
    """Write "He ate nothing" or "We saw nobody"."""
    person = s.chance(0.45)
    wanted = _WITH_NOBODY if person else _WITH_NOTHING
    word = Word("nobody", "personne") if person else Word("nothing", "rien")
    verb = s.pick([entry for entry in verbs.TRANSITIVE if entry.en.base in wanted])
    tense = s.pick(("present", "past", "past", "future", "near"))
    return Sentence((Clause(s.subject(), verb, tense, direct=word),))


def already(s: Sampler) -> Sentence:
    """Write "She has already read the letter" or "They have not arrived yet"."""
    verb = s.pick(verbs.TRANSITIVE)
    subject = s.subject()
    clause = Clause(subject, verb, "perfect", direct=s.object_of(verb, subject))
    if s.chance(0.3):
        ended = [
            entry
            for entry in verbs.INTRANSITIVE
            if entry.fr
            in (
                "arriver",
                "partir",
                "manger",
                "dormir",
                "lever",
                "habiller",
                "réveiller",
                "coucher",
            )
        ]
        clause = clause.but(verb=s.pick(ended), direct=None)
    if s.chance(0.5):
        return Sentence((clause.but(adverb=modifiers.ALREADY),))
    return Sentence((clause.but(polarity="not yet"),))


_WILLED = tuple(
    verb
    for verb in verbs.INTRANSITIVE
    if verb.fr not in ("arriver", "tomber", "pleurer", "rire", "sourire")
)


def modal(s: Sampler) -> Sentence:
    """Write "I want to buy it" or "She cannot give him the key"."""
    chosen = s.pick((verbs.WANT, verbs.CAN, verbs.MUST))
    subject = s.subject()
    verb = s.pick(
        [
            entry
            for entry in verbs.TRANSITIVE + verbs.DITRANSITIVE
            if entry.en.base not in ("lose", "break")
        ]
    )
    pronoun = s.chance(0.5)
    direct = s.clitic_object(verb, subject) if pronoun else s.object_of(verb, subject)
    clause = Clause(subject, verb, direct=direct, modal=chosen)
    if verb in verbs.DITRANSITIVE:
        clause = clause.but(recipient=s.object_pronoun(subject))
    elif s.chance(0.25):
        clause = Clause(subject, s.pick(_WILLED), modal=chosen)
    future = 1 if chosen is verbs.MUST else 0
    tense = s.weighted((("present", 6), ("past", 2), ("future", future)))
    negative = chosen is not verbs.MUST and s.chance(0.3)
    return Sentence((clause.but(tense=tense, polarity="not" if negative else "positive"),))


def superlative(s: Sampler) -> Sentence:
    """Write "She bought the most expensive car"."""
    verb = s.pick(verbs.TRANSITIVE)
    noun = s.pick(nouns_of(verb.objects))
    fitting = [entry for entry in adjectives_for(noun) if entry.en not in ABSOLUTE]
    if not fitting or "kin" in noun.kinds:
        return superlative(s)
    number = "pl" if s.chance(0.2) and "mass" not in noun.kinds else "sg"
    best = NounPhrase(noun, "def", number, (s.pick(fitting),), superlative=True)
    subject = s.pronoun() if s.chance(0.5) else s.named()
    return Sentence((inflected(s, Clause(subject, verb, direct=best)),))


def command(s: Sampler) -> Sentence:
    """Write "Give it to me" or "Do not open the door"."""
    pool = verbs.TRANSITIVE + verbs.DITRANSITIVE + verbs.DITRANSITIVE
    verb = s.pick([entry for entry in pool if not entry.punctual])
    direct = s.clitic_object(verb, YOU) if s.chance(0.4) else s.object_of(verb, YOU)
    clause = Clause(YOU, verb, direct=direct)
    if verb in verbs.DITRANSITIVE:
        recipient = s.object_pronoun(YOU) if s.chance(0.7) else s.somebody()
        clause = clause.but(recipient=recipient)
    elif s.chance(0.15):
        clause = Clause(YOU, s.pick(REFLEXIVE))
    clause = clause.but(polarity="not" if s.chance(0.35) else "positive")
    please = (Phrase(",", ","), Phrase("please", "s'il vous plaît")) if s.chance(0.3) else ()
    return Sentence((Imperative(clause),) + please)
