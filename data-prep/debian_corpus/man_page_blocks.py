"""Text blocks of manual pages written in roff with the man macros."""

import re

from .html_blocks import Block
from .text_normalisation import normalise

HEADING, PARAGRAPH, TERM, DEFINITION = "heading", "paragraph", "term", "definition"

# Examples, tables and equations too: a break instead.
VERBATIM = re.compile(r"^[.'] *(nf|EX|TS|EQ)\b.*?(^[.'] *(fi|EE|TE|EN)\b[^\n]*|\Z)", re.M | re.S)
COMMENT = re.compile(r"[.']\s*\\\"|'\\|\s*\.\s*$")
MACRO = re.compile(r"[.']\s*(\S+)\s*(.*)")
ARGUMENT = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
CONTINUED_LINE = "\\\n"

SPECIAL_CHARACTERS = {
    "aq": "'", "dq": '"', "lq": "“", "rq": "”", "co": "©", "em": "—", "en": "–", "bu": "•",
    "mu": "×", "ti": "~", "ha": "^", "Fo": "«", "Fc": "»", "oq": "‘", "cq": "’", "+-": "±",
    "->": "→",
}  # fmt: skip
_NAMES = "|".join(map(re.escape, SPECIAL_CHARACTERS))

# The order matters: an escape that is removed first cannot be read as the start of a later one.
ESCAPES = (
    (r"\\f(\[[^\]]*\]|\(..|.)", ""),  # font
    (r"\\s[-+]?\d", ""),  # size
    (r"\\-", "-"),
    (r"\\ |\\~", " "),
    (r"\\[&|^/,%:)]", ""),  # zero-width
    (rf"\\\(({_NAMES})|\\\[({_NAMES})\]", lambda name: SPECIAL_CHARACTERS[name[1] or name[2]]),
    (r"\\e", r"\\"),
    (r'\\"[^\n]*', ""),  # comment
)


def plain_text(roff: str) -> str:
    """Return a line of roff without its font, size and character escapes."""
    for pattern, replacement in ESCAPES:
        roff = re.sub(pattern, replacement, roff)
    return roff


def macro_arguments(text: str) -> list[str]:
    """Return the arguments of a macro: "two words" is one, as is two\\ words; "" is a quote."""
    hidden_space = "\x01"
    matches = ARGUMENT.findall(text.replace("\\ ", hidden_space))
    return [
        (quoted or bare).replace('""', '"').replace(hidden_space, " ") for quoted, bare in matches
    ]


class _PageReader:
    """State of one page: the block that is being read, and of which kind it is."""

    def __init__(self):
        self.blocks: list[Block] = []
        self._kind = PARAGRAPH
        self._text: list[str] = []

    def end_block(self, next_kind: str) -> None:
        text = normalise(plain_text(" ".join(self._text)))
        self._text = []
        if text:
            self.blocks.append((self._kind, text))
        self._kind = next_kind

    def read_text(self, text: str) -> None:
        self._text.append(text)
        if self._kind == TERM:
            self.end_block(DEFINITION)

    def read_macro(self, name: str, arguments: list[str]) -> None:
        if name in ("B", "I", "SM", "SB", "R"):
            self.read_text(" ".join(arguments))
        elif name in ("BR", "BI", "IR", "IB", "RB", "RI"):  # two fonts in turn
            self.read_text("".join(arguments))
        elif name in ("PP", "P", "LP", "HP", "sp", "br", "RS", "RE"):
            self.end_block(PARAGRAPH)
        elif name in ("SH", "SS"):
            self.end_block(HEADING)
            self._text = arguments
            self.end_block(PARAGRAPH)
        elif name in ("TP", "TQ"):
            self.end_block(TERM)
        elif name == "IP":
            self.end_block(TERM)
            self._text = arguments[:1]
            self.end_block(DEFINITION)


def man_page_blocks(page: str) -> list[Block]:
    """Return the (kind, text) blocks of a roff page in order, without verbatim text and tables.

    A kind is "heading", "paragraph", "term" or "definition". Unknown macros are ignored.
    """
    reader = _PageReader()
    for line in VERBATIM.sub(".PP", page.replace(CONTINUED_LINE, "")).split("\n"):
        if COMMENT.match(line):
            continue
        macro = MACRO.match(line)
        if macro:
            reader.read_macro(macro[1], macro_arguments(macro[2]))
        elif not line.strip():
            reader.end_block(PARAGRAPH)
        elif line[0] not in ".'":
            reader.read_text(line)
    reader.end_block(PARAGRAPH)
    return reader.blocks
