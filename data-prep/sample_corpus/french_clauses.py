"""French clauses and sentences."""

from collections.abc import Iterable
from typing import Optional

from . import french_inflection
from .french_inflection import agree, conjugate
from .structure import Clause, Nominal
from .verbs import NEGATIVE

_TENSES = dict.fromkeys(("past", "past progressive", "habitual"), "imperfect")
_TENSES["progressive"] = "present"
_REFLEXIVE = "me se nous vous se".split()
#: Verbs with the auxiliary être, besides the reflexive ones.
_ETRE_VERBS = frozenset("aller arriver partir rester revenir sortir tomber".split())


def _objects(clause: Clause) -> tuple[Optional[Nominal], Optional[Nominal]]:
    """Return the direct and the indirect object; with "parler à" the object is indirect."""
    if clause.verb.preposition == "à":
        return None, clause.direct
    return clause.direct, clause.recipient


def _clitics(clause: Clause) -> list[str]:
    """Return the pronouns before the verb; an indirect one comes last in the third person."""
    direct, indirect = _objects(clause)
    found = [_REFLEXIVE[clause.subject.person]] if clause.verb.reflexive else []
    if direct and not direct.noun:
        found.append(direct.direct)
    if indirect and not indirect.noun:
        third = indirect.indirect in ("lui", "leur")
        found.insert(len(found) if third else 0, indirect.indirect)
    return found


def _verb_group(clause: Clause) -> tuple[str, list[str]]:
    """Return the finite verb and what follows the negation."""
    verb, subject = clause.verb, clause.subject
    if clause.modal or clause.tense != "past" or "state" in verb.traits:
        tense = _TENSES.get(clause.tense, clause.tense)
        finite = conjugate((clause.modal or verb).fr, tense, subject.person)
        return finite, [*_clitics(clause), verb.fr] if clause.modal else []
    auxiliary = "être" if verb.reflexive or verb.fr in _ETRE_VERBS else "avoir"
    participle = french_inflection.principal_parts(verb.fr)[5]
    direct, _ = _objects(clause)
    before = direct if direct and not (direct.noun and direct.fr) else None
    agreeing = subject if auxiliary == "être" else before
    if agreeing:
        participle = agree(participle, agreeing.gender, agreeing.person > 1)
    return conjugate(auxiliary, "present", subject.person), [participle]


def _start(clause: Clause, finite: str) -> list[str]:
    """Say everything up to the finite verb, and the pronouns after it."""
    subject = clause.subject
    clitics = [] if clause.modal else _clitics(clause)
    verb = ["ne" if clause.adverb in NEGATIVE else "", *clitics, finite]
    if clause.mood == "command" and clause.adverb not in NEGATIVE:
        clitics.sort(key=lambda clitic: clitic not in ("le", "la", "les"))
        return ["-".join([finite, *clitics]).replace("-me", "-moi")]
    if clause.mood == "question":
        pronoun = subject.pronoun.fr
        verb[-1] += ("-t-" if finite[-1] in "ae" and pronoun[0] in "ie" else "-") + pronoun
    unsaid = clause.mood == "command" or (clause.mood == "question" and not subject.noun)
    return verb if unsaid else [subject.fr, *verb]


def clause(clause: Clause) -> str:
    """Say a clause."""
    finite, after = _verb_group(clause)
    direct, indirect = _objects(clause)
    subject, predicate = clause.subject, clause.predicate
    end = [clause.verb.fr_particle]
    if predicate:
        plural = subject.person > 1
        end.append(agree(predicate.masculine, subject.gender, plural, predicate.feminine))
    if direct and direct.noun:
        end += [clause.verb.preposition, direct.fr]
    if indirect and indirect.noun:
        end += ["à", indirect.fr]
    end += [french for _, french in clause.circumstances]
    return " ".join(filter(None, [*_start(clause, finite), clause.adverb[1], *after, *end]))


def sentence(parts: Iterable[str], mark: str) -> str:
    """Join the parts of a sentence."""
    text = french_inflection.polish(" ".join(filter(None, parts))).replace(" ,", ",")
    return text[0].upper() + text[1:] + mark.replace("?", " ?")
