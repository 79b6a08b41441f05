"""The chain of scores: closed forms, masks, gradients, precision."""

import pytest
import torch
from models import MODES, PAD, batch, build, logits, without_dropout

from benchmarks.eager_realformer import EagerAttention
from realformer_fairseq.modules.residual_attention import ResidualMultiheadAttention
from realformer_fairseq.modules.residual_scores import (
    additive_mask,
    attention_probabilities,
    chain_weights,
    chained_scores,
)


def attention(mode, seed=1, **options):
    torch.manual_seed(seed)
    return ResidualMultiheadAttention(
        8, 2, residual_attention=mode, self_attention=True, **options
    ).eval()


@pytest.mark.parametrize("mode", MODES)
def test_two_layers_are_the_formula(mode):
    """In the weights of each head, too, which fairseq asks for by itself."""
    scores = expected_scores = None
    for number in (0, 1):
        layer, plain = attention(mode, number), attention(mode, number)
        plain.__class__ = EagerAttention
        x = torch.randn(5, 3, 8)
        expected, _, expected_scores = plain(
            x, x, x, previous_scores=expected_scores, layers_traversed=number
        )
        carried = dict(previous_scores=scores, layers_traversed=number)
        out, weights, scores = layer(x, x, x, need_head_weights=True, **carried)
        torch.testing.assert_close(out, expected)
        probabilities = expected_scores.softmax(-1).transpose(0, 1)
        torch.testing.assert_close(weights, probabilities)
        if mode == "none":
            assert scores is None
        else:
            torch.testing.assert_close(scores, expected_scores.flatten(0, 1))


@pytest.mark.parametrize("depth", [1, 2, 7, 60])
def test_mean_carries_the_mean_of_all_fresh_scores(depth):
    torch.manual_seed(0)
    qk = [(torch.randn(2, 3, 4), torch.randn(2, 5, 4)) for _ in range(depth)]
    scores = None
    for n, (q, k) in enumerate(qk):
        scores = chained_scores(q, k, scores, 0.5, "mean", n)
    fresh = torch.stack([0.5 * q @ k.transpose(1, 2) for q, k in qk])
    torch.testing.assert_close(scores, fresh.mean(0), atol=1e-5, rtol=1e-5)


def test_chain_weights():
    assert chain_weights("mean", 0) == chain_weights("sum", 0) == (0.0, 1.0)
    assert chain_weights("mean", 3) == (0.75, 0.25)
    assert chain_weights("sum", 3) == (1.0, 1.0)
    assert chain_weights("none", 3) == (0.0, 1.0)


@pytest.mark.parametrize("mode", MODES)
def test_without_scores_from_below_a_layer_anywhere_is_the_first(mode):
    q, k = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    scores = chained_scores(q, k, None, 0.5, mode, 3)
    torch.testing.assert_close(scores, 0.5 * q @ k.transpose(1, 2))


@pytest.mark.parametrize("mode", ["mean", "sum"])
def test_masks_do_not_enter_the_chain(mode):
    layer = attention(mode)
    x, previous = torch.randn(5, 3, 8), torch.randn(6, 5, 5)
    padding = torch.zeros(3, 5, dtype=torch.bool)
    padding[1, :2] = True
    future = torch.triu(torch.full((5, 5), float("-inf")), 1)
    carried = dict(previous_scores=previous, layers_traversed=2)
    _, _, plain = layer(x, x, x, **carried)
    _, weights, masked = layer(
        x, x, x, key_padding_mask=padding, attn_mask=future, need_head_weights=True, **carried
    )
    assert torch.equal(plain, masked)
    assert (weights[..., future.isinf()][:, [0, 2]] == 0).all()
    assert (weights[:, 1, 2:, :2] == 0).all()  # rows that see a key that is not padding
    assert (weights.sum(-1) - 1).abs().max() < 1e-5


def test_fully_masked_row_is_uniform_and_has_finite_gradients():
    scores = torch.randn(2, 3, 4, requires_grad=True)
    everything = torch.ones(1, 4, dtype=torch.bool)
    infinite = torch.full((3, 4), float("-inf"))
    for mask, padding in ((None, everything), (infinite, None), (infinite, everything)):
        probabilities = attention_probabilities(scores, additive_mask(mask, padding), 2)
        torch.testing.assert_close(probabilities, torch.full((2, 3, 4), 0.25))
        (gradient,) = torch.autograd.grad(probabilities.pow(2).sum(), scores)
        assert gradient.isfinite().all()


@pytest.mark.parametrize("mode", MODES)
def test_source_without_words_is_finite(mode):
    """A row of nothing but padding in the encoder and in cross-attention."""
    source, previous = batch()
    source[1] = PAD
    model = without_dropout(build(residual_attention=mode))
    out = logits(model, source, previous)
    out.sum().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("mode", ["mean", "sum"])
@pytest.mark.parametrize(
    "chain, below, above",
    [
        ("encoder", "encoder.layers.0.self_attn", "encoder.layers.1.self_attn"),
        ("decoder", "decoder.layers.0.self_attn", "decoder.layers.1.self_attn"),
        ("cross", "decoder.layers.0.encoder_attn", "decoder.layers.1.encoder_attn"),
    ],
)
def test_gradient_reaches_the_layer_below_through_the_scores(mode, chain, below, above):
    """What the second layer attends to depends on the first layer's q_proj even if the first
    layer's output is cut off."""
    for chains, reached in ((chain, True), ("encoder,decoder,cross".replace(chain, ""), False)):
        chains = ",".join(filter(None, chains.split(",")))
        model = without_dropout(build(residual_attention=mode, residual_chains=chains))
        lower, upper = model.get_submodule(below), model.get_submodule(above)
        lower.out_proj.register_forward_hook(lambda _, __, out: out.detach())
        upper.register_forward_hook(lambda layer, __, out: setattr(layer, "attended", out[0]))
        logits(model, *batch())
        upper.attended.pow(2).sum().backward()
        gradient = lower.q_proj.weight.grad
        assert (gradient is not None and gradient.abs().sum() > 0) == reached


def test_half_precision_sum_is_carried_in_float32():
    q, k = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    first = chained_scores(q.bfloat16(), k.bfloat16(), None, 0.5, "sum", 0)
    second = chained_scores(q.bfloat16(), k.bfloat16(), first, 0.5, "sum", 1)
    assert first.dtype == second.dtype == torch.float32
    torch.testing.assert_close(second, q @ k.transpose(1, 2), atol=0.05, rtol=0.02)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixty_layers_of_mean_lose_nothing_in_half_precision(dtype):
    """The reason why the mean is carried in the working type: against float64 it is off by no
    more than four times the rounding of a single layer's scores in that type."""
    torch.manual_seed(0)
    half, exact, single = None, None, 0.0
    for n in range(60):
        q, k = torch.randn(4, 16, 64), torch.randn(4, 16, 64)
        half = chained_scores(q.to(dtype), k.to(dtype), half, 0.125, "mean", n)
        q, k = q.to(dtype).double(), k.to(dtype).double()
        exact = chained_scores(q, k, exact, 0.125, "mean", n)
        fresh = 0.125 * q @ k.transpose(1, 2)
        single = max(single, (fresh.to(dtype).double() - fresh).abs().mean().item())
    assert half.dtype == dtype
    assert (half.double() - exact).abs().mean() < 4 * single


@pytest.mark.parametrize("option", ["add_bias_kv", "add_zero_attn"])
def test_what_attention_does_not_do_is_refused(option):
    with pytest.raises(ValueError, match=option):
        attention("mean", **{option: True})
    with pytest.raises(ValueError, match="xformers"):
        build(encoder_xformers_att_config="{'name': 'scaled_dot_product'}")
