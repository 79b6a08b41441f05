"""Steps of the WMT'14 preparation on their own: cleaning, unpacking, downloads, dictionaries."""

import io
import json
import os
import re
import subprocess
import sys
from unittest import mock

import pytest
from conftest import PROJECT
from public_corpora import __main__ as steps
from public_corpora import (
    archives,
    cleaning,
    dictionary_check,
    download,
    extraction,
    progress,
    step,
)
from public_corpora.recipe import RECIPES, load_recipe
from wmt14_archives import build, served, tar

from realformer_runtime.command_line import UserError

# --- cleaning: what clean-corpus-n.perl -ratio 1.5 ... 1 250 does ---


def cleaned(*pairs):
    cleaner = cleaning.PairCleaner()
    return [cleaner.clean(*pair) for pair in pairs]


def words(count):
    return " ".join("w" * count)


KEPT = [(2, 3), (3, 2), (4, 6), (250, 250), (250, 167), (1, 1)]
DROPPED = [(0, 1), (1, 0), (0, 0), (1, 2), (2, 1), (3, 5), (251, 251), (250, 166)]


@pytest.mark.parametrize("counts", KEPT + DROPPED)
def test_limits_of_length_and_ratio(counts):
    pair = tuple(map(words, counts))
    assert cleaned(pair) == [pair if counts in KEPT else None]


def test_reasons_are_counted():
    cleaner = cleaning.PairCleaner()
    for pair in [("a", ""), ("a", "b"), ("a b", "c"), (words(251), "a"), ("a", "x" * 1001)]:
        cleaner.clean(*pair)
    reasons = ["empty", "ratio over 1.5", "over 250 tokens", "token over 1000 characters"]
    assert cleaner.pairs == 5 and dict(cleaner.dropped) == dict.fromkeys(reasons, 1)


PERL_SPACES = [0x9, 0xB, 0xC, 0xD, 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
PERL_SPACES += [0x2028, 0x2029, 0x202F, 0x205F, 0x3000]


def test_white_space_is_perls():
    """As perl 5.36 lists it; U+001C to U+001F, which Python adds, and U+200B are none."""
    spaces = [char for char in map(chr, range(0x110000)) if cleaning.SPACES.fullmatch(char)]
    assert spaces == ["\t", "\n", *map(chr, PERL_SPACES[1:])]
    for char in map(chr, PERL_SPACES):
        assert cleaned((f"{char}a {char}b{char}", "c d"), (char, "c")) == [("a b", "c d"), None]
    for char in "\x1c\x1f\u200b":
        assert cleaned((f"a{char}b", "c")) == [(f"a{char}b", "c")]


def test_bars_are_removed_unless_the_first_pair_has_one():
    """Tokens, and factors, are counted in characters."""
    assert cleaned(("a", "b"), ("c|d |", "e"), ("|", "e")) == [("a", "b"), ("cd", "e"), None]
    assert cleaned(("é" * 1000, "a"), ("é" * 1001, "a")) == [("é" * 1000, "a"), None]
    factored = [("a|N", "b|N"), ("c|V", "d|" + "x" * 1000), ("c|V", "d|" + "x" * 1001)]
    assert cleaned(*factored) == [*factored[:2], None]
    with pytest.raises(UserError, match="pair 2 .* blank factor: c |"):
        cleaned(("a|N", "b|N"), ("c |V", "d e"))


def test_bars_that_are_text_divide_no_token():
    cleaner = cleaning.PairCleaner(ratio=9, bars=False)
    pairs = [("|", "a | b"), ("x" * 500 + "|" + "x" * 499, "a"), ("x" * 500 + "|" + "x" * 500, "a")]
    assert [cleaner.clean(*pair) for pair in pairs] == [*pairs[:2], None]


@pytest.mark.parametrize(
    "text, message",
    [
        (b"a\n", r"x\.fr' has fewer lines than"),
        (b"a\nb\nc\n", r"x\.fr' has more lines than"),
        (b"a\ncaf\xe9\n", r"x\.fr', line 2: not UTF-8"),
    ],
)
def test_sides_that_do_not_go_together_are_named(tmp_path, text, message):
    (tmp_path / "x.en").write_bytes(b"a\nb\n")
    (tmp_path / "x.fr").write_bytes(text)
    with pytest.raises(UserError, match=message):
        cleaning.clean_files([tmp_path / "x"], ("en", "fr"), tmp_path / "out", 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.en", "x.fr"]


def run_step(*words):
    with mock.patch.object(sys, "argv", ["public_corpora", *map(str, words)]):
        steps.main()


@pytest.mark.parametrize("merges, warned", [(5, True), (6, False)])
def test_what_others_were_left_with_is_compared(tmp_path, capfd, merges, warned):
    recipe = json.loads((RECIPES / "en-fr.json").read_text())
    recipe["cleaned"] = {"merges": 5, "train": 3}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    for lang in ("en", "fr"):
        (tmp_path / f"x.{lang}").write_text("a\nb\n")
    options = ["--recipe", tmp_path / "recipe.json", "--merges", merges, "--lines", 2]
    run_step("clean", *options, "--out", tmp_path / "train", tmp_path / "x")
    said = capfd.readouterr().err
    assert "train: 2 of 2 pairs kept\n" in said
    assert ("others were left with 3 pairs" in said) == warned


# --- unpacking ---


def test_segments_of_sgm():
    lines = b'<seg id="1"> a <b>c</b>  </seg>  \r\n<seg id="x">d\n<seg>e</seg>\n<hl>f</hl>\n'
    assert list(extraction.segments(io.BytesIO(lines))) == [b"a <b>c</b>\n", b'<seg id="x">d\n']


def test_lines_end_at_line_feeds_and_bad_bytes_are_replaced(capfd):
    content = "a\u2028b\x85\rc\n\nd".encode() + b"\xe9\n" + "é".encode()
    lines = list(extraction.valid_utf8(io.BytesIO(content), "x.tgz: 'm'"))
    assert b"".join(lines).decode() == "a\u2028b\x85\rc\n\nd\ufffd\né\n"
    assert "x.tgz: 'm': 1 lines are not UTF-8, the first is 3" in capfd.readouterr().err


PAIRS = {"en-fr": 40_842_333, "en-de": 4_590_101, "en-de-icml17": 4_520_620}


@pytest.mark.parametrize("name", PAIRS)
def test_real_recipes_are_complete(name):
    """All published sums are there, and the numbers of lines add up to those of public logs."""
    recipe = load_recipe(RECIPES / f"{name}.json")
    assert sum(corpus.lines for corpus in recipe.training) == PAIRS[name]
    assert [test.lines for test in recipe.tests] == [3003]
    assert recipe.valid_every == (1333 if name == "en-fr" else 100)
    for archive in recipe.archives.values():
        assert archive.md5 or (len(archive.sha256) == 64 and archive.bytes > 10**7)
        assert all(url.endswith(archive.name) for url in archive.urls)


@pytest.mark.parametrize(
    "change",
    [
        lambda recipe: recipe["training"][0].update(form="talks"),
        lambda recipe: recipe["test"].update(form="lines"),
        lambda recipe: recipe.update(valid_of_cleaned=True),
    ],
)
def test_raw_text_depends_on_how_a_recipe_reads(tmp_path, change):
    """What a recipe without these fields is known by is the same as in version 0.1.0."""
    recipe = json.loads((RECIPES / "en-de.json").read_text())
    before = load_recipe(RECIPES / "en-de.json").what_is_read()
    members = [[c["name"], c["archive"], c["members"]] for c in recipe["training"]]
    members.append(["test", recipe["test"]["archive"], recipe["test"]["members"]])
    assert json.loads(before) == [recipe["languages"], recipe["valid_every"], members]
    change(recipe)
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    assert load_recipe(tmp_path / "recipe.json").what_is_read() != before


def test_a_test_set_of_any_name_is_the_test_set(tmp_path):
    def change(recipe):
        recipe["test"]["name"] = "newstest"

    path = build("en-de", tmp_path, {"europarl-v7": 20}, change)[0]
    extraction.extract_all(load_recipe(path), tmp_path, tmp_path)
    for lang in ("en", "de"):
        text = (tmp_path / f"test.{lang}").read_bytes()
        assert text == (tmp_path / f"newstest.{lang}").read_bytes() and text.count(b"\n") == 12
    content = json.loads(path.read_text())
    content["test"] = [content["test"], {**content["test"], "name": "test"}]
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match="'test' is the name of all test sets together"):
        load_recipe(path)


@pytest.mark.parametrize("name", ["valid.europarl-v7.de", "test.en"])
def test_a_file_that_was_removed_is_unpacked_again(tmp_path, name):
    """The number of lines is still noted; what is complete is not written again."""
    sizes, out = {"europarl-v7": 120, "commoncrawl": 130}, tmp_path / "out"
    recipe = load_recipe(build("en-de", tmp_path, sizes)[0])
    out.mkdir()
    extraction.extract_all(recipe, tmp_path, out)
    before = {path: (path.read_bytes(), path.stat().st_ino) for path in out.iterdir()}
    (out / name).unlink()
    extraction.extract_all(recipe, tmp_path, out)
    assert {path: path.read_bytes() for path in out.iterdir()} == {
        path: text for path, (text, _) in before.items()
    }
    kept = out / "train.commoncrawl.en"
    assert kept.stat().st_ino == before[kept][1]


@pytest.mark.parametrize("pair, corpus", [("en-de", "europarl-v7"), ("en-fr", "giga-fren")])
def test_damage_is_noticed_wherever_it_is(tmp_path, pair, corpus):
    """Cut at many places, in a compressed archive and in one that holds compressed files."""
    recipe = load_recipe(build(pair, tmp_path, {corpus: 60})[0])
    archive, out = tmp_path / recipe.training[0].archive, tmp_path / "out"
    out.mkdir()
    content = archive.read_bytes()
    # Behind the last member of a plain archive there is nothing to miss.
    end = len(content) if archive.suffix == ".tgz" else content.rindex(b"\x1f\x8b")
    for size in {*range(0, end, end // 25), end - 1}:
        archive.write_bytes(content[:size])
        with pytest.raises(UserError, match=rf"{archive.name}: (damaged or truncated|no member)"):
            extraction.extract_all(recipe, tmp_path, out)
        assert not list(out.glob("*.lines"))


def test_unexpected_numbers_of_lines_are_named(tmp_path, capfd):
    """A warning, where the number is only recalled."""
    (tmp_path / "out").mkdir()

    def extract(lines_are, sides=None):
        def change(recipe):
            recipe["training"][0].update(lines=21, lines_are=lines_are)

        recipe = load_recipe(build("en-de", tmp_path, {"europarl-v7": 20}, change)[0])
        if sides:
            content = dict(zip(recipe.training[0].members.values(), sides))
            (tmp_path / recipe.training[0].archive).write_bytes(tar(content, True))
        extraction.extract_all(recipe, tmp_path, tmp_path / "out")

    with pytest.raises(UserError, match="de-en.en' has 20 lines, 21 are published"):
        extract("published")
    with pytest.raises(UserError, match="en' has 2 lines, but '.*de' has 1 lines"):
        extract("recalled", [b"a\nb\n", b"a\n"])
    extract("recalled")
    assert re.search(r"warning: .*en' has 20 lines, 21 are recalled", capfd.readouterr().err)


# --- downloads ---


@pytest.fixture
def server(tmp_path):
    (tmp_path / "a.tgz").write_bytes(bytes(range(256)) * 10)
    with served(tmp_path) as server:
        yield server


def ranges(server):
    return [wanted for _, wanted in server.requests]


def fetch(server, tries=3, pause=0.001, names=("a.tgz",)):
    part = server.folder / "a.part"
    urls = [f"{server.url}/{name}" for name in names]
    assert download.download(urls, part, tries, pause) == urls[-1]
    return part.read_bytes()


def test_broken_connections_are_continued(server):
    """More breaks than tries, but each with some progress. What is whole is not fetched again."""
    server.faults["a.tgz"] = [-100, -200, -300, -400, -500]
    assert fetch(server) == (server.folder / "a.tgz").read_bytes()
    starts = [None, 100, 300, 600, 1000, 1500]
    assert ranges(server) == [start and f"bytes={start}-" for start in starts]
    fetch(server)
    assert len(server.requests) == len(starts)


@pytest.mark.parametrize(
    "content, behind, requests",
    [
        (b"other" * 1000, b"", [None, "bytes=100-"]),  # the file has changed meanwhile
        (bytes(range(256)) * 10, b"x" * 5000, [None, "bytes=5100-", None]),  # the part is longer
    ],
)
def test_part_of_another_file_is_fetched_anew(server, content, behind, requests):
    server.faults["a.tgz"] = [-100]
    with pytest.raises(UserError, match="given up after 1 tries: ended after 100 of 2560 bytes"):
        fetch(server, tries=1)
    (server.folder / "a.tgz").write_bytes(content)
    with open(server.folder / "a.part", "ab") as part:
        part.write(behind)
    server.faults["a.tgz"] = [416] * (len(requests) - 2)
    assert fetch(server) == content and ranges(server) == requests


def test_pauses_double(server, monkeypatch):
    pauses = []
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    server.faults["a.tgz"] = [503, 500, 429]
    fetch(server, tries=4, pause=2)
    assert pauses == [2, 4, 8]


def test_dead_addresses_are_given_up(server):
    with pytest.raises(UserError, match=r"http://127.0.0.1:9/a: given up after 2 tries: .*refused"):
        download.download(["http://127.0.0.1:9/a"], server.folder, 2, 0.001)
    fetch(server, names=("missing", "a.tgz"))
    assert len(server.requests) == 2


@pytest.mark.parametrize("key, value", [("sha256", "0" * 64), ("bytes", 1), ("md5", "0" * 32)])
def test_wrong_content_is_refused_and_not_kept(server, tmp_path, key, value):
    def change(recipe):
        recipe["archives"][0][key] = value

    path, _ = build("en-de", tmp_path, {"europarl-v7": 20}, change)
    store = archives.Store(tmp_path / "out", tmp_path / "record.json", mirror=server.url)
    store.folder.mkdir()
    with pytest.raises(UserError, match=rf"http://.*v7.tgz: {key} \w+ instead of {value}"):
        archives.have_archives(load_recipe(path), store)
    assert not list(store.folder.iterdir())


def test_disk_for_what_was_unpacked_is_of_new_archives_alone(tmp_path, capfd):
    """Those that are recorded need not be there any more, nor be fetched again."""
    path, _ = build("en-de", tmp_path, {"europarl-v7": 20, "commoncrawl": 20})
    content = json.loads(path.read_text())
    for entry, size in zip(content["archives"], (5 << 20, 3 << 20, 1)):
        entry["bytes"] = size
    path.write_text(json.dumps(content))
    record = {content["archives"][0]["name"]: {"sha256": "0"}}
    (tmp_path / "archives.json").write_text(json.dumps(record))
    for options, megabytes in (([], 9), (["--recorded-will-do"], 4)):
        run_step("need", "--recipe", path, "--out", tmp_path, "--archives-only", *options)
        assert capfd.readouterr().out == f"{megabytes}\n"


def test_unknown_sums_are_recorded_on_first_sight(tmp_path, capfd):
    def change(recipe):
        del recipe["archives"][-1]["md5"]

    path, _ = build("en-de", tmp_path, {"europarl-v7": 20}, change)
    store = archives.Store(tmp_path, tmp_path / "record.json", mine=True)
    sha256 = archives.have_archives(load_recipe(path), store)["test-full.tgz"]
    assert f"sha256 {sha256} recorded" in capfd.readouterr().err
    assert json.loads(store.record.read_text())["test-full.tgz"]["sha256"] == sha256
    (tmp_path / "test-full.tgz").write_bytes(b"other")
    with pytest.raises(UserError, match=f"but was {sha256} before .*record.json"):
        archives.have_archives(load_recipe(path), store)
    (tmp_path / "test-full.tgz").unlink()
    with pytest.raises(UserError, match="--corpora '.*': no test-full.tgz there"):
        archives.have_archives(load_recipe(path), store)
    assert archives.have_archives(load_recipe(path), store, True)["test-full.tgz"] == sha256


# --- dictionary, codes, progress, and the script's end ---


def test_dictionaries_that_do_not_fit_are_refused(tmp_path):
    dictionary, text = tmp_path / "dict.txt", tmp_path / "text"
    dictionary.write_text("a 5\nb@@ 3\nmadeupword0000 0\n<unk> 1 #fairseq:overwrite\n")
    text.write_text("a b@@ a\n" * 50 + "c\n", "utf-8")
    assert dictionary_check.check_fit(dictionary, [text]) == 1 / 151
    text.write_text("a b@@ a c\n")
    with pytest.raises(UserError, match=r"25.0% of the tokens .* \(at most 1%\)"):
        dictionary_check.check_fit(dictionary, [text])


@pytest.mark.parametrize(
    "flag, content, message",
    [
        ("--dict", b"a 5\nb\n", "--dict '.*', line 2: not a token and its count"),
        ("--dict", b"a 5\ncaf\xe9 2\n", "--dict '.*', line 2: not UTF-8"),
        ("--dict", b"", "--dict '.*' is empty"),
        ("--codes", b"", "--bpe-codes .*file is empty"),
        ("--codes", b"#version: 0.2\na b\nabc\n", "--bpe-codes .*invalid line 3"),
    ],
)
def test_files_of_another_kind_are_refused(tmp_path, flag, content, message):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UserError, match=message):
        run_step("fit", flag, tmp_path / "file")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_one_line_on_a_terminal(monkeypatch):
    """Updated in place: carriage returns, and one line feed at the end."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.Progress("tok", 4, "lines") as counter:
        counter.advance(3)
    said = sys.stderr.getvalue()
    assert "\rtok: 3.00 of 4.00 (75 %), " in said and said.index("\n") == len(said) - 1


@pytest.fixture
def killed_script(monkeypatch):
    """A process id that was free a moment ago."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setenv("STARTED_BY", str(gone.pid))


def test_nothing_gets_its_name_once_the_script_is_gone(tmp_path, killed_script, monkeypatch):
    monkeypatch.setattr(step.os, "_exit", sys.exit)
    with pytest.raises(SystemExit), step.step_output(tmp_path / "file") as temporary:
        temporary.write_text("text")
    assert not list(tmp_path.iterdir())
    monkeypatch.delenv("STARTED_BY")
    with step.step_output(tmp_path / "file") as temporary:
        temporary.write_text("text")
    assert (tmp_path / "file").read_text() == "text"


def test_a_step_ends_with_the_script_whatever_it_waits_for(killed_script):
    command = [sys.executable, "-m", "public_corpora", "count", "--label", "x", "--lines", "9"]
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'data-prep'}"}
    options = dict(env=environment, stdin=subprocess.PIPE)
    with subprocess.Popen(command, **options) as waiting:
        try:
            assert waiting.wait(60) == 1
        finally:
            waiting.kill()
