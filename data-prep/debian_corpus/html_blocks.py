"""Text blocks (paragraphs, headings, list items, cells) of HTML, DocBook and Mallard files."""

import re
from html.parser import HTMLParser

from .text_normalisation import normalise

Block = tuple[str, str]

BLOCK_TAGS = frozenset(
    "p h1 h2 h3 h4 h5 h6 li td th dt dd title desc caption figcaption summary"
    " para simpara tpara term item entry titre"
    " div ul ol dl table tr section page note example steps list tree terms body article".split()
)
CODE_TAGS = frozenset("pre screen programlisting listing".split())
SKIPPED_TAGS = CODE_TAGS | frozenset(
    "script style head nav footer aside credit revision media email years".split()
)
VOID_TAGS = frozenset("br img hr meta link input area base col wbr include source".split())
UNTAGGED = "untagged"
NOTHING = re.compile(r"(?!)")


class _BlockParser(HTMLParser):
    """Collects (tag, text) blocks; tolerates tags that are left open or closed twice."""

    def __init__(self, skipped_class: re.Pattern[str]):
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._skipped_class = skipped_class
        self._open_tags: list[tuple[str, bool]] = []  # (tag, is it skipped, as all within it)
        self._text: list[str] = []
        self._kind = UNTAGGED

    def end_block(self, next_kind: str = UNTAGGED) -> None:
        text = normalise("".join(self._text))
        self._text = []
        if text:
            self.blocks.append((self._kind, text))
        self._kind = next_kind

    def handle_starttag(self, tag, attrs):
        tag = tag.split(":")[-1]
        if tag in VOID_TAGS:
            self.handle_startendtag(tag, attrs)
            return
        within_skipped = self._is_skipping()
        names = [value or "" for attribute, value in attrs if attribute in ("class", "id")]
        skipped = tag in SKIPPED_TAGS or any(map(self._skipped_class.search, names))
        self._open_tags.append((tag, within_skipped or skipped))
        if tag in CODE_TAGS and not within_skipped:
            self.end_block(self._kind)
        elif tag in BLOCK_TAGS and not self._is_skipping():
            self.end_block(tag)

    def handle_startendtag(self, tag, attrs):
        if tag.split(":")[-1] == "br":
            self._text.append(" ")

    def handle_endtag(self, tag):
        tag = tag.split(":")[-1]
        innermost_first = [open_tag for open_tag, _ in reversed(self._open_tags)]
        if tag in innermost_first:
            del self._open_tags[-1 - innermost_first.index(tag) :]
            if tag in BLOCK_TAGS:
                self.end_block()

    def handle_data(self, data):
        if not self._is_skipping():
            self._text.append(data)

    def _is_skipping(self) -> bool:
        return bool(self._open_tags) and self._open_tags[-1][1]


def html_blocks(markup: str, skipped_class: re.Pattern[str] = NOTHING) -> list[Block]:
    """Return the (tag, text) blocks of `markup` in order, without code and navigation.

    Elements whose class or id matches `skipped_class` are left out. Text outside every block
    element has the tag "untagged". Malformed markup never raises: it gives other blocks.
    """
    parser = _BlockParser(skipped_class)
    parser.feed(markup)
    parser.close()
    parser.end_block()
    return parser.blocks
