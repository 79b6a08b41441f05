"""French spelling rules: elision, contraction, feminine and plural forms, joining words.

Words are handled as lists of separate tokens ("je", "le", "ai", "vu") and only :func:`join`
turns them into text, so elision is decided once, from the word that really follows.
"""

from collections.abc import Sequence

VOWELS = frozenset("aeiouyhàâäæéèêëîïôöœùûü")

#: Words that begin with a vowel or an h in spelling but block elision ("le héros", "le onze").
ASPIRATED = frozenset("héros hérisson hérissons hache haches harpe harpes huit onze".split())

#: Words that lose their final vowel before a vowel ("je aime" becomes "j'aime").
ELIDABLE = frozenset("je me te se le la ne de que ce".split())


def starts_with_vowel(word: str) -> bool:
    """Say whether a word calls for elision ("l'") and the prevocalic forms ("mon", "bel")."""
    lowered = word.lower()
    return lowered not in ASPIRATED and lowered[:1] in VOWELS


def elide(word: str, following: str) -> str:
    """Return the elided form of a word before another one, or the word unchanged."""
    if word == "si" and following in ("il", "ils"):
        return "s'"
    if word in ELIDABLE and starts_with_vowel(following):
        return word[:-1] + "'"
    return word


def join(tokens: Sequence[str]) -> str:
    """Join tokens into running text, with elision and French punctuation spacing."""
    text = ""
    for position, token in enumerate(tokens):
        following = tokens[position + 1] if position + 1 < len(tokens) else ""
        written = elide(token, following)
        glued = not text or text.endswith("'") or token in (",", ".")
        text += written if glued else " " + written
    return text


def capitalise(text: str) -> str:
    """Put a capital on the first letter only."""
    return text[:1].upper() + text[1:]


def contract(preposition: str, tokens: list[str]) -> list[str]:
    """Put "à" or "de" before a noun phrase, contracted with a definite article.

    "de" absorbs a partitive or plural indefinite article: "besoin de" + "du pain" gives
    "besoin de pain".  The caller passes such phrases without their article.
    """
    article = tokens[0]
    fused = {"à": ("au", "aux"), "de": ("du", "des")}.get(preposition)
    if fused and article == "les":
        return [fused[1]] + tokens[1:]
    if fused and article == "le" and not starts_with_vowel(tokens[1]):
        return [fused[0]] + tokens[1:]
    return [preposition] + tokens


def pluralise(word: str) -> str:
    """Form the regular plural of a noun or of a masculine adjective."""
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    if word.endswith(("eau", "eu")) and word not in ("bleu", "pneu"):
        return word + "x"
    return word + "s"


def feminise(adjective: str) -> str:
    """Form the regular feminine singular of an adjective or of a past participle."""
    if adjective.endswith("e"):
        return adjective
    for ending, feminine in (
        ("er", "ère"),
        ("eux", "euse"),
        ("if", "ive"),
        ("ien", "ienne"),
        ("on", "onne"),
        ("il", "ille"),
    ):
        if adjective.endswith(ending):
            return adjective[: -len(ending)] + feminine
    return adjective + "e"


def agree(masculine: str, gender: str, number: str, feminine: str = "") -> str:
    """Make an adjective or a participle agree ("m" or "f", "sg" or "pl")."""
    form = masculine if gender == "m" else feminine or feminise(masculine)
    return pluralise(form) if number == "pl" else form


#: Possessive determiners by (person, number of the possessor): masculine, feminine, plural.
POSSESSIVES = {
    (1, "sg"): ("mon", "ma", "mes"),
    (3, "sg"): ("son", "sa", "ses"),
    (1, "pl"): ("notre", "notre", "nos"),
    (2, "pl"): ("votre", "votre", "vos"),
    (3, "pl"): ("leur", "leur", "leurs"),
}


def possessive(person: int, owner_number: str, gender: str, number: str, following: str) -> str:
    """Choose the possessive: it agrees with the thing possessed ("ma", but "mon" in "mon amie")."""
    masculine, feminine, plural = POSSESSIVES[person, owner_number]
    if number == "pl":
        return plural
    return masculine if gender == "m" or starts_with_vowel(following) else feminine


def demonstrative(gender: str, number: str, following: str) -> str:
    """Choose ce, cet, cette or ces."""
    if number == "pl":
        return "ces"
    if gender == "f":
        return "cette"
    return "cet" if starts_with_vowel(following) else "ce"


def definite(gender: str, number: str) -> str:
    """Choose le, la or les (elision comes later, in :func:`join`)."""
    return "les" if number == "pl" else {"m": "le", "f": "la"}[gender]


def partitive(gender: str, number: str, following: str) -> list[str]:
    """Choose the article of "some": du, de la, de l' or des."""
    if number == "pl":
        return ["des"]
    return contract("de", [definite(gender, number), following])[:-1]
