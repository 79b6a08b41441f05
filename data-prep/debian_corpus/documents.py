"""Readers of documents: each yields the aligned blocks of the documents of some packages.

A reader's first argument is the `DebianArchive`; documents come in an order that is the same in
every run.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import Callable, NamedTuple

from .alignment import Pair, align_blocks
from .apt_archive import PACKAGES, TRANSLATION, DebianArchive
from .deb_members import read_bounded
from .gettext_catalogues import message_blocks, read_catalogue
from .html_blocks import Block, html_blocks
from .man_page_blocks import man_page_blocks
from .package_descriptions import (
    description_blocks,
    family_name,
    parse_descriptions,
    parse_packages,
)
from .text_normalisation import decode

NAVIGATION_CLASS = re.compile(
    r"\btoc\b|tocframe|navheader|navfooter|nav_|manualnavbar|sphinxsidebar|related\b"
    r"|\bnavigation\b|ciname|index_",
    re.IGNORECASE,
)
NOT_TEXT = re.compile(r"legal|genindex|search\.html$")
CATALOGUE_PATH = r"(/fr/LC_MESSAGES/[^/]+\.mo|/fr\.mo|fr_FR\.mo)$"
BLOCKS_PER_CATALOGUE_DOCUMENT = 40  # a catalogue is held out in pieces
TAG_START_MARGIN = 5  # characters before a marker attribute, to include the start of its tag


class Document(NamedTuple):
    """A document's name and its (English, French) pairs of blocks."""

    name: str
    blocks: list[Pair]


def _aligned(
    texts: Iterable[tuple[str, bytes, bytes]], blocks: Callable[[str], list[Block]]
) -> Iterator[Document]:
    for name, english, french in texts:
        yield Document(name, align_blocks(blocks(decode(english)), blocks(decode(french))))


def _web_page_blocks(markup: str) -> list[Block]:
    return html_blocks(markup, NAVIGATION_CLASS)


def read_package_descriptions(archive: DebianArchive) -> Iterator[Document]:
    """Yield each translated package description; those of one source package share a name."""
    seen: set[str] = set()
    for suite in archive.suites:
        packages = parse_packages(suite.index(PACKAGES))
        english = parse_descriptions(suite.index(TRANSLATION + "en"), "en")
        french = parse_descriptions(suite.index(TRANSLATION + "fr"), "fr")
        for checksum, (package, text) in english.items():
            if checksum in seen or checksum not in french:
                continue
            seen.add(checksum)
            _, translation = french[checksum]
            blocks = align_blocks(description_blocks(text), description_blocks(translation))
            source = packages[package].source if package in packages else package
            yield Document(family_name(source), blocks)


class HtmlManual(NamedTuple):
    """Where an HTML manual is, in a package for each language or in one for both.

    The paths are patterns. `replacements` turn the path of a French page into that of its English
    page. What comes before the tag with the attribute `start`, if given, is not read.
    """

    english_package: str
    french_package: str
    english_paths: str
    french_paths: str
    replacements: tuple[tuple[str, str], ...]
    start: str = ""


def read_html_manual(archive: DebianArchive, manual: HtmlManual) -> Iterator[Document]:
    """Yield the pages of a manual that are there in both languages."""
    english = archive.members(manual.english_package, manual.english_paths)
    french = {}
    for path, page in archive.members(manual.french_package, manual.french_paths).items():
        for old, new in manual.replacements:
            path = path.replace(old, new)
        french[path] = page
    pages = (
        (_last_two_names(path), _cut(english[path], manual.start), _cut(french[path], manual.start))
        for path in sorted(english.keys() & french.keys())
        if not NOT_TEXT.search(path)
    )
    return _aligned(pages, _web_page_blocks)


def _last_two_names(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _cut(page: bytes, start: str) -> bytes:
    return page[max(0, page.find(start.encode()) - TAG_START_MARGIN) :]


def read_man_pages(archive: DebianArchive) -> Iterator[Document]:
    """Yield the manual pages of Linux that are there in both languages."""
    english: dict[str, bytes] = {}
    for package in ("manpages", "manpages-dev"):
        for path, page in archive.members(package, r"/man/man\d/.*\.gz$").items():
            english[path.split("/man/")[1]] = page
    french: dict[str, bytes] = {}
    for package in ("manpages-fr", "manpages-fr-dev"):
        for path, page in archive.members(package, r"/man/fr/man\d/.*\.gz$").items():
            french[path.split("/man/fr/")[1]] = page
    names = sorted(english.keys() & french.keys())
    return _aligned(((n, english[n], french[n]) for n in names), man_page_blocks)


def read_gnome_help(archive: DebianArchive, package: str) -> Iterator[Document]:
    """Yield the Mallard and DocBook pages of a GNOME program's help."""
    pages = archive.members(package, r"/usr/share/help/(C|fr)/.*\.(page|docbook|xml)$")
    translated = {
        path: path.replace("/help/C/", "/help/fr/")
        for path in sorted(pages)
        if "/help/C/" in path and "legal" not in path
    }
    texts = (
        (f"{package}/{os.path.basename(path)}", pages[path], pages[french_path])
        for path, french_path in translated.items()
        if french_path in pages
    )
    return _aligned(texts, html_blocks)


def read_scilab_help(archive: DebianArchive) -> Iterator[Document]:
    """Yield the pages of Scilab's help, which is a .jar of HTML for each language."""
    english, french = (_jar_pages(archive, name) for name in ("scilab-doc", "scilab-doc-fr"))
    names = sorted(english.keys() & french.keys())
    return _aligned(((n, english[n], french[n]) for n in names), _web_page_blocks)


def _jar_pages(archive: DebianArchive, package: str) -> dict[str, bytes]:
    pages = {}
    for content in archive.members(package, r"_help\.jar$").values():
        with zipfile.ZipFile(io.BytesIO(content)) as jar:
            for name in jar.namelist():
                if name.endswith(".html"):
                    with jar.open(name) as page:
                        pages[name.split("/", 1)[-1]] = read_bounded(page, name)
    return pages


def read_catalogues(archive: DebianArchive, package: str) -> Iterator[Document]:
    """Yield the messages of a package's French gettext catalogues, in pieces."""
    for path, content in sorted(archive.members(package, CATALOGUE_PATH).items()):
        blocks = [
            block
            for message, translation in read_catalogue(content)
            for block in message_blocks(message, translation)
        ]
        for start in range(0, len(blocks), BLOCKS_PER_CATALOGUE_DOCUMENT):
            piece = start // BLOCKS_PER_CATALOGUE_DOCUMENT
            yield Document(
                f"{package}/{os.path.basename(path)}#{piece}",
                blocks[start : start + BLOCKS_PER_CATALOGUE_DOCUMENT],
            )
