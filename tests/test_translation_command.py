"""The command that translates, with a stand-in for the search: order, long lines, errors."""

import io
import os
import re
import shlex
import subprocess
import sys

import pytest
import torch
from commands import error_of
from conftest import PROJECT, run
from fake_search import SEARCH

from realformer_fairseq.inference import interactive_search, source_sentences, translation

SCRIPT = PROJECT / "scripts/translate.sh"


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Data, codes, a model of 24 positions and a search, for the script and for the module."""
    folder = tmp_path / "fake"
    (folder / "bin").mkdir(parents=True)
    search = folder / "bin/fairseq-interactive"
    search.write_text(SEARCH.format(python=sys.executable))
    search.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    for lang in ("en", "fr"):
        (folder / f"dict.{lang}.txt").touch()
    (folder / "code").write_text(
        "#version: 0.2\nl o\nlo s\nlos t</w>\nc r\ncr a\ncra s\ncras h</w>\n"
    )
    cfg = {"model": {"max_source_positions": 24}}
    torch.save({"model": {}, "cfg": cfg}, folder / "model.pt")
    return folder


@pytest.fixture
def translate(fake, monkeypatch, capsys):
    """A function from text and options to the translation; or the error, if there is one."""

    def translate_text(text, *options):
        stdin = io.TextIOWrapper(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        files = ("--checkpoint", fake / "model.pt", "--data", fake)
        error = error_of(translation, *files, *options)
        translate_text.said = capsys.readouterr()
        return error or translate_text.said.out

    return translate_text


def test_order_is_kept(translate):
    """Every line gets the first hypothesis of its own, and empty lines stay."""
    lines = [" ".join(str(n) * (n % 4 + 1)) for n in range(23)]
    text = "\n".join([*lines[:5], "", " \u2028", *lines[5:], ""]) + "\n"
    out = translate(text).split("\n")[:-1]
    expected = [f"{line} ok" for line in lines]
    assert out == [*expected[:5], "", "", *expected[5:], ""]
    assert translate("") == "" and translate("\n\n") == "\n\n"
    assert translate("a\r\nlast line without an end") == "a ok\nlast line without an end ok\n"


LONG = " ".join(["a b."] * 12)  # 36 subwords; the limit is 23


def test_lines_that_are_too_long(translate):
    text = f"a\n{LONG}\nb\n"
    parts = translate(text).split("\n")
    assert parts[0] == "a ok" and parts[2] == "b ok" and len(parts) == 4
    assert parts[1].replace(" ok", "") == LONG and parts[1].count("ok") == 2
    assert translate(text, "--overlong", "skip") == "a ok\n\nb ok\n"
    warning = r"limit of 23 subwords, left empty: line 2 \(\d+ subwords\)\n$"
    assert re.search(warning, translate.said.err)
    error = translate(text, "--overlong", "error")
    assert re.search(r"limit of 23 subwords, nothing translated: line 2 \(\d+ subwords\)$", error)
    assert translate.said.out == ""
    for options in (["--max-tokens", 10], ["--", "--max-source-positions", "10"]):
        assert translate(text, *options).count("ok") > 4
        assert "limit of 9 subwords" in translate.said.err


def test_line_by_line_as_it_comes(fake):
    """Each translation is there before the next line is sent, also of an empty and a long line."""
    # What the script runs; the script itself would put the real search first on the PATH.
    command = [sys.executable, "-m", "realformer_fairseq.inference.translation", "--interactive"]
    command += ["--checkpoint", fake / "model.pt", "--data", fake]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=PROJECT
    ) as it:
        for line, expected in (("Hello.", "Hello. ok"), ("", ""), ("Two-fold", "Two-fold ok")):
            it.stdin.write(line + "\n")
            it.stdin.flush()
            assert it.stdout.readline() == expected + "\n"
        it.stdin.write(LONG + "\n")
        it.stdin.close()
        assert it.stdout.read().count("ok") == 2
        said = it.stderr.read()
    assert it.returncode == 0, said
    assert " --buffer-size 1 " in said and "line 4 (" in said and len(said.splitlines()) == 2


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def reconfigure(self, **_):
        pass


def test_a_long_file_has_a_progress_bar_on_a_terminal(translate, monkeypatch):
    for count, expected in ((150, True), (50, False)):
        monkeypatch.setattr(sys, "stderr", Terminal())
        assert translate("a\n" * count) == "a ok\n" * count
        assert (f"{count}/{count}" in sys.stderr.getvalue()) == expected
    translate("a\n" * 150)
    assert "150" not in translate.said.err  # not on a terminal


def test_dry_run_prints_the_command_that_is_run(fake, translate, monkeypatch):
    options = ["--beam", 4, "--lenpen", "0.6", "--", "--fp16", "--path with", "a space"]
    printed = translate("", "--dry-run", *options)
    seen = []
    popen = interactive_search.subprocess.Popen
    monkeypatch.setattr(
        interactive_search.subprocess, "Popen", lambda c, **k: seen.append(c) or popen(c, **k)
    )
    assert translate("a\n", *options) == "a ok\n"
    assert shlex.split(printed) == seen[0] == shlex.split(translate.said.err)
    for words in (
        "--beam 4",
        "--lenpen 0.6",
        "--task translation",
        "--fp16 '--path with' 'a space'",
    ):
        assert f" {words}" in printed
    nowhere = ["--checkpoint", "/no/a.pt:/no/b.pt", "--data", "/no"]
    assert error_of(translation, *nowhere, "--dry-run") is None


def test_a_lost_sentence_is_said_and_nothing_is_written(translate, tmp_path):
    (tmp_path / "out").write_text("before")
    error = translate("1\nlost\n2\n", "--output", tmp_path / "out")
    assert "of 3 sentences 2 came out" in error and "\n" not in error
    assert (tmp_path / "out").read_text() == "before"


@pytest.mark.parametrize("option", [[], ["--interactive"]])
def test_a_search_that_fails_is_named_with_its_log(translate, fake, option, monkeypatch, tmp_path):
    monkeypatch.setattr(interactive_search.tempfile, "tempdir", str(tmp_path))
    error = translate("a\ncrash\nb\n", *option)
    model = fake / "model.pt"
    message = f"fairseq-interactive failed with --checkpoint '{model}': ValueError: as asked for"
    assert message in error and "\n" not in error
    log = re.search(r"\(log: '(.*)'\)$", error).group(1)
    with open(log) as file:
        text = file.read()
    assert "ValueError: as asked for" in text and "INFO | " in text
    os.unlink(log)
    assert translate("a\n", *option) == "a ok\n"
    assert not [path for path in os.listdir(tmp_path) if path.startswith("translate-")]


def test_output_that_is_no_file_is_written_to(translate, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert translate("1\n", "--output", tmp_path / "pipe") == ""
        assert reader.stdout.read() == "1 ok\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--checkpoint", "/no/a.pt"], ["--checkpoint", "/no/a.pt"]),
        (["--checkpoint", f"{__file__}:/no/b.pt"], ["--checkpoint", "'/no/b.pt'"]),
        (["--checkpoint", __file__], [__file__, "not a fairseq checkpoint"]),
        (["--data", "/no"], ["--data", "/no/dict.en.txt"]),
        (["--target-lang", "de"], ["--data", "dict.de.txt"]),
        (["--beams", "5"], ["--beams"]),
        (["--beam"], ["--beam", "expected one argument"]),
        (["--beam", "0"], ["--beam", "'0'"]),
        (["--max-tokens", "many"], ["--max-tokens", "many"]),
        (["--output", "/no/such/place"], ["--output", "/no/such"]),
        (["--input", "/no/input"], ["--input", "/no/input"]),
        (["--bpe-codes", __file__], ["--bpe-codes", __file__]),
        (["--lenpen", "high"], ["--lenpen", "high"]),
        (["--lenpen", "nan"], ["--lenpen", "nan"]),
        (["--overlong", "cut"], ["--overlong", "split", "skip", "error"]),
        (["--interactive", "--input", __file__], ["--interactive", "standard input"]),
    ],
)
def test_bad_files_and_values(translate, options, words):
    error = translate("1\n", *options)
    assert error.startswith("translate.sh: ") and "\n" not in error
    assert all(word in error for word in words)
    assert translate.said.out == ""


def test_text_that_is_not_utf8_is_named(translate, tmp_path):
    text = b"good\ncaf\xe9\n"
    assert translate(text).startswith("translate.sh: standard input, line 2: not UTF-8")
    (tmp_path / "latin1").write_bytes(text)
    error = translate("", "--input", tmp_path / "latin1")
    assert error.startswith(f"translate.sh: {tmp_path / 'latin1'}, line 2: not UTF-8")


def test_needed_options_are_named_by_the_script():
    result = run(SCRIPT, "--data", "d", check=False)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
    assert "--checkpoint" in result.stderr


@pytest.mark.parametrize(
    "moses, tokens", [(False, "It ’s “ so ”"), (True, "It &apos;s &quot; so &quot;")]
)
def test_moses_tokenises_as_wmt14_preparation_does(fake, moses, tokens):
    """Curly apostrophes and quotation marks become straight there: its models know no others."""
    encode = source_sentences.subword_encoder("en", fake / "code", moses)
    assert " ".join(encode("It’s “so”")).replace("@@ ", "") == tokens


def test_moses_is_an_option(translate):
    assert translate("“a”\n", "--moses") == '"a" ok\n'
    assert translate("“a”\n") != '"a" ok\n'
