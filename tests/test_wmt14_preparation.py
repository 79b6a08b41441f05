"""The WMT'14 scripts, from archives on a server to data-bin; killed in each stage."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import PROJECT, fails, run
from fairseq.data import Dictionary, data_utils
from subword_nmt.apply_bpe import BPE
from wmt14_archives import build, served

FRENCH, GERMAN = (PROJECT / f"data-prep/prepare-wmt14en2{lang}.sh" for lang in ("fr", "de"))
SIZES = {"en-fr": [900, 700, 500, 350, 300], "en-de": [150, 120, 100]}
MERGES = 200
PROXY = {**os.environ, "no_proxy": "127.0.0.1"}


def lines(*paths):
    """Split at line feeds only."""
    return [line for path in paths for line in path.read_text("utf-8").split("\n")[:-1]]


def parts(out, stage, split, lang, pair):
    """Names of the files of the training corpora, in the order of the recipe."""
    names = {
        "en-fr": "europarl-v7 commoncrawl undoc-2000 news-commentary-v9 giga-fren",
        "en-de": "europarl-v7 commoncrawl news-commentary-v12",
    }
    return [out / stage / f"{split}.{name}.{lang}" for name in names[pair].split()]


def tokenised(text, lang, *options):
    command = [
        sys.executable,
        "-m",
        "realformer_runtime.text.tokenization",
        "--lang",
        lang,
        "--moses",
    ]
    content = "".join(f"{line}\n" for line in text).encode()
    result = run(*command, *options, input=content, text=False, cwd=PROJECT)
    return result.stdout.decode().split("\n")[:-1]


def kept(pair):
    """The rules of cleaning, for text with single spaces."""
    counts = [len(side.split(" ")) if side else 0 for side in pair]
    return min(counts) > 0 and max(counts) <= 250 and max(counts) / min(counts) <= 1.5


def check(out, raw, pair, every):
    """Compare all text in ``out`` with the field's steps in the field's order: tokenise, split,
    learn on train, apply, clean train and valid."""
    languages = pair.split("-")
    encoded = {}
    for lang in languages:
        whole = tokenised(raw[lang], lang, "--normalize-punctuation", "--remove-non-printing")
        assert len(whole) == len(raw[lang])
        held_out = {"valid": whole[every - 1 :: every], "train": whole}
        held_out["train"] = [line for i, line in enumerate(whole, 1) if i % every]
        held_out["test"] = tokenised(lines(out / f"raw/test.{lang}"), lang)
        assert lines(*parts(out, "tok", "train", lang, pair)) == held_out["train"]
        for split in ("valid", "test"):
            assert lines(out / f"tok/{split}.{lang}") == held_out[split]
        with open(out / "code", encoding="utf-8") as codes:
            bpe = BPE(codes)
        for split, content in held_out.items():
            encoded[split, lang] = [bpe.process_line(line) for line in content]
    learnt_from = [path for lang in languages for path in parts(out, "tok", "train", lang, pair)]
    text = b"".join(path.read_bytes() for path in learnt_from)
    command = ["subword-nmt", "learn-bpe", "--symbols", str(MERGES)]
    result = subprocess.run(command, input=text, capture_output=True, check=True)
    assert result.stdout == (out / "code").read_bytes()
    for split in ("train", "valid", "test"):
        pairs = list(zip(*(encoded[split, lang] for lang in languages)))
        if split != "test":
            pairs = [pair for pair in pairs if kept(pair)]
        for lang, side in zip(languages, zip(*pairs)):
            assert lines(out / f"clean/{split}.{lang}") == list(side), (split, lang)


def check_binary(out, pair):
    dictionaries = [
        Dictionary.load(str(out / f"data-bin/dict.{lang}.txt")) for lang in pair.split("-")
    ]
    assert dictionaries[0] == dictionaries[1]
    assert (out / "data-bin/code").read_bytes() == (out / "code").read_bytes()
    for split in ("train", "valid", "test"):
        for lang in pair.split("-"):
            path = str(out / f"data-bin/{split}.{pair}.{lang}")
            dataset = data_utils.load_indexed_dataset(path, dictionaries[0])
            text = lines(out / f"clean/{split}.{lang}")
            assert len(dataset) == len(text)
            if split == "train":
                assert [dictionaries[0].string(ids) for ids in dataset] == text


@pytest.fixture(scope="module")
def french(tmp_path_factory):
    """En-Fr from a mirror: archives, output folder, raw lines, requests, what was said."""
    archives = tmp_path_factory.mktemp("archives")
    recipe, raw = build("en-fr", archives, SIZES["en-fr"])
    out = tmp_path_factory.mktemp("out") / "en fr"
    arguments = ["--recipe", recipe, "--out", out, "--bpe-merges", MERGES, "--jobs", 1]
    with served(archives) as server:
        # The first connection breaks; the mirror lacks the original's paths for one file.
        server.faults["training-parallel-un.tgz"] = [-1000, 503]
        server.faults["test-full.tgz"] = [404]
        env = {**PROXY, "PROGRESS_SECONDS": "0"}
        mirror = ["--mirror", server.url, "--retry-pause", 0.01]
        said = run(FRENCH, *arguments, *mirror, env=env).stderr
    return archives, out, raw, server.requests, said, arguments


def test_french_text_is_what_the_fields_steps_give(french):
    _, out, raw, *_ = french
    check(out, raw, "en-fr", every=1333)
    check_binary(out, "en-fr")
    assert not list(out.rglob("*.tmp"))


def test_test_set_is_stripped_of_sgm(french):
    raw = lines(french[1] / "raw/test.fr")
    assert len(raw) == 12
    assert raw[0] == "sur cette petite rivière le 9-1, n'est it? l'ami &amp; co"
    tok = lines(french[1] / "tok/test.fr")
    assert tok[0].endswith("l&apos; ami &amp; amp ; co")


def test_downloads_continue_and_know_the_mirrors_layout(french):
    archives, out, _, requests, said, _ = french
    un = [request for request in requests if "un.tgz" in request[0]]
    assert un == [
        ("/wmt13/training-parallel-un.tgz", r) for r in (None, "bytes=1000-", "bytes=1000-")
    ]
    assert [path for path, _ in requests if "test" in path] == [
        "/wmt14/test-full.tgz",
        "/test-full.tgz",
    ]
    for archive in archives.glob("*.t*"):
        assert (out / "archives" / archive.name).read_bytes() == archive.read_bytes()
    assert not list((out / "archives").glob("*.part*"))


def test_progress_is_said_for_each_stage(french):
    said = french[4]
    for label in (
        "fetching training-giga-fren.tar",
        "checking test-full.tgz",
        "unpacking giga-fren",
    ):
        assert re.search(rf"^{label}: .* of .*left$", said, re.M), label
    for label in ("tokenising train.giga-fren.fr", "encoding valid.en", "cleaning train"):
        assert re.search(rf"^{label}: .* of .* lines/s, .*left$", said, re.M), label
    assert re.search(r"^binarising: ", said, re.M)


def state(out, *stages):
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes())
        for stage in stages
        for path in [*(out / stage).rglob("*"), out / stage]
        if path.is_file()
    }


def test_rerun_makes_nothing_again_even_without_archives(french):
    _, out, _, _, _, arguments = french
    before = state(out, "raw", "tok", "code", "bpe", "clean", "data-bin")
    archive = out / "archives/training-giga-fren.tar"
    content = archive.read_bytes()
    archive.unlink()
    try:
        said = run(FRENCH, *arguments, "--mirror", "http://127.0.0.1:9").stderr
    finally:
        archive.write_bytes(content)
    assert said.count("done before") == 6
    assert state(out, "raw", "tok", "code", "bpe", "clean", "data-bin") == before


def start(script, *arguments, env=None):
    command = [str(word) for word in (script, *arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, env=env)


def kill_when(process, folder, pattern, group=True, size=0):
    """SIGKILL to the script, with its children or alone, once a file has ``size`` bytes."""
    deadline = time.monotonic() + 600
    while not any(path.stat().st_size >= size for path in folder.glob(pattern)):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, pattern
        time.sleep(0.005)
    (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
    process.stderr.close()
    assert process.wait() == -signal.SIGKILL


# Files that appear while a stage is at work, in order, and whether its children are killed too.
MOMENTS = [
    ("archives/training-parallel-commoncrawl.tgz.part", True, 500),
    ("raw/europarl-v7.lines", True),
    ("tok/train.commoncrawl.en.tmp", False),
    ("code.tmp", True),
    ("bpe/train.commoncrawl.en.tmp", False),
    ("clean/train.en", True),
    ("data-bin.*.tmp/dict.en.txt", True),
]


def test_killed_in_each_stage_it_ends_with_the_same_bytes(tmp_path):
    """German, for a change: what is checked does not depend on a run without kills."""
    recipe, raw = build("en-de", tmp_path, SIZES["en-de"])
    out = tmp_path / "out"
    arguments = ["--recipe", recipe, "--out", out, "--bpe-merges", MERGES, "--jobs", 2]
    with served(tmp_path) as server:
        server.faults["training-parallel-commoncrawl.tgz"] = [-500]
        server.stall = 5
        arguments += ["--mirror", server.url, "--retry-pause", 0.01]
        for moment in MOMENTS:
            kill_when(start(GERMAN, *arguments, env=PROXY), out, *moment)
        said = run(GERMAN, *arguments, env=PROXY).stderr
    resumed = [wanted for path, wanted in server.requests if "commoncrawl" in path]
    assert resumed == [None, "bytes=500-"]
    assert "bpe: done before" in said
    check(out, raw, "en-de", every=100)
    check_binary(out, "en-de")
    assert not list(out.rglob("*.tmp"))


@pytest.fixture
def archives(tmp_path):
    folder = tmp_path / "archives"
    folder.mkdir()
    recipe, _ = build("en-de", folder, SIZES["en-de"])
    return folder, ["--recipe", recipe, "--corpora", folder, "--out", tmp_path / "out"]


@pytest.mark.slow
def test_dictionary_and_codes_of_another_run_are_used(french, tmp_path):
    """Both end up in data-bin as they were, for both languages."""
    archives, before, *_, arguments = french
    out, codes, words = tmp_path / "out", before / "code", tmp_path / "dict.txt"
    text = "".join(path.read_text("utf-8") for path in (before / "clean").iterdir())
    words.write_text("".join(f"{word} 1\n" for word in ["first", *sorted(set(text.split()))]))
    options = ["--recipe", arguments[1], "--corpora", archives, "--out", out]
    said = run(FRENCH, *options, "--bpe-codes", codes, "--dict", words).stderr
    assert re.search(r"^--dict: 0\.000% of the tokens of valid and test are unknown$", said, re.M)
    assert (out / "data-bin/code").read_bytes() == codes.read_bytes()
    for lang in ("en", "fr"):
        assert Dictionary.load(str(out / f"data-bin/dict.{lang}.txt")).index("first") == 4
    assert (out / "clean/train.fr").read_bytes() == (before / "clean/train.fr").read_bytes()


def test_other_codes_make_again_what_depends_on_them(french):
    """And a dictionary that was made with other codes is refused."""
    _, out, _, _, _, arguments = french
    before = state(out, "raw", "tok")
    codes, words = out / "other codes", out / "dict.txt"
    codes.write_text("#version: 0.2\nt h\n")
    words.write_text("the 3\n")
    options = [*arguments[:4], "--jobs", 1, "--bpe-codes", codes, "--dict", words]
    result = run(FRENCH, *options, "--mirror", "http://127.0.0.1:9", check=False)
    assert result.returncode == 1
    assert re.search(
        r"code: was made with '--bpe-merges 200', now '--bpe-codes \w+'", result.stderr
    )
    assert "bpe: what it depends on has changed" in result.stderr
    error = result.stderr.splitlines()[-1]
    assert re.fullmatch(
        r"prepare-wmt14en2fr.sh: --dict '.*dict.txt': \d+.\d% of the tokens.*", error
    )
    assert state(out, "raw", "tok") == before
    assert (out / "code").read_bytes() == codes.read_bytes()
    assert "th@@" in (out / "bpe/test.en").read_text().split()


def test_changed_text_is_noticed(french):
    """A stage whose files are not what it made is made again, the rest of it kept."""
    _, out, _, _, _, arguments = french
    damaged, other = out / "tok/valid.fr", out / "tok/test.fr"
    content, kept_since = damaged.read_bytes(), other.stat().st_mtime_ns
    damaged.write_bytes(content[:-20])
    process = start(FRENCH, *arguments, "--mirror", "http://127.0.0.1:9")
    for line in process.stderr:
        if line.startswith(b"== byte pair"):
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.stderr.close()
    process.wait()
    assert damaged.read_bytes() == content and other.stat().st_mtime_ns == kept_since


def test_fetch_only_ends_with_the_archives(archives, tmp_path):
    with served(archives[0]) as server:
        options = ["--recipe", archives[1][1], "--out", tmp_path / "out", "--mirror", server.url]
        run(GERMAN, *options, "--fetch-only", env=PROXY)
    assert len(list((tmp_path / "out/archives").glob("*.tgz"))) == 4
    assert not (tmp_path / "out/raw").exists()


# --- what is refused ---


def test_missing_archive_is_named(archives, tmp_path):
    (archives[0] / "training-parallel-commoncrawl.tgz").unlink()
    error = fails(GERMAN, *archives[1])
    assert "--corpora" in error and "no training-parallel-commoncrawl.tgz" in error


def test_truncated_archive_is_named(archives):
    path = archives[0] / "training-parallel-commoncrawl.tgz"
    path.write_bytes(path.read_bytes()[:-10])
    error = fails(GERMAN, *archives[1])
    assert str(path) in error and "truncated" in error and "bytes" in error


def test_archive_that_changes_after_it_was_seen_is_named(archives, tmp_path):
    """test-full.tgz has no published sha256, and here no md5 either."""
    recipe = json.loads(archives[1][1].read_text())
    del recipe["archives"][-1]["md5"]
    archives[1][1].write_text(json.dumps(recipe))
    path = archives[0] / "test-full.tgz"
    kill_when(start(GERMAN, *archives[1]), tmp_path / "out", "raw")
    path.write_bytes(path.read_bytes() + b"x")
    error = fails(GERMAN, *archives[1])
    assert str(path) in error and "before" in error and "archives.json" in error


def test_dead_links_are_named(archives, tmp_path):
    """Each address that was tried; nothing is retried that was not found."""
    (archives[0] / "training-parallel-nc-v12.tgz").unlink()
    with served(archives[0]) as server:
        options = ["--recipe", archives[1][1], "--out", tmp_path / "out", "--mirror", server.url]
        error = fails(GERMAN, *options, env=PROXY)
        path = "/wmt17/translation-task/training-parallel-nc-v12.tgz"
        assert f"{server.url}{path}: HTTP 404" in error
        assert f"{server.url}/training-parallel-nc-v12.tgz: HTTP 404" in error
        assert [name for name, _ in server.requests if "nc-v12" in name] == [path, path[23:]]


def test_wrong_member_is_named(archives):
    recipe = json.loads(archives[1][1].read_text())
    recipe["training"][0]["members"]["de"] = "training/europarl.de"
    archives[1][1].write_text(json.dumps(recipe))
    error = fails(GERMAN, *archives[1])
    assert "europarl-v7.tgz: no member 'training/europarl.de'" in error
    assert "training/README" in error


def test_disk_is_looked_at_before_anything_is_fetched(archives, tmp_path):
    """900 MB of archives and five times 700 MB of text are 4,400 MB."""
    recipe = json.loads(archives[1][1].read_text())
    recipe["text_bytes"] = 700 * 2**20
    for archive in recipe["archives"]:
        archive["bytes"] = 225 * 2**20
    archives[1][1].write_text(json.dumps(recipe))
    (tmp_path / "bin").mkdir()
    df = tmp_path / "bin/df"
    df.write_text("#!/bin/sh\nprintf 'h\\nfs 10 7 4000 70%% /\\n'\n")
    df.chmod(0o755)
    env = {**PROXY, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    with served(archives[0]) as server:
        options = ["--recipe", archives[1][1], "--out", tmp_path / "out", "--mirror", server.url]
        error = fails(GERMAN, *options, env=env)
        assert "needs 4401 MB" in error and "there are 4000 MB" in error
        assert not server.requests


def test_two_runs_in_one_folder_are_refused(archives, tmp_path):
    (tmp_path / "out").mkdir()
    with open(tmp_path / "out/.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        error = fails(GERMAN, *archives[1])
    assert "another run" in error and str(tmp_path / "out") in error


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--corpora", "/no/such"], ["--corpora", "/no/such"]),
        (["--corpora", "/", "--mirror", "http://x"], ["--mirror", "--corpora"]),
        (["--bpe-codes", "/no/such"], ["--bpe-codes", "/no/such"]),
        (["--bpe-codes", __file__, "--bpe-merges", "9"], ["--bpe-merges", "--bpe-codes"]),
        (["--dict", "/no/such"], ["--dict", "/no/such"]),
        (["--jobs", "0"], ["--jobs", "'0'"]),
        (["--retry-pause", "soon"], ["--retry-pause", "'soon'"]),
        (["--mirror"], ["--mirror", "value"]),
        (["--icml"], ["--icml"]),
    ],
)
def test_bad_options(arguments, words):
    error = fails(FRENCH, *arguments)
    assert error.startswith("prepare-wmt14en2fr.sh: ") and all(word in error for word in words)


def test_recipe_that_is_none_is_named(tmp_path):
    (tmp_path / "a.json").write_text('{"pair": "x"}')
    error = fails(FRENCH, "--recipe", tmp_path / "a.json", "--out", tmp_path / "out")
    assert str(tmp_path / "a.json") in error and "archives" in error


@pytest.mark.parametrize("script", [FRENCH, GERMAN])
def test_help_names_every_option(script):
    said = run(script, "-h").stdout
    options = re.findall(
        r"^      (--[\w-]+)\)", (PROJECT / "data-prep/lib/wmt14_options.sh").read_text(), re.M
    )
    assert len(options) == 11 and all(option in said for option in options)
    assert "Example" in said and ("--icml17" in said) == (script == GERMAN)
