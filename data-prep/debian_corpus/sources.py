"""The sources of the corpus: Debian packages and how each is read, in the corpus's order.

The package names are those of Debian 12, bookworm.
"""

from collections.abc import Iterator
from functools import partial
from typing import Callable, NamedTuple

from . import documents
from .apt_archive import DebianArchive
from .html_blocks import html_blocks
from .man_page_blocks import man_page_blocks

# The first has the packages; the second only adds package descriptions.
SUITES = ("bookworm", "trixie")

# Kept out of the other sets as a whole: BLEU on text of sources without any training pair.
UNSEEN_SOURCES = frozenset(("faq", "help:aisleriot", "help:seahorse", "wesnoth:sota"))

LILYPOND_PAGES = r"/Documentation/(?!.*big-page).*?(\.fr|)\.html$"
LINUX_MANUAL = "manpages manpages-dev manpages-fr manpages-fr-dev"
GNOME_HELP_PACKAGES = (
    "gnome-user-docs evolution-common aisleriot gnome-commander-data seahorse evince-common"
    " shotwell-common eog gnome-terminal-data gthumb-data gedit-common iagno kupfer"
).split()
WESNOTH_CAMPAIGNS = "sota thot l trow utbs did low dm dw ei httt nr sof tsg ttb sotbe".split()


class Source(NamedTuple):
    """A part of the corpus; the reader yields its documents from an archive with `packages`."""

    name: str
    packages: tuple[str, ...]
    read: Callable[[DebianArchive], Iterator[documents.Document]]


def _pages(name: str, packages: str, paths: str, **options) -> Source:
    """A source of pages; the groups of `paths` are where the paths of translations differ."""
    options = {"packages": tuple(packages.split()), "paths": paths, **options}
    return Source(name, options["packages"], partial(documents.read_pages, **options))


def _gnome_help(package: str) -> Source:
    paths = r"/usr/share/help/(C|fr)/.*\.(?:page|docbook|xml)$"
    return _pages(f"help:{package}", package, paths, blocks=html_blocks, folder=package)


def _catalogues(name: str, package: str) -> Source:
    return Source(name, (package,), partial(documents.read_catalogues, package=package))


SOURCES = (
    Source("ddtp", (), documents.read_package_descriptions),
    _pages("lohelp", "libreoffice-help-en-us libreoffice-help-fr", r"/(en-US|fr)/text/.*\.html$"),
    _pages("man", LINUX_MANUAL, r"/man/(fr/|)man\d/.*\.gz$", blocks=man_page_blocks),
    _pages("harden", "harden-doc", r"/html/(en-US|fr-FR)/.*\.html$"),
    _pages("install", "installation-guide-amd64", r"amd64/(en|fr)/.*\.html$"),
    _pages("devref", "developers-reference developers-reference-fr", r"/(fr/|)[^/]*\.html$"),
    _pages("debref", "debian-reference-en debian-reference-fr", r"\.(en|fr)\.html$"),
    _pages("faq", "debian-faq debian-faq-fr", r"/FAQ/(fr/|).*\.(en|fr)\.html$"),
    _pages("maint", "maint-guide maint-guide-fr", r"/maint-guide(-fr|)/.*\.(en|fr)\.html$"),
    _pages("aptitude", "aptitude-doc-en aptitude-doc-fr", r"/html/(en|fr)/.*\.html$"),
    _pages("live", "live-manual-html", r"live-manual\.(en|fr)\.html$"),
    _pages("lilypond", "lilypond-doc-html lilypond-doc-html-fr", LILYPOND_PAGES),
    Source("scilab", documents.SCILAB_PACKAGES, documents.read_scilab_help),
    *map(_gnome_help, GNOME_HELP_PACKAGES),
    *(_catalogues(f"wesnoth:{name}", f"wesnoth-1.16-{name}") for name in WESNOTH_CAMPAIGNS),
    _catalogues("freeciv", "freeciv-data"),
)
PACKAGES = tuple(dict.fromkeys(package for source in SOURCES for package in source.packages))
