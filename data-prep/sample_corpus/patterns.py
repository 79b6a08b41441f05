"""The sentence patterns: statements, questions, commands, and sentences of two clauses."""

from collections.abc import Sequence
from functools import partial
from typing import Union

from . import english, french_clauses
from .nouns import HUMAN, NOUNS, nouns_of
from .sampling import PERSONS, Sampler
from .structure import IT, ME, WE, WHO, YOU, Clause, Nominal
from .verbs import ACTIONS, BE, FEELINGS, GIVING, MOODS, STATES, TRANSITIVE, VERB, Bilingual

_ASKED = [person for person in PERSONS if person not in (ME, WE)]
_PLANS = "go to, stay at, visit, buy, help, invite, call, repair, lend"
_VERBS = {
    "any": TRANSITIVE * 2 + GIVING * 2 + ACTIONS + STATES + FEELINGS,
    "acts": TRANSITIVE + ACTIONS,
    "orders": TRANSITIVE + GIVING,
    "direct": [verb for verb in TRANSITIVE if not verb.preposition and "kin" not in verb.objects],
    "plans": [VERB[name] for name in _PLANS.split(", ")],
    "be": [BE],
    "moods": [MOODS] * 6 + FEELINGS,
}
#: Weight, mood, fixed words and clauses, mark. A clause is subject/uses/verbs, where X and Y are
#: somebody and x is the pronoun for X. A "full" statement may have an adverb and a time.
_PATTERNS = """
32 full X/past,past,past,future,going,can,could,must,now,now,habit,habit,used,is,was/any .
4 full X/is,was/be .
5 full thing/is,was/be .
1 full it/past,now,future/rain,snow .
4 command you/now,now,not_now/orders .
5 asked X/past,now,future,is,was/any ?
1 asked thing/is,was/be ?
3 question why=pourquoi X/past,now,not/acts ?
3 question where=où X/past,now/buy,find,lose,see,hide,meet,work,sleep,sing,dance,play,rest ?
2 question when=quand X/past,future/buy,sell,write,meet,call,visit,leave,arrive,get_up,go_out ?
3 statement who/past,now,future/any ?
3 statement when=quand X/past/arrive,leave,fall,go_out,get_up,come_back_from ,=, Y/ongoing/acts .
1 statement Y/ongoing/acts when=quand X/past/arrive,leave,fall,get_up .
2 statement X/not/work,sing,dance,swim,run,play,go_out,sleep because=parce_que x/was/moods .
1 statement X/now/cry,leave because=parce_que x/is/moods .
1 statement if=si it/habit/rain,snow ,=, X/future/plans .
1 statement if=si X/is/moods ,=, x/future/plans .
2 statement if=si X/was/have ,=, x/would/plans .
1 statement X/is/think that=que Y/past,now,future,is/any .
1 statement X/is/think that=que Y/is/be .
2 statement X/past/say that=que Y/would,was/any .
"""


def say(parts: Sequence[Union[Bilingual, Nominal, Clause]], mark: str = ".") -> Bilingual:
    """Say a sentence of clauses, noun phrases and fixed words in both languages."""
    said = []
    for part in parts:
        if isinstance(part, Clause):
            part = english.clause(part), french_clauses.clause(part)
        said.append((part.en, part.fr) if isinstance(part, Nominal) else part)
    english_parts, french_parts = zip(*said)
    return english.sentence(english_parts, mark), french_clauses.sentence(french_parts, mark)


def _subject(sampler: Sampler, name: str, drawn: dict[str, Nominal], asked: bool) -> Nominal:
    """Choose what a name of the table stands for."""
    if name == "x":
        return drawn["X"].pronoun
    if name == "thing":
        noun = sampler.pick([noun for noun in NOUNS if noun.kind not in HUMAN])
        return sampler.phrase(noun, ["the", "the", "this"], plain=True)
    fixed = {"it": IT, "you": YOU, "who": WHO}
    persons = _ASKED if asked else PERSONS
    return fixed.get(name) or drawn.setdefault(name, sampler.subject(drawn.get("X", IT), persons))


def _tabled(mood: str, tokens: list[str], mark: str, sampler: Sampler) -> Bilingual:
    """Draw a sentence of a line of the table."""
    drawn: dict[str, Nominal] = {}
    parts = [("", "est-ce que")] if mood == "asked" else []
    for token in tokens:
        if "=" in token:
            parts.append(tuple(token.replace("_", " ").split("=")))
            continue
        name, uses, names = token.split("/")
        verbs = _VERBS.get(names) or [VERB[it] for it in names.replace("_", " ").split(",")]
        subject = _subject(sampler, name, drawn, mark == "?")
        clause = sampler.event(subject, verbs, uses.split(","), mood == "full")
        if "where" in tokens[0]:
            clause = clause._replace(circumstances=())
        parts.append(clause._replace(mood="statement" if mood == "full" else mood))
    return say(parts, mark)


def _extracted(sampler: Sampler, determiners: list[str], plain=False) -> tuple[Nominal, Clause]:
    """Choose an object and the clause that it is taken from ("the keys", "Paul lost")."""
    subject, verb = sampler.subject(persons=_ASKED), sampler.pick(_VERBS["direct"])
    tenses = ("past", "past", "progressive") if "now" in verb.traits else ("past",)
    clause = Clause(subject, verb, sampler.pick(tenses))
    phrase = sampler.object_of(clause, determiners, plain)
    return phrase, clause._replace(direct=phrase.gap)


def _asked_object(sampler: Sampler) -> Bilingual:
    """Ask "Which shoes did he buy?", "How many apples did you eat?" or "What is she reading?"."""
    phrase, clause = _extracted(sampler, ["which", "which", "how many"])
    if sampler.chance(0.3) and phrase.noun.kind not in HUMAN:
        return say([("what", "qu'est-ce que"), clause._replace(direct=None, mood="asked")], "?")
    return say([phrase, clause._replace(mood="question")], "?")


def with_relative(phrase: Nominal, clause: Clause) -> Nominal:
    """Add a relative clause in which the phrase has left its gap as subject or as object."""
    words = ("that", "que") if clause.subject.en else ("who", "qui")
    en = f"{phrase.en} {words[0]} {english.clause(clause)}"
    fr = f"{phrase.fr} {words[1]} {french_clauses.clause(clause)}"
    return phrase._replace(en=en, fr=fr, en_object=en)


def _relative(sampler: Sampler) -> Bilingual:
    """Say "The shoes that Anna bought are red" or "The woman who is singing is happy"."""
    if sampler.chance(0.6):
        phrase, inner = _extracted(sampler, ["the"], plain=True)
    else:
        phrase = sampler.phrase(sampler.pick(nouns_of("person")), ["the"], plain=True)
        inner = sampler.event(phrase.gap, _VERBS["acts"], ["past", "now"])
    return say([sampler.event(with_relative(phrase, inner), [BE], ["is"])])


def _antecedent(sampler: Sampler) -> Bilingual:
    """Say "The letter was long, and she read it"."""
    phrase, clause = _extracted(sampler, ["the", "this"], plain=True)
    state = sampler.event(phrase, [BE], ["is" if clause.tense == "progressive" else "was"])
    return say([state, (", and", ", et"), clause._replace(direct=phrase.pronoun)])


_DRAWN = [_asked_object] * 5 + [_relative] * 7 + [_antecedent] * 3
for _line in _PATTERNS.strip().splitlines():
    _weight, _mood, *_tokens, _mark = _line.split()
    _DRAWN += [partial(_tabled, _mood, _tokens, _mark)] * int(_weight)


def sentence(sampler: Sampler) -> Bilingual:
    """Draw a pattern by weight and let it draw a sentence."""
    return sampler.pick(_DRAWN)(sampler)
