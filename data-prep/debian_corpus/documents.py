"""Readers of documents: each yields the aligned blocks of the documents of some packages.

A reader's first argument is the `DebianArchive`; documents come in an order that is the same in
every run.
"""

import io
import os
import re
import zipfile
from collections.abc import Iterator
from typing import Callable

from . import package_descriptions as descriptions
from .alignment import Pair, align_blocks
from .apt_archive import DebianArchive
from .deb_members import read_bounded
from .gettext_catalogues import message_blocks, read_catalogue
from .html_blocks import Block, html_blocks

NAVIGATION_CLASS = re.compile(
    r"\btoc\b|tocframe|navheader|navfooter|nav_|manualnavbar|sphinxsidebar|related\b"
    r"|\bnavigation\b|ciname|index_",
    re.IGNORECASE,
)
NOT_TEXT = re.compile(r"legal|genindex|[/_]search\.html$")
# LibreOffice's help has its navigation before this tag, without a class.
CONTENT_START = re.compile(r'.{0,5}id="DisplayArea"', re.DOTALL)
SCILAB_PACKAGES = ("scilab-doc", "scilab-doc-fr")
CATALOGUE_PATH = r"(/fr/LC_MESSAGES/[^/]+\.mo|/fr\.mo|fr_FR\.mo)$"
BLOCKS_PER_PIECE = 40  # a catalogue is held out in pieces

Document = tuple[str, list[Pair]]  # its name and its (English, French) pairs of blocks


def read_package_descriptions(archive: DebianArchive) -> Iterator[Document]:
    """Yield each translated package description; those of one source package share a name."""
    seen: set[str] = set()
    for suite in archive.suites:
        packages = descriptions.parse_packages(suite.index("Packages"))
        english = descriptions.parse_descriptions(suite.index("Translation-en"), "en")
        french = descriptions.parse_descriptions(suite.index("Translation-fr"), "fr")
        for checksum, (package, text) in english.items():
            if checksum in seen or checksum not in french:
                continue
            seen.add(checksum)
            sides = map(descriptions.description_blocks, (text, french[checksum][1]))
            source = packages[package].source if package in packages else package
            yield descriptions.family_name(source), align_blocks(*sides)


def web_page_blocks(markup: str) -> list[Block]:
    """Return the blocks of an HTML page, without its navigation."""
    start = CONTENT_START.search(markup)
    return html_blocks(markup[start.start() :] if start else markup, NAVIGATION_CLASS)


def _translated(pages: dict, paths: str, blocks: Callable, name: Callable) -> Iterator[Document]:
    """Yield the `pages` that are there in both languages, under the `name` of the English path."""
    english, french = {}, {}
    for path in sorted(pages):
        match = re.search(paths, path)
        rest = path
        for group in range(match.re.groups, 0, -1):
            rest = rest[: match.start(group)] + rest[match.end(group) :]
        (french if any("fr" in language for language in match.groups()) else english)[rest] = path
    for rest, path in english.items():
        if rest in french and not NOT_TEXT.search(path):
            sides = (blocks(str(pages[p], "utf-8", "replace")) for p in (path, french[rest]))
            yield name(path), align_blocks(*sides)


def read_pages(
    archive: DebianArchive, packages: tuple, paths: str, blocks=web_page_blocks, folder=""
) -> Iterator[Document]:
    """Yield the pages that are in `packages` in both languages, named by folder and file.

    The groups of the pattern `paths` are where the path of a page differs from its translation's.
    """
    pages: dict[str, bytes] = {}
    for package in packages:
        pages.update(archive.members(package, paths))

    def name(path):
        *_, parent, page = path.split("/")
        return f"{folder or parent}/{page}"

    return _translated(pages, paths, blocks, name)


def read_scilab_help(archive: DebianArchive) -> Iterator[Document]:
    """Yield the pages of Scilab's help, which is a .jar of HTML for each language."""
    paths = r"^scilab_(en_US|fr_FR)_help/.*\.html$"
    pages = {}
    for package in SCILAB_PACKAGES:
        for content in archive.members(package, r"_help\.jar$").values():
            with zipfile.ZipFile(io.BytesIO(content)) as jar:
                for name in filter(re.compile(paths).search, jar.namelist()):
                    with jar.open(name) as page:
                        pages[name] = read_bounded(page, name)
    return _translated(pages, paths, web_page_blocks, os.path.basename)


def read_catalogues(archive: DebianArchive, package: str) -> Iterator[Document]:
    """Yield the messages of a package's French gettext catalogues, in pieces."""
    for path, content in sorted(archive.members(package, CATALOGUE_PATH).items()):
        blocks = [block for pair in read_catalogue(content) for block in message_blocks(*pair)]
        for piece, start in enumerate(range(0, len(blocks), BLOCKS_PER_PIECE)):
            name = f"{package}/{os.path.basename(path)}#{piece}"
            yield name, blocks[start : start + BLOCKS_PER_PIECE]
