"""Dropout on a CPU: what it keeps, how much of it, and where it is drawn from."""

import pytest
import torch
from fairseq.modules import FairseqDropout
from models import batch, build, logits

from realformer_fairseq.modules.dropout import Dropout, dropout_mask


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
def test_dropped_share_and_scale(p):
    """The share is within five standard deviations of a binomial, what is kept has the mean 1."""
    torch.manual_seed(1)
    size = 400_000
    mask = dropout_mask(torch.empty(size), p)
    dropped = (mask == 0).float().mean().item()
    assert abs(dropped - p) < 5 * (p * (1 - p) / size) ** 0.5 + 1 / 65536
    assert mask.unique().numel() == 2
    assert mask.max().item() == pytest.approx(1 / (1 - p), rel=1e-4)


def test_neighbours_are_independent():
    """Four elements share a draw; each pair of them agrees as often as chance has it."""
    torch.manual_seed(2)
    kept = (dropout_mask(torch.empty(100_000, 4), 0.5) > 0).float()
    correlation = torch.corrcoef(kept.T)
    assert (correlation - torch.eye(4)).abs().max() < 5 / 100_000**0.5


@pytest.mark.parametrize("p, value", [(0.0, 1.0), (1.0, 0.0)])
@pytest.mark.parametrize("size", [(0,), (1,), (3,), (2, 3, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_shape_and_type_and_nothing_or_all_dropped(size, dtype, p, value):
    empty = torch.empty(size, dtype=dtype)
    assert torch.equal(dropout_mask(empty, p), torch.full(size, value, dtype=dtype))
    mask = dropout_mask(empty, 0.3)
    assert mask.shape == size and mask.dtype == dtype


def test_seed_repeats_it():
    masks = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        masks.append(dropout_mask(torch.empty(100), 0.5))
    assert torch.equal(*masks[:2]) and not torch.equal(*masks[1:])


def test_gradient_passes_where_the_value_did():
    torch.manual_seed(4)
    module = Dropout(0.5)
    x = torch.ones(1000, requires_grad=True)
    y = module(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_every_dropout_of_the_model_is_ours_and_only_works_in_training():
    model = build(dropout=0.3, attention_dropout=0.2, activation_dropout=0.1)
    modules = [m for m in model.modules() if isinstance(m, FairseqDropout)]
    assert {type(m) for m in modules} == {Dropout} and {m.p for m in modules} == {0.1, 0.2, 0.3}
    source, previous = batch()
    first, second = (logits(model.train(), source, previous) for _ in range(2))
    assert not torch.equal(first, second)
    first, second = (logits(model.eval(), source, previous) for _ in range(2))
    assert torch.equal(first, second)


def test_dropout_that_is_retained_works_in_inference():
    module = Dropout(0.5, module_name="RealFormerEncoder").eval()
    x = torch.ones(1000)
    assert torch.equal(module(x), x)
    module.make_generation_fast_(name="", retain_dropout=True)
    assert (module(x) == 0).any()
