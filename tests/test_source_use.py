"""Whether a model uses its source, and the gradients of its parts: results/depth/."""

import csv
import re
from collections import defaultdict

import pytest
import torch
from commands import outcome
from fairseq_mains import log_of_training

from results.depth import gradients, source_use
from results.rows import read_rows


def test_cosine_of_tokens_of_one_sentence():
    """Padding and the pair of a token with itself do not count."""
    east, north = torch.eye(3)[:2]
    equal, apart = [2 * east, 5 * east, north], [east, north, -torch.ones(3)]
    output = torch.stack([torch.stack(equal), torch.stack(apart)]).transpose(0, 1)
    padding = torch.tensor([[False, False, True]] * 2)
    assert source_use.mean_cosine(output, padding) == pytest.approx((1 + 0) / 2)


def test_a_model_whose_encoder_says_always_the_same(prepared, trained, tmp_path):
    state = torch.load(trained / "checkpoint_last.pt", weights_only=False)
    top = "encoder.layers.1.final_layer_norm"
    state["model"][f"{top}.weight"].zero_()
    state["model"][f"{top}.bias"].fill_(1.0)
    torch.save(state, tmp_path / "deaf.pt")
    models = [f"heard-1={trained / 'checkpoint_last.pt'}", f"deaf-2={tmp_path / 'deaf.pt'}"]
    line = ["--data", prepared / "data-bin", "--out", tmp_path / "out", *models]
    assert outcome(source_use, *line)[0] is None
    heard, deaf = read_rows(source_use.SourceUse, tmp_path / "out/source_use.csv")
    assert heard[:3] == ("heard", 1, 20) and deaf[:3] == ("deaf", 2, 20)
    assert heard.valid_nll_bits != pytest.approx(heard.other_source_nll_bits, abs=1e-4)
    assert deaf.valid_nll_bits == pytest.approx(deaf.other_source_nll_bits, abs=1e-5)
    rows = read_rows(source_use.Layer, tmp_path / "out/layers.csv")
    assert len(rows) == 2 * (2 + 2)
    encoder = [row for row in rows if row.stack == "encoder"]
    assert [round(row.cosine, 5) == 1 for row in encoder] == [False, False, False, True]
    assert [row.q_gradient > 0 for row in encoder] == [True, True, False, False]


def test_gradients_of_the_parts_are_those_of_the_whole(prepared, tmp_path):
    line = [prepared / "data-bin", tmp_path / "checkpoints", "--max-update", 3, "--no-save"]
    with gradients.recorded_gradients(tmp_path / "gradients.csv"):
        log = log_of_training(*line)
    norms = defaultdict(dict)
    with open(tmp_path / "gradients.csv", newline="") as file:
        for row in csv.DictReader(file):
            norms[int(row["update"])][row["part"]] = float(row["gradient_norm"])
    wholes = [float(norm) for norm in re.findall(r"gnorm=([\d.]+)", log)]
    assert len(wholes) == 3
    for whole, parts in zip(wholes, norms.values()):
        apart = [norm for part, norm in parts.items() if "queries" not in part]
        assert len(apart) == 4  # two of three thirds, as there are two layers
        assert sum(norm**2 for norm in apart) ** 0.5 == pytest.approx(whole, rel=1e-2)
        assert 0 < parts["encoder 1/3, queries and keys"] < parts["encoder 1/3"]
