"""English inflection, clauses and sentences."""

import re
from collections.abc import Iterable

from .structure import Clause
from .verbs import Verb

_BE = {"present": "am is are are are".split(), "past": "was was were were were".split()}


def add_s(word: str) -> str:
    """Add the s of the plural of nouns and of the third person of verbs."""
    if re.search("[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search("(s|x|ch|sh|to|go)$", word) else "s")


def _finite(verb: Verb, tense: str, person: int) -> str:
    if verb.base == "be":
        return _BE[tense][person]
    if tense == "past":
        return verb.past or re.sub("e$", "", re.sub("(?<=[^aeiou])y$", "i", verb.base)) + "ed"
    if person != 1 or verb.base == "can":
        return verb.base
    return "has" if verb.base == "have" else add_s(verb.base)


def _verb_group(clause: Clause) -> tuple[str, list[str]]:
    """Return the auxiliary, which questions move, and the words of the verb."""
    verb, person = clause.modal or clause.verb, clause.subject.person
    tense = "past" if clause.tense in ("past", "past progressive") else "present"
    infinitive = [clause.verb.base, clause.verb.particle] if clause.modal else []
    base = [verb.base, verb.particle, *infinitive]
    negated = clause.adverb[0] == "not"
    if clause.mood == "command":
        return ("do" if negated else ""), base
    if clause.tense in ("future", "conditional"):
        return ("will" if clause.tense == "future" else "would"), base
    if clause.tense == "habitual":
        return "", ["used to", *base]
    if clause.tense.endswith("progressive"):
        gerund = verb.gerund or re.sub("(?<=[^eb])e$", "", verb.base) + "ing"
        return _BE[tense][person], [gerund, verb.particle]
    if verb.base in ("be", "can"):
        return _finite(verb, tense, person), base[1:]
    if negated or clause.mood in ("question", "asked"):
        return ("did" if tense == "past" else "does" if person == 1 else "do"), base
    return "", [_finite(verb, tense, person), *base[1:]]


def clause(clause: Clause) -> str:
    """Say a clause."""
    auxiliary, verb = _verb_group(clause)
    direct, recipient = clause.direct, clause.recipient
    start = [clause.subject.en, auxiliary]
    if clause.mood != "statement":
        start = [auxiliary, "" if clause.mood == "command" else clause.subject.en]
    end = [clause.predicate.en] if clause.predicate else []
    end += [direct.en_object] if direct else []
    if recipient and direct.noun and not recipient.noun:
        end.insert(0, recipient.en_object)
    elif recipient:
        end += ["to", recipient.en_object]
    end += [english for english, _ in clause.circumstances]
    return " ".join(filter(None, [*start, clause.adverb[0], *verb, *end]))


def sentence(parts: Iterable[str], mark: str) -> str:
    """Join the parts of a sentence."""
    text = " ".join(filter(None, parts)).replace(" ,", ",").replace("can not", "cannot")
    text = re.sub(r"\ba (?=[aeiouAEIOU])", "an ", text)
    return text[0].upper() + text[1:] + mark
