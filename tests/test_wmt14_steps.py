"""Steps of the WMT'14 preparation on their own: cleaning, unpacking, downloads, dictionaries."""

import fcntl
import gzip
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest
from project_command_line import UserError
from wmt14_archives import build, served, sgm, tar
from wmt14_corpus import __main__ as steps
from wmt14_corpus import archives, cleaning, dictionary_check, download, extraction, progress
from wmt14_corpus.recipe import RECIPES, load_recipe


def cleaned(*pairs):
    cleaner = cleaning.PairCleaner()
    return [cleaner.clean(*pair) for pair in pairs]


def words(count):
    return " ".join("w" * count)


# --- cleaning: what clean-corpus-n.perl -ratio 1.5 ... 1 250 does ---


@pytest.mark.parametrize("first, second", [(2, 3), (3, 2), (4, 6), (250, 250), (250, 167), (1, 1)])
def test_pairs_within_the_limits_are_kept(first, second):
    pair = words(first), words(second)
    assert cleaned(pair) == [pair]


@pytest.mark.parametrize(
    "first, second", [(0, 1), (1, 0), (0, 0), (1, 2), (2, 1), (3, 5), (251, 251), (250, 166)]
)
def test_pairs_outside_the_limits_are_dropped(first, second):
    assert cleaned((words(first), words(second))) == [None]


def test_reasons_are_counted():
    cleaner = cleaning.PairCleaner()
    for pair in [("a", ""), ("a", "b"), ("a b", "c"), (words(251), "a"), ("a", "x" * 1001)]:
        cleaner.clean(*pair)
    assert cleaner.pairs == 5
    assert dict(cleaner.dropped) == {
        "empty": 1,
        "ratio over 1.5": 1,
        "over 250 tokens": 1,
        "token over 1000 characters": 1,
    }


def test_long_tokens_are_counted_in_characters():
    assert cleaned(("é" * 1000, "a"), ("é" * 1001, "a")) == [("é" * 1000, "a"), None]


PERL_SPACES = [0x9, 0xB, 0xC, 0xD, 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
PERL_SPACES += [0x2028, 0x2029, 0x202F, 0x205F, 0x3000]


def test_white_space_is_perls():
    """As perl 5.36 lists it; U+001C to U+001F, which Python adds, and U+200B are none."""
    spaces = [char for char in map(chr, range(0x110000)) if cleaning.SPACES.fullmatch(char)]
    assert spaces == ["\t", "\n", *map(chr, PERL_SPACES[1:])]
    for char in map(chr, PERL_SPACES):
        assert cleaned((f"{char}a {char}b{char}", "c d")) == [("a b", "c d")]
        assert cleaned((char, "c")) == [None]
    for char in "\x1c\x1f\u200b":
        assert cleaned((f"a{char}b", "c")) == [(f"a{char}b", "c")]


def test_bars_are_removed_unless_the_first_pair_has_one():
    assert cleaned(("a", "b"), ("c|d |", "e")) == [("a", "b"), ("cd", "e")]
    assert cleaned(("a", "b"), ("|", "e")) == [("a", "b"), None]
    factored = [("a|N", "b|N"), ("c|V", "d|" + "x" * 1000), ("c|V", "d|" + "x" * 1001)]
    assert cleaned(*factored) == [*factored[:2], None]
    with pytest.raises(UserError, match="pair 2 .* blank factor: c |"):
        cleaned(("a|N", "b|N"), ("c |V", "d e"))


def test_sides_of_different_length_are_named(tmp_path):
    for lang, text in (("en", "a\nb\n"), ("fr", "a\n"), ("de", "a\nb\nc\n")):
        (tmp_path / f"x.{lang}").write_text(text)
    for lang, word in (("fr", "fewer"), ("de", "more")):
        with pytest.raises(UserError, match=rf"x\.{lang}' has {word} lines"):
            cleaning.clean_files([tmp_path / "x"], ("en", lang), tmp_path / "out", 2)
        assert not (tmp_path / "out.en").exists()


def test_what_others_were_left_with_is_compared(tmp_path, capfd):
    recipe = json.loads((RECIPES / "en-fr.json").read_text())
    recipe["cleaned"] = {"merges": 5, "train": 3}
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(recipe))
    for lang in ("en", "fr"):
        (tmp_path / f"x.{lang}").write_text("a\nb\n")
    for merges, warned in ((5, True), (6, False)):
        arguments = [
            "--recipe",
            path,
            "--merges",
            merges,
            "--lines",
            2,
            "--out",
            tmp_path / "train",
        ]
        run_step("clean", *arguments, tmp_path / "x")
        said = capfd.readouterr().err
        assert "train: 2 of 2 pairs kept" in said
        assert ("others were left with 3 pairs" in said) == warned


def run_step(*arguments):
    argv, sys.argv = sys.argv, ["wmt14_corpus", *map(str, arguments)]
    try:
        steps.main()
    finally:
        sys.argv = argv


# --- unpacking ---


def test_segments_of_sgm():
    text = list(extraction.segments(io.BytesIO(sgm("en", 4))))
    assert len(text) == 4 and text[1].endswith(b"isn't it? l'ami &amp; co\n")
    lines = b'<seg id="1"> a <b>c</b>  </seg>  \r\n<seg id="x">d\n<seg>e</seg>\n<hl>f</hl>\n'
    assert list(extraction.segments(io.BytesIO(lines))) == [b"a <b>c</b>\n", b'<seg id="x">d\n']


def test_lines_end_at_line_feeds_and_bad_bytes_are_replaced(capfd):
    content = "a\u2028b\x85\rc\n\nd".encode() + b"\xe9\n" + "é".encode()
    lines = list(extraction.valid_utf8(io.BytesIO(content), "x.tgz: 'm'"))
    assert b"".join(lines).decode() == "a\u2028b\x85\rc\n\nd\ufffd\né\n"
    assert "x.tgz: 'm': 1 lines are not UTF-8, the first is 3" in capfd.readouterr().err


@pytest.mark.parametrize("n, sizes", [(3, [4, 1, 1, 5]), (5, [10, 10]), (100, [99, 1])])
def test_every_nth_line_counts_over_all_corpora(n, sizes):
    held_out, before = [], 0
    for size in sizes:
        every = extraction.EveryNth(n, before)
        held_out += [before + i for i in range(1, size + 1) if every.holds_out(i)]
        before += size
    assert held_out == list(range(n, sum(sizes) + 1, n))


def unpacked(archive, *wanted):
    return {name: stream.read() for name, stream in extraction.members(archive, {*wanted}, "x")}


@pytest.mark.parametrize("compress", [True, False])
def test_members_are_found_and_unpacked(tmp_path, compress):
    archive = tmp_path / "a"
    archive.write_bytes(tar({"./x/a": b"1\n", "b.gz": gzip.compress(b"2\n"), "c": b"3"}, compress))
    assert unpacked(archive, "x/a", "b.gz") == {"x/a": b"1\n", "b.gz": b"2\n"}
    with pytest.raises(UserError, match="no member 'x/b', only x/a, b.gz, c"):
        unpacked(archive, "x/b")


@pytest.mark.parametrize("pair, corpus", [("en-de", 0), ("en-fr", 4)])
def test_damage_is_noticed_wherever_it_is(tmp_path, pair, corpus):
    """Cut at many places, in a compressed archive and in one that holds compressed files."""
    recipe = load_recipe(build(pair, tmp_path, [60] * 5)[0])
    corpus = recipe.training[corpus]
    archive, out = tmp_path / corpus.archive, tmp_path / "out"
    out.mkdir()
    content = archive.read_bytes()
    # Behind the last member of a plain archive there is nothing to miss.
    end = len(content) if archive.suffix == ".tgz" else content.rindex(b"\x1f\x8b")
    for size in {*range(0, end, end // 25), end - 1}:
        archive.write_bytes(content[:size])
        with pytest.raises(UserError, match=rf"{archive.name}: (damaged or truncated|no member)"):
            extraction.extract_all(one_corpus(recipe, corpus), tmp_path, out)
        assert not list(out.glob("*.lines"))


def one_corpus(recipe, corpus):
    return type(recipe)(**{**vars(recipe), "training": (corpus,)})


@pytest.mark.parametrize("are", ["published", "recalled"])
def test_expected_counts(tmp_path, capfd, are):
    path, _ = build("en-de", tmp_path, [20, 20, 20])
    content = json.loads(path.read_text())
    content["training"][1].update(lines=21, lines_are=are)
    path.write_text(json.dumps(content))
    (tmp_path / "out").mkdir()
    message = f"commoncrawl.de-en.en' has 20 lines, 21 are {are}"
    if are == "published":
        with pytest.raises(UserError, match=message):
            extraction.extract_all(load_recipe(path), tmp_path, tmp_path / "out")
    else:
        extraction.extract_all(load_recipe(path), tmp_path, tmp_path / "out")
        assert f"warning: {tmp_path}" in (said := capfd.readouterr().err) and message in said


def test_unequal_sides_are_named(tmp_path):
    path, _ = build("en-de", tmp_path, [20, 20, 20])
    recipe = load_recipe(path)
    names = recipe.training[0].members
    content = {names["en"]: b"a\nb\n", names["de"]: b"a\n"}
    (tmp_path / recipe.training[0].archive).write_bytes(tar(content, True))
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match=r"en' has 2 lines, but '.*de' has 1 lines"):
        extraction.extract_all(recipe, tmp_path, tmp_path / "out")


def test_real_recipes_are_complete():
    """All published sums are there, and the numbers of lines add up to those of public logs."""
    totals = {"en-fr": 40_842_333, "en-de": 4_590_101, "en-de-icml17": 4_520_620}
    for name, total in totals.items():
        recipe = load_recipe(RECIPES / f"{name}.json")
        assert sum(corpus.lines for corpus in recipe.training) == total
        assert recipe.test.lines == 3003
        for archive in recipe.archives.values():
            assert archive.md5 or (len(archive.sha256) == 64 and archive.bytes > 10**7)
            assert all(url.endswith(archive.name) for url in archive.urls)
    recipe = load_recipe(RECIPES / "en-fr.json")
    assert [corpus.name for corpus in recipe.training][-1] == "giga-fren"
    assert recipe.valid_every == 1333 and load_recipe(RECIPES / "en-de.json").valid_every == 100


# --- downloads ---


@pytest.fixture
def server(tmp_path):
    (tmp_path / "a.tgz").write_bytes(bytes(range(256)) * 10)
    with served(tmp_path) as server:
        yield server


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def ranges(server):
    return [wanted for _, wanted in server.requests]


def fetch(server, tmp_path, tries=3, pause=0.001, name="a.tgz"):
    part = tmp_path / "a.part"
    url = download.download([f"{server.url}/{name}"], part, download.Patience(tries, pause))
    assert url.startswith(server.url)
    return part.read_bytes()


def test_broken_connections_are_continued(server, tmp_path):
    """More breaks than tries, but each with some progress."""
    server.faults["a.tgz"] = [-100, -200, -300, -400, -500]
    assert fetch(server, tmp_path) == (tmp_path / "a.tgz").read_bytes()
    starts = [None, 100, 300, 600, 1000, 1500]
    assert ranges(server) == [start and f"bytes={start}-" for start in starts]


def test_file_that_changed_meanwhile_is_fetched_anew(server, tmp_path):
    server.faults["a.tgz"] = [-100]
    with pytest.raises(UserError, match="given up after 1 tries: ended after 100 of 2560 bytes"):
        fetch(server, tmp_path, tries=1)
    (tmp_path / "a.tgz").write_bytes(b"other" * 1000)
    assert fetch(server, tmp_path) == b"other" * 1000
    assert ranges(server) == [None, "bytes=100-"]


def test_complete_part_is_not_fetched_again(server, tmp_path):
    fetch(server, tmp_path)
    fetch(server, tmp_path)
    assert len(server.requests) == 1


def test_part_that_is_longer_than_the_file_is_fetched_anew(server, tmp_path):
    server.faults["a.tgz"] = [-100]
    with pytest.raises(UserError):
        fetch(server, tmp_path, tries=1)
    with open(tmp_path / "a.part", "ab") as part:
        part.write(b"x" * 5000)
    server.faults["a.tgz"] = [416]
    assert fetch(server, tmp_path) == (tmp_path / "a.tgz").read_bytes()
    assert ranges(server) == [None, "bytes=5100-", None]


def test_pauses_double(server, tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    server.faults["a.tgz"] = [503, 500, 429]
    fetch(server, tmp_path, tries=4, pause=2)
    assert pauses == [2, 4, 8]


def test_refused_connections_are_given_up(tmp_path):
    with pytest.raises(UserError, match=r"http://127.0.0.1:9/a: given up after 2 tries: .*refused"):
        download.download(["http://127.0.0.1:9/a"], tmp_path / "a", download.Patience(2, 0.001))


def test_second_address_is_used_if_the_first_is_dead(server, tmp_path):
    urls = [f"{server.url}/missing", f"{server.url}/a.tgz"]
    assert download.download(urls, tmp_path / "b", download.Patience(3, 0.001)) == urls[1]
    assert len(server.requests) == 2


def test_one_download_waits_for_another(tmp_path, capfd):
    order = []

    def second():
        with download.only_one(tmp_path):
            order.append("second")

    with download.only_one(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join(5)
    assert order == ["first", "second"]
    assert "waiting for another download" in capfd.readouterr().err


@pytest.mark.parametrize("key, value", [("sha256", "0" * 64), ("bytes", 1), ("md5", "0" * 32)])
def test_wrong_content_is_refused_and_not_kept(server, tmp_path, key, value):
    path, _ = build("en-de", tmp_path, [20, 20, 20])
    content = json.loads(path.read_text())
    content["archives"][0][key] = value
    path.write_text(json.dumps(content))
    store = archives.Store(tmp_path / "out", tmp_path / "record.json", mirror=server.url)
    store.folder.mkdir()
    name = content["archives"][0]["name"]
    with pytest.raises(UserError, match=rf"http://.*{name}: {key} \w+ instead of {value}"):
        archives.have_archives(load_recipe(path), store)
    assert not list(store.folder.glob("training-parallel-europarl*"))


def test_unknown_sums_are_recorded_on_first_sight(tmp_path, capfd):
    path, _ = build("en-de", tmp_path, [20, 20, 20])
    content = json.loads(path.read_text())
    del content["archives"][-1]["md5"]
    path.write_text(json.dumps(content))
    store = archives.Store(tmp_path, tmp_path / "record.json", mine=True)
    hashes = archives.have_archives(load_recipe(path), store)
    assert f"sha256 {hashes['test-full.tgz']} recorded" in capfd.readouterr().err
    assert json.loads(store.record.read_text())["test-full.tgz"]["sha256"] in hashes.values()
    (tmp_path / "test-full.tgz").write_bytes(b"other")
    with pytest.raises(UserError, match=f"but was {hashes['test-full.tgz']} before"):
        archives.have_archives(load_recipe(path), store)


# --- dictionary, codes, progress ---


def test_dictionaries_that_do_not_fit_are_refused(tmp_path):
    dictionary, text = tmp_path / "dict.txt", tmp_path / "text"
    dictionary.write_text("a 5\nb@@ 3\nmadeupword0000 0\n<unk> 1 #fairseq:overwrite\n")
    text.write_text("a b@@ a\n" * 50 + "c\n", "utf-8")
    assert dictionary_check.check_fit(dictionary, [text]) == 1 / 151
    text.write_text("a b@@ a c\n")
    with pytest.raises(UserError, match=r"25.0% of the tokens .* \(at most 1%\)"):
        dictionary_check.check_fit(dictionary, [text])
    dictionary.write_text("a 5\nb\n")
    with pytest.raises(UserError, match="line 2: not a token and its count"):
        dictionary_check.check_fit(dictionary, [text])


@pytest.mark.parametrize("text, word", [("", "no merges"), ("#version: 0.2\nabc\n", "line 2")])
def test_files_that_are_no_codes_are_refused(tmp_path, text, word):
    (tmp_path / "code").write_text(text)
    with pytest.raises(UserError, match=word):
        dictionary_check.check_codes(tmp_path / "code")


def test_lines_of_progress(monkeypatch, capfd):
    monkeypatch.setenv("PROGRESS_SECONDS", "0")
    with progress.Progress("tok", 4_000_000, "lines") as counter:
        counter.start -= 100
        counter.advance(1_000_000)
    assert capfd.readouterr().err == "tok: 1.00M of 4.00M (25 %), 10.0k lines/s, 05:00 left\n"


def read_terminal(terminal):
    """What is there; nothing at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 10_000).decode()
    except OSError:
        return ""


def test_one_line_on_a_terminal(monkeypatch):
    """Updated in place: carriage returns, and one line feed at the end."""
    terminal, end = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    with open(end, "w", closefd=False) as stderr:
        monkeypatch.setattr(progress.sys, "stderr", stderr)
        with progress.Progress("tok", 4, "lines") as counter:
            counter.advance(1)
            time.sleep(0.2)
            counter.advance(2)
    os.close(end)
    said = "".join(iter(lambda: read_terminal(terminal), ""))
    os.close(terminal)
    assert "\rtok: 3.00 of 4.00 (75 %), " in said
    assert said.rstrip().count("\n") == 0


def test_step_of_a_killed_script_ends(monkeypatch):
    """A process id that was free a moment ago."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setenv("STARTED_BY", str(gone.pid))
    ended = []
    monkeypatch.setattr(progress.os, "_exit", ended.append)
    progress.stop_if_orphaned()
    monkeypatch.delenv("STARTED_BY")
    progress.stop_if_orphaned()
    assert ended == [1]
