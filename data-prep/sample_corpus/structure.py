"""The abstract structures that are sampled once and realised in both languages."""

from dataclasses import dataclass, replace
from typing import Optional, Union

from .modifiers import Adjective, Adverb
from .nouns import Name, Noun
from .verbs import Modal, Verb


@dataclass(frozen=True)
class Phrase:
    """A fixed phrase in both languages: a place, a manner, a conjunction."""

    en: str
    fr: str


@dataclass(frozen=True)
class Moment(Phrase):
    """A fixed phrase that says when: the only kind of phrase that moves to the front."""


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun; ``gender`` is the French one, ``animate`` chooses he/she or it."""

    person: int
    number: str
    gender: str = "m"
    animate: bool = True


@dataclass(frozen=True)
class Trace:
    """The place of the relative or question word: silent, but verbs and participles see it."""

    person: int
    number: str
    gender: str


@dataclass(frozen=True)
class Named:
    """A person's name as a noun phrase."""

    name: Name
    person: int = 3
    number: str = "sg"

    @property
    def gender(self) -> str:
        """Grammatical gender."""
        return self.name.gender


@dataclass(frozen=True)
class Word:
    """A one-word argument with its own negation: nothing/rien, nobody/personne, who/qui."""

    en: str
    fr: str
    person: int = 3
    number: str = "sg"
    gender: str = "m"


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner and modifiers.

    ``determiner`` is "def", "indef", "some", "generic" ("I love cheese"), "role" ("is a doctor"),
    "this", "which", "many" ("how many"), a pair of number words, a :class:`Pronoun` (possessive)
    or another noun phrase (genitive: "Paul's book").  A ``superlative`` phrase is definite and
    has one adjective.
    """

    noun: Noun
    determiner: Union[str, tuple[str, str], Pronoun, "NounPhrase", Named] = "def"
    number: str = "sg"
    adjectives: tuple[Adjective, ...] = ()
    superlative: bool = False
    relative: Optional["Relative"] = None
    person: int = 3

    @property
    def gender(self) -> str:
        """Grammatical gender."""
        return self.noun.gender

    @property
    def animate(self) -> bool:
        """Whether English says he or she rather than it."""
        return "animate" in self.noun.kinds and "animal" not in self.noun.kinds


Argument = Union[NounPhrase, Named, Pronoun, Trace, Word]


@dataclass(frozen=True)
class Located:
    """A place: prepositions in both languages and a noun phrase."""

    en: str
    fr: str
    place: NounPhrase


#: The complement "there" / "y", which French puts before the verb.
THERE = Phrase("there", "y")


@dataclass(frozen=True)
class Comparison:
    """A compared adjective: ``degree`` is "more", "less" or "as"."""

    adjective: Adjective
    degree: str
    than: Argument


Predicate = Union[Adjective, Comparison, NounPhrase, None]


@dataclass(frozen=True)
class Clause:
    """A clause.

    ``tense`` is "present", "past", "perfect", "imperfect", "future", "near" or "conditional";
    ``polarity`` is "positive", "not", "not yet", "never", "no longer" or "only".
    ``direct`` is the English object, whatever its case in French.
    """

    subject: Argument
    verb: Verb
    tense: str = "present"
    polarity: str = "positive"
    direct: Optional[Argument] = None
    recipient: Optional[Argument] = None
    predicate: Predicate = None
    adverb: Optional[Adverb] = None
    modal: Optional[Modal] = None
    progressive: bool = False
    complements: tuple[Union[Phrase, Located], ...] = ()

    def but(self, **changes) -> "Clause":
        """Return a copy with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Relative:
    """A relative clause: ``role`` is the function of the head in it, "subject" or "object"."""

    role: str
    clause: Clause


def trace_of(phrase: Argument) -> Trace:
    """Return the silent copy of a phrase, for relative clauses and object questions."""
    return Trace(phrase.person, phrase.number, phrase.gender)


def pronoun_for(phrase: Union[NounPhrase, Named]) -> Pronoun:
    """Return the third person pronoun that takes up a noun phrase or a name."""
    animate = isinstance(phrase, Named) or phrase.animate
    return Pronoun(3, phrase.number, phrase.gender, animate)


def noun_phrases(phrase: Argument) -> list[NounPhrase]:
    """Return a noun phrase and the noun phrases inside its determiner."""
    found = []
    while isinstance(phrase, NounPhrase):
        found.append(phrase)
        phrase = phrase.determiner
    return found


@dataclass(frozen=True)
class Question:
    """A question: yes or no without a ``word``, else an adverb or the questioned object.

    When the object is questioned ("what", "which book"), the clause holds its trace.
    """

    clause: Clause
    word: Union[Phrase, NounPhrase, Word, None] = None


@dataclass(frozen=True)
class Imperative:
    """A command; the subject of its clause is the second person."""

    clause: Clause


@dataclass(frozen=True)
class Existential:
    """There is, il y a; ``tense`` is "present", "past" or "future"."""

    phrase: NounPhrase
    tense: str = "present"
    negative: bool = False
    place: Optional[Located] = None


Part = Union[Phrase, Clause, Question, Imperative, Existential, NounPhrase]


@dataclass(frozen=True)
class Sentence:
    """A whole sentence: parts in order, and the final mark."""

    parts: tuple[Part, ...]
    mark: str = "."
