"""Checkpoints with less in them than fairseq-train writes work, or are refused in one line.

fairseq 5060: published ones often have no more than a model and its options.
"""

import argparse
import re

import pytest
import torch
from commands import outcome
from conftest import TRAINING
from fairseq_mains import COMMON, generate, train
from hubs import from_pretrained, randomize
from models import arguments, with_trained_omega

from realformer_checkpoints import averaging
from realformer_checkpoints.model_card import __main__ as model_card
from realformer_fairseq.analysis import attention_analysis
from realformer_fairseq.checkpoints import folding
from realformer_fairseq.inference import translation
from realformer_runtime.command_line import UserError

TEXT = b"The cat sleeps.\nThe small houses are old.\n"


def flat(state):
    """The options as fairseq had them before it had groups, as a dictionary."""
    options = dict(vars(state["cfg"]["model"]))
    del options["_name"]
    return options


def flat_namespace(state, *names):
    options = flat(state)
    return argparse.Namespace(**{name: options[name] for name in names or options})


GIVEN = [word[2:].replace("-", "_") for word in TRAINING if word.startswith("--")]
SIZES = [name for name in GIVEN if name.startswith(("arch", "encoder", "decoder", "share"))]
# By what is in the file: its content, from a whole state.
LOADED = {
    "args and model": lambda s: {"args": flat_namespace(s), "model": s["model"]},
    "cfg and model": lambda s: {"cfg": s["cfg"], "model": s["model"]},
    "only options that were given": lambda s: {
        "args": flat_namespace(s, *SIZES, "source_lang", "target_lang"),
        "model": s["model"],
    },
    "empty and other entries": lambda s: {
        "args": flat_namespace(s),
        "model": s["model"],
        "cfg": None,
        "extra_state": None,
        "optimizer_history": [],
        "note": "from a friend",
    },
}
# The same, and the reason why it is refused.
REFUSED = {
    "args as a dictionary": (
        lambda s: {"args": flat(s), "model": s["model"]},
        "its args are a dict, where fairseq has an argparse.Namespace",
    ),
    "no options": (lambda s: {"model": s["model"]}, "no options of the model (cfg or args)"),
    "empty options": (lambda s: {**s, "cfg": None}, "no options of the model (cfg or args)"),
    "DataParallel": (
        lambda s: {**s, "model": {f"module.{name}": w for name, w in s["model"].items()}},
        "the names of its parameters start with 'module.'",
    ),
    "a state dictionary": (
        lambda s: s["model"],
        "parameters alone: fairseq has them under 'model'",
    ),
    "an optimizer": (lambda s: s["last_optimizer_state"], "the state of an optimizer alone"),
}


@pytest.fixture(scope="module")
def whole(trained, tmp_path_factory):
    """A checkpoint that translates every sentence in another way."""
    path = tmp_path_factory.mktemp("whole") / "checkpoint.pt"
    return randomize(trained / "checkpoint_last.pt", path)


# What a card has of each of them.
FACTS = ("| architecture |", "| layers |", "| embeddings |", "| parameters |")


def results(checkpoint, prepared, tmp_path):
    """What each command makes of a checkpoint, errors included."""
    data, output, average = prepared / "data-bin", tmp_path / "output", tmp_path / "new.pt"
    one = ["--checkpoint", checkpoint]
    search = ["--data", data, "--beam", 2, "--", "--cpu", "--max-len-a", 0, "--max-len-b", 8]
    yield outcome(translation, *one, *search, text=TEXT)[:2]
    table = ["--data", data, "--out", output, "--no-pictures", "--cpu", "--gen-subset", "test"]
    yield outcome(attention_analysis, *one, *table)[0], (output / "attention.csv").read_text()
    error, card, _ = outcome(model_card, *one)
    yield error, [line for line in card.decode().splitlines() if line.startswith(FACTS)]
    error = outcome(averaging, "--inputs", checkpoint, "--output", average)[0]
    yield error, {name: w.tolist() for name, w in torch.load(average)["model"].items()}


def answers(path, prepared, tmp_path):
    """What our commands, Python and fairseq's command make of a checkpoint."""
    words, limit = TEXT.decode().splitlines(), dict(max_len_a=0, max_len_b=8)
    translated = from_pretrained(path.parent, prepared, path.name).translate(words, 2, **limit)
    generated = generate(prepared / "data-bin", path)
    return [*results(path, prepared, tmp_path), translated, generated]


@pytest.fixture(scope="module")
def expected(whole, prepared, tmp_path_factory):
    found = answers(whole, prepared, tmp_path_factory.mktemp("expected"))
    assert all(error is None for error, *_ in found[:4]) and len(found[2][1]) == 4
    return found


@pytest.mark.parametrize("form", LOADED)
def test_a_model_with_its_options_is_enough(form, whole, prepared, expected, tmp_path):
    path = tmp_path / "published.pt"
    torch.save(LOADED[form](torch.load(whole)), path)
    assert answers(path, prepared, tmp_path) == expected


@pytest.mark.parametrize("form", ["args as a dictionary", "DataParallel"])
def test_a_training_that_starts_from_one_says_so_too(form, whole, prepared, tmp_path):
    path, (make, reason) = tmp_path / "published.pt", REFUSED[form]
    torch.save(make(torch.load(whole)), path)
    line = [prepared / "data-bin", *COMMON, *TRAINING, "--disable-validation"]
    with pytest.raises(SystemExit, match=re.escape(reason)):
        train(*line, "--save-dir", tmp_path / "new", "--finetune-from-model", path)


@pytest.mark.parametrize("form", REFUSED)
def test_what_a_model_lacks_is_said_in_one_line(form, whole, prepared, tmp_path):
    path, (make, reason) = tmp_path / "published.pt", REFUSED[form]
    torch.save(make(torch.load(whole)), path)
    data = ["--data", prepared / "data-bin"]
    for module, options in (
        (translation, [*data, "--", "--cpu"]),
        (attention_analysis, [*data, "--out", tmp_path / "output", "--cpu"]),
        (folding, ["--output", tmp_path / "output"]),
    ):
        error, _, said = outcome(module, "--checkpoint", path, *options, text=TEXT)
        assert error.startswith(f"{module.PROGRAM}: {path}: refused: ") and reason in error
        assert "\n" not in error and "Traceback" not in said
    with pytest.raises(UserError, match="refused: "):
        from_pretrained(tmp_path, prepared, path.name)
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize("mode", ["mean", "none"])
def test_they_are_folded(mode, tmp_path):
    """The heads, which are not stored, stay those of the architecture. A plain transformer has no
    type in it that torch refuses without the plugin."""
    given = dict(residual_attention=mode, sublayer_scaling="admin", encoder_layers=1)
    model, options = with_trained_omega(**given, decoder_layers=1), vars(arguments(**given))
    names = ["arch", *given, "encoder_embed_dim", "decoder_embed_dim"]
    args = argparse.Namespace(**{name: options[name] for name in names}, decoder_layers=1)
    torch.save({"args": args, "model": model.state_dict()}, tmp_path / "a.pt")
    files = ["--checkpoint", tmp_path / "a.pt", "--output", tmp_path / "b.pt"]
    assert outcome(folding, *files)[0] is None
    state = torch.load(tmp_path / "b.pt", weights_only=True)
    # The mean of several folded models is no model: the layers of each have a scale of their own.
    files = ["--inputs", tmp_path / "b.pt", tmp_path / "b.pt", "--output", tmp_path / "c.pt"]
    assert outcome(averaging, *files)[0].endswith("average first, fold afterwards")
    assert state["args"].encoder_attention_heads == 4
    assert state["args"].arch == ("transformer" if mode == "none" else "realformer_tiny")
    assert (b"cargparse\nNamespace\n" in (tmp_path / "b.pt").read_bytes()) == (mode == "mean")
