"""Message pairs of gettext catalogues (.mo files), read by polib.

The standard library's gettext is not enough: it drops the plural form of the English message.
"""

import re
import struct

# Shorter messages may be menu labels, where _ or & marks the key that selects them.
LONGEST_LABEL = 60
ACCELERATOR_MARK = re.compile(r"[_&](?=\w)")


def read_catalogue(content: bytes) -> list[tuple[str, str]]:
    """Return the (message, translation) pairs of a .mo file, in the file's order.

    The header and the contexts are left out. A plural message gives two pairs: singular, and
    plural with the last form of the translation. Raises ValueError when `content` is no .mo file.
    """
    import polib

    pairs = []
    try:
        # Every catalogue has a NUL. Without one, polib would open the file of that name.
        for entry in polib.mofile(content if b"\0" in content else b"\0"):
            forms = list(entry.msgstr_plural.values()) or [entry.msgstr]
            pairs.append((entry.msgid, forms[0]))
            if entry.msgid_plural and len(forms) > 1:
                pairs.append((entry.msgid_plural, forms[-1]))
    except (LookupError, OSError, ValueError, struct.error) as error:
        raise ValueError(f"not a gettext catalogue: {error}") from error
    return pairs


def message_blocks(message: str, translation: str) -> list[tuple[str, str]]:
    """Return the paragraph pairs of a message, or the whole pair where their numbers differ."""
    pair = [message, translation]
    if len(message) < LONGEST_LABEL:
        pair = [ACCELERATOR_MARK.sub("", text) for text in pair]
    english, french = (text.split("\n\n") for text in pair)
    return list(zip(english, french)) if len(english) == len(french) else [tuple(pair)]
