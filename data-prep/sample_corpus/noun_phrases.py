"""Noun phrases of both languages."""

from typing import Union

from . import english, french_inflection
from .nouns import MASS, Noun
from .structure import Nominal

#: English singular and plural; French masculine and feminine, singular and plural. "any" and
#: "none" are "a" and "bare" in a negated clause; "generic" phrases are about all there is.
_TABLE = """
the: the the le la les les
this: this these ce cette ces ces
which: which which quel quelle quels quelles
a: a some un une des des
any: a any de de de de
mass a: some - de_le de_la
mass any: any - de de
bare: - - - - des des
none: - - - - de de
generic: - - - - les les
mass bare: - - de_le de_la
mass none: - - de de
mass generic: - - le la
how many: - how_many - - combien_de combien_de
mass how many: how_much - combien_de combien_de
two: - two - - deux deux
three: - three - - trois trois
five: - five - - cinq cinq
"""
_FORMS = {
    name: ["" if form == "-" else form.replace("_", " ") for form in forms.split()]
    for name, forms in (line.split(": ") for line in _TABLE.strip().splitlines())
}
#: The determiners of what is counted that have no singular.
PLURAL = [name for name, forms in _FORMS.items() if not (forms[2] or name.startswith("mass"))]
_BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "sa": "son"}
_BEFORE_VOWEL.update({"beau": "bel", "vieux": "vieil", "nouveau": "nouvel"})


def _determiners(determiner: Union[str, Nominal], noun: Noun, plural: bool) -> tuple[str, str]:
    """Return the determiners of both languages; an owner is one in English."""
    column = 2 * plural + (noun.gender == "f")
    if not isinstance(determiner, str):
        possessive = determiner.fr_possessive or "le la les".split()
        return determiner.possessive or determiner.en + "'s", possessive[min(column, 2)]
    mass = f"mass {determiner}" if noun.kind in MASS else ""
    forms = _FORMS.get(mass) or _FORMS.get(determiner, [""] * 6)
    return forms[plural], forms[2 + column]


def noun_phrase(noun: Noun, determiner="the", plural=False, adjectives=()) -> Nominal:
    """Say a noun phrase; the determiner is one of the table, or a nominal that is the owner."""
    first, article = _determiners(determiner, noun, plural)
    english_noun, french_noun = noun.en, noun.fr
    if plural:
        english_noun = noun.en_plural or english.add_s(noun.en)
        french_noun = noun.fr_plural or french_inflection.plural(noun.fr)
    before, after = [], []
    for adjective in adjectives:
        form = french_inflection.agree(adjective.masculine, noun.gender, plural, adjective.feminine)
        (before if adjective.position == "before" else after).append(form)
    words = ["de" if article == "des" and before else article, *before, french_noun]
    for place, following in enumerate(words[1:]):
        if french_inflection.VOWEL.match(following) and not plural:
            words[place] = _BEFORE_VOWEL.get(words[place], words[place])
    if not isinstance(determiner, str) and determiner.noun:
        after += ["de", determiner.fr]
    en = " ".join(filter(None, [first, *(adjective.en for adjective in adjectives), english_noun]))
    fr = " ".join(filter(None, words + after))
    return Nominal(4 if plural else 1, noun.gender, en, fr, en, noun=noun)
