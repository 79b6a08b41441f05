"""Rules for sentences with a subordinate or a coordinate clause."""

from dataclasses import replace

from . import modifiers, verbs
from .rules_actions import DURATIVE, NOT_REFLEXIVE
from .rules_states import PERSONAL_STATES, described
from .sampling import Sampler
from .structure import Argument, Clause, Phrase, Pronoun, Sentence, Word, pronoun_for
from .tenses import future_time, inflected, moment, timed

COMMA = Phrase(",", ",")
BUT = Phrase("but", "mais")
_AND = Phrase("and", "et")
_BECAUSE = Phrase("because", "parce que")
_THAT = Phrase("that", "que")
_IF = Phrase("if", "si")
_WHEN = Phrase("when", "quand")
_IT = Word("it", "il")


def _again(subject: Argument) -> Pronoun:
    """Return the pronoun that takes up a subject."""
    return subject if isinstance(subject, Pronoun) else pronoun_for(subject)


def _named_verbs(names: str):
    return tuple(verb for verb in verbs.INTRANSITIVE if verb.fr in names.split())


def _feeling(s: Sampler, subject: Argument, tense: str) -> Clause:
    """Describe how somebody feels ("he was tired", "she is hungry")."""
    if s.chance(0.35):
        return Clause(subject, s.pick(verbs.BODILY[:5]), tense)
    return Clause(subject, verbs.BE, tense, predicate=s.pick(PERSONAL_STATES))


_TROUBLES = "sad tired sick angry busy".split()
#: What people in trouble do, do not do, and what happy people do.
_SUFFERING = _named_verbs("pleurer reposer coucher dormir rester partir")
_PREVENTED = _named_verbs("travailler chanter danser nager courir marcher jouer rire sourire")
_REJOICING = _named_verbs("chanter danser rire sourire")


def because_of_feeling(s: Sampler) -> Sentence:
    """Write "Mary is crying because she is tired"."""
    subject = s.subject()
    tense = s.pick(("present", "past"))
    effect = Clause(subject, s.pick(_SUFFERING + _PREVENTED), tense)
    bodily = s.chance(0.3)
    trouble = s.pick([entry for entry in PERSONAL_STATES if entry.en in _TROUBLES])
    cause = Clause(_again(subject), verbs.BE, tense, predicate=trouble)
    if bodily:
        cause = Clause(_again(subject), s.pick(verbs.BODILY[:5]), tense)
    elif s.chance(0.2):
        effect = effect.but(verb=s.pick(_REJOICING))
        cause = cause.but(predicate=modifiers.ADJECTIVE["happy"])
        return Sentence((effect.but(progressive=tense == "present"), _BECAUSE, cause))
    polarity = "not" if effect.verb in _PREVENTED else "positive"
    progressive = tense == "present"
    return Sentence((effect.but(polarity=polarity, progressive=progressive), _BECAUSE, cause))


_MISHAPS = tuple(verb for verb in verbs.TRANSITIVE if verb.en.base in ("lose", "break"))
_AFTER_MISHAP = _named_verbs("pleurer partir")


def because_of_event(s: Sampler) -> Sentence:
    """Write "He was sad because he lost his key"."""
    subject = s.subject()
    mishap = s.pick(_MISHAPS)
    cause = Clause(_again(subject), mishap, "past", direct=s.object_of(mishap, subject))
    effect = Clause(subject, s.pick(_AFTER_MISHAP), "past")
    if s.chance(0.6):
        sad = modifiers.ADJECTIVE[s.pick(("sad", "angry"))]
        effect = Clause(subject, verbs.BE, s.pick(("present", "past")), predicate=sad)
    if s.chance(0.3):
        effect = Clause(subject, s.pick(_PREVENTED + _SUFFERING), s.pick(("present", "past")))
        effect = effect.but(polarity="not" if effect.verb in _PREVENTED else "positive")
        effect = effect.but(progressive=effect.tense == "present")
        cause = Clause(_IT, verbs.RAIN, effect.tense, progressive=True)
    return Sentence((effect, _BECAUSE, cause))


_ARRIVALS = _named_verbs("arriver partir tomber réveiller lever")
_ONGOING = _named_verbs("travailler dormir chanter danser pleurer jouer reposer promener habiller")


def when(s: Sampler) -> Sentence:
    """Write "When Paul arrived, I was sleeping"."""
    first = Clause(s.subject(), s.pick(_ARRIVALS + (verbs.RETURN,)), "past")
    subject = s.subject(unlike=first.subject)
    verb = s.pick([entry for entry in verbs.TRANSITIVE if not entry.punctual])
    second = Clause(subject, verb, "past", direct=s.object_of(verb, subject), progressive=True)
    if s.chance(0.4):
        second = Clause(subject, s.pick(_ONGOING), "past", progressive=True)
    if s.chance(0.4):
        return Sentence((second, _WHEN, first))
    return Sentence((_WHEN, first, COMMA, second))


def childhood(s: Sampler) -> Sentence:
    """Write "When I was young, I used to play in the park"."""
    subject = s.pick((s.pronoun(), s.named(), s.kin()))
    young = Clause(subject, verbs.BE, "past", predicate=modifiers.ADJECTIVE["young"])
    habit = Clause(_again(subject), s.pick(NOT_REFLEXIVE[:11]), "imperfect")
    if s.chance(0.5):
        verb = s.pick([entry for entry in verbs.TRANSITIVE if not entry.punctual])
        habit = habit.but(verb=verb, direct=s.object_of(verb))
    elif s.chance(0.6):
        habit = timed(habit, moment(s.pick(modifiers.GENERAL_HABITS)))
    return Sentence((_WHEN, young, COMMA, habit))


def _result(s: Sampler, subject: Argument) -> Clause:
    """Choose the main clause of a conditional sentence, without its tense."""
    if s.chance(0.4):
        place = s.place()
        if s.chance(0.5):
            return Clause(subject, verbs.STAY, complements=(place,))
        return Clause(subject, verbs.GO, complements=(replace(place, en="to", fr="à"),))
    verb = s.pick([entry for entry in verbs.TRANSITIVE if entry not in _MISHAPS])
    return Clause(subject, verb, direct=s.object_of(verb, subject))


def unreal_condition(s: Sampler) -> Sentence:
    """Write "If I had a car, I would go to the beach"."""
    subject = s.subject()
    premise = Clause(subject, verbs.HAVE, "past", direct=s.object_of(verbs.HAVE, subject))
    if s.chance(0.4):
        premise = _feeling(s, subject, "past")
    result = _result(s, _again(subject)).but(tense="conditional")
    return Sentence((_IF, premise, COMMA, result))


def condition(s: Sampler) -> Sentence:
    """Write "If it rains, we will stay at the hotel"."""
    subject = s.subject()
    premise = _feeling(s, subject, "present")
    if s.chance(0.6):
        premise = Clause(_IT, s.pick((verbs.RAIN, verbs.SNOW)))
        if s.chance(0.5):
            premise = Clause(s.named(subject), s.pick(_named_verbs("arriver partir rester")))
    same = premise.subject == subject
    result = _result(s, _again(subject) if same else subject).but(tense="future")
    if s.chance(0.3):
        return Sentence(
            (
                result.but(subject=subject),
                _IF,
                premise.but(subject=_again(subject)) if same else premise,
            )
        )
    return Sentence((_IF, premise, COMMA, result))


def reported(s: Sampler) -> Sentence:
    """Write "She thinks that Paul is sick" or "I hope that you will come"."""
    verb = s.pick((verbs.SAY, verbs.THINK, verbs.KNOW, verbs.HOPE))
    main = Clause(s.subject(), verb)
    said = s.subject(unlike=main.subject)
    if verb is verbs.HOPE or s.chance(0.35):
        content = Clause(said, s.pick(verbs.INTRANSITIVE + (verbs.COME,)), "future")
        content = timed(content, future_time(s, content)) if s.chance(0.4) else content
    elif s.chance(0.5):
        subject, adjective = described(s)
        content = Clause(subject, verbs.BE, predicate=adjective)
    else:
        action = s.pick(verbs.TRANSITIVE)
        content = Clause(said, action, "past", direct=s.object_of(action, said))
    return Sentence((main, _THAT, content))


def contrast(s: Sampler) -> Sentence:
    """Write "Paul is working, but the children are sleeping"."""
    first = Clause(s.subject(), s.pick(DURATIVE), progressive=True)
    if s.chance(0.4):
        first = inflected(s, Clause(first.subject, s.pick(verbs.BODILY)))
    other = s.subject(unlike=first.subject)
    second = Clause(other, s.pick(DURATIVE), progressive=True)
    if first.verb == second.verb:
        second = _feeling(s, other, "present")
    return Sentence((first, COMMA, s.pick((BUT, _AND)), second))
