"""A checkpoint of each released version loads, and answers as it did then.

``make_pinned_checkpoint.py`` and ``make_pinned_language_models.py`` in ``tests/data`` made them. A
failure here means that a user's trained models would answer differently: never make a pinned
checkpoint anew to pass.
"""

import json
from pathlib import Path

import pinned_language_models
import pytest
import torch
from conftest import PROJECT, run
from pinned_checkpoints import BEAM, EXPECTED, PAIRS, load, outputs

from realformer_fairseq import RealFormerModel
from realformer_fairseq.modules.residual_attention import ResidualMultiheadAttention

DATA = Path(__file__).resolve().parent / "data"
FOLDERS = sorted(DATA.glob("realformer-*"))
TOLERANCE = 1e-4


def test_there_is_a_pinned_checkpoint():
    """It is small, and .gitignore, which is about users' data, leaves it in."""
    assert FOLDERS
    for folder in FOLDERS:
        assert sum(file.stat().st_size for file in folder.iterdir()) < 200_000
        ignored = run("git", "-C", PROJECT, "check-ignore", folder / EXPECTED, check=False)
        assert ignored.stdout == ""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_answers_as_it_did(folder):
    """With residual scores in every chain and a trained omega; from Python, too."""
    model, task = load(folder)
    for name, module in model.named_modules():
        if isinstance(module, ResidualMultiheadAttention):
            assert module.residual_attention == "mean", name
    omega = [value for name, value in model.named_parameters() if name.endswith(".omega")]
    assert len(omega) == 15  # 3 encoder layers of 2 sub-layers, 3 decoder layers of 3
    assert all(value.std() > 0.001 for value in omega)

    expected = json.loads((folder / EXPECTED).read_text("utf-8"))
    found = outputs(model, task)
    lprobs = [torch.tensor(values["log_probabilities"]) for values in (found, expected)]
    torch.testing.assert_close(*lprobs, rtol=0, atol=TOLERANCE)
    for beam, expected_beam in zip(found["hypotheses"], expected["hypotheses"]):
        assert [one["words"] for one in beam] == [one["words"] for one in expected_beam]
        for one, expected_one in zip(beam, expected_beam):
            assert one["score"] == pytest.approx(expected_one["score"], abs=TOLERANCE)
            scores = expected_one["positional_scores"]
            assert one["positional_scores"] == pytest.approx(scores, abs=TOLERANCE)

    hub = RealFormerModel.from_pretrained(str(folder), "checkpoint.pt", data_name_or_path=".")
    best = [beam[0]["words"] for beam in expected["hypotheses"]]
    assert hub.translate([source for source, _ in PAIRS], beam=BEAM, max_len_b=12) == best


@pytest.mark.parametrize("model", pinned_language_models.MODELS)
def test_language_models_answer_as_they_did(model):
    """With scores carried, a trained omega, and segments and BERT's epsilon in one of them."""
    folder = DATA / "language-models-0.2"
    expected = json.loads((folder / EXPECTED).read_text("utf-8"))[model]
    found = torch.tensor(pinned_language_models.answers(folder, model))
    torch.testing.assert_close(found, torch.tensor(expected), rtol=0, atol=TOLERANCE)
