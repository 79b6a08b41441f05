"""What WMT'14 and IWSLT'14 are made of: archives, the members read, and what is known of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from realformer_runtime.command_line import UserError

RECIPES = Path(__file__).parent / "recipes"
# Names become those of files: nothing that leaves a folder or is taken for an option.
FORMS = ("lines", "talks", "segments")
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


@dataclass(frozen=True)
class Archive:
    """A file to fetch. ``bytes``, ``sha256`` and ``md5`` are None where nobody published them."""

    name: str
    urls: tuple[str, ...]
    bytes: int | None = None
    sha256: str | None = None
    md5: str | None = None


@dataclass(frozen=True)
class Corpus:
    """A member of an archive for each language, line by line translations of one another.

    ``lines_are`` is "published" where the number of lines is known, "recalled" where it is only
    remembered: the first must agree, the second is worth a warning. ``form`` is "lines",
    "talks" for IWSLT's lines with tags between them, or "segments" of an sgm or xml file.
    """

    name: str
    archive: str
    members: dict[str, str]
    lines: int | None = None
    lines_are: str = "recalled"
    form: str = "lines"


@dataclass(frozen=True)
class Recipe:
    """A pair of languages: training corpora in order, test set, and how validation is split off.

    ``cleaned`` holds the pairs that others were left with, at a number of merges. Several test sets
    are one after the other. With ``valid_of_cleaned``, validation is not split off the raw text but
    later.
    """

    pair: str
    languages: tuple[str, str]
    valid_every: int
    text_bytes: int
    archives: dict[str, Archive]
    training: tuple[Corpus, ...]
    tests: tuple[Corpus, ...]
    cleaned: dict[str, int] = field(default_factory=dict)
    valid_of_cleaned: bool = False

    def corpora(self) -> tuple[Corpus, ...]:
        """Training corpora in order, then the test sets."""
        return (*self.training, *self.tests)

    def what_is_read(self) -> str:
        """All that the raw text depends on, besides the archives themselves, on one line."""
        members = [[corpus.name, corpus.archive, corpus.members] for corpus in self.corpora()]
        read = [self.languages, self.valid_every, members]
        forms = [corpus.form for corpus in self.corpora()]
        # Nothing more for WMT'14, so that what version 0.1.0 has unpacked stays good.
        usual = ["lines"] * len(self.training) + ["segments"] * len(self.tests)
        if self.valid_of_cleaned or forms != usual:
            read += [forms, self.valid_of_cleaned]
        return json.dumps(read)


def load_recipe(path: Path) -> Recipe:
    """Read a recipe; a UserError names the file and what is wrong with it."""
    try:
        content = json.loads(path.read_text("utf-8"))
        archives = [
            Archive(**{**entry, "urls": tuple(entry["urls"])}) for entry in content["archives"]
        ]
        tests = content["test"] if isinstance(content["test"], list) else [content["test"]]
        recipe = Recipe(
            pair=content["pair"],
            languages=tuple(content["languages"]),
            valid_every=content["valid_every"],
            text_bytes=content["text_bytes"],
            archives={archive.name: archive for archive in archives},
            training=tuple(Corpus(**entry) for entry in content["training"]),
            tests=tuple(Corpus(**{"name": "test", "form": "segments", **entry}) for entry in tests),
            cleaned=content.get("cleaned", {}),
            valid_of_cleaned=content.get("valid_of_cleaned", False),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: not a recipe: {error}") from None
    except KeyError as error:
        raise UserError(f"{path}: not a recipe: no {error}") from None
    _check(recipe, path)
    return recipe


def _check(recipe: Recipe, path: Path) -> None:
    _check_types(recipe, path)
    for corpus in recipe.corpora():
        if corpus.form not in FORMS:
            raise UserError(f"{path}: {corpus.name}: form {corpus.form!r} is none of {FORMS}")
        if corpus.archive not in recipe.archives:
            raise UserError(f"{path}: {corpus.name}: no archive {corpus.archive!r} is listed")
        if set(corpus.members) != set(recipe.languages):
            raise UserError(f"{path}: {corpus.name}: members must be of {recipe.languages}")
    if len(recipe.tests) > 1 and "test" in (test.name for test in recipe.tests):
        raise UserError(f"{path}: 'test' is the name of all test sets together, not of one of them")


def _check_types(recipe: Recipe, path: Path) -> None:
    names = [*recipe.languages, *recipe.archives, *(corpus.name for corpus in recipe.corpora())]
    counts = {"valid_every": recipe.valid_every, "text_bytes": recipe.text_bytes}
    for entry in (*recipe.archives.values(), *recipe.corpora()):
        for key in ("bytes", "lines"):
            counts[f"{key} of {entry.name}"] = getattr(entry, key, None)
    for name in names:
        if not isinstance(name, str) or not FILE_NAME.fullmatch(name):
            raise UserError(f"{path}: {name!r} is not a name for a file")
    for what, count in counts.items():
        if count is not None and (type(count) is not int or count < 1):
            raise UserError(f"{path}: {what}: {count!r} is not a whole number above 0")
    if len(recipe.languages) != 2 or None in (recipe.valid_every, recipe.text_bytes):
        raise UserError(f"{path}: two languages, valid_every and text_bytes are needed")
    for corpus in recipe.corpora():
        members = corpus.members if isinstance(corpus.members, dict) else {"": None}
        if not all(isinstance(member, str) for member in members.values()):
            raise UserError(f"{path}: {corpus.name}: members are not file names by language")
