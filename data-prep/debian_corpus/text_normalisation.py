"""Normal forms of text: what is written to the corpus, and what is compared."""

from __future__ import annotations

import re
import unicodedata

WHITESPACE = re.compile(r"\s+")
NOT_LETTERS = re.compile(r"[\W\d_]+")

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\ufeff"))  # soft hyphen, zero-width space, BOM
_HYPHENS = dict.fromkeys(map(ord, "\u2010\u2011"), "-")
_CHARACTER_MAP = {**_INVISIBLE, **_HYPHENS}


def normalise(text: str) -> str:
    """Return `text` in NFC on one line, without invisible characters or repeated spaces."""
    text = unicodedata.normalize("NFC", text).translate(_CHARACTER_MAP)
    return WHITESPACE.sub(" ", text).strip()


def comparison_key(text: str) -> str:
    """Return the lower-cased words of `text`, without digits and punctuation."""
    return NOT_LETTERS.sub(" ", text.lower()).strip()


def decode(content: bytes) -> str:
    """Return `content` read as UTF-8, with U+FFFD for each invalid byte."""
    return content.decode("utf-8", "replace")
