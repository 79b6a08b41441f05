"""Text blocks (paragraphs, headings, list items, cells) of HTML, DocBook and Mallard files."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from .text_normalisation import normalise

Block = tuple[str, str]

TEXT_TAGS = frozenset(
    "p h1 h2 h3 h4 h5 h6 li td th dt dd title desc caption figcaption summary"
    " para simpara tpara term item entry titre".split()
)
CONTAINER_TAGS = frozenset(
    "div ul ol dl table tr section page note example steps list tree terms body article".split()
)
BLOCK_TAGS = TEXT_TAGS | CONTAINER_TAGS
CODE_TAGS = frozenset("pre screen programlisting listing".split())
SKIPPED_TAGS = CODE_TAGS | frozenset(
    "script style head nav footer aside credit revision media email years".split()
)
VOID_TAGS = frozenset("br img hr meta link input area base col wbr include source".split())
UNTAGGED = "untagged"


class _BlockParser(HTMLParser):
    """Collects (tag, text) blocks; tolerates tags that are left open or closed twice."""

    def __init__(self, skipped_class: re.Pattern[str] | None):
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._skipped_class = skipped_class
        self._open_tags: list[tuple[str, bool]] = []  # (tag, is within something skipped)
        self._skip_depth = 0
        self._text: list[str] = []
        self._kind = UNTAGGED

    def end_block(self) -> None:
        text = normalise("".join(self._text))
        self._text = []
        if text:
            self.blocks.append((self._kind, text))

    def handle_starttag(self, tag, attrs):
        tag = _local_name(tag)
        if tag in VOID_TAGS:
            self._add_line_break(tag)
            return
        skipped = self._skip_depth > 0 or tag in SKIPPED_TAGS or self._has_skipped_class(attrs)
        self._open_tags.append((tag, skipped))
        if skipped:
            self._skip_depth += 1
            if self._skip_depth == 1 and tag in CODE_TAGS:
                self.end_block()
        elif tag in BLOCK_TAGS:
            self.end_block()
            self._kind = tag

    def handle_startendtag(self, tag, attrs):
        self._add_line_break(_local_name(tag))

    def handle_endtag(self, tag):
        tag = _local_name(tag)
        if tag in VOID_TAGS or not self._close(tag):
            return
        if tag in BLOCK_TAGS:
            self.end_block()
            self._kind = UNTAGGED

    def handle_data(self, data):
        if not self._skip_depth:
            self._text.append(data)

    def _add_line_break(self, tag: str) -> None:
        if tag == "br":
            self._text.append(" ")

    def _has_skipped_class(self, attrs) -> bool:
        return self._skipped_class is not None and any(
            name in ("class", "id") and value and self._skipped_class.search(value)
            for name, value in attrs
        )

    def _close(self, tag: str) -> bool:
        """Close the innermost open `tag` and all within it; False if none is open."""
        for index in range(len(self._open_tags) - 1, -1, -1):
            if self._open_tags[index][0] == tag:
                self._skip_depth -= sum(skipped for _, skipped in self._open_tags[index:])
                del self._open_tags[index:]
                return True
        return False


def _local_name(tag: str) -> str:
    return tag.split(":")[-1]


def html_blocks(markup: str, skipped_class: re.Pattern[str] | None = None) -> list[Block]:
    """Return the (tag, text) blocks of `markup` in order, without code and navigation.

    Elements whose class or id matches `skipped_class` are left out. Text outside every block
    element has the tag "untagged". Malformed markup never raises: it gives other blocks.
    """
    parser = _BlockParser(skipped_class)
    parser.feed(markup)
    parser.close()
    parser.end_block()
    return parser.blocks
