"""The command that translates: order, long lines, what it says, errors; in this process, mostly."""

import io
import os
import re
import shutil
import subprocess
import sys

import pytest
import torch
from commands import error_of
from conftest import PROJECT
from torch import nn

from realformer_fairseq.inference import fairseq_interactive, translation
from realformer_fairseq.models.hub_interface import TranslationHub

SCRIPT = PROJECT / "scripts/translate.sh"
OTHER = PROJECT / "tests/data/realformer-0.1.0/checkpoint.pt"
SHORT = ("--", "--max-len-a", 0, "--max-len-b", 8, "--max-source-positions", 24)
LANGUAGES = "translate.sh: en to fr, as the checkpoint says"
LONG = " ".join(["a b."] * 12)  # 36 subwords; the limit of SHORT is 23


@pytest.fixture
def translate(trained, prepared, monkeypatch, capsys, tmp_path):
    """A function from text and options to the translation; or the error, if there is one."""
    files = {"--checkpoint": trained / "checkpoint_last.pt", "--data": prepared / "data-bin"}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(fairseq_interactive.tempfile, "tempdir", str(tmp_path))

    def translate_text(text, *options):
        stdin = io.TextIOWrapper(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        words = [word for name in files.keys() - options for word in (name, files[name])]
        error = error_of(translation, *words, *options)
        translate_text.out, translate_text.said = capsys.readouterr()
        return error or translate_text.out

    translate_text.files = [word for item in files.items() for word in item]
    return translate_text


@pytest.fixture
def searches(monkeypatch):
    """Subwords of each search, with a model that translates every word by itself."""
    found = []

    def copy(hub, parts, beam):
        found.append(parts)
        return [" ".join([*part, ""]).replace("@@ ", "").strip() for part in parts]

    monkeypatch.setattr(TranslationHub, "translate_parts", copy)
    return found


def test_every_line_gets_its_own_translation(translate, searches):
    lines = [" ".join([str(n)] * (n % 4 + 1)) for n in range(23)]
    text = "\n".join([*lines[:5], "", " \u2028", *lines[5:], "a\r", "no end"])
    out = translate(text, "--", "--buffer-size", 7).split("\n")
    assert out == [*lines[:5], "", "", *lines[5:], "a", "no end", ""]
    lengths = [len(part) for parts in searches for part in parts]
    assert max(map(len, searches)) == 7 and lengths == sorted(lengths, reverse=True)
    assert translate("") == "" and translate("\n\n") == "\n\n"


def test_lines_that_are_too_long(translate, searches):
    text = f"a\n{LONG}\nb\n"
    named = r"translate.sh: longer than the limit of 23 subwords, {}: line 2 \(\d+ subwords\)"
    assert translate(text, *SHORT) == text and [len(parts) for parts in searches] == [4]
    assert re.search(named.format("translated in parts") + "\n$", translate.said)
    assert translate(text, "--overlong", "skip", *SHORT) == "a\n\nb\n"
    assert re.search(named.format("left empty") + "\n$", translate.said)
    error = translate(text, "--overlong", "error", *SHORT)
    assert re.fullmatch(named.format("nothing translated"), error) and translate.out == ""
    assert "line 2 (" in translate(text, "--interactive", "--overlong", "error", *SHORT)
    assert translate.out == "a\n"
    for options in (["--max-tokens", 10], ["--", "--model-overrides={'max_source_positions': 10}"]):
        assert translate(text, *options) == text
        assert "limit of 9 subwords" in translate.said


def test_line_by_line_as_it_comes(translate, prepared, monkeypatch):
    """Each translation is there before the next line is sent, also of an empty and a long line."""
    sentences = (prepared / "raw/test.en").read_text("utf-8").splitlines()
    lines = [*sorted(sentences, key=len)[:2], "", LONG]
    expected = translate("".join(f"{line}\n" for line in lines), *SHORT).splitlines()
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    command = ["timeout", 100, SCRIPT, "--interactive", *translate.files, *SHORT, "--cpu"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([str(word) for word in command], text=True, **pipes) as it:
        found = []
        for line in lines:
            it.stdin.write(line + "\n")
            it.stdin.flush()
            found.append(it.stdout.readline()[:-1])
        rest, said = it.communicate()
    assert it.returncode == 0 and [found, rest] == [expected, ""] and len(said.splitlines()) == 3
    assert " --buffer-size 1 " in said and "line 4 (" in said


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def reconfigure(self, **_):
        pass


def test_a_long_file_has_a_progress_bar_on_a_terminal(translate, searches, monkeypatch):
    translate("a\n" * 150)
    assert "150" not in translate.said  # not on a terminal
    for count, expected in ((150, True), (50, False)):
        monkeypatch.setattr(sys, "stderr", Terminal())
        assert translate("a\n" * count) == "a\n" * count
        assert (f"{count}/{count}" in sys.stderr.getvalue()) == expected


def test_dry_run_prints_the_command_and_looks_at_no_file(translate, searches):
    options = ["--beam", 4, "--lenpen", "0.6", "--int8", "--", "--fp16", "--seed", 3]
    printed = translate("", "--dry-run", *options)
    assert translate("a\n", *options) == "a\n" and translate.said == f"{LANGUAGES}\n{printed}"
    assert printed.endswith(" --cpu --fp16 --seed 3\n") and " --beam 4 --lenpen 0.6 " in printed
    nowhere = ["--checkpoint", "/no/a.pt:/no/b.pt", "--data", "/no", "--dry-run"]
    nowhere += ["--source-lang", "en", "--target-lang", "fr"]
    assert error_of(translation, *nowhere) is None


def test_int8_leaves_no_other_linear_layer_and_no_log(translate, monkeypatch, tmp_path):
    layers = []
    generate = TranslationHub.generate

    def count(hub, *args, **options):
        layers.append(sum(isinstance(module, nn.Linear) for module in hub.modules()))
        return generate(hub, *args, **options)

    monkeypatch.setattr(TranslationHub, "generate", count)
    for options in (["--int8"], []):
        assert len(translate("one\n\nthree\n", *options, *SHORT).splitlines()) == 3
    assert layers[0] == 0 < layers[1] and not list(tmp_path.iterdir())


def test_a_model_of_another_plugin_is_named(translate, trained, tmp_path):
    state = torch.load(trained / "checkpoint_last.pt")
    vars(state["cfg"]["model"]).update(_name="transformer++", arch="transformer++")
    torch.save(state, tmp_path / "other.pt")
    error = translate("a\n", "--checkpoint", tmp_path / "other.pt")
    assert re.fullmatch("translate.sh: --checkpoint '.*other.pt': .* 'transformer\\+\\+' .*", error)


def out_of_memory(*_, **__):
    raise RuntimeError("out of\nmemory")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--checkpoint", OTHER], "RuntimeError: .* size mismatch for encoder.embed_tokens.weight"),
        (["--", "--model-overrides", "{"], "SyntaxError"),
        ([], "RuntimeError: out of memory"),
        (["--interactive"], "RuntimeError: out of memory"),
    ],
)
def test_what_fairseq_fails_with_is_named_and_its_traceback_kept(
    translate, options, reason, trained, tmp_path, monkeypatch
):
    (tmp_path / "out").write_text("before")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(TranslationHub, "generate", out_of_memory)
    output = [] if "--interactive" in options else ["--output", "out"]
    error = translate("a\n", *output, *options)
    named = rf"translate.sh: fairseq failed with --checkpoint '.*': {reason}.* \(log: '(.*)'\)"
    with open(re.fullmatch(named, error).groups()[-1]) as log:
        assert log.read().startswith("Traceback")
    assert translate.out == "" and (tmp_path / "out").read_text() == "before"


def test_output_that_is_no_file_is_written_to(translate, searches, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    command = ["timeout", "60", "cat", tmp_path / "pipe"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        assert translate("1\n", "--output", tmp_path / "pipe") == ""
        assert reader.stdout.read() == "1\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--checkpoint", f"{OTHER}:/no/b.pt"], ["--checkpoint", "'/no/b.pt'"]),
        (["--checkpoint", __file__], [__file__, "not a fairseq checkpoint"]),
        (["--target-lang", "de"], ["--target-lang de", "checkpoint_last.pt", "'fr'"]),
        (["--source-lang", "french"], ["--source-lang", "'french'"]),
        (["--source-lang", "en", "--source-lang", "en"], ["--source-lang", "twice"]),
        (["--input", ""], ["--input", "empty"]),
        (["--beam"], ["--beam", "expected one argument"]),
        (["--beam", "0"], ["--beam", "'0'"]),
        (["--max-tokens", "1"], ["--max-tokens", "above 1"]),
        (["--output", "/no/such/place"], ["--output", "/no/such"]),
        (["--output", "/"], ["--output", "'/' is a folder"]),
        (["--output", "-"], ["--output", "'-' is no file"]),
        (["--output", "/dev/full"], ["/dev/full: No space left"]),
        (["--input", "/no/input"], ["--input", "/no/input"]),
        (["--bpe-codes", __file__], ["--bpe-codes", __file__]),
        (["--lenpen", "nan"], ["--lenpen", "nan"]),
        (["--lenpen", "-1e3"], ["--lenpen", "'-1000.0'", "-10 to 10"]),
        (["--", "--lenpen", "11"], ["--lenpen", "'11.0'", "-10 to 10"]),
        (["--", "--nbest", "3"], ["-- --nbest", "no effect"]),
        (["--", "--lm-path", "/no/lm.pt"], ["-- --lm-path", "no effect"]),
        (["--", "--prefix-size", "1"], ["-- --prefix-size", "no effect"]),
        (["--", "--print-alignment"], ["-- --print-alignment", "no effect"]),
        (["--", "--results-path", "results"], ["-- --results-path", "no effect"]),
        (["--", "--remove-bpe=sentencepiece"], ["-- --post-process", "'sentencepiece'"]),
        (["--", "--min-len", "5000"], ["--data", "-- --min-len 5000: "]),
        (["--overlong", "cut"], ["--overlong", "split", "skip", "error"]),
        (["--interactive", "--input", __file__], ["--interactive", "standard input"]),
        (["--", "--max-source-positions", "1"], ["--max-source-positions", "above 1"]),
        (["--", "--max-len-b", "x"], ["--max-len-b", "'x'"]),
        (["--", "--no-such", "x"], ["--no-such x"]),
        (["--", "--user-dir"], ["--user-dir", "expected one argument"]),
        (["--", "--user-dir", "/no/plugin"], ["options after --", "/no/plugin"]),
        (["--", "--fp16", "--tpu"], ["fairseq-interactive: Cannot", "--fp16 and --tpu"]),
        (["--", "--bpe", "gpt2"], ["--bpe", "subwords"]),
        (["--", "--target-lang", "de"], ["--target-lang", "before --"]),
        (["--", "--path", __file__], ["--path", "before --"]),
        (["--", "--log-file", "${b}"], ["--", "'${b}'", "variable"]),
        (["--checkpoint", "a${b}.pt"], ["--checkpoint", "'a${b}.pt'", "variable"]),
        (["--data", "a${b}"], ["--data", "'a${b}'", "variable"]),
    ],
)
def test_bad_files_and_values(translate, options, words):
    error = translate("1\n", *options)
    assert error.startswith("translate.sh: ") and "\n" not in error
    assert all(word in error for word in words) and translate.out == ""


@pytest.fixture
def trained_with(trained, prepared, tmp_path):
    """A function from languages to options of a checkpoint that was trained with these."""

    def options(**languages):
        state = torch.load(trained / "checkpoint_last.pt")
        state["cfg"]["task"].update(languages)
        torch.save(state, tmp_path / "named.pt")
        for lang in filter(None, languages.values()):
            shutil.copy(prepared / "data-bin/dict.fr.txt", tmp_path / f"dict.{lang}.txt")
        codes = ["--bpe-codes", prepared / "code"]
        return ["--checkpoint", tmp_path / "named.pt", "--data", tmp_path, *codes]

    return options


@pytest.mark.parametrize(
    "stored, given",
    [
        *((stored, None) for stored in ("fr", "fr_FR", "FR", "fra", "fr_XX")),
        *(("fr_XX", given) for given in ("fr", "fra_Latn")),
    ],
)
def test_languages_are_those_of_the_checkpoint(translate, trained_with, searches, stored, given):
    """Its own dictionaries, however the user spells the languages, and the rules of French."""
    files = trained_with(source_lang="en", target_lang=stored)
    named = [] if given is None else ["--source-lang", "en", "--target-lang", given]
    assert translate("who is there?\n", *files, *named) == "who is there ?\n"
    assert f" --target-lang {stored} " in translate.said
    assert (f"en to {stored}, as the checkpoint says" in translate.said) == (given is None)


@pytest.mark.parametrize(
    ("stored", "given", "error"),
    [
        ("fr", "de", "--target-lang de: '.*named.pt' was trained with 'fr'"),
        (None, None, "--target-lang is needed: '.*named.pt' does not name it"),
        ("side2", None, "--target-lang: 'side2'"),
    ],
)
def test_languages_that_are_not_known(translate, trained_with, searches, stored, given, error):
    files = trained_with(source_lang="en", target_lang=stored)
    named = [] if given is None else ["--target-lang", given]
    assert re.match(f"translate.sh: {error}", translate("a\n", *files, *named))
    if stored != "fr":
        shutil.copy(files[-1].parent / "data-bin/dict.fr.txt", files[3] / "dict.fr.txt")
        assert translate("a\n", *files, "--target-lang", "fr") == "a\n"


@pytest.mark.parametrize("options", [[], ["--moses"]])
def test_what_shows_nothing_changes_no_translation(translate, searches, options):
    lines = ["\u202eWho is\u200e there?\u202c", "\u2068Who\u2069 i\u200cs there\ufe0f?\U000e0001"]
    lines += ["Who\u200b is there?", "E\u0301", "\u00c9"]
    *three, one, other = translate("\n".join(lines), *options).splitlines()
    assert three == ["Who is there ?"] * 3 and one == other
    ((first, second, third, one, other),) = searches
    assert first == second == third and one == other


def test_codes_of_another_model_are_said(translate, prepared, searches, tmp_path):
    codes = (prepared / "code").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "few").write_text("".join(codes[:10]), "utf-8")
    for name, said in ((prepared / "code", False), (tmp_path / "few", True)):
        assert translate("a\n", "--bpe-codes", name) == "a\n"
        assert (f"--bpe-codes {name}: of another model?" in translate.said) == said


def test_paths_that_look_like_something_else(
    translate, trained, prepared, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for folder in ("-led", "a:b"):
        shutil.copytree(prepared / "data-bin", tmp_path / folder)
        shutil.copy(trained / "checkpoint_last.pt", tmp_path / folder / "model.pt")
    led = ["--checkpoint=-led/model.pt", "--data=-led", "--dry-run"]
    assert error_of(translation, *led) is None
    assert "fairseq-interactive ./-led " in capsys.readouterr().out
    for name, path in (("--checkpoint", "a:b/model.pt"), ("--data", "a:b")):
        assert f"{name} '{path}': a colon" in translate("a\n", name, path)
    dictionary = tmp_path / "-led/dict.en.txt"
    dictionary.write_text(dictionary.read_text("utf-8"), "utf-8-sig")
    assert "dict.en.txt' starts with a byte order mark" in translate(
        "a\n", "--data", dictionary.parent
    )


def test_text_that_is_not_utf8_is_named(translate, tmp_path):
    (tmp_path / "latin1").write_bytes(b"good\ncaf\xe9\n")
    for name, options in (("standard input", []), ("latin1", ["--input", tmp_path / "latin1"])):
        assert f"{name}, line 2: not UTF-8" in translate(b"good\ncaf\xe9\n", *options)


def test_needed_options_are_named():
    assert "--checkpoint" in error_of(translation, "--data", "d")


def test_standard_input_that_is_closed(translate, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    error = error_of(translation, *translate.files, "--interactive")
    assert error == "translate.sh: standard input is closed"


@pytest.mark.parametrize(
    "option, tokens",
    [([], "It ’s “ so ” 日 本"), (["--moses"], "It &apos;s &quot; so &quot; 日本")],
)
def test_moses_tokenises_as_wmt14_preparation_does(translate, searches, option, tokens):
    """Curly apostrophes and quotation marks become straight there: its models know no others."""
    out = translate("It’s “so” 日本\n", *option)
    assert out.startswith('It \'s "so" ') == bool(option)
    assert " ".join(searches[0][0]).replace("@@ ", "") == tokens
