"""The WMT'14 scripts, from archives on a server to data-bin; killed in each stage."""

import contextlib
import fcntl
import io
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest
from conftest import PROJECT, fails, run
from fairseq.data import Dictionary, data_utils
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe
from wmt14_archives import build, served

from realformer_runtime.text.tokenization import line_function

FRENCH, GERMAN = (PROJECT / f"data-prep/prepare-wmt14en2{lang}.sh" for lang in ("fr", "de"))
SIZES = {
    "en-fr": {"europarl-v7": 1500, "giga-fren": 1300},
    "en-de": {"europarl-v7": 150, "commoncrawl": 120},
}
CRAWL = "training-parallel-commoncrawl.tgz"
MERGES = 200
# However slow the machine is, a start waits until what a killed run left behind has ended.
PATIENCE = {**os.environ, "LOCK_PATIENCE": "600", "PROGRESS_SECONDS": "0"}
PATIENT = {"env": PATIENCE, "timeout": 600}
NOWHERE = ["--mirror", "http://127.0.0.1:9"]


def lines(*paths):
    """Split at line feeds only."""
    return [line for path in paths for line in path.read_text("utf-8").split("\n")[:-1]]


def kept(pair):
    """The rules of cleaning, for text with single spaces."""
    counts = [len(side.split(" ")) if side else 0 for side in pair]
    return min(counts) > 0 and max(counts) <= 250 and max(counts) / min(counts) <= 1.5


def check(out, raw, pair, every):
    """Compare all that is in ``out`` with the field's steps in the field's order: tokenise, split,
    learn on train, apply, clean train and valid; and data-bin with the cleaned text."""
    languages = pair.split("-")
    train = {lang: [out / f"tok/train.{name}.{lang}" for name in SIZES[pair]] for lang in languages}
    learnt = io.StringIO()
    learn_bpe([f"{line}\n" for lang in languages for line in lines(*train[lang])], learnt, MERGES)
    assert (out / "code").read_text("utf-8") == learnt.getvalue()
    bpe, encoded = BPE(io.StringIO(learnt.getvalue())), {}
    for lang in languages:
        whole = [*map(line_function(lang, True, True, True), raw[lang])]
        test = map(line_function(lang, moses=True), lines(out / f"raw/test.{lang}"))
        splits = {
            "train": [line for number, line in enumerate(whole, 1) if number % every],
            "valid": whole[every - 1 :: every],
            "test": [*test],
        }
        for split, expected in splits.items():
            files = train[lang] if split == "train" else [out / f"tok/{split}.{lang}"]
            assert lines(*files) == expected
            encoded[split, lang] = [*map(bpe.process_line, expected)]
    words = Dictionary.load(str(out / f"data-bin/dict.{languages[0]}.txt"))
    assert words == Dictionary.load(str(out / f"data-bin/dict.{languages[1]}.txt"))
    assert (out / "data-bin/code").read_bytes() == (out / "code").read_bytes()
    for split in ("train", "valid", "test"):
        pairs = [*zip(*(encoded[split, lang] for lang in languages))]
        pairs = [each for each in pairs if split == "test" or kept(each)]
        for lang, side in zip(languages, zip(*pairs)):
            assert lines(out / f"clean/{split}.{lang}") == [*side], (split, lang)
            path = str(out / f"data-bin/{split}.{pair}.{lang}")
            dataset = data_utils.load_indexed_dataset(path, words)
            assert len(dataset) == len(side)
            assert split != "train" or [words.string(ids) for ids in dataset] == [*side]
    assert not list(out.rglob("*.tmp"))


def kill_when(command, folder, pattern, group, size=0):
    """SIGKILL to a script, with its children or alone, once a file has ``size`` bytes.

    Returns:
        what it said
    """

    def there():
        with contextlib.suppress(FileNotFoundError):  # renamed meanwhile
            return any(path.stat().st_size >= size for path in folder.glob(pattern))

    said = folder.with_suffix(".said")
    with open(said, "w") as stderr:
        options = dict(stderr=stderr, start_new_session=True, env=PATIENCE)
        process = subprocess.Popen([str(word) for word in command], **options)
    deadline = time.monotonic() + 600
    try:
        while not there():
            assert process.poll() is None or there(), said.read_text()
            assert time.monotonic() < deadline, pattern
            time.sleep(0.005)
    finally:
        if process.poll() is None:
            (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
    return said.read_text()


# Files that appear while a stage is at work, in order, and whether its children are killed too.
# With what they are called afterwards: on a busy machine they are seen late.
MOMENTS = [
    ("archives/training-giga-fren.tar*", True, 500),
    ("raw/europarl-v7.lines", True),
    ("tok/train.giga-fren.en*", False),
    ("code*", True),
    ("bpe/train.giga-fren.en*", False),
    ("clean/train.en", True),
    ("preprocess.log", True),
]


@pytest.fixture(scope="module")
def french(tmp_path_factory):
    """En-Fr from a mirror, killed in each stage, started again until it is done."""
    archives = tmp_path_factory.mktemp("archives")
    recipe, raw = build("en-fr", archives, SIZES["en-fr"])
    out = tmp_path_factory.mktemp("out") / "en fr"
    command = [FRENCH, "--recipe", recipe, "--out", out]
    with served(archives) as server:
        server.faults["training-giga-fren.tar"] = [-500]
        server.stall = 60
        options = ["--bpe-merges", MERGES, "--mirror", server.url, "--retry-pause", 0.01, "--jobs"]
        said = ""
        for pattern, group, *size in MOMENTS:
            jobs = 1 if group else 2
            said += kill_when([*command, *options, jobs], out, pattern, group, *size)
        (out / "data-bin.1.tmp").mkdir()
        (out / "data-bin.1.tmp/dict.en.txt").write_text("half of it")
        said += run(*command, *options, 1, **PATIENT).stderr
    return SimpleNamespace(
        archives=archives, out=out, raw=raw, said=said, command=command, requests=server.requests
    )


@pytest.fixture
def copied(french, tmp_path):
    """A copy that a test may change, and the command for it."""
    out = shutil.copytree(french.out, tmp_path / "en fr")
    return out, [out if word == french.out else word for word in french.command]


def test_killed_in_each_stage_it_ends_with_what_the_fields_steps_give(french):
    """What is checked does not depend on a run without kills."""
    check(french.out, french.raw, "en-fr", every=1333)
    raw = lines(french.out / "raw/test.fr")
    assert len(raw) == 12
    assert raw[0] == "sur cette petite rivière le 9-1, n'est it? l'ami &amp; co"
    assert "bpe: done before" in french.said
    giga = [request for request in french.requests if "giga" in request[0]]
    path = "/wmt10/training-giga-fren.tar"
    assert giga == [(path, None), (path, "bytes=500-")]
    fetched = {path.name: path.read_bytes() for path in (french.out / "archives").iterdir()}
    assert fetched == {path.name: path.read_bytes() for path in french.archives.glob("*.t*")}


def test_progress_is_said_for_each_stage(french):
    for stage in (
        "checking test-full.tgz: .* of .*left",
        "unpacking giga-fren: .* of .*left",
        r"tokenising train.giga-fren.fr: \S+ of \S+ \( *\d+ %\), \S+ lines/s, [\d?:]+ left",
        "encoding valid.en: .* of .* lines/s, .*left",
        "cleaning train: .* of .* lines/s, .*left",
        "binarising: .*",
    ):
        assert re.search(f"^{stage}$", french.said, re.M), stage


def state(out, *stages):
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes())
        for stage in stages
        for path in [*(out / stage).rglob("*"), out / stage]
        if path.is_file()
    }


def test_rerun_makes_nothing_again_even_without_archives(copied):
    out, command = copied
    stages = ["raw", "tok", "code", "bpe", "clean", "data-bin"]
    before = state(out, *stages)
    (out / "archives/training-giga-fren.tar").unlink()
    said = run(*command, "--bpe-merges", MERGES, *NOWHERE, **PATIENT).stderr
    assert said.count("done before") == 6
    assert state(out, *stages) == before


def test_changed_text_and_other_codes_make_again_what_depends_on_them(copied):
    """A damaged file is made again, the rest of its stage kept; a dictionary that was made with
    other codes is refused."""
    out, command = copied
    before, damaged = state(out, "raw", "tok"), out / "tok/valid.fr"
    damaged.write_bytes(damaged.read_bytes()[:-20])
    codes, words = out / "other codes", out / "dict.txt"
    codes.write_text("#version: 0.2\nt h\n")
    words.write_text("the 3\n")
    options = ["--bpe-codes", codes, "--dict", words]
    result = run(*command, *options, *NOWHERE, **PATIENT, check=False)
    assert result.returncode == 1
    for said in (
        "== tok: files are missing or changed",
        r"== code: was made with '--bpe-merges 200', now '--bpe-codes \w+'",
        "== bpe: what it depends on has changed",
        r"prepare-wmt14en2fr.sh: --dict '.*dict.txt': \d+.\d% of the tokens.*\n\Z",
    ):
        assert re.search(f"^{said}", result.stderr, re.M), result.stderr
    after = state(out, "raw", "tok")
    assert after.pop(damaged)[1] == before.pop(damaged)[1] and after == before
    assert (out / "code").read_bytes() == codes.read_bytes()
    assert "th@@" in (out / "bpe/test.en").read_text().split()


@pytest.fixture
def german(tmp_path):
    """The script with archives in a folder: the folder, the command, and its --out."""
    folder, out = tmp_path / "archives", tmp_path / "out"
    folder.mkdir(), out.mkdir()
    recipe, _ = build("en-de", folder, SIZES["en-de"])
    return folder, [GERMAN, "--recipe", recipe, "--out", out], out


@pytest.mark.slow
def test_german_and_what_goes_on_with_its_dictionary_and_codes(german, tmp_path):
    """Both end up in another data-bin, for both languages, without their byte order mark."""
    folder, command, out = german
    command += ["--corpora", folder]
    run(*command, "--bpe-merges", MERGES, **PATIENT)
    check(out, build("en-de", folder, SIZES["en-de"])[1], "en-de", every=100)
    codes, words, other = tmp_path / "codes", tmp_path / "dict.txt", tmp_path / "other"
    codes.write_text("\ufeff" + (out / "code").read_text("utf-8"), "utf-8")
    tokens = {token for line in lines(*(out / "clean").iterdir()) for token in line.split()}
    ranked = "".join(f"{token} 1\n" for token in ["first", *sorted(tokens)])
    words.write_text("\ufeff" + ranked, "utf-8")
    elsewhere = [other if word == out else word for word in command]
    said = run(*elsewhere, "--bpe-codes", codes, "--dict", words, **PATIENT).stderr
    assert re.search(r"^--dict: 0\.000% of the tokens of valid and test are unknown$", said, re.M)
    assert (other / "data-bin/code").read_bytes() == (out / "code").read_bytes()
    assert (other / "clean/train.de").read_bytes() == (out / "clean/train.de").read_bytes()
    for lang in ("en", "de"):
        assert Dictionary.load(str(other / f"data-bin/dict.{lang}.txt")).index("first") == 4


def test_two_runs_in_one_folder_are_refused(german):
    """Unless the first ends: what a killed one leaves behind is waited for."""
    folder, command, out = german
    command += ["--corpora", folder, "--fetch-only"]
    with open(out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        error = fails(*command, env={**os.environ, "LOCK_PATIENCE": "0.1"})
        assert "another run" in error and str(out) in error
        threading.Timer(0.5, fcntl.flock, [lock, fcntl.LOCK_UN]).start()
        run(*command, **PATIENT)


# --- what is refused ---


def test_dead_links_are_named_and_fetch_only_ends_with_the_archives(german):
    """Each address that was tried; nothing is retried that was not found."""
    folder, command, out = german
    with served(folder) as server:
        command += ["--mirror", server.url, "--fetch-only"]
        (folder / CRAWL).rename(folder / "hidden")
        error = fails(*command)
        tried = [f"/wmt13/{CRAWL}", f"/{CRAWL}"]
        assert all(f"{server.url}{path}: HTTP 404" in error for path in tried)
        assert [path for path, _ in server.requests if CRAWL in path] == tried
        (folder / "hidden").rename(folder / CRAWL)
        said = run(*command, **PATIENT).stderr
    assert re.search(rf"^fetching {CRAWL}: .* of .*left$", said, re.M)
    names = {path.name for path in folder.glob("*.tgz")}
    assert len(names) == 3 and {path.name for path in (out / "archives").iterdir()} == names
    assert not (out / "raw").exists()


def large(recipe):
    recipe["text_bytes"] = 700 * 2**20
    for archive in recipe["archives"]:
        archive["bytes"] = 300 * 2**20


def test_disk_is_looked_at_before_anything_is_fetched(german, tmp_path):
    """900 MB of archives and five times 700 MB of text are 4,400 MB. Where another recipe
    was unpacked before, the archives come first."""
    folder, command, out = german
    build("en-de", folder, SIZES["en-de"], large)
    df = tmp_path / "df"
    df.write_text('#!/bin/sh\nprintf "h\\nfs 10 7 $FREE 70%% /\\n"\n')
    df.chmod(0o755)
    with served(folder) as server:
        env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "FREE": "4399"}
        error = fails(*command, "--mirror", server.url, env=env)
        assert "needs 4400 MB" in error and "there are 4399 MB" in error
        (out / "stamps").mkdir()
        (out / "stamps/raw").write_text("its key\ncomplete\nits options\n")
        error = fails(*command, "--mirror", server.url, env={**env, "FREE": "899"})
        assert "needs 900 MB" in error and not server.requests


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--corpora", "/", "--mirror", "http://x"], ["--mirror", "--corpora"]),
        (["--bpe-codes", __file__, "--bpe-merges", "9"], ["--bpe-merges", "--bpe-codes"]),
        (["--dict", "/no/such"], ["--dict", "/no/such"]),
        (["--jobs", "0"], ["--jobs", "'0'"]),
        (["--mirror"], ["--mirror", "value"]),
        (["--icml"], ["--icml"]),
        (["--recipe", __file__, "--out", "OUT"], ["test_wmt14_preparation.py.json"]),
        (["--recipe", "OUT/a.json", "--out", "OUT"], ["a.json: not a recipe: no 'archives'"]),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, arguments, words):
    (tmp_path / "a.json").write_text('{"pair": "x"}')
    error = fails(FRENCH, *(word.replace("OUT", str(tmp_path)) for word in arguments))
    assert error.startswith("prepare-wmt14en2fr.sh: ")
    assert all(word in error for word in words), error


@pytest.mark.parametrize("script", [FRENCH, GERMAN])
def test_help_names_every_option(script):
    said = run(script, "-h").stdout
    parser = (PROJECT / "data-prep/lib/archive_options.sh").read_text()
    options = re.findall(r"^      (--[\w-]+)\)", parser, re.M)
    assert len(options) == 11 and all(option in said for option in options)
    assert "Example" in said and ("--icml17" in said) == (script == GERMAN)
