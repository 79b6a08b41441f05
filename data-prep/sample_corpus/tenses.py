"""Choice of times, tenses and negation for a clause."""

from . import modifiers
from .sampling import Sampler
from .structure import Clause, Moment, Phrase, Sentence


def moment(time: modifiers.Time) -> Moment:
    """Turn a time of the lexicon into a phrase."""
    return Moment(time.en, time.fr)


def clock(s: Sampler) -> Moment:
    """Choose an hour ("at three o'clock")."""
    english, french = s.pick(modifiers.HOURS)
    return Moment(f"at {english} o'clock", f"à {french} heures")


def _date(s: Sampler) -> Moment:
    """Choose a date ("on May 3")."""
    month, mois = s.pick(modifiers.MONTHS)
    day = 2 + s.pick(range(19))
    return Moment(f"on {month} {day}", f"le {day} {mois}")


_UNITS = (("hours", "heures"), ("days", "jours"), ("weeks", "semaines"))


def _distance(s: Sampler, clause: Clause):
    """Choose a span of time; only hours for what one does every day, such as getting up."""
    english, french = s.pick(modifiers.COUNTS)
    unit, unité = _UNITS[0] if clause.verb.reflexive else s.pick(_UNITS)
    return f"{english} {unit}", f"{french} {unité}"


def _ago(s: Sampler, clause: Clause) -> Moment:
    """Choose a distance in the past ("three days ago", "il y a trois jours")."""
    english, french = _distance(s, clause)
    return Moment(f"{english} ago", f"il y a {french}")


def _hence(s: Sampler, clause: Clause) -> Moment:
    """Choose a distance in the future ("in three days", "dans trois jours")."""
    english, french = _distance(s, clause)
    return Moment(f"in {english}", f"dans {french}")


def _day(s: Sampler, clause: Clause, days) -> Moment:
    """Choose a day or, unless it is about getting up and the like, a longer time."""
    fitting = [day for day in days if not (clause.verb.reflexive and "week" in day.en)]
    if clause.verb.reflexive:
        fitting = [day for day in fitting if not day.en.endswith(("year", "month"))]
    return moment(s.pick(fitting))


def past_time(s: Sampler, clause: Clause) -> Moment:
    """Choose a time for a past event."""
    kind = s.weighted((("day", 6), ("ago", 2), ("date", 1), ("clock", 1)))
    if kind == "day":
        return _day(s, clause, modifiers.PAST_TIMES)
    if kind == "ago":
        return _ago(s, clause)
    return _date(s) if kind == "date" else clock(s)


def future_time(s: Sampler, clause: Clause) -> Moment:
    """Choose a time for a future event."""
    kind = s.weighted((("day", 6), ("hence", 1.5), ("clock", 1)))
    if kind == "day":
        return _day(s, clause, modifiers.FUTURE_TIMES)
    return _hence(s, clause) if kind == "hence" else clock(s)


def timed(clause: Clause, time: Moment) -> Clause:
    """Add a time at the end of a clause."""
    return clause.but(complements=clause.complements + (time,))


def _habit(s: Sampler, clause: Clause) -> Moment:
    reflexive = clause.verb.reflexive
    return moment(s.pick(modifiers.GENERAL_HABITS if reflexive else modifiers.HABITS))


def _event_tense(s: Sampler, clause: Clause) -> Clause:
    durative = 0 if clause.verb.punctual else 1
    kind = s.weighted(
        (("habit", 12), ("plain", 10 * durative), ("now", 14 * durative), ("past", 30))
        + (("future", 14), ("near", 8), ("used", 4 * durative))
    )
    if kind == "habit":
        if clause.verb.punctual or s.chance(0.5):
            return clause.but(adverb=s.pick(modifiers.FREQUENCY))
        return timed(clause, _habit(s, clause))
    if kind == "now":
        clause = clause.but(progressive=True)
        return timed(clause, moment(s.pick(modifiers.PRESENT_TIMES))) if s.chance(0.3) else clause
    if kind == "past":
        clause = clause.but(tense="past")
        return timed(clause, past_time(s, clause)) if s.chance(0.45) else clause
    if kind in ("future", "near"):
        clause = clause.but(tense=kind)
        return timed(clause, future_time(s, clause)) if s.chance(0.5) else clause
    if kind == "used":
        return timed(clause.but(tense="imperfect"), _habit(s, clause))
    return clause


def _polar(s: Sampler, clause: Clause) -> Clause:
    """Negate some clauses, where the tense, the adverb and the object allow it."""
    counted = isinstance(getattr(clause.direct, "determiner", None), tuple)
    if counted:
        return clause.but(adverb=None)
    if clause.tense == "imperfect" or clause.adverb == modifiers.RARELY:
        return clause
    options = [("positive", 74), ("not", 17)]
    free = clause.adverb is None and not clause.progressive
    is_timed = any(isinstance(part, Moment) for part in clause.complements)
    tensed = clause.tense in ("present", "past")
    if free and tensed and not (is_timed or clause.verb.stative or clause.verb.punctual):
        options.append(("never", 6))
    if free and clause.tense == "present" and not clause.verb.punctual:
        options.append(("no longer", 4))
    return clause.but(polarity=s.weighted(options))


def settle(clause: Clause) -> Clause:
    """Turn "I read" into a past: verbs like "read" do not show their tense in the present."""
    form = clause.verb.en
    third = (clause.subject.person, clause.subject.number) == (3, "sg")
    plain = clause.tense == "present" and not (clause.progressive or clause.modal or third)
    if form.base == form.past and plain and clause.polarity != "not":
        return clause.but(tense="past")
    return clause


def inflected(s: Sampler, clause: Clause) -> Clause:
    """Choose tense, polarity, adverb and time for a clause."""
    if clause.verb.stative:
        clause = clause.but(tense=s.weighted((("present", 6), ("past", 3), ("future", 1))))
    else:
        clause = _event_tense(s, clause)
    return settle(_polar(s, clause))


def simply_tensed(s: Sampler, clause: Clause) -> Clause:
    """Choose a tense for a question, without adverb or time."""
    tense = s.weighted((("present", 5), ("past", 5), ("future", 2)))
    durative = not clause.verb.stative and not clause.verb.punctual
    return clause.but(tense=tense, progressive=tense == "present" and durative and s.chance(0.5))


def fronted(s: Sampler, clause: Clause) -> Sentence:
    """Make a sentence; now and then its time comes first ("Yesterday, ...")."""
    last = clause.complements[-1] if clause.complements else None
    can_move = isinstance(last, Moment) and clause.polarity == "positive"
    if can_move and clause.tense in ("past", "future") and s.chance(0.25):
        rest = clause.but(complements=clause.complements[:-1])
        return Sentence((last, Phrase(",", ","), rest))
    return Sentence((clause,))
