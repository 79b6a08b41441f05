"""Mistakes, and files from strangers: one clear line, no code run, nothing lost or left behind.

Random mistakes are the same in every run. ``BAD_INPUTS=2000 pytest tests/test_bad_input.py`` tries
that many new ones for each command.
"""

import os
import pickle
import resource
import tempfile
from unittest import mock

import hostile_files as hostile
import language_models
import pytest
from commands import outcome
from conftest import TRAINING
from fairseq import checkpoint_utils
from fairseq_cli import generate, train
from fairseq_mains import printed
from hypothesis import given, settings
from hypothesis import strategies as st
from public_corpora import __main__ as wmt14

from realformer_checkpoints import averaging, learning_curve, omega_by_depth
from realformer_checkpoints.model_card import __main__ as model_card
from realformer_checkpoints.reading import load_checkpoint
from realformer_fairseq import RealFormerLanguageModel, RealFormerMaskedLM, RealFormerModel
from realformer_fairseq.analysis import attention_analysis
from realformer_fairseq.checkpoints import folding
from realformer_fairseq.inference import translation
from realformer_runtime.command_line import UserError
from realformer_runtime.scores import scoring
from realformer_runtime.text import byte_pair_encoding, tokenization


class WMT14:
    """The steps of a preparation, as their module runs them."""

    PROGRAM, main = "public_corpora", wmt14._run


# Right calls of each command: of those that read a checkpoint, with one that is called a.pt.
CALLS = {
    averaging: [
        "--inputs a.pt checkpoint1.pt --output new --weights 1 2",
        "--inputs . --output new --num-epoch-checkpoints 2 --checkpoint-upper-bound 2",
        "--inputs . --output new --num-best-checkpoints 1 --best-is lowest",
        "--show average.pt",
    ],
    folding: ["--checkpoint a.pt --output new"],
    omega_by_depth: ["--run a.pt log --output new --title x"],
    model_card: ["--checkpoint a.pt --output new --log log --name x"],
    learning_curve: ["--logs log other.log --output new --title x --quantity gradient-norm"],
    scoring: [
        "--hyp three --ref other --lang fr --ter --json new",
        "--hyp generate.log three --ref other --lang fr --domains three --bootstrap-samples 2",
    ],
    tokenization: [
        "--lang fr --moses --normalize-punctuation --remove-non-printing --word-counts new",
        "--lang fr --detokenize --jobs 1",
    ],
    byte_pair_encoding: [
        "learn --merges 1 --word-counts counts counts",
        "learn --merges 1",
        "apply --codes code --jobs 1",
    ],
    translation: [
        "--checkpoint a.pt --data . --output new --source-lang en --target-lang fr --beam 1 --moses"
        " --lenpen 1 --max-tokens 9 --overlong skip --bpe-codes code --input three",
        "--checkpoint a.pt --data . --interactive",
        "--checkpoint a.pt:checkpoint1.pt --data . --dry-run",
    ],
    WMT14: [
        "fit --codes code --dict dict.en.txt three",
        "extract --recipe three --archives . --out new",
        "clean --recipe three --lines 3 --merges 2 --out new three",
    ],
    # It and translation need a trained model, which they look at after the checkpoint.
    attention_analysis: ["--checkpoint a.pt --data . --out new --max-tokens 9 --sentence 1 --cpu"],
}
WRONG = ["0", "-1", "1.5", "nan", "inf", "-0", "1e3", "9" * 20, "9" * 5000, "", "two", "1 ", "0x1"]
WRONG += ["٣", "a b", "é\n", "-", "--", "$x_", "\\", "\x1b[31m", "xx", "../..", "{}", "é" * 200]
WRONG += ["folder", "loop", "missing", "no/where", "a/b\n", ".", "/", "/dev/null", "--json", "--x"]
TEXTS = [b"ab ab\n", b"", b"a b", b"caf\xe9\n", b"\x00\r\x1c\n\xe2\x80\xa8\n", b"x" * 4000 + b"\n"]
TRIES = int(os.environ.get("BAD_INPUTS", 0))
RANDOM = settings(max_examples=TRIES or 24, derandomize=not TRIES, database=None, deadline=None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with good and bad files."""
    for name in ("log", "files"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "log"))
    monkeypatch.chdir(tmp_path)
    hostile.write_files(tmp_path / "files")
    return tmp_path / "files"


def check(module, words, text, folder):
    """Run a command: it makes a file, or it ends with one line and all is as it was.

    Returns:
        the line, or None
    """
    before = hostile.contents(folder)
    error, _, said = outcome(module, *words, text=text)
    after = hostile.contents(folder)
    changed = [path for path in after if after[path] != before.get(path, b"none")]
    assert before.keys() <= after.keys() and "Traceback" not in said
    if error:
        assert error.startswith(f"{module.PROGRAM}: ") and len(error) > len(module.PROGRAM) + 5
        assert "\n" not in error and not changed
    else:
        assert len(changed) <= 1
        if module in (averaging, folding):
            assert [load_checkpoint(str(path))["model"] for path in changed] or "--show" in words
        if module in (omega_by_depth, learning_curve):
            assert [after[path][-8:] for path in changed] == [b"IEND\xaeB`\x82"]
    return error


@st.composite
def mistaken(draw, calls):
    """The words of a right call with other values, and now and then a word too few or too many."""
    words = draw(st.sampled_from(calls)).split()
    wrong = st.sampled_from([*WRONG, *hostile.CHECKPOINTS, *hostile.OTHERS])
    values = [place for place, word in enumerate(words) if not word.startswith("--")]
    for place in draw(st.lists(st.sampled_from(values), max_size=2)):
        words[place] = draw(wrong)
    if not draw(st.integers(0, 4)):
        place = draw(st.integers(0, len(words) - 1))
        words[place : place + 1] = draw(st.lists(wrong, max_size=2))
    return words


@pytest.mark.parametrize("module", CALLS, ids=lambda module: module.PROGRAM)
@pytest.mark.filterwarnings("ignore")
def test_a_clear_error_or_a_right_result(module, folder):
    @RANDOM
    @given(mistaken(CALLS[module]), st.sampled_from(TEXTS))
    def any_mistake(words, text):
        hostile.write_files(folder)
        check(module, words, text, folder)

    any_mistake()
    for call in CALLS[module]:
        hostile.write_files(folder)
        error = check(module, call.split(), TEXTS[0], folder)
        assert error is None or module in (WMT14, attention_analysis, translation)


@pytest.mark.parametrize("option", ["--max-tokens 1", "-- --max-source-positions 1"])
def test_no_room_for_a_subword_is_said(option, folder):
    """It once was split without end."""
    call = f"--checkpoint a.pt --data . {option}"
    assert option.split()[-2] in check(translation, call.split(), b"a b\n", folder)


def check_refused(content, named, folder):
    """Each command that reads a checkpoint says so, and makes nothing."""
    (folder / "bad.pt").write_bytes(content)
    before = hostile.contents(folder)
    for module, calls in CALLS.items():
        for call in calls:
            if " a.pt" in call and "--dry-run" not in call:
                words = call.replace(" a.pt", " bad.pt").split()
                error, *_ = outcome(module, *words, text=TEXTS[0])
                assert error.startswith(f"{module.PROGRAM}: bad.pt: refused: "), error
                assert named in error and "\n" not in error
    assert hostile.contents(folder) == before


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize(
    "place, name, value",
    [
        *((place, *attack) for place in hostile.PLACES for attack in hostile.ATTACKS.items()),
        *(("extra_state", *array) for array in hostile.POINTER_ARRAYS.items()),
        *(
            (None, *other)
            for other in [*hostile.STRANGE_TENSORS.items(), *hostile.OTHER_KINDS.items()]
        ),
    ],
)
def test_a_hostile_checkpoint_is_refused(place, name, value, zipped, folder):
    try:
        content = hostile.saved(
            place, {"model": {"w": value()}} if callable(value) else value, zipped
        )
    except RuntimeError:
        pytest.skip("torch cannot write it in this format")
    named = name in hostile.ATTACKS and place != "array"
    check_refused(content, name if named else "", folder)
    if place:
        with pytest.raises((pickle.UnpicklingError, ValueError)):
            checkpoint_utils.load_checkpoint_to_cpu("bad.pt")
        assert not (folder / "marker").exists()


@pytest.mark.parametrize("name", hostile.OTHERS)
def test_what_is_no_checkpoint_is_refused(name, folder):
    check_refused(hostile.OTHERS[name], "", folder)


@pytest.mark.parametrize("place, zipped", [("args", True), ("extra_state", False)])
def test_fairseqs_commands_run_nothing_either(place, zipped, folder):
    (folder / "bad.pt").write_bytes(hostile.saved(place, hostile.ATTACKS["posix.system"], zipped))
    data = ["--source-lang", "en", "--target-lang", "fr", "."]
    training = [*TRAINING, *data, "--disable-validation", "--save-dir", "new"]
    refusal = "^fairseq-train: bad.pt: refused: it holds posix.system"
    for command, arguments, message in (
        (generate, [*data, "--cpu", "--path", "bad.pt"], "posix.system"),
        (train, [*training, "--restore-file", "bad.pt"], refusal),
        (train, [*training, "--finetune-from-model", "bad.pt"], refusal),
    ):
        with pytest.raises((SystemExit, pickle.UnpicklingError), match=message):
            printed(command, *arguments)
    with pytest.raises((UserError, pickle.UnpicklingError), match="posix.system"):
        RealFormerModel.from_pretrained(".", "bad.pt", data_name_or_path=".")
    assert os.listdir("new") == [".training.lock"] and not (folder / "marker").exists()


def test_a_nest_without_end_is_named(folder, monkeypatch):
    monkeypatch.setattr("torch.save", mock.Mock(side_effect=RecursionError))
    words = "--inputs a.pt --output new".split()
    assert "nested too deeply" in check(averaging, words, b"", folder)


def test_a_full_disk_is_named(folder):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        error = check(averaging, "--inputs a.pt --output new".split(), b"", folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error == "average_checkpoints.sh: new: File too large"


@pytest.mark.parametrize("module", ["inference.translation", "export.onnx_export"])
def test_language_models_do_not_translate(module, tmp_path):
    """Whatever the languages that a user names, and whatever the dictionaries."""
    module = pytest.importorskip(f"realformer_fairseq.{module}")
    data, path = language_models.write_data(tmp_path, splits=()), tmp_path / "lm.pt"
    for name in ("dict.en.txt", "dict.fr.txt"):
        (tmp_path / name).write_text((data / "dict.txt").read_text())
    languages = ["--source-lang", "en", "--target-lang", "fr"]
    line = ["--checkpoint", path, "--data", data, "--output", tmp_path / "new"]
    for arch in language_models.ALL:
        language_models.save(path, data, arch)
        words = f"a {arch} of --task {language_models.TASKS[arch]} does not translate"
        for further in ([], languages):
            error, _, _ = outcome(module, *line, *further)
            assert error.startswith(f"{module.PROGRAM}: --checkpoint '{path}': {words}")
        with pytest.raises(UserError, match="does not translate: load it by"):
            RealFormerModel.from_pretrained(str(tmp_path), "lm.pt", str(data))
        is_masked = language_models.TASKS[arch] == "masked_lm"
        other = RealFormerLanguageModel if is_masked else RealFormerMaskedLM
        with pytest.raises(UserError, match="is no (masked )?language model: load it by"):
            other.from_pretrained(tmp_path, "lm.pt", data)
        with pytest.raises(UserError, match="lm.pt' is a file: give its folder, then its name"):
            other.from_pretrained(path)
    assert not (tmp_path / "new").exists()
