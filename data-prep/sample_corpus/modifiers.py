"""Adjectives, adverbs, times, seasons, numbers and fixed phrases."""

from typing import NamedTuple

from .french_morphology import agree, starts_with_vowel


class Adjective(NamedTuple):
    """An adjective: where French puts it, which nouns it fits and its irregular forms.

    ``position`` is "pre" or "post" (the noun), or "predicate" for use after "be" only.
    """

    en: str
    fr: str
    position: str
    kinds: tuple[str, ...]
    feminine: str = ""
    prevocalic: str = ""

    def french(self, gender: str, number: str, following: str = "") -> str:
        """Return the form that agrees, or the prevocalic one ("un bel homme")."""
        vowel_follows = bool(following) and starts_with_vowel(following)
        if self.prevocalic and (gender, number) == ("m", "sg") and vowel_follows:
            return self.prevocalic
        return agree(self.fr, gender, number, self.feminine)


class Time(NamedTuple):
    """A time phrase."""

    en: str
    fr: str


class Adverb(NamedTuple):
    """An adverb that stands next to the verb."""

    en: str
    fr: str


_COLOURED = "clothes vehicle container furniture opening dish pen umbrella flower house"
_PRICED = "container furniture machine clothes vehicle building instrument ring gift umbrella"
_ADULT = "man woman teacher doctor nurse baker neighbour actress king queen lawyer"

#: For each set of kinds or nouns: English|French|position|feminine|prevocalic (if irregular).
_TABLE = {
    "container furniture vehicle building room outdoor opening knife dog horse bird": (
        "big|grand|pre"
    ),
    "animal tool container furniture vehicle building fruit outdoor room dish toy lamp cake": (
        "small|petit|pre"
    ),
    "clothes furniture text building outdoor instrument vehicle flower ring gift horse bird": (
        "beautiful|beau|pre|belle|bel"
    ),
    _ADULT + " animal furniture clothes building machine text instrument": (
        "old|vieux|pre|vieille|vieil"
    ),
    "clothes machine vehicle furniture text instrument public toy": (
        "new|nouveau|pre|nouvelle|nouvel"
    ),
    "text food foodstuff drink": "good|bon|pre; bad|mauvais|pre",
    "girl woman princess actress dress skirt shirt cup plate flower ring kitchen": (
        "pretty|joli|pre"
    ),
    "person": "young|jeune|pre; famous|célèbre|post; rich|riche|post",
    "text": "long|long|pre|longue; interesting|intéressant|post; strange|étrange|post",
    _COLOURED: """red|rouge|post; green|vert|post; blue|bleu|post; white|blanc|post|blanche;
        grey|gris|post; black|noir|post; yellow|jaune|post""",
    "container furniture axe umbrella piano harp": "heavy|lourd|post",
    _PRICED: "expensive|cher|post",
    "clothes dish vehicle room opening": "clean|propre|post; dirty|sale|post",
    "container dish": "empty|vide|post",
    "fragile vehicle toy chair": "broken|cassé|post",
    "soup rice meat water coffee tea milk": "hot|chaud|post; cold|froid|post",
    "fruit": "ripe|mûr|post; sweet|sucré|post",
    "clothes": "dry|sec|post|sèche; Italian|italien|post",
    "outdoor room public": "quiet|calme|post",
    "dog horse cow": "dangerous|dangereux|post",
    "person kin": """happy|heureux|predicate; sad|triste|predicate; tired|fatigué|predicate;
        sick|malade|predicate; tall|grand|predicate; ready|prêt|predicate;
        angry|furieux|predicate; busy|occupé|predicate; nice|sympathique|post""",
    "person kin dog cat horse": "intelligent|intelligent|post",
    "person kin dog horse coffee": "strong|fort|post",
    "opening container": "open|ouvert|predicate; closed|fermé|predicate",
}

#: Adjectives that French would translate differently after "être" ("neuf" for "new").
_NOT_PREDICATE = ("new",)
#: Adjectives that are not compared.
ABSOLUTE = frozenset(
    "broken open closed Italian bad empty ready sick dry red green blue white grey black yellow "
    "hot cold new".split()
)


def _parse(entry: str, kinds: str) -> Adjective:
    english, french, position, *special = entry.strip().split("|")
    return Adjective(english, french, position, tuple(kinds.split()), *special)


ADJECTIVES: tuple[Adjective, ...] = tuple(
    _parse(entry, kinds) for kinds, block in _TABLE.items() for entry in block.split(";")
)
ADJECTIVE: dict[str, Adjective] = {entry.en: entry for entry in ADJECTIVES}

_FITTING: dict[tuple[str, bool], list[Adjective]] = {}


def adjectives_for(noun, predicate: bool = False) -> list[Adjective]:
    """Return the adjectives that make sense with a noun (fixed by the noun or by its kinds)."""
    cached = (noun.en, predicate)
    if cached not in _FITTING:
        labels = set(noun.kinds) | {noun.en}
        _FITTING[cached] = [
            entry
            for entry in ADJECTIVES
            if labels.intersection(entry.kinds)
            and (entry.en not in _NOT_PREDICATE if predicate else entry.position != "predicate")
        ]
    return _FITTING[cached]


def _times(block: str) -> tuple[Time, ...]:
    return tuple(Time(*entry.strip().split("|")) for entry in block.split(";"))


HABITS = _times("""every day|tous les jours; every morning|tous les matins;
    every evening|tous les soirs; in the morning|le matin; in the evening|le soir;
    on Mondays|le lundi; on Sundays|le dimanche; at noon|à midi; in summer|en été;
    in winter|en hiver""")
#: The habits among these that suit any action, at any time of the day.
GENERAL_HABITS = tuple(HABITS[i] for i in (0, 5, 6, 8, 9))
PAST_TIMES = _times("""yesterday|hier; yesterday evening|hier soir; last week|la semaine dernière;
    last year|l'année dernière; this morning|ce matin; last month|le mois dernier;
    on Monday|lundi; on Sunday|dimanche""")
FUTURE_TIMES = _times("""tomorrow|demain; tomorrow morning|demain matin;
    next week|la semaine prochaine; next year|l'année prochaine; tonight|ce soir;
    next month|le mois prochain; on Tuesday|mardi; on Saturday|samedi""")
PRESENT_TIMES = _times("now|maintenant; today|aujourd'hui; at the moment|en ce moment")

#: Adverbs of frequency: before the English verb, after the French finite verb.
RARELY = Adverb("rarely", "rarement")
FREQUENCY = (Adverb("often", "souvent"), Adverb("always", "toujours"), RARELY)
SLOWLY = Adverb("slowly", "lentement")
QUICKLY = Adverb("quickly", "rapidement")
WELL = Adverb("well", "bien")
TOGETHER = Adverb("together", "ensemble")
ALREADY = Adverb("already", "déjà")

_NUMBERS = "two deux three trois four quatre five cinq six six seven sept eight huit nine neuf "
_NUMBERS += "ten dix eleven onze twelve douze twenty vingt thirty trente forty quarante"
_words = _NUMBERS.split()
#: Pairs of number words, from two to twelve and then tens.
NUMBERS: tuple[tuple[str, str], ...] = tuple(zip(_words[::2], _words[1::2]))
COUNTS = NUMBERS[:6]
HOURS = NUMBERS[:10]
TENS = NUMBERS[-3:]

MONTHS = tuple(
    entry.split("|")
    for entry in (
        "January|janvier",
        "February|février",
        "March|mars",
        "April|avril",
        "May|mai",
        "June|juin",
        "July|juillet",
        "October|octobre",
    )
)
