"""Archives and text from strangers: nothing leaves its folder, nothing is run, nothing is lost."""

import gzip
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import PROJECT, preprocess, run
from debian_corpus import apt_archive, deb_members
from debian_corpus import extraction as debian_extraction
from debian_corpus.documents import read_catalogues
from debian_corpus.sources import Source
from hostile_files import KINDS, contents, hostile_tar
from nasty_lines import COMMANDS_AND_SPACES
from public_corpora import archives, extraction
from public_corpora.recipe import RECIPES, Archive, Recipe, load_recipe

from realformer_runtime.command_line import UserError

DEBIAN = "http://a/debian"
INDEX = "Package: a\nVersion: ../../x\nArchitecture: all\nSize: 1\nSHA256: 0\n\n"


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    """The current folder is empty and two levels deep; dpkg-deb unpacks any tar."""
    folder, command = tmp_path / "outer/inner", tmp_path / "bin/dpkg-deb"
    folder.mkdir(parents=True)
    command.parent.mkdir()
    command.write_text('#!/bin/sh\nexec cat "$2"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(deb_members, "LARGEST_MEMBER", 4000)
    monkeypatch.setattr(extraction, "LONGEST_LINE", 1000)
    monkeypatch.setattr(apt_archive.AptSuite, "fetch_lists", lambda suite: None)
    monkeypatch.setattr(apt_archive.AptSuite, "index", lambda suite, name: INDEX)
    monkeypatch.chdir(folder)
    before = contents(tmp_path)
    yield folder
    after = contents(tmp_path)
    assert before == {path: after[path] for path in after if folder not in path.parents}


def given(content):
    """A file in the current folder."""
    path = Path("input")
    path.write_bytes(content)
    return path


def zipped(content):
    return gzip.compress(content, mtime=0)


def package(name, content):
    """Members of a Debian package."""
    return deb_members.read_members(str(given(hostile_tar(name, content))), "page|/usr")


def catalogue(content):
    """Messages of a package that apt has verified, from a file that has the right name."""
    archive = SimpleNamespace(members=lambda *_: {"/usr/share/locale/fr/LC_MESSAGES/a.mo": content})
    source = Source("game", ("game-data",), lambda archive: read_catalogues(archive, "game-data"))
    debian_extraction.extract(archive, source)


def apt(cache, mirror, *packages):
    apt_archive.open_archive(cache, mirror, ("bookworm",), packages)


def member(name, content=b""):
    """Text in a tar of WMT'14."""
    found = extraction.members(given(hostile_tar("a.en", content)), {name}, "a")
    return {name: list(extraction.bounded_lines(stream, name)) for name, stream in found}


def recipe(change):
    content = json.loads((RECIPES / "en-fr.json").read_text())
    change(content)
    load_recipe(given(json.dumps(content).encode()))


def record(content):
    """The sums of archives that were seen before."""
    Path("a.tgz").touch()
    wanted = Recipe("a-b", ("a", "b"), 1, 1, {"a.tgz": Archive("a.tgz", ())}, (), None)
    archives.have_archives(wanted, archives.Store(Path(), given(content), mine=True))


@pytest.mark.parametrize(
    ("read", "arguments", "named"),
    [
        (package, ("page.html", bytes(5000)), "input (page.html has more than"),
        (package, ("page.html.gz", zipped(bytes(5000))), "input (page.html.gz has more"),
        (package, ("page.html.gz", b"no gzip"), "input (Not a gzipped file"),
        (package, ("page.html.gz", zipped(b"abc")[:-9] + b"\xff" * 9), "cannot read input"),
        (catalogue, (b"\xde\x12\x04\x95" + b"\xff" * 30,), "game (not a gettext catalogue"),
        (apt, ('/a"; APT::Update::Pre-Invoke {"touch x"}; "', DEBIAN), "--cache"),
        (apt, ("/tmp/a\nb", DEBIAN), "--cache"),
        (apt, ("/tmp/a", f"{DEBIAN}\ndeb http://evil/"), "--mirror"),
        (apt, ("/tmp/a", f"{DEBIAN} sid main #"), "--mirror"),
        (apt, ("/tmp/a", "/no/url"), "--mirror"),
        (apt, ("/tmp/a", ""), "--mirror"),
        (apt, (".", DEBIAN, "a"), "no file name for a"),
        *((member, (f"usr/{kind}.en",), f"input: no member 'usr/{kind}.en'") for kind in KINDS),
        (member, ("a.en", b"short\n" + b"x" * 3000), "a.en, line 2: longer than"),
        (recipe, (lambda r: r["archives"][0].update(name="../../x"),), "'../../x' is not a name"),
        (recipe, (lambda r: r["training"][0].update(name="-x"),), "input: '-x' is not a name"),
        (recipe, (lambda r: r.update(languages=["en", "../fr"]),), "input: '../fr' is not a name"),
        (recipe, (lambda r: r.update(valid_every=0),), "input: valid_every: 0"),
        (recipe, (lambda r: r.update(text_bytes="many"),), "input: text_bytes: 'many'"),
        (recipe, (lambda r: r["training"][0].update(members=["a", "b"]),), "members"),
        (recipe, (lambda r: r["training"][0].update(members={"en": 1, "fr": 2}),), "members"),
        (recipe, (lambda r: r["archives"][0].update(bytes=-1),), "input: bytes of"),
        *((record, (text,), "input: not a record") for text in (b"no json", b"[]")),
        *((record, (text,), "input: not a record") for text in (b'{"a.tgz": 3}', b'{"a.tgz": {}}')),
    ],
)
def test_what_is_refused_is_one_line(read, arguments, named):
    with pytest.raises(UserError) as error:
        read(*arguments)
    assert named in str(error.value) and "\n" not in str(error.value)
    assert set(os.listdir()) <= {"input", "a.tgz"}


def test_of_an_archive_files_are_read_and_nothing_is_written():
    assert package("./usr/page", b"<p>Text.</p>\n") == {"/usr/page": b"<p>Text.</p>\n"}
    assert member("a.en", b"one\ntwo\n") == {"a.en": [b"one\n", b"two\n"]}
    apt("a folder with 'quotes' $(x)", "http://deb.debian.org/debian/")
    assert {*os.listdir()} == {"input", "a folder with 'quotes' $(x)"}


def test_nasty_text_in_nasty_folders_is_prepared_line_by_line(inside):
    """The name of a folder is one word, a line of text is one line, and neither is a command."""
    corpus, out = "-corpus $(touch marker) 'a' *\nb", '-out `touch marker` "b" ?\nc'
    Path(corpus).mkdir()
    names = [f"{split}.{lang}" for split in ("train", "valid", "test") for lang in ("en", "fr")]
    lines = len(COMMANDS_AND_SPACES) + 1
    for name in names:
        text = "".join(f"{line}\n" for line in [*COMMANDS_AND_SPACES, name])
        Path(corpus, name).write_bytes(text.encode())
    Path(out).mkdir()
    Path(out, "data-bin").touch()  # in the way: starting fairseq-preprocess takes seconds
    script = PROJECT / "data-prep/prepare-debian-en2fr.sh"
    line = ["--corpus", corpus, "--out", out, "--bpe-merges", 30, "--jobs", 1]
    assert "its 'data-bin' is " in run(script, *line, cwd=inside, check=False).stderr
    preprocess(Path(out, "bpe"), Path(out, "binary"))
    assert {*os.listdir()} == {corpus, out}
    for name in names:
        texts = [Path(out, stage, name).read_bytes() for stage in ("raw", "tok", "bpe")]
        assert [text.count(b"\n") for text in texts] == [lines] * 3
        assert all(text.endswith(f"\n{name}\n".encode()) for text in texts[:2])
    assert f"train.fr: {lines} sents" in Path(out, "binary/preprocess.log").read_text()
