"""Message pairs of gettext catalogues (.mo files).

The standard library's gettext is not enough: it drops the plural form of the English message.
"""

from __future__ import annotations

import re
import struct

BIG_ENDIAN_MAGIC = b"\x95\x04\x12\xde"
LITTLE_ENDIAN_MAGIC = BIG_ENDIAN_MAGIC[::-1]
CONTEXT_SEPARATOR = "\x04"
PLURAL_SEPARATOR = "\0"
PARAGRAPH_SEPARATOR = "\n\n"

# Shorter messages may be menu labels, where _ or & marks the key that selects them.
LONGEST_LABEL = 60
ACCELERATOR_MARK = re.compile(r"[_&](?=\w)")


def read_catalogue(content: bytes) -> list[tuple[str, str]]:
    """Return the (message, translation) pairs of a .mo file, in the file's order.

    The header and the contexts are left out. A plural message gives two pairs: singular, and
    plural with the last form of the translation. Raises ValueError when `content` is no .mo file.
    """
    pairs = []
    for message, translation in _read_entries(content):
        if not message:
            continue
        message = message.split(CONTEXT_SEPARATOR, 1)[-1]
        forms = message.split(PLURAL_SEPARATOR)
        translated_forms = translation.split(PLURAL_SEPARATOR)
        pairs.append((forms[0], translated_forms[0]))
        if len(forms) > 1 and len(translated_forms) > 1:
            pairs.append((forms[1], translated_forms[-1]))
    return pairs


def _read_entries(content: bytes):
    """Yield (message, translation) as they are stored, with context and plural separators."""
    byte_order = {LITTLE_ENDIAN_MAGIC: "<", BIG_ENDIAN_MAGIC: ">"}.get(content[:4])
    if byte_order is None:
        raise ValueError("not a gettext catalogue: wrong magic number")

    def read_string(entry_offset: int) -> str:
        length, offset = struct.unpack_from(byte_order + "2I", content, entry_offset)
        return content[offset : offset + length].decode("utf-8", "replace")

    try:
        count, messages, translations = struct.unpack_from(byte_order + "3I", content, 8)
        for index in range(count):
            yield read_string(messages + 8 * index), read_string(translations + 8 * index)
    except struct.error as error:
        raise ValueError(f"not a gettext catalogue: {error}") from error


def message_blocks(message: str, translation: str) -> list[tuple[str, str]]:
    """Return the paragraph pairs of a message, or the whole pair where their numbers differ."""
    if len(message) < LONGEST_LABEL:
        message = ACCELERATOR_MARK.sub("", message)
        translation = ACCELERATOR_MARK.sub("", translation)
    paragraphs = message.split(PARAGRAPH_SEPARATOR)
    translated_paragraphs = translation.split(PARAGRAPH_SEPARATOR)
    if len(paragraphs) == len(translated_paragraphs):
        return list(zip(paragraphs, translated_paragraphs))
    return [(message, translation)]
