"""Debian's package indexes: what a suite holds, and its translated package descriptions."""

from __future__ import annotations

import re
from typing import NamedTuple

from .html_blocks import Block
from .text_normalisation import normalise

FIELD = re.compile(r"^([A-Za-z0-9-]+): (.*)", re.MULTILINE)
DESCRIPTION = r"^Package: (\S+)\nDescription-md5: (\S+)\nDescription-{language}: (.*?)(?=\n\n|\Z)"
LIST_ITEM = re.compile(r"\s+([*+o-]|\d+[.)])\s")
VERSION_IN_NAME = re.compile(r"[\d.+-]+")
SYNOPSIS, PARAGRAPH = "synopsis", "paragraph"


class PackageRecord(NamedTuple):
    """What an index says of one binary package; `size` is the .deb's, in bytes."""

    name: str
    source: str
    version: str
    architecture: str
    size: int
    sha256: str

    @property
    def file_name(self) -> str:
        """The name that apt-get download gives to the .deb."""
        version = self.version.replace(":", "%3a")
        return f"{self.name}_{version}_{self.architecture}.deb"


def family_name(source_package: str) -> str:
    """Return the name without version numbers: such packages' descriptions resemble each other."""
    return VERSION_IN_NAME.sub("-", source_package)


def parse_packages(index: str) -> dict[str, PackageRecord]:
    """Return {package: record} of a suite's Packages index."""
    records = {}
    for stanza in index.split("\n\n"):
        fields = dict(FIELD.findall(stanza))
        name = fields.get("Package")
        if name:
            records[name] = PackageRecord(
                name=name,
                source=(fields.get("Source") or name).split()[0],
                version=fields.get("Version", ""),
                architecture=fields.get("Architecture", ""),
                size=int(fields.get("Size", 0)),
                sha256=fields.get("SHA256", ""),
            )
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
    synopsis, *lines = description.split("\n")
    blocks = [(SYNOPSIS, synopsis)]
    paragraph: list[str] = []

    def end_paragraph():
        if paragraph:
            blocks.append((PARAGRAPH, normalise(" ".join(paragraph))))
            paragraph.clear()

    for line in lines:
        if line.strip() == ".":
            end_paragraph()
            continue
        if LIST_ITEM.match(line):
            end_paragraph()
        paragraph.append(line.strip())
    end_paragraph()
    return blocks
