"""Spaces that sacremoses' detokeniser leaves in scripts other than the Latin one.

Moses' tokeniser splits off what it does not know as a letter. Its detokeniser joins the punctuation
of European languages only.
"""

import functools
import re
import unicodedata
from typing import Callable, List

from .languages import CHINESE, WITHOUT_SPACES

ARABIC_SCRIPT = frozenset("ar ckb fa ps sd ug ur".split())
INDIC_SCRIPTS = frozenset("as bho bn gu hi kok mai mni mr ne or pa sa".split())
# What belongs to the word before it: commas, question marks and full stops.
CLOSING_MARKS = {
    **dict.fromkeys(ARABIC_SCRIPT, "\u060c\u061b\u061f\u06d4"),
    **dict.fromkeys(INDIC_SCRIPTS, "\u0964\u0965"),
    "km": "\u17d4\u17d5",
    "my": "\u104a\u104b",
}
# Full-width forms, and the quotes, ellipses, dashes and dots that Chinese writes as wide.
WIDE_MARKS = "[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”‘’…—·]"
BESIDE_WIDE_MARK = re.compile(f" (?={WIDE_MARKS})|(?<={WIDE_MARKS}) ")
JOINERS = "\u200c\u200d"  # they are inside a word, as in Persian
VIRAMA = 9  # Unicode's combining class of the signs that join two consonants


def is_mark(token: str) -> bool:
    """Whether a token has combining marks and joiners only."""
    return all(char in JOINERS or unicodedata.category(char)[0] == "M" for char in token)


def attach_marks(detokenised: str, ends_word: bool) -> str:
    """Join combining marks and joiners to the text around them.

    Args:
        ends_word: whether a space after a mark stays, unless the mark joins two consonants. Without
            it a rare space of Thai is lost, where otherwise each word would have some too many
    """
    text: List[str] = []
    space = ""
    for token in detokenised.split(" "):
        mark = is_mark(token)
        text += ["" if mark else space, token]
        last = token[-1:]
        joins = last in JOINERS or unicodedata.combining(last or " ") == VIRAMA
        space = "" if mark and (joins or not ends_word) else " "
    return "".join(text)


def script_joiner(lang: str) -> Callable[[str], str]:
    """A function that removes from a detokenised line the spaces that its script does not have."""
    if lang in CHINESE or lang == "ja":
        return functools.partial(BESIDE_WIDE_MARK.sub, "")
    closing = CLOSING_MARKS.get(lang, "")
    if not closing and lang not in WITHOUT_SPACES:
        return str

    def join(line: str) -> str:
        line = attach_marks(line, ends_word=lang not in WITHOUT_SPACES)
        return re.sub(f" (?=[{closing}])", "", line) if closing else line

    return join
