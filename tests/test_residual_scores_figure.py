"""scripts/draw_residual_attention.sh, and the scores it reads out of a model."""

import pytest
import torch
from commands import error_of
from models import EOS, build, eager_scores

from realformer_fairseq.analysis import residual_scores_figure
from realformer_fairseq.analysis.carried_scores import scores_by_layer
from realformer_fairseq.analysis.residual_scores_figure import parts_of
from realformer_runtime.command_line import UserError

PNG = b"\x89PNG\r\n\x1a\n"
HEAD = 1


class OnePair:
    """A data set of one sentence pair."""

    def __getitem__(self, number):
        return number

    def collater(self, samples):
        source = torch.tensor([[7, 9, 8, 11, EOS]])
        previous = torch.tensor([[EOS, 12, 10, 7]])
        inputs = dict(src_tokens=source, src_lengths=torch.tensor([5]), prev_output_tokens=previous)
        return {"net_input": inputs}


@pytest.mark.parametrize("attention", ["encoder", "cross"])
@pytest.mark.parametrize("kind", ["mean", "sum"])
def test_what_is_drawn_adds_up(kind, attention):
    model = build(residual_attention=kind).eval()
    layers = scores_by_layer(model, OnePair(), 0, attention, HEAD)
    places = {"encoder": ("encoder", "self_attn"), "cross": ("decoder", "encoder_attn")}
    inputs = OnePair().collater([0])["net_input"].values()
    expected = [each[0, HEAD] for each in eager_scores(model, *places[attention], *inputs)]
    assert len(layers) == len(expected) == 3
    assert layers[0].carried is None and torch.allclose(layers[0].fresh, expected[0], atol=1e-5)
    for layer, scores in zip(layers, expected):
        assert torch.allclose(layer.scores, scores, atol=1e-5)
        assert torch.allclose(layer.attention, layer.scores.softmax(-1), atol=1e-6)
    for number, (below, layer) in enumerate(zip(layers, layers[1:]), start=1):
        share = number / (number + 1) if kind == "mean" else 1
        fresh_share = 1 / (number + 1) if kind == "mean" else 1
        assert (layer.carry, layer.fresh_weight) == pytest.approx((share, fresh_share))
        assert torch.equal(layer.carried, below.scores)
        parts = share * layer.carried + fresh_share * layer.fresh
        assert torch.allclose(layer.scores, parts, atol=1e-5)
    assert not any(module._forward_hooks for module in model.modules())
    (caption, below), (_, own), (_, scores), _ = parts_of(layers[2])
    assert (caption == "0.67 × scores of the layer below") == (kind == "mean")
    assert torch.allclose(below + own, scores, atol=1e-5)


@pytest.fixture
def given(prepared, trained):
    checkpoint = trained / "checkpoint_last.pt"
    return ["--checkpoint", checkpoint, "--data", prepared / "data-bin", "--output"]


def test_script_draws(given, tmp_path):
    output = tmp_path / "a picture.png"
    assert error_of(residual_scores_figure, *given, output, "--sentence", 2) is None
    assert output.read_bytes().startswith(PNG) and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "extra, words",
    [
        (["--sentence", "20"], ["--sentence 20", "0 to 19"]),
        (["--sentence", "-1"], ["--sentence", "'-1'"]),
        (["--head", "4"], ["--head 4", "0 to 3"]),
        (["--gen-subset", "nowhere"], ["--gen-subset nowhere"]),
        (["--attention", "self"], ["--attention", "'self'", "cross"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_mistakes_get_one_line(extra, words, given, tmp_path):
    error = error_of(residual_scores_figure, *given, tmp_path / "a.png", *extra)
    assert error.startswith("draw_residual_attention.sh: ") and "\n" not in error
    assert all(word in error for word in words), error
    assert not list(tmp_path.iterdir())


def test_without_residual_scores_there_is_nothing_to_draw():
    model = build(residual_attention="mean", residual_chains="cross").eval()
    with pytest.raises(UserError, match="--attention encoder"):
        scores_by_layer(model, OnePair(), 0, "encoder", 0)
    assert len(scores_by_layer(model, OnePair(), 0, "cross", 0)) == 3
