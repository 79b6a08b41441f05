"""Scaled residual connections: formulas, equality with fairseq, and what they do to depth."""

import itertools
import math

import pytest
import torch
from models import batch, build, build_with_weights_of, logits, without_dropout

from realformer_fairseq.modules.sublayer_scaling import (
    SUBLAYER_SCALING_CHOICES,
    ScaledResidual,
    analytic_omega,
    deepnorm,
)
from realformer_fairseq.training.admin_profile import profile

SCALINGS = [scaling for scaling in SUBLAYER_SCALING_CHOICES if scaling != "none"]


def omegas(model):
    return {name: value for name, value in model.state_dict().items() if name.endswith(".omega")}


def test_the_connection_is_the_documented_one():
    omega, x, residual = torch.tensor([2.0, -1.0, 0.5]), torch.randn(4, 2, 3), torch.randn(4, 2, 3)
    torch.testing.assert_close(ScaledResidual(omega)(x, residual), x + residual * omega)
    assert torch.equal(ScaledResidual()(x, residual), residual + x)


@pytest.mark.parametrize("sublayers, omega", [(120, 4.92), (36, 3.04)])
def test_analytic_omega_of_admin_torch(sublayers, omega):
    assert analytic_omega(sublayers) == pytest.approx(omega, abs=0.005)


def test_deepnorm_constants_of_the_paper():
    """The paper's figure 2, at 60-12; and its table for N = M = 6."""
    assert deepnorm("encoder", 60, 12) == pytest.approx((2.63, 0.268), abs=0.005)
    assert deepnorm("decoder", 60, 12) == pytest.approx((2.45, 0.289), abs=0.005)
    assert deepnorm("decoder", 6, 6) == pytest.approx((18**0.25, 72**-0.25))


def test_omega_is_named_after_its_sublayer_and_trained():
    model = build(sublayer_scaling="admin-analytic", encoder_layers=2, decoder_layers=1)
    expected = {f"encoder.layers.{i}.{s}": 4 for i in (0, 1) for s in ("self_attn", "ffn")}
    expected |= {f"decoder.layers.0.{s}": 3 for s in ("self_attn", "encoder_attn", "ffn")}
    found = omegas(model)
    assert found.keys() == {f"{name}_residual.omega" for name in expected}
    for name, sublayers in expected.items():
        omega = found[f"{name}_residual.omega"]
        assert omega.shape == (16,) and len(omega.unique()) == 1
        assert omega[0].item() == pytest.approx(analytic_omega(sublayers))
    parameters = dict(model.named_parameters())
    assert found.keys() <= parameters.keys()
    logits(without_dropout(model), *batch()).pow(2).sum().backward()
    assert all(parameters[name].grad.abs().sum() > 0 for name in found)


def test_without_cross_attention_the_decoder_has_two_sublayers_a_layer():
    model = build(sublayer_scaling="admin-analytic", no_cross_attention=True)
    found = {n: v[0].item() for n, v in omegas(model).items() if n.startswith("decoder")}
    assert len(found) == 6
    assert list(found.values()) == pytest.approx([analytic_omega(6)] * 6)


def test_deepnorm_is_in_the_checkpoint_but_not_trained():
    """So that a model of which layers are left out keeps the alpha it was trained with."""
    model = build(sublayer_scaling="deepnorm")
    alphas = omegas(model)
    assert not alphas.keys() & dict(model.named_parameters()).keys()
    for stack in ("encoder", "decoder"):
        values = [v.item() for name, v in alphas.items() if name.startswith(stack)]
        assert values == pytest.approx([deepnorm(stack, 3, 3).alpha] * len(values))
    kept = dict(encoder_layers_to_keep="0,2", decoder_layers_to_keep="0,1")
    shallow = build(sublayer_scaling="deepnorm", **kept)
    state = model.state_dict()
    shallow.upgrade_state_dict(state)
    shallow.load_state_dict(state, model_cfg=shallow.cfg)
    alpha = shallow.encoder.layers[1].ffn_residual.omega
    assert alpha.item() == pytest.approx(deepnorm("encoder", 3, 3).alpha)


def test_deepnorm_initialises_each_weight_with_its_gain():
    """Xavier's normal distribution has the variance 2 gain^2 / (fan in + fan out)."""
    model = build(
        sublayer_scaling="deepnorm", encoder_embed_dim=128, encoder_ffn_embed_dim=256,
        decoder_embed_dim=128, decoder_ffn_embed_dim=256,
    )  # fmt: skip
    for stack in ("encoder", "decoder"):
        beta = deepnorm(stack, 3, 3).beta
        layer = model.get_submodule(stack).layers[1]
        gains = {"fc1": beta, "fc2": beta, "self_attn.q_proj": 1, "self_attn.k_proj": 1}
        gains |= {"self_attn.v_proj": beta, "self_attn.out_proj": beta}
        if stack == "decoder":
            gains |= {"encoder_attn.v_proj": beta, "encoder_attn.q_proj": 1}
        for name, gain in gains.items():
            weight = layer.get_submodule(name).weight
            expected = gain * math.sqrt(2 / sum(weight.shape))
            assert weight.std().item() == pytest.approx(expected, rel=0.03), name


@pytest.mark.parametrize("mode", ["mean", "none"])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_plain_checkpoint_is_a_model_with_omega_1(scaling, mode):
    plain = build(residual_attention=mode).eval()
    scaled = build(seed=2, residual_attention=mode, sublayer_scaling=scaling).eval()
    scaled.load_state_dict(plain.state_dict())
    torch.testing.assert_close(logits(scaled, *batch()), logits(plain, *batch()))


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scaling_changes_the_output_and_survives_saving(scaling):
    plain, scaled = build().eval(), build(sublayer_scaling=scaling).eval()
    for name, omega in omegas(scaled).items():
        scaled.state_dict()[name].copy_(torch.rand(omega.shape) + 1)
    out = logits(scaled, *batch())
    assert (out - logits(plain, *batch())).abs().max() > 1e-3
    again = build_with_weights_of(scaled, sublayer_scaling=scaling).eval()
    assert torch.equal(logits(again, *batch()), out)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_pre_ln_is_refused_with_both_flags(scaling, stack):
    message = f"--sublayer-scaling {scaling} .*--{stack}-normalize-before"
    with pytest.raises(ValueError, match=message):
        build(sublayer_scaling=scaling, **{f"{stack}_normalize_before": True})


def output_change(model, tokens):
    """Mean squared change of the encoder's output when every weight moves by 1 % of its spread."""
    model.eval()
    before = model.encoder(tokens)["encoder_out"][0]
    torch.manual_seed(100)
    for layer in model.encoder.layers:
        for parameter in layer.parameters():
            if parameter.dim() == 2:
                parameter.add_(0.01 * parameter.std() * torch.randn_like(parameter))
    return (model.encoder(tokens)["encoder_out"][0] - before).pow(2).mean().item()


@torch.no_grad()
def test_output_change_grows_with_the_log_of_the_depth_for_admin_and_linearly_for_post_ln():
    """At initialisation, from 6 to 60 encoder layers; theorem 2 of arXiv 2004.08249.

    Measured, mean of three perturbations: Post-LN 34 times as much, ADMIN 4.2 times, of which 1.36
    from 24 to 60 layers (log 60 / log 24 is 1.29); the analytic omega 2.4 times.
    """
    tokens = torch.randint(4, 40, (16, 12), generator=torch.Generator().manual_seed(0))
    net_input = dict(src_tokens=tokens, src_lengths=None, prev_output_tokens=tokens)
    growth = {}
    for scaling in ("none", "admin", "admin-analytic", "deepnorm"):
        changes = []
        for layers in (6, 60):
            model = build(
                encoder_layers=layers, decoder_layers=12, sublayer_scaling=scaling,
                encoder_embed_dim=64, encoder_ffn_embed_dim=128, decoder_embed_dim=64,
            )  # fmt: skip
            if scaling == "admin":
                profile(model.train(), net_input)
            changes.append(output_change(model, tokens))
        growth[scaling] = changes[1] / changes[0]
    assert growth["none"] > 10  # ten times as deep
    assert growth["admin"] < 6 and growth["admin-analytic"] < 4
    assert growth["deepnorm"] < 1  # its bound does not depend on the depth


@pytest.mark.parametrize("mode", ["mean", "sum"])
@pytest.mark.parametrize(
    "scaling, dtype",
    [
        ("none", torch.float32),
        *itertools.product(("admin-analytic", "deepnorm"), (torch.bfloat16, torch.float16)),
    ],
)
def test_sixty_layers_are_finite_in_half_precision_if_scaled(scaling, mode, dtype):
    """Logits and gradients of a 60-12 model, of which no value may overflow."""
    options = dict(residual_attention=mode, sublayer_scaling=scaling)
    model = without_dropout(build(encoder_layers=60, decoder_layers=12, **options)).to(dtype)
    out = logits(model, *batch())
    out.float().pow(2).mean().backward()
    assert out.dtype == dtype and out.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
