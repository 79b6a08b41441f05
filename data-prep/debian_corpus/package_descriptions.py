"""Debian's package indexes: what a suite holds, and its translated package descriptions."""

import re
from typing import NamedTuple

from .html_blocks import Block
from .text_normalisation import normalise

FIELD = re.compile(r"^([A-Za-z0-9-]+): (.*)", re.MULTILINE)
DESCRIPTION = r"^Package: (\S+)\nDescription-md5: (\S+)\nDescription-{language}: (.*?)(?=\n\n|\Z)"
# An item of a list begins a paragraph of its own; a line with a full stop only ends one.
PARAGRAPH_BREAK = re.compile(r"\n\s*\.\s*(?=\n|$)|\n(?=\s+(?:[*+o-]|\d+[.)])[^\S\n])")


class PackageRecord(NamedTuple):
    """What an index says of one binary package; `size` is the .deb's, in bytes."""

    name: str
    source: str
    file_name: str  # that apt-get download gives to the .deb
    size: int
    sha256: str


def family_name(source_package: str) -> str:
    """Return the name without version numbers: such packages' descriptions resemble each other."""
    return re.sub(r"[\d.+-]+", "-", source_package)


def parse_packages(index: str) -> dict[str, PackageRecord]:
    """Return {package: record} of a suite's Packages index."""
    records = {}
    for stanza in index.split("\n\n"):
        fields = dict(FIELD.findall(stanza))
        if name := fields.get("Package"):
            source = (fields.get("Source") or name).split()[0]
            version = fields.get("Version", "").replace(":", "%3a")
            file_name = f"{name}_{version}_{fields.get('Architecture', '')}.deb"
            size, sha256 = int(fields.get("Size", 0)), fields.get("SHA256", "")
            records[name] = PackageRecord(name, source, file_name, size, sha256)
    return records


def parse_descriptions(index: str, language: str) -> dict[str, tuple[str, str]]:
    """Return {checksum of the English text: (package, text)} of a Translation-`language` index.

    The checksum is the same in every language: it pairs a text with its translation.
    """
    pattern = re.compile(DESCRIPTION.format(language=language), re.MULTILINE | re.DOTALL)
    descriptions: dict[str, tuple[str, str]] = {}
    for package, checksum, text in pattern.findall(index):
        descriptions.setdefault(checksum, (package, text))
    return descriptions


def description_blocks(description: str) -> list[Block]:
    """Return the (kind, text) blocks of a description: synopsis, then paragraphs and list items."""
    synopsis, _, rest = description.partition("\n")
    paragraphs = map(normalise, PARAGRAPH_BREAK.split(f"\n{rest}"))
    return [("synopsis", synopsis), *(("paragraph", text) for text in paragraphs if text)]
