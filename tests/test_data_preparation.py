"""The stages that every corpus goes through, and what the scripts refuse."""

import fcntl
import gzip
import os
import shutil

import pytest
from conftest import MERGES, PROJECT, fails, run

SCRIPT = PROJECT / "data-prep/prepare-debian-en2fr.sh"
FILES = [f"{split}.{lang}" for split in ("train", "valid", "test") for lang in ("en", "fr")]


def lines(path):
    return path.read_text("utf-8").split("\n")[:-1]


def options(corpus, out):
    return ["--corpus", corpus, "--out", out, "--bpe-merges", MERGES, "--jobs", 1]


@pytest.fixture(scope="module")
def scripted(raw_corpus, tmp_path_factory):
    """What the script makes in a folder whose name is one word, and no command."""
    folder, out = tmp_path_factory.mktemp("prepared by the script"), '-out `touch x` "b" ?\nc'
    run(SCRIPT, *options(raw_corpus, out), cwd=folder)
    assert [path.name for path in folder.iterdir()] == [out]
    return folder / out


def test_the_script_makes_what_the_modules_make(scripted, prepared):
    """The other tests use what conftest.py makes without a shell. Every file, so every stage."""
    for path in prepared.rglob("*"):
        if path.is_file() and path.name != "preprocess.log":
            assert path.read_bytes() == (scripted / path.relative_to(prepared)).read_bytes(), path
    assert not list(scripted.rglob("*.tmp"))


def test_rerun_resumes(scripted, raw_corpus, tmp_path):
    """What is there stays, what is missing or was being written is made again, the same."""
    again = tmp_path / "again"
    shutil.copytree(scripted, again)
    (again / "tok/test.fr").unlink()
    (again / "bpe/valid.en").rename(again / "bpe/valid.en.tmp")
    (again / "bpe/valid.en.tmp").write_text("half a li")
    kept = (again / "tok/train.en").stat().st_mtime_ns
    said = run(SCRIPT, *options(raw_corpus, again)).stderr
    assert [line for line in said.splitlines() if ": " in line][:-1] == [
        "== raw: done before",
        "== tok: files are missing or changed, making them again",
        "== code: done before",
        "== bpe: files are missing or changed, making them again",
        "== data-bin: done before",
    ]
    assert (again / "tok/train.en").stat().st_mtime_ns == kept
    for name in FILES:
        for stage in ("tok", "bpe"):
            assert lines(again / stage / name) == lines(scripted / stage / name)


@pytest.fixture
def corpus(raw_corpus, tmp_path):
    return shutil.copytree(raw_corpus, tmp_path / "corpus")


def test_other_text_makes_raw_text_again(scripted, corpus, tmp_path):
    """What nothing is recorded of is not overwritten, nor text that raw text would be made of."""
    out, changed = shutil.copytree(scripted, tmp_path / "out"), corpus / "test.fr"
    changed.write_text(changed.read_text("utf-8").upper(), "utf-8")
    (out / "stamps/tok").unlink()
    before = (out / "tok/test.fr").read_bytes()
    error = fails(SCRIPT, *options(corpus, out))
    assert f"--out '{out}': its 'tok' is " in error
    assert (out / "raw/test.fr").read_bytes() == changed.read_bytes()
    assert (out / "tok/test.fr").read_bytes() == before

    error = fails(SCRIPT, *options(out / "raw", out))
    assert f"--corpus '{out}/raw' is what --out '{out}' was made with" in error
    assert (out / "raw/test.fr").read_bytes() == changed.read_bytes()


def test_compressed_text_is_accepted_and_unequal_lines_are_refused(corpus, tmp_path):
    for name in FILES:
        (corpus / f"{name}.gz").write_bytes(gzip.compress((corpus / name).read_bytes()))
        (corpus / name).unlink()
    (corpus / "valid.fr.gz").write_bytes(gzip.compress(b"une ligne\n"))
    out = tmp_path / "out"
    error = fails(SCRIPT, "--corpus", corpus, "--out", out)
    assert "valid.en' has 20 lines" in error and "valid.fr' has 1" in error
    unpacked = gzip.decompress((corpus / "train.en.gz").read_bytes())
    assert (out / "raw/train.en").read_bytes() == unpacked


def test_missing_file_is_named_and_put_right(corpus, raw_corpus, tmp_path):
    """The first try leaves nothing behind that a second one with other text would use. The last
    line of a file may lack its line feed, and the folder may be named from where one stands."""
    out = tmp_path / "out"
    (corpus / "test.fr").unlink()
    error = fails(SCRIPT, "--corpus", corpus, "--out", out)
    assert "--corpus" in error and "test.fr" in error
    assert not (out / "raw").exists()

    for name in FILES:
        text = (raw_corpus / name).read_text("utf-8").upper()
        (corpus / name).write_text(text.rstrip("\n"), "utf-8")
    (out / "tok").touch()  # in the way of the next stage
    assert "tok" in fails(SCRIPT, "--corpus", "corpus", "--out", out, cwd=tmp_path)
    for name in FILES:
        expected = (corpus / name).read_text("utf-8") + "\n"
        assert (out / "raw" / name).read_text("utf-8") == expected


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--bpe-merges", "many"], ["--bpe-merges", "many"]),
        (["--jobs", "0"], ["--jobs", "'0'"]),
        (["--out"], ["--out", "value"]),
        (["--out", "/a:b"], ["--out", "colon"]),
        (["--merges", "3"], ["--merges"]),
    ],
)
@pytest.mark.parametrize("name", ["prepare-debian-en2fr.sh", "prepare-sample-en2fr.sh"])
def test_bad_options(name, arguments, words):
    error = fails(PROJECT / "data-prep" / name, *arguments)
    assert error.startswith(name)
    assert all(word in error for word in words)


def test_full_disk_is_said_before_anything_is_made(tmp_path):
    df = tmp_path / "df"
    df.write_text("#!/bin/sh\nprintf 'h\\nfs 10 7 3 70%% /\\n'\n")
    df.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    error = fails(PROJECT / "data-prep/prepare-sample-en2fr.sh", "--out", tmp_path / "out", env=env)
    assert "needs 100 MB" in error and "3 MB" in error
    assert not (tmp_path / "out/raw").exists()


@pytest.mark.parametrize("name", ["prepare-debian-en2fr.sh", "prepare-sample-en2fr.sh"])
def test_two_runs_in_one_folder_are_refused(name, tmp_path):
    with open(tmp_path / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        env = {**os.environ, "LOCK_PATIENCE": "0"}
        error = fails(PROJECT / "data-prep" / name, "--out", tmp_path, env=env)
    assert f"--out '{tmp_path}': another run is at work there" in error


def test_what_cannot_be_built_is_refused_in_one_line(tmp_path):
    """Whatever is missing first: apt, or an archive with that address."""
    error = fails(SCRIPT, "--out", tmp_path / "out", "--mirror", "/no/url")
    assert error.startswith("prepare-debian-en2fr: ")
