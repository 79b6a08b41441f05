"""Text in the characters that a model knows, as far as that changes nothing that is seen."""

import unicodedata
from typing import Callable, Iterable

from .utf8_lines import shows_nothing


def in_known_characters(symbols: Iterable[str]) -> Callable[[str], str]:
    """A function from a line to one with fewer unknown characters, if that is possible.

    Letters are composed with their accents. What shows nothing, such as marks of direction, is left
    out; white space and U+200B stay, as they end a word.

    Args:
        symbols: of the source dictionary, which are parts of words
    """
    known = frozenset("".join(symbols))

    def convert(line: str) -> str:
        forms = (line, unicodedata.normalize("NFC", line))
        unknown = [set(form) - known for form in forms]
        form, others = min(zip(forms, unknown), key=lambda pair: len(pair[1]))
        unseen = filter(shows_nothing, others - {"\u200b"})
        return form.translate({ord(char): None for char in unseen if not char.isspace()})

    return convert
