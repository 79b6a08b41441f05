"""Rules for relative clauses, and for pronouns that take up a noun of the same sentence."""

from . import verbs
from .modifiers import adjectives_for
from .nouns import NOUNS, Noun, nouns_of
from .rules_actions import DURATIVE
from .rules_states import PERSONAL_STATES
from .rules_subordinate import BUT, COMMA
from .sampling import Sampler
from .structure import Clause, NounPhrase, Relative, Sentence, pronoun_for, trace_of
from .tenses import settle

_HEADS = tuple(noun for noun in NOUNS if {"thing", "food", "animal"} & set(noun.kinds))
_RELATIVE_VERBS = verbs.TRANSITIVE + (verbs.NEED, verbs.FEAR)


def _verbs_for(noun: Noun, cases: str, pool=verbs.TRANSITIVE):
    """Return the verbs that can have a noun as their object, in one of the French cases."""
    return [v for v in pool if v.case in cases.split() and noun in nouns_of(v.objects)]


def _asserted(s: Sampler, clause: Clause) -> Clause:
    """Choose past or present for a clause inside another one."""
    verb = clause.verb
    tense = "present" if verb.stative else s.pick(("past", "past", "present"))
    progressive = tense == "present" and not verb.stative and not verb.punctual
    return settle(clause.but(tense=tense, progressive=progressive))


def _headed(s: Sampler, noun: Noun) -> NounPhrase:
    """Choose a noun phrase with an object relative ("the cake that Paul is eating")."""
    number = "pl" if s.chance(0.35) else "sg"
    head = NounPhrase(noun, "def", number)
    verb = s.pick(_verbs_for(noun, "direct de", _RELATIVE_VERBS))
    inner = _asserted(s, Clause(s.subject(), verb, direct=trace_of(head)))
    return NounPhrase(noun, "def", number, relative=Relative("object", inner))


def relative_object(s: Sampler) -> Sentence:
    """Write "The shoes that you bought are expensive"."""
    noun = s.pick(_HEADS)
    head = _headed(s, noun)
    if s.chance(0.6):
        adjective = s.pick(adjectives_for(noun, predicate=True))
        tense = s.pick(("present", "present", "past"))
        return Sentence((Clause(head, verbs.BE, tense, predicate=adjective),))
    inner = head.relative.clause
    others = [v for v in _verbs_for(noun, "direct") if v != inner.verb]
    subject = s.subject(unlike=inner.subject)
    return Sentence((Clause(subject, s.pick(others), s.pick(("past", "future")), direct=head),))


_MET = tuple(
    verb
    for verb in verbs.TRANSITIVE
    if "person" in verb.objects.split() and verb.en.base not in ("draw", "obey")
)


def relative_subject(s: Sampler) -> Sentence:
    """Write "The woman who is singing was happy" or "I know the boy who broke the lamp"."""
    who = s.person()
    who = NounPhrase(who.noun, "def", who.number)
    inner = Clause(trace_of(who), s.pick(DURATIVE), progressive=True)
    if s.chance(0.65):
        verb = s.pick(verbs.TRANSITIVE + verbs.STATIVE)
        inner = _asserted(s, Clause(trace_of(who), verb, direct=s.object_of(verb, who)))
    head = NounPhrase(who.noun, "def", who.number, relative=Relative("subject", settle(inner)))
    if s.chance(0.5):
        state, tense = s.pick(PERSONAL_STATES), s.pick(("present", "past"))
        return Sentence((Clause(head, verbs.BE, tense, predicate=state),))
    subject = s.subject(unlike=who)
    if s.chance(0.25):
        return Sentence((Clause(subject, verbs.ACQUAINTED, direct=head),))
    return Sentence((Clause(subject, s.pick(_MET), s.pick(("past", "future")), direct=head),))


def antecedent(s: Sampler) -> Sentence:
    """Write "The letter is long, but I will read it" (the pronoun agrees with "lettre")."""
    noun = s.pick(_HEADS)
    number = "pl" if s.chance(0.35) else "sg"
    topic = NounPhrase(noun, s.pick(("def", "this", s.owner())), number)
    adjective = s.pick(adjectives_for(noun, predicate=True))
    state = Clause(topic, verbs.BE, predicate=adjective)
    verb = s.pick(_verbs_for(noun, "direct"))
    clause = Clause(
        s.subject(),
        verb,
        s.pick(("past", "future", "near")),
        "not" if s.chance(0.5) else "positive",
        direct=pronoun_for(topic),
    )
    if s.chance(0.3) and not verb.punctual:
        clause = clause.but(modal=s.pick((verbs.WANT, verbs.CAN)), tense="present")
    return Sentence((state, COMMA, BUT, clause))
