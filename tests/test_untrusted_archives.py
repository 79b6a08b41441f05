"""Archives and text from strangers: nothing leaves its folder, nothing is run, nothing is lost."""

import gzip
import io
import json
import os
import shutil
import tarfile

import pytest
from conftest import PROJECT, run
from debian_corpus import apt_archive, deb_members
from debian_corpus import extraction as debian_extraction
from debian_corpus.sources import Source
from hostile_files import hostile_tar, write_deb
from project_command_line import UserError
from wmt14_corpus import archives, extraction
from wmt14_corpus.recipe import RECIPES, Archive, Corpus, Recipe, load_recipe

HAS_DPKG = shutil.which("dpkg-deb") is not None


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """An empty folder two levels deep, in which a test runs."""
    folder = tmp_path / "outer/inner"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    yield folder
    assert os.listdir(tmp_path) == ["outer"] and os.listdir(tmp_path / "outer") == ["inner"]


@pytest.mark.skipif(not HAS_DPKG, reason="needs dpkg-deb")
def test_a_package_gives_its_files_and_writes_none(inside):
    tar = io.BytesIO()
    links = hostile_tar(tar, "./usr/page.html")
    write_deb(inside / "a.deb", tar.getvalue())
    found = deb_members.read_members(str(inside / "a.deb"), r"\.html$")
    assert found["/usr/page.html"] == b"<p>Text.</p>\n"
    assert not {f"/{name}" for name in links} & found.keys()
    assert os.listdir(inside) == ["a.deb"]


@pytest.mark.skipif(not HAS_DPKG, reason="needs dpkg-deb")
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("page.html", bytes(5000), "more than"),
        ("page.html.gz", gzip.compress(bytes(5000), mtime=0), "more than"),
        ("page.html.gz", b"no gzip", "Not a gzipped file"),
        ("page.html.gz", gzip.compress(b"abc", mtime=0)[:-9] + b"\xff" * 9, "cannot read"),
    ],
)
def test_an_absurd_package_is_one_line(inside, monkeypatch, name, content, words):
    monkeypatch.setattr(deb_members, "LARGEST_MEMBER", 4000)
    tar = io.BytesIO()
    hostile_tar(tar, f"./usr/{name}", content)
    write_deb(inside / "a.deb", tar.getvalue())
    with pytest.raises(UserError, match="a.deb") as error:
        deb_members.read_members(str(inside / "a.deb"), "usr/page")
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"no catalogue", b"\xde\x12\x04\x95" + b"\xff" * 30])
def test_a_package_with_something_else_in_it_is_one_line(content):
    """A file that has the right name in a package that apt has verified."""
    from debian_corpus.documents import read_catalogues

    class Archive:
        def members(self, package, pattern):
            return {"/usr/share/locale/fr/LC_MESSAGES/a.mo": content}

    source = Source("game", ("game-data",), lambda archive: read_catalogues(archive, "game-data"))
    with pytest.raises(UserError, match="game.*not a gettext catalogue"):
        debian_extraction.extract(Archive(), source)


@pytest.mark.parametrize(
    ("cache", "mirror", "words"),
    [
        ('/tmp/a"; APT::Update::Pre-Invoke {"touch x"}; "', "http://a/debian", "--cache"),
        ("/tmp/a\nb", "http://a/debian", "--cache"),
        ("/tmp/a", "http://a/debian\ndeb http://evil/", "--mirror"),
        ("/tmp/a", "http://a/debian sid main #", "--mirror"),
        ("/tmp/a", "/no/url", "--mirror"),
        ("/tmp/a", "", "--mirror"),
    ],
)
def test_names_cannot_get_into_the_settings_of_apt(cache, mirror, words):
    with pytest.raises(UserError, match=words):
        apt_archive.open_archive(cache, mirror, ("bookworm",), [])
    apt_archive.check_quotable("/a folder/with 'quotes' $(x)", "http://deb.debian.org/debian/")


def test_a_version_is_no_path(inside, monkeypatch):
    """An index that would have a package lie somewhere else."""
    index = "Package: a\nVersion: ../../x\nArchitecture: all\nSize: 1\nSHA256: 0\n\n"
    monkeypatch.setattr(apt_archive.AptSuite, "fetch_lists", lambda suite: None)
    monkeypatch.setattr(apt_archive.AptSuite, "index", lambda suite, name: index)
    with pytest.raises(UserError, match="no file name for a"):
        apt_archive.open_archive(str(inside), "http://a/debian", ("bookworm",), ["a"])


def recipe_of(**members):
    """A corpus in tars of one archive, and a test set."""
    corpus = Corpus("news", "a.tar", members)
    test = Corpus("test", "test.tar", {lang: f"test.{lang}" for lang in members})
    return Recipe("en-fr", ("en", "fr"), 2, 1, {}, (corpus,), test)


def test_only_wanted_members_are_read_from_a_tar(inside):
    (inside / "archives").mkdir()
    (inside / "raw").mkdir()
    for archive, names in (("a.tar", ("m/a.en", "m/a.fr")), ("test.tar", ("test.en", "test.fr"))):
        with open(inside / "archives" / archive, "wb") as file:
            hostile_tar(file, names[0], b'one\ntwo\n<seg id="1">x</seg>\n')
        with tarfile.open(inside / "archives" / archive, "a") as tar:
            info = tarfile.TarInfo(names[1])
            info.size = 29
            tar.addfile(info, io.BytesIO(b'un\ndeux\n<seg id="1">y</seg>\n\n'))
    recipe = recipe_of(en="m/a.en", fr="m/a.fr")
    with pytest.raises(UserError, match="'m/a.en' has 3 lines, but 'm/a.fr' has 4"):
        extraction.extract_all(recipe, inside / "archives", inside / "raw")
    names = {path.name for path in (inside / "raw").iterdir()}
    assert names == {f"{s}.news.{lang}" for s in ("train", "valid") for lang in ("en", "fr")}
    assert (inside / "raw/valid.news.en").read_text() == "two\n"


@pytest.mark.parametrize("kind", ["symbolic", "hard", "device", "pipe", "folder"])
def test_a_link_is_no_member(inside, kind):
    with open(inside / "a.tar", "wb") as file:
        hostile_tar(file, "other.en")
    with pytest.raises(UserError, match=f"no member 'usr/{kind}.en', only"):
        list(extraction.members(inside / "a.tar", {f"usr/{kind}.en"}, "a"))


def test_a_line_without_end_does_not_fill_memory(inside, monkeypatch):
    monkeypatch.setattr(extraction, "LONGEST_LINE", 1000)
    lines = extraction.bounded_lines(io.BytesIO(b"short\n" + b"x" * 3000), "a.tar: 'm'")
    assert next(lines) == b"short\n"
    with pytest.raises(UserError, match="a.tar: 'm', line 2: longer than"):
        next(lines)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r["archives"][0].update(name="../../x.tgz"), "'../../x.tgz' is not a name"),
        (lambda r: r["training"][0].update(name="/etc/x"), "'/etc/x' is not a name"),
        (lambda r: r["training"][0].update(name="-x"), "'-x' is not a name"),
        (lambda r: r.update(languages=["en", "../fr"]), "'../fr' is not a name"),
        (lambda r: r.update(valid_every=0), "valid_every: 0"),
        (lambda r: r.update(text_bytes="many"), "text_bytes: 'many'"),
        (lambda r: r["training"][0].update(members=["a", "b"]), "members"),
        (lambda r: r["training"][0].update(members={"en": 1, "fr": 2}), "members"),
        (lambda r: r["archives"][0].update(bytes=-1), "bytes of"),
    ],
)
def test_a_recipe_cannot_name_what_it_should_not(tmp_path, change, words):
    recipe = json.loads((RECIPES / "en-fr.json").read_text())
    change(recipe)
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    with pytest.raises(UserError, match="recipe.json") as error:
        load_recipe(tmp_path / "recipe.json")
    assert words in str(error.value)


@pytest.mark.parametrize("content", ["no json", "[]", '{"a.tgz": 3}', '{"a.tgz": {}}'])
def test_a_damaged_record_is_named(tmp_path, content):
    (tmp_path / "archives.json").write_text(content)
    (tmp_path / "a.tgz").touch()
    recipe = Recipe("a-b", ("a", "b"), 1, 1, {"a.tgz": Archive("a.tgz", ())}, (), None)
    store = archives.Store(tmp_path, tmp_path / "archives.json", mine=True)
    with pytest.raises(UserError, match="archives.json: not a record"):
        archives.have_archives(recipe, store)


NASTY = [
    "$(touch marker) `touch marker` ; touch marker & touch marker | touch marker",
    "-rf * ? [a-z] ~ {a,b} !! # \\",
    "\"quoted\" 'quoted' \\\"both\\' $HOME ${x} %s %n",
    "a\x00b NUL, a\rb CR, a\u2028b, a\u2029b, a\x85b, \ufeffBOM, a\x0cb, a\x1cb",
    "\u202eright to left\u202c \x1b[31mred\x07 \U0001f600 \u0301",
    "<s> </s> <pad> <unk> @@ @@@@ a@@ b #fairseq:overwrite madeupword0000 | || &amp;",
    "x" * 3000 + " " + "y " * 300,
    " leading and trailing \t ",
]


def test_nasty_text_in_nasty_folders_is_prepared_line_by_line(tmp_path):
    """The name of a folder is one word, a line of text is one line, and neither is a command."""
    corpus = tmp_path / "-corpus $(touch marker) 'a' *\nb"
    corpus.mkdir()
    for split in ("train", "valid", "test"):
        for lang in ("en", "fr"):
            lines = "".join(f"{line}\n" for line in [*NASTY, f"{split} {lang}"])
            (corpus / f"{split}.{lang}").write_bytes(lines.encode())
    out = '-out `touch marker` "b" ?\nc'
    script = PROJECT / "data-prep/prepare-debian-en2fr.sh"
    options = ["--corpus", corpus.name, "--out", out, "--bpe-merges", 30, "--jobs", 1]
    run(script, *options, cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([corpus.name, out])
    for stage in ("raw", "tok", "bpe"):
        for split in ("train", "valid", "test"):
            for lang in ("en", "fr"):
                text = (tmp_path / out / stage / f"{split}.{lang}").read_bytes()
                assert text.count(b"\n") == len(NASTY) + 1
                assert text.endswith(f"\n{split} {lang}\n".encode()) or stage == "bpe"
    log = (tmp_path / out / "preprocess.log").read_text()
    assert f"train.fr: {len(NASTY) + 1} sents" in log
    assert (tmp_path / out / "data-bin/dict.en.txt").is_file()
