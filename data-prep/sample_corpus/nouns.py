"""Nouns, names and places, with their gender, plural and semantic kinds.

Kinds drive the selectional restrictions of verbs and adjectives: people eat what is ``food`` and
a ``person`` is never ``empty``.
"""

from typing import NamedTuple

from . import english_morphology, french_morphology


class Noun(NamedTuple):
    """A noun in both languages; ``locative`` is a pair of prepositions ("in", "dans")."""

    en: str
    en_plural: str
    fr: str
    fr_plural: str
    gender: str
    kinds: tuple[str, ...]
    locative: tuple[str, str] = ("", "")


class Name(NamedTuple):
    """A first name."""

    en: str
    fr: str
    gender: str


class Region(NamedTuple):
    """A town or a country, with the French phrases for "in/to" and "from" it."""

    en: str
    fr_in: str
    fr_from: str


#: English (/plural) | French (/plural) | gender and, for a whole block, the kinds.
_TABLE = {
    "person animate": """
        man/men|homme|m; woman/women|femme|f; boy|garçon|m; girl|fille|f;
        child/children|enfant|m; teacher|professeur|m; doctor|médecin|m; nurse|infirmière|f;
        baker|boulanger|m; neighbour|voisin|m; student|étudiant|m;
        actress|actrice|f; princess|princesse|f; queen|reine|f; king|roi|m;
        hero/heroes|héros|m; lawyer|avocat|m""",
    "kin animate": """
        mother|mère|f; father|père|m; brother|frère|m; sister|sœur|f; son|fils|m;
        daughter|fille|f; uncle|oncle|m; aunt|tante|f; friend|ami|m;
        grandmother|grand-mère/grands-mères|f""",
    "animal animate": """
        dog|chien|m; cat|chat|m; horse|cheval|m; bird|oiseau|m; cow|vache|f;
        mouse/mice|souris|f; rabbit|lapin|m; hedgehog|hérisson|m""",
    "food fruit": """
        apple|pomme|f; orange|orange|f; pear|poire|f; strawberry|fraise|f;
        tomato/tomatoes|tomate|f""",
    "food": "egg|œuf|m; cake|gâteau|m",
    "foodstuff mass": """
        bread|pain|m; cheese|fromage|m; meat|viande|f; soup|soupe|f; rice|riz|m;
        chocolate|chocolat|m; fish|poisson|m""",
    "drink mass": """
        water|eau|f; milk|lait|m; coffee|café|m; tea|thé|m; juice|jus|m; lemonade|limonade|f""",
    "text thing": """
        book|livre|m; letter|lettre|f; newspaper|journal|m; poem|poème|m; story|histoire|f;
        article|article|m""",
    "tool thing": """
        key|clé|f; pen|stylo|m; umbrella|parapluie|m; axe|hache|f; knife/knives|couteau|m;
        map|carte|f""",
    "trinket thing": "toy|jouet|m; flower|fleur|f; ring|bague|f; gift|cadeau|m",
    "container tool thing": "bag|sac|m; box|boîte|f; bottle|bouteille|f",
    "dish fragile thing": "glass|verre|m; cup|tasse|f; plate|assiette|f",
    "machine fragile thing": """
        watch|montre|f; lamp|lampe|f; phone|téléphone|m; computer|ordinateur|m""",
    "instrument thing": "guitar|guitare|f; piano|piano|m; harp|harpe|f; violin|violon|m",
    "clothes thing": """
        dress|robe|f; shirt|chemise|f; coat|manteau|m; hat|chapeau|m; shoe|chaussure|f;
        scarf/scarves|écharpe|f; skirt|jupe|f; sweater|pull|m""",
    "vehicle machine thing": "car|voiture|f; bicycle|vélo|m; boat|bateau|m",
    "furniture thing": "table|table|f; chair|chaise|f; bed|lit|m; wardrobe|armoire|f",
    "opening": "door|porte|f; window|fenêtre|f",
    "building sight": "house|maison|f; castle|château|m; apartment|appartement|m",
    "public place": """
        school|école|f|at|à; hospital|hôpital|m|at|à; library|bibliothèque|f|at|à;
        hotel|hôtel|m|at|à; restaurant|restaurant|m|at|à; market|marché|m|at|à;
        station|gare|f|at|à; office|bureau|m|at|à; cinema|cinéma|m|at|à;
        bakery|boulangerie|f|at|à; airport|aéroport|m|at|à""",
    "public sight place": "museum|musée|m|at|à; church|église|f|in|dans",
    "outdoor place": "beach|plage|f|on|sur; forest|forêt|f|in|dans",
    "outdoor sight place": """
        garden|jardin|m|in|dans; park|parc|m|in|dans; village|village|m|in|dans;
        island|île|f|on|sur""",
    "room place": "kitchen|cuisine|f|in|dans",
}


def _split(entry: str, pluralise) -> tuple[str, str]:
    singular, _, plural = entry.partition("/")
    return singular, plural or pluralise(singular)


def _parse(entry: str, kinds: str) -> Noun:
    english, french, gender, *locative = entry.strip().split("|")
    return Noun(
        *_split(english, english_morphology.pluralise),
        *_split(french, french_morphology.pluralise),
        gender,
        tuple(kinds.split()),
        (locative[0], locative[1]) if locative else ("", ""),
    )


NOUNS: tuple[Noun, ...] = tuple(
    _parse(entry, kinds) for kinds, block in _TABLE.items() for entry in block.split(";")
)

#: Nouns by English singular.
NOUN: dict[str, Noun] = {noun.en: noun for noun in NOUNS}

NAMES: tuple[Name, ...] = tuple(
    Name(*entry.split())
    for entry in (
        "Paul Paul m",
        "Mary Marie f",
        "Anna Anna f",
        "Lucas Lucas m",
        "Sophie Sophie f",
        "Henry Henri m",
        "Emily Émilie f",
        "Thomas Thomas m",
    )
)

REGIONS: tuple[Region, ...] = (
    Region("Paris", "à Paris", "de Paris"),
    Region("Lyon", "à Lyon", "de Lyon"),
    Region("London", "à Londres", "de Londres"),
    Region("Rome", "à Rome", "de Rome"),
    Region("France", "en France", "de France"),
    Region("Italy", "en Italie", "d'Italie"),
    Region("England", "en Angleterre", "d'Angleterre"),
    Region("Japan", "au Japon", "du Japon"),
    Region("Canada", "au Canada", "du Canada"),
    Region("the United States", "aux États-Unis", "des États-Unis"),
)


_MATCHING: dict[str, list[Noun]] = {}


def nouns_of(labels: str) -> list[Noun]:
    """Return the nouns with one of the given kinds or names (space-separated), in table order."""
    if labels not in _MATCHING:
        wanted = labels.split()
        _MATCHING[labels] = [
            noun
            for noun in NOUNS
            if noun.en in wanted or any(kind in wanted for kind in noun.kinds)
        ]
    return _MATCHING[labels]
