"""8-bit integers in linear layers: how close, and everywhere."""

import pytest
import torch
from models import batch, build, logits
from torch import nn

from realformer_fairseq.inference.int8 import int8_linear, quantize


def test_a_layer_is_within_its_resolution():
    """Weights and inputs are off by at most half of their step, and so is the sum of products."""
    torch.manual_seed(1)
    plain, x = nn.Linear(64, 32), torch.randn(9, 64)
    weight_steps = plain.weight.abs().amax(1) / 127  # of each output
    input_step = (x.max() - x.min()) / 127  # half of the levels, where the processor needs it
    bound = (x.abs().sum(1, keepdim=True) * weight_steps) / 2 + (
        plain.weight.abs().sum(1) * input_step
    )
    with torch.no_grad():
        error = (int8_linear(plain.weight, plain.bias)(x) - plain(x)).abs()
    assert (error <= bound).all() and error.max() > 0


@pytest.mark.parametrize("arch", ["realformer_tiny", "transformer"])
def test_every_linear_layer_is_replaced_and_the_model_says_much_the_same(arch):
    model = build(arch, share_all_embeddings=True).eval()
    source, previous = batch()
    with torch.no_grad():
        expected = torch.softmax(logits(model, source, previous), -1)
        quantize(model)
        assert not any(isinstance(module, nn.Linear) for module in model.modules())
        found = torch.softmax(logits(model, source, previous), -1)
    assert 0 < (found - expected).abs().max() < 0.02


def test_one_product_for_queries_keys_and_values_changes_nothing():
    model = build().eval()
    model.encoder.layers[0].can_use_fastpath = True  # as fairseq 0.12.2 has in its own layers
    quantize(model)
    assert not model.encoder.layers[0].can_use_fastpath
    attention = model.decoder.layers[0].self_attn
    x = torch.randn(1, 7, 16)
    with torch.no_grad():
        q, step = attention._project_step(x, x, x)
        expected = [layer(x) for layer in (attention.q_proj, attention.k_proj, attention.v_proj)]
    for a, b in zip([q, step[:, 0], step[:, 1]], expected):
        torch.testing.assert_close(a, b)
