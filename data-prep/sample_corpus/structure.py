"""Noun phrases and clauses as both languages see them."""

from typing import NamedTuple, Optional

from .nouns import HUMAN, Adjective, Noun
from .verbs import NONE, Bilingual, Verb


class Nominal(NamedTuple):
    """A noun phrase, or a pronoun (without ``noun``), which alone has the later forms.

    ``person`` is what verbs agree with: 0 for I, 1 for he, she and it, 2 for we, 3 for you and 4
    for they; from 2 on it is plural.
    """

    person: int
    gender: str
    en: str
    fr: str
    en_object: str
    possessive: str = ""
    direct: str = ""
    indirect: str = ""
    fr_possessive: tuple[str, ...] = ()
    noun: Optional[Noun] = None

    @property
    def gap(self) -> "Nominal":
        """What a question or a relative clause leaves of the phrase: only agreement sees it."""
        return self._replace(en="", fr="", en_object="")

    @property
    def pronoun(self) -> "Nominal":
        """The pronoun that takes it up."""
        if not self.noun:
            return self
        masculine, feminine = (HE, SHE) if self.noun.kind in HUMAN else (IT, IT_FEMININE)
        if self.person == 4:
            masculine, feminine = THEY, THEY_FEMININE
        return masculine if self.gender == "m" else feminine


#: The forms of pronouns, as the fields of Nominal.
_PRONOUNS = """
0 m I je me my me me mon ma mes
1 m he il him his le lui son sa ses
1 f she elle her her la lui son sa ses
1 m it il it its le lui son sa ses
1 f it elle it its la lui son sa ses
2 m we nous us our nous nous notre notre nos
3 m you vous you your vous vous votre votre vos
4 m they ils them their les leur leur leur leurs
4 f they elles them their les leur leur leur leurs
1 m who qui whom his le lui son sa ses
"""
ME, HE, SHE, IT, IT_FEMININE, WE, YOU, THEY, THEY_FEMININE, WHO = (
    Nominal(int(person), *words[:7], tuple(words[7:]))
    for person, *words in map(str.split, _PRONOUNS.strip().splitlines())
)


class Clause(NamedTuple):
    """A clause.

    ``tense`` is "present", "progressive", "past", "past progressive", "habitual" (used to),
    "future" or "conditional". A "question" has its verb before the subject in both languages, an
    "asked" statement only in English, after French "est-ce que"; there are "command"s too.
    """

    subject: Nominal
    verb: Verb
    tense: str = "present"
    adverb: Bilingual = NONE
    modal: Optional[Verb] = None
    direct: Optional[Nominal] = None
    recipient: Optional[Nominal] = None
    predicate: Optional[Adjective] = None
    circumstances: tuple[Bilingual, ...] = ()
    mood: str = "statement"
