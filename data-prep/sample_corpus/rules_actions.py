"""Rules for statements about what somebody does, without an object."""

from dataclasses import replace

from . import modifiers, verbs
from .nouns import REGIONS
from .sampling import Sampler
from .structure import THERE, Clause, Phrase, Sentence, Word
from .tenses import clock, fronted, inflected, timed

NOT_REFLEXIVE = tuple(verb for verb in verbs.INTRANSITIVE if not verb.reflexive)
REFLEXIVE = tuple(verb for verb in verbs.INTRANSITIVE if verb.reflexive)
DURATIVE = tuple(verb for verb in verbs.INTRANSITIVE if not verb.punctual)
_PLACED = frozenset("travailler dormir chanter danser jouer rester marcher arriver".split())


def _manner(s: Sampler, clause: Clause) -> Clause:
    fitting = []
    if clause.verb.fr in ("marcher", "courir", "nager"):
        fitting += [modifiers.SLOWLY, modifiers.QUICKLY]
    if clause.verb.fr in ("chanter", "danser", "nager", "dormir") and not clause.progressive:
        fitting += [modifiers.WELL] if clause.tense in ("present", "future") else []
    if clause.subject.number == "pl":
        fitting.append(modifiers.TOGETHER)
    if not fitting or clause.adverb or not s.chance(0.5):
        return clause
    adverb = s.pick(fitting)
    return clause.but(complements=(Phrase(adverb.en, adverb.fr),) + clause.complements)


def intransitive(s: Sampler) -> Sentence:
    """Write "The children are playing in the garden"."""
    verb = s.pick(NOT_REFLEXIVE)
    clause = Clause(s.subject(), verb)
    if verb.fr in _PLACED and s.chance(0.6):
        clause = clause.but(complements=(s.place(),))
    elif verb.fr == "voyager" and s.chance(0.6):
        region = s.pick(REGIONS[4:])
        clause = clause.but(complements=(Phrase("in " + region.en, region.fr_in),))
    clause = inflected(s, clause)
    return fronted(s, clause if verb.fr in _PLACED - {"danser"} else _manner(s, clause))


def reflexive(s: Sampler) -> Sentence:
    """Write "She got up at seven o'clock"."""
    verb = s.pick(REFLEXIVE)
    clause = inflected(s, Clause(s.subject(), verb))
    free = not clause.complements and not clause.progressive and clause.polarity != "never"
    if free and verb.fr in ("lever", "réveiller", "coucher") and s.chance(0.6):
        clause = timed(clause, clock(s))
    return fronted(s, clause)


def motion(s: Sampler) -> Sentence:
    """Write "We are going to the station" or "They came back from Japan"."""
    verb = s.pick((verbs.GO, verbs.GO, verbs.COME, verbs.RETURN))
    region = s.pick(REGIONS)
    if verb is verbs.GO:
        place = replace(s.place(), en="to", fr="à")
        goal = place if s.chance(0.5) else Phrase("to " + region.en, region.fr_in)
    else:
        place = replace(s.place(), en="from", fr="de")
        goal = place if s.chance(0.4) else Phrase("from " + region.en, region.fr_from)
    return fronted(s, inflected(s, Clause(s.subject(), verb, complements=(goal,))))


def going_there(s: Sampler) -> Sentence:
    """Write "She goes there every day" ("Elle y va tous les jours")."""
    verb = s.pick((verbs.GO, verbs.GO, verbs.STAY, verbs.VERB["work/travailler"]))
    clause = inflected(s, Clause(s.subject(), verb, complements=(THERE,)))
    if verb is verbs.GO and clause.tense == "future":
        clause = clause.but(tense="past", complements=(THERE,))  # "j'irai" does not take "y"
    return Sentence((clause,))


def living(s: Sampler) -> Sentence:
    """Write "My uncle lives in Lyon"."""
    region = s.pick(REGIONS)
    goal = Phrase("in " + region.en, region.fr_in)
    return Sentence((inflected(s, Clause(s.subject(), verbs.LIVE, complements=(goal,))),))


def nobody(s: Sampler) -> Sentence:
    """Write "Nobody is singing" ("Personne ne chante")."""
    verb = s.pick(NOT_REFLEXIVE)
    tense = s.pick(("present", "past", "future"))
    clause = Clause(Word("nobody", "personne"), verb, tense)
    return Sentence((clause.but(progressive=tense == "present" and not verb.punctual),))
