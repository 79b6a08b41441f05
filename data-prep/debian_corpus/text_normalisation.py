"""Normal forms of text: what is written to the corpus, and what is compared."""

import re
import unicodedata

NOT_LETTERS = re.compile(r"[\W\d_]+")
# Typographic hyphens; soft hyphen, zero-width space and byte order mark, which are removed.
CHARACTERS = str.maketrans("\u2010\u2011", "--", "\u00ad\u200b\ufeff")


def normalise(text: str) -> str:
    """Return `text` in NFC on one line, without invisible characters or repeated spaces."""
    return " ".join(unicodedata.normalize("NFC", text).translate(CHARACTERS).split())


def comparison_key(text: str) -> str:
    """Return the lower-cased words of `text`, without digits and punctuation."""
    return NOT_LETTERS.sub(" ", text.lower()).strip()
