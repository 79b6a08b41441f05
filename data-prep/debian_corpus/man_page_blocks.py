"""Text blocks of manual pages written in roff with the man macros."""

from __future__ import annotations

import re

from .html_blocks import Block
from .text_normalisation import normalise

HEADING, PARAGRAPH, TERM, DEFINITION = "heading", "paragraph", "term", "definition"

VERBATIM_STARTS = frozenset(("nf", "EX", "TS", "EQ"))
VERBATIM_ENDS = frozenset(("fi", "EE", "TE", "EN"))
ONE_FONT = frozenset(("B", "I", "SM", "SB", "R"))
ALTERNATING_FONTS = frozenset(("BR", "BI", "IR", "IB", "RB", "RI"))
HEADINGS = frozenset(("SH", "SS"))
BREAKS = frozenset(("PP", "P", "LP", "HP", "sp", "br", "RS", "RE"))
TAGGED_PARAGRAPHS = frozenset(("TP", "TQ"))

COMMENT = re.compile(r"[.']\s*\\\"|'\\|\s*\.\s*$")
MACRO = re.compile(r"[.']\s*(\S+)\s*(.*)")
ARGUMENT = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
CONTINUED_LINE = re.compile(r"\\\n")

_SPECIAL_CHARACTERS = {
    "aq": "'", "dq": '"', "lq": "“", "rq": "”", "co": "©", "em": "—", "en": "–", "bu": "•",
    "mu": "×", "ti": "~", "ha": "^", "Fo": "«", "Fc": "»", "oq": "‘", "cq": "’", "+-": "±",
    "->": "→",
}  # fmt: skip


# The order matters: an escape that is removed first cannot be read as the start of a later one.
_ESCAPES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\f(\[[^\]]*\]|\(..|.)", ""),  # font
        (r"\\s[-+]?\d", ""),  # size
        (r"\\-", "-"),
        (r"\\ |\\~", " "),
        (r"\\[&|^/,%:)]", ""),  # zero-width
        *(
            (rf"\\\({re.escape(name)}|\\\[{re.escape(name)}\]", text)
            for name, text in _SPECIAL_CHARACTERS.items()
        ),
        (r"\\e", r"\\"),
        (r'\\"[^\n]*', ""),  # comment
    )
]


def plain_text(roff: str) -> str:
    """Return a line of roff without its font, size and character escapes."""
    for pattern, replacement in _ESCAPES:
        roff = pattern.sub(replacement, roff)
    return roff


def macro_arguments(text: str) -> list[str]:
    """Return the arguments of a macro: "two words" is one, as is two\\ words; "" is a quote."""
    hidden_space = "\x01"
    matches = ARGUMENT.findall(text.replace("\\ ", hidden_space))
    return [
        (quoted or bare).replace('""', '"').replace(hidden_space, " ") for quoted, bare in matches
    ]


class _PageReader:
    """State of one page: the block being read, and whether a list term or verbatim text is."""

    def __init__(self):
        self.blocks: list[Block] = []
        self._kind = PARAGRAPH
        self._text: list[str] = []
        self._verbatim_depth = 0
        self._awaiting_term = False

    def end_block(self, next_kind: str) -> None:
        text = normalise(plain_text(" ".join(self._text)))
        self._text = []
        if text:
            self.blocks.append((self._kind, text))
        self._kind = next_kind

    def read_text(self, line: str) -> None:
        if self._verbatim_depth:
            return
        if line.strip():
            self._add(line)
        else:
            self.end_block(PARAGRAPH)

    def read_macro(self, name: str, rest: str) -> None:
        if name in VERBATIM_STARTS:
            self.end_block(self._kind)
            self._verbatim_depth += 1
        elif name in VERBATIM_ENDS:
            self._verbatim_depth = max(0, self._verbatim_depth - 1)
            self._text = []
            self._kind = PARAGRAPH
        elif not self._verbatim_depth:
            self._read_text_macro(name, rest)

    def _read_text_macro(self, name: str, rest: str) -> None:
        if name in ONE_FONT:
            self._add(" ".join(macro_arguments(rest)))
        elif name in ALTERNATING_FONTS:
            self._add("".join(macro_arguments(rest)))
        elif name in HEADINGS:
            self._add_block(HEADING, " ".join(macro_arguments(rest)), next_kind=PARAGRAPH)
        elif name in BREAKS:
            self._add_block(PARAGRAPH, "", next_kind=PARAGRAPH)
        elif name in TAGGED_PARAGRAPHS:
            self.end_block(TERM)
            self._awaiting_term = True
        elif name == "IP":
            self._add_block(TERM, "".join(macro_arguments(rest)[:1]), next_kind=DEFINITION)

    def _add(self, text: str) -> None:
        self._text.append(text)
        if self._awaiting_term:
            self.end_block(DEFINITION)
            self._awaiting_term = False

    def _add_block(self, kind: str, text: str, next_kind: str) -> None:
        self.end_block(kind)
        self._text.append(text)
        self.end_block(next_kind)
        self._awaiting_term = False


def man_page_blocks(page: str) -> list[Block]:
    """Return the (kind, text) blocks of a roff page in order, without verbatim text and tables.

    A kind is "heading", "paragraph", "term" or "definition". Unknown macros are ignored.
    """
    reader = _PageReader()
    for line in CONTINUED_LINE.sub("", page).split("\n"):
        if COMMENT.match(line):
            continue
        if line.startswith((".", "'")):
            macro = MACRO.match(line)
            if macro:
                reader.read_macro(*macro.groups())
        else:
            reader.read_text(line)
    reader.end_block(PARAGRAPH)
    return reader.blocks
