"""The sources of the corpus: Debian packages and how each is read, in the corpus's order.

The package names are those of Debian 12, bookworm.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Callable, NamedTuple

from .apt_archive import DebianArchive
from .documents import (
    Document,
    HtmlManual,
    read_catalogues,
    read_gnome_help,
    read_html_manual,
    read_man_pages,
    read_package_descriptions,
    read_scilab_help,
)

# The first has the packages; the second only adds package descriptions.
SUITES = ("bookworm", "trixie")

# Kept out of the other sets as a whole: BLEU on text of sources without any training pair.
UNSEEN_SOURCES = frozenset(("faq", "help:aisleriot", "help:seahorse", "wesnoth:sota"))


class Source(NamedTuple):
    """A part of the corpus; the reader yields its documents from an archive with `packages`."""

    name: str
    packages: tuple[str, ...]
    read: Callable[[DebianArchive], Iterator[Document]]


HTML_MANUALS = {
    "lohelp": HtmlManual(
        "libreoffice-help-en-us",
        "libreoffice-help-fr",
        r"/help/en-US/text/.*\.html$",
        r"/help/fr/text/.*\.html$",
        (("/help/fr/", "/help/en-US/"),),
        start='id="DisplayArea"',
    ),
    "harden": HtmlManual(
        "harden-doc",
        "harden-doc",
        r"/html/en-US/.*\.html$",
        r"/html/fr-FR/.*\.html$",
        (("fr-FR", "en-US"),),
    ),
    "install": HtmlManual(
        "installation-guide-amd64",
        "installation-guide-amd64",
        r"amd64/en/.*\.html$",
        r"amd64/fr/.*\.html$",
        (("/fr/", "/en/"),),
    ),
    "devref": HtmlManual(
        "developers-reference",
        "developers-reference-fr",
        r"/developers-reference/[^/]*\.html$",
        r"/developers-reference/fr/[^/]*\.html$",
        (("/fr/", "/"),),
    ),
    "debref": HtmlManual(
        "debian-reference-en",
        "debian-reference-fr",
        r"\.en\.html$",
        r"\.fr\.html$",
        ((".fr.", ".en."),),
    ),
    "faq": HtmlManual(
        "debian-faq",
        "debian-faq-fr",
        r"/FAQ/.*\.en\.html$",
        r"/FAQ/fr/.*\.fr\.html$",
        (("/fr/", "/"), (".fr.", ".en.")),
    ),
    "maint": HtmlManual(
        "maint-guide",
        "maint-guide-fr",
        r"\.en\.html$",
        r"\.fr\.html$",
        ((".fr.", ".en."), ("maint-guide-fr", "maint-guide")),
    ),
    "aptitude": HtmlManual(
        "aptitude-doc-en",
        "aptitude-doc-fr",
        r"/html/en/.*\.html$",
        r"/html/fr/.*\.html$",
        (("/html/fr/", "/html/en/"),),
    ),
    "live": HtmlManual(
        "live-manual-html",
        "live-manual-html",
        r"live-manual\.en\.html$",
        r"live-manual\.fr\.html$",
        ((".fr.", ".en."),),
    ),
    "lilypond": HtmlManual(
        "lilypond-doc-html",
        "lilypond-doc-html-fr",
        r"/Documentation/(?!.*big-page).*\.html$",
        r"/Documentation/(?!.*big-page).*\.fr\.html$",
        ((".fr.html", ".html"),),
    ),
}
GNOME_HELP_PACKAGES = (
    "gnome-user-docs evolution-common aisleriot gnome-commander-data seahorse evince-common"
    " shotwell-common eog gnome-terminal-data gthumb-data gedit-common iagno kupfer"
).split()
WESNOTH_CAMPAIGNS = "sota thot l trow utbs did low dm dw ei httt nr sof tsg ttb sotbe".split()


def _html_manual(name: str, manual: HtmlManual) -> Source:
    packages = tuple(dict.fromkeys((manual.english_package, manual.french_package)))
    return Source(name, packages, partial(read_html_manual, manual=manual))


def _gnome_help(package: str) -> Source:
    return Source(f"help:{package}", (package,), partial(read_gnome_help, package=package))


def _catalogues(name: str, package: str) -> Source:
    return Source(name, (package,), partial(read_catalogues, package=package))


def _sources() -> list[Source]:
    manuals = [_html_manual(name, manual) for name, manual in HTML_MANUALS.items()]
    libreoffice_help, *other_manuals = manuals
    linux_manual = ("manpages", "manpages-dev", "manpages-fr", "manpages-fr-dev")
    return [
        Source("ddtp", (), read_package_descriptions),
        libreoffice_help,
        Source("man", linux_manual, read_man_pages),
        *other_manuals,
        Source("scilab", ("scilab-doc", "scilab-doc-fr"), read_scilab_help),
        *map(_gnome_help, GNOME_HELP_PACKAGES),
        *(_catalogues(f"wesnoth:{name}", f"wesnoth-1.16-{name}") for name in WESNOTH_CAMPAIGNS),
        _catalogues("freeciv", "freeciv-data"),
    ]


SOURCES = _sources()
PACKAGES = tuple(dict.fromkeys(package for source in SOURCES for package in source.packages))
