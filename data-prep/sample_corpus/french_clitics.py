"""French cases of the arguments, subject pronouns and clitics."""

from typing import NamedTuple, Optional

from . import french_morphology as morphology
from .structure import (
    THERE,
    Argument,
    Clause,
    Pronoun,
)

_FIRST_OR_SECOND = {(1, "sg"): "me", (1, "pl"): "nous", (2, "pl"): "vous"}


class Roles(NamedTuple):
    """The arguments of a clause as French sees them."""

    subject: Argument
    direct: Optional[Argument] = None
    to: Optional[Argument] = None
    of: Optional[Argument] = None


def roles(clause: Clause) -> Roles:
    """Map the English subject and objects to French cases ("I miss her": "elle me manque")."""
    verb = clause.verb
    if verb.swap:
        return Roles(clause.direct, to=clause.subject)
    if verb.case == "à":
        return Roles(clause.subject, to=clause.direct)
    if verb.case == "de":
        return Roles(clause.subject, of=clause.direct)
    return Roles(clause.subject, direct=clause.direct, to=clause.recipient)


def subject_pronoun(phrase: Argument) -> str:
    """Return the subject pronoun for a phrase: je, il, elle, nous, vous, ils or elles."""
    known = {(1, "sg"): "je", (1, "pl"): "nous", (2, "pl"): "vous"}
    person = (phrase.person, phrase.number)
    pronoun = known.get(person) or ("il" if phrase.gender == "m" else "elle")
    return pronoun + "s" if person == (3, "pl") else pronoun


def _direct_clitic(pronoun: Pronoun) -> str:
    if pronoun.person != 3:
        return _FIRST_OR_SECOND[pronoun.person, pronoun.number]
    return morphology.definite(pronoun.gender, pronoun.number)


def _to_clitic(pronoun: Pronoun) -> str:
    if pronoun.person != 3:
        return _FIRST_OR_SECOND[pronoun.person, pronoun.number]
    return "lui" if pronoun.number == "sg" else "leur"


def _reflexive(subject: Argument) -> str:
    return _FIRST_OR_SECOND.get((subject.person, subject.number), "se")


def takes_en(phrase: Optional[Argument]) -> bool:
    return isinstance(phrase, Pronoun) and phrase.person == 3 and not phrase.animate


_ORDER = ("me", "se", "nous", "vous", "le", "la", "les", "lui", "leur", "y", "en")


def clitics(clause: Clause) -> list[str]:
    """Return the unstressed pronouns of a clause, in the order they take before the verb."""
    view = roles(clause)
    found = [_reflexive(view.subject)] if clause.verb.reflexive else []
    if isinstance(view.direct, Pronoun):
        found.append(_direct_clitic(view.direct))
    if isinstance(view.to, Pronoun):
        found.append(_to_clitic(view.to))
    if THERE in clause.complements:
        found.append("y")
    if takes_en(view.of):
        found.append("en")
    return sorted(found, key=_ORDER.index)
