"""``export_onnx.sh`` and ``translate.sh --onnx``, as their scripts run them."""

import io
import json
import os
import re
import shutil
import sys

import pytest
from commands import error_of, outcome
from conftest import PROJECT, run
from engine_models import export
from models import build
from test_packages import FORBID

from realformer_fairseq.export import onnx_export
from realformer_fairseq.inference import translation as with_checkpoint
from realformer_runtime.command_line import UserError
from realformer_runtime.engine import translation as with_onnx
from realformer_runtime.engine.model_folder import MANIFEST
from realformer_runtime.engine.translator import Translator

SCRIPT = PROJECT / "scripts/translate.sh"


@pytest.fixture(scope="module")
def exported(trained, prepared, tmp_path_factory):
    """The trained model, also with 8-bit integers, in a path with a space."""
    folder = tmp_path_factory.mktemp("exported") / "a model"
    files = ["--checkpoint", trained / "checkpoint_last.pt", "--data", prepared / "data-bin"]
    assert error_of(onnx_export, *files, "--output", folder, "--int8") is None
    return folder


def with_fairseq(trained, prepared, text, *options):
    files = ["--checkpoint", trained / "checkpoint_last.pt", "--data", prepared / "data-bin"]
    error, out, _ = outcome(with_checkpoint, *files, *options, text=text)
    return error or out


def with_engine(folder, text, *options):
    error, out, said = outcome(with_onnx, "--onnx", folder, *options, text=text)
    with_engine.said = said
    return error or out


@pytest.mark.parametrize(
    "options",
    [[], ["--beam", 1], ["--beam", 3, "--lenpen", 0], ["--max-tokens", 30], ["--interactive"]],
    ids=str,
)
def test_translations_are_those_of_the_checkpoint(exported, trained, prepared, options):
    lines = (prepared / "raw/test.en").read_text("utf-8").splitlines()
    text = "\n".join([*lines, "", "\u200b", "L’été à Łódź 日本", " ".join(lines)]).encode()
    ours = with_engine(exported, text, *options)
    assert ours == with_fairseq(trained, prepared, text, *options, "--", "--cpu")
    assert ours.count(b"\n") == len(lines) + 4


def test_long_lines_are_named_and_treated_as_asked(exported):
    text = f"a\n{'a b. ' * 40}\nb\n".encode()
    for how, said in (("split", "in parts"), ("skip", "left empty"), ("error", "nothing")):
        out = with_engine(exported, text, "--overlong", how, "--max-tokens", 30)
        named = rf"longer than the limit of 29 subwords, .*{said}.*: line 2 \("
        assert re.search(named, out if how == "error" else with_engine.said)
        if how != "error":
            assert out.count(b"\n") == 3 and (out.split(b"\n")[1] == b"") == (how == "skip")


def test_options_of_the_search(exported):
    plain = with_engine(exported, b"a b c\n")
    assert with_engine(exported, b"a b c\n", "--", "--min-len", 6) != plain
    assert with_engine(exported, b"a b c\n", "--int8").endswith(b"\n")
    assert "beam=3" in with_engine(exported, b"", "--dry-run", "--beam", 3).decode()
    assert with_engine(f"{exported}:{exported}", b"a b c\n") == plain


def test_a_progress_bar_on_a_terminal_only(exported, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for count, shown in ((150, True), (50, False)):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        Translator(exported).translate_sentences([[["a"]]] * count, progress=True, max_len_b=0)
        assert (f"{count}/{count}" in terminal.getvalue()) == shown


def test_it_translates_where_torch_and_fairseq_are_not(exported, tmp_path):
    code = f"{FORBID}\nimport runpy\nsys.argv[1:] = ['--onnx', {str(exported)!r}]\n"
    code += "runpy.run_module('realformer_runtime.engine.translation', run_name='__main__')"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    result = run(
        *(sys.executable, "-c", code, "torch fairseq onnx sacrebleu"),
        input="a b c\n",
        cwd=tmp_path,
        env=environment,
    )
    assert result.stdout.encode() == with_engine(exported, b"a b c\n") and not result.stderr


def damaged(folder, tmp_path, name, content):
    """A copy of an exported model with another file in it, or with none of this name."""
    copy = tmp_path / "damaged"
    shutil.copytree(folder, copy)
    if isinstance(content, dict):  # other values in it
        whole = json.loads((copy / name).read_text("utf-8"))
        content = json.dumps({**whole, **content}).encode()
    (copy / name).unlink()
    if content is not None:
        (copy / name).write_bytes(content)
    return copy


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (MANIFEST, None, ["no exported model", MANIFEST]),
        (MANIFEST, b"{", ["damaged", MANIFEST]),
        (MANIFEST, b'{"format": 2}', ["format 2", "reads 1"]),
        (MANIFEST, b'{"format": 1}', ["damaged", "source_lang"]),
        (MANIFEST, b"[]", ["damaged", MANIFEST]),
        (MANIFEST, {"files": []}, ["damaged", "files is no dict"]),
        (MANIFEST, {"files": {}}, ["damaged", "not a file of its own"]),
        (MANIFEST, {"max_source_positions": "9"}, ["max_source_positions is no int"]),
        (MANIFEST, {"search": {"lenpen": 99}}, ["lenpen", "99"]),
        (MANIFEST, {"search": {"no_such": 1}}, ["damaged", "no_such"]),
        ("decoder.onnx", None, ["damaged", "no decoder.onnx"]),
        ("decoder.onnx", b"cut", ["damaged", "decoder.onnx"]),
        ("dictionaries.json", b"{}", ["damaged", "dictionaries.json"]),
    ],
)
def test_a_damaged_folder_is_refused(exported, tmp_path, name, content, words):
    error = with_engine(damaged(exported, tmp_path, name, content), b"a\n")
    assert error.startswith("translate.sh: ") and all(word in error for word in words), error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--onnx", "/no/folder"], ["--onnx", "no such folder", "/no/folder"]),
        (["--checkpoint", "a.pt"], ["--checkpoint"]),
        (["--beam", "0"], ["--beam", "'0'"]),
        (["--lenpen", "nan"], ["--lenpen", "nan"]),
        (["--", "--min-len", "300"], ["min_len", "300"]),
        (["--", "--temperature", "0"], ["temperature", "0"]),
        (["--", "--nbest", "2"], ["after --", "--nbest 2"]),
        (["--", "--no-such", "1"], ["--no-such"]),
        (["--input", "/no/input"], ["--input", "/no/input"]),
        (["--interactive", "--output", "x"], ["--interactive"]),
    ],
)
def test_mistakes_are_one_line(exported, options, words):
    folder = [] if "--onnx" in options else ["--onnx", exported]
    error, out, _ = outcome(with_onnx, *folder, *options, text=b"a\n")
    assert error.startswith("translate.sh: ") and "\n" not in error and out == b""
    assert all(word in error for word in words), error
    assert "line 2: not UTF-8" in with_engine(exported, b"a\ncaf\xe9\n")


def test_no_8_bit_integers_and_other_words_are_named(exported, tmp_path):
    model = export(build(), tmp_path / "model")
    with pytest.raises(UserError, match="exported without --int8"):
        Translator(model, int8=True)
    with pytest.raises(UserError, match="other words or languages"):
        Translator(f"{exported}:{model}")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (dict(adaptive_softmax_cutoff="10,20"), "--adaptive-softmax-cutoff"),
        (dict(cross_self_attention=True), "--cross-self-attention"),
        (dict(no_cross_attention=True), "--no-cross-attention"),
        (dict(arch="transformer", scale_attn=True), "--scale-attn"),
    ],
)
def test_what_cannot_be_exported_is_named(options, named, tmp_path):
    with pytest.raises(UserError, match=named):
        export(build(**options), tmp_path / "model")


def test_an_export_is_whole_or_not_at_all(trained, prepared, tmp_path, monkeypatch):
    files = ["--checkpoint", trained / "checkpoint_last.pt", "--data", prepared / "data-bin"]
    (tmp_path / "there").mkdir()
    for output, words in (
        ("there", "is there already"),
        ("no/folder", "no such folder"),
        ("a:b", "a colon"),
    ):
        assert words in error_of(onnx_export, *files, "--output", tmp_path / output)
    decoder_graph = onnx_export.decoder_graph

    def with_another_weight(model, *args):
        weight = model.decoder.layers[0].fc1.weight.data
        weight += 0.1
        graph = decoder_graph(model, *args)
        weight -= 0.1
        return graph

    monkeypatch.setattr(onnx_export, "decoder_graph", with_another_weight)
    error = error_of(onnx_export, *files, "--output", tmp_path / "new")
    assert "differs from the checkpoint" in error and "nothing is written" in error
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_the_folder_says_what_it_was_made_from(exported, trained):
    content = json.loads((exported / MANIFEST).read_text("utf-8"))
    assert content["made_from"]["checkpoint"] == "checkpoint_last.pt"
    assert len(content["made_from"]["sha256"]) == 64
    others = {MANIFEST, "README.md"}  # which people may change
    assert set(content["files"]) == {path.name for path in exported.iterdir()} - others
    text = (exported / "README.md").read_text("utf-8")
    assert "from en to fr" in text and len(text.splitlines()) <= 12


def test_text_to_text_in_python(exported):
    translator = Translator(exported, threads=1)
    assert translator.translate([]) == [] and translator.translate(["", " "]) == ["", ""]
    (line,) = translator.translate(["a b c"])
    assert with_engine(exported, b"a b c\n").decode() == f"{line}\n"
    for refused, message in (
        (lambda: translator.translate(["a"], no_such=1), "no_such: no option"),
        (lambda: translator.translate("a"), "a list of lines"),
        (lambda: translator.translate(["a"], overlong="cut"), "'cut' is not one of"),
        (lambda: translator.translate(["a"], beam="5"), "beam: '5' is no int"),
        (lambda: translator.translate(["a"], nbest=6), "nbest: 6 is above beam"),
        (lambda: translator.translate_tokens([["a"] * 9999]), "9999 subwords"),
        (lambda: translator.translate_tokens([["a"]], prefix=[]), "prefix: of 0 sentences"),
        (lambda: translator.translate_tokens([["a"]], prefix=[["</s>"]]), "prefix: </s>"),
    ):
        with pytest.raises(UserError, match=message):
            refused()


@pytest.mark.slow
def test_a_new_environment_with_the_engine_alone_translates(exported, tmp_path):
    """What ``pip install .`` says in docs/installation.md; needs a network."""
    venv = tmp_path / "environment"
    run(sys.executable, "-m", "venv", venv)
    pip = [venv / "bin/python", "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", PROJECT, timeout=600)
    names = {line.split("=")[0] for line in run(*pip, "freeze").stdout.splitlines()}
    assert not {"torch", "fairseq", "onnx", "sacrebleu"} & names
    environment = {**os.environ, "VENV": str(venv)}
    environment.pop("PYTHONPATH", None)
    command = [SCRIPT, "--onnx", exported]
    result = run(*command, input="a b c\n", cwd=tmp_path, env=environment)
    assert result.stdout.encode() == with_engine(exported, b"a b c\n") and not result.stderr
