"""A checkpoint of each released version loads, and answers as it did then.

``tests/data/make_pinned_checkpoint.py`` made them. A failure here means that a user's trained
models would translate differently: never make a pinned checkpoint anew to pass.
"""

import json
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from conftest import run
from fairseq import checkpoint_utils
from fairseq.data.data_utils import collate_tokens

from realformer_fairseq import RealFormerModel
from realformer_fairseq.residual_attention import ResidualMultiheadAttention

FOLDERS = sorted((Path(__file__).resolve().parent / "data").glob("realformer-*"))
EXPECTED = "expected.json"
# Of unequal lengths, so that a batch of them has padding; the last has a word seen by no one.
PAIRS = (
    ("three one four", "quatre un trois"),
    ("ten nine eight seven six five four", "quatre cinq six sept huit neuf dix"),
    ("two two hundred", "deux"),
)
BEAM = 4
TOLERANCE = 1e-4


def load(folder: Path):
    """``(model, task)``, as ``fairseq-generate`` loads them."""
    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(folder / "checkpoint.pt")], arg_overrides={"data": str(folder)}
    )
    return models[0].eval(), task


def batch(task):
    """Sources ``(B, S)``, padded on the left, their lengths, and targets shifted ``(B, T)``."""
    dictionaries = (task.source_dictionary, task.target_dictionary)
    sources, targets = (
        [dictionary.encode_line(sentence, add_if_not_exist=False).long() for sentence in sentences]
        for dictionary, sentences in zip(dictionaries, zip(*PAIRS))
    )
    pad, eos = task.target_dictionary.pad(), task.target_dictionary.eos()
    return {
        "src_tokens": collate_tokens(sources, pad, eos, left_pad=True),
        "src_lengths": torch.tensor([len(source) for source in sources]),
        "prev_output_tokens": collate_tokens(targets, pad, eos, move_eos_to_beginning=True),
    }


@torch.no_grad()
def log_probabilities(model, task):
    """Of every type at each position of the given translations, ``(B, T, V)``."""
    output = model(**batch(task))
    return model.get_normalized_probs(output, log_probs=True)


@torch.no_grad()
def hypotheses(model, task):
    """Of a beam search for each source sentence: words, score, score of each token."""
    generator = task.build_generator([model], Namespace(beam=BEAM, max_len_b=12))
    found = task.inference_step(generator, [model], {"net_input": batch(task)})
    return [
        [
            {
                "words": task.target_dictionary.string(one["tokens"]),
                "score": float(one["score"]),
                "positional_scores": one["positional_scores"].tolist(),
            }
            for one in beam
        ]
        for beam in found
    ]


def outputs(model, task):
    """All that is pinned, as plain numbers and strings."""
    return {
        "log_probabilities": log_probabilities(model, task).tolist(),
        "hypotheses": hypotheses(model, task),
    }


def test_there_is_a_pinned_checkpoint(project):
    """It is small, and .gitignore, which is about users' data, leaves it in."""
    assert FOLDERS
    for folder in FOLDERS:
        assert sum(file.stat().st_size for file in folder.iterdir()) < 200_000
        ignored = run("git", "-C", project, "check-ignore", folder / EXPECTED, check=False)
        assert ignored.stdout == ""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_has_residual_scores_in_every_chain_and_a_trained_omega(folder):
    model, _ = load(folder)
    for name, module in model.named_modules():
        if isinstance(module, ResidualMultiheadAttention):
            assert module.residual_attention == "mean", name
    omega = [value for name, value in model.named_parameters() if name.endswith(".omega")]
    assert len(omega) == 15  # 3 encoder layers of 2 sub-layers, 3 decoder layers of 3
    assert all(value.std() > 0.001 for value in omega)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_answers_as_it_did(folder):
    expected = json.loads((folder / EXPECTED).read_text("utf-8"))
    found = outputs(*load(folder))
    torch.testing.assert_close(
        torch.tensor(found["log_probabilities"]),
        torch.tensor(expected["log_probabilities"]),
        rtol=0,
        atol=TOLERANCE,
    )
    for beam, expected_beam in zip(found["hypotheses"], expected["hypotheses"]):
        assert [one["words"] for one in beam] == [one["words"] for one in expected_beam]
        for one, expected_one in zip(beam, expected_beam):
            assert one["score"] == pytest.approx(expected_one["score"], abs=TOLERANCE)
            assert one["positional_scores"] == pytest.approx(
                expected_one["positional_scores"], abs=TOLERANCE
            )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_translates_from_python(folder):
    expected = json.loads((folder / EXPECTED).read_text("utf-8"))
    hub = RealFormerModel.from_pretrained(str(folder), "checkpoint.pt", data_name_or_path=".")
    sources = [source for source, _ in PAIRS]
    best = [beam[0]["words"] for beam in expected["hypotheses"]]
    assert hub.translate(sources, beam=BEAM, max_len_b=12) == best
