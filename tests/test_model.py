"""The whole model against fairseq's own Transformer, and what training asks of it."""

import argparse

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from models import (
    MODES,
    PAD,
    assert_close,
    batch,
    build,
    build_with_weights_of,
    logits,
    without_dropout,
)

from realformer_fairseq.models.architectures import ARCHITECTURES
from realformer_fairseq.modules.encoder_layer import FAST_PATH_PARAMETERS
from realformer_fairseq.modules.sublayer_scaling import SUBLAYER_SCALING_CHOICES

# Options under which a realformer without residual scores is fairseq's Transformer.
VARIANTS = {
    "Post-LN": {},
    "Pre-LN": dict(encoder_normalize_before=True, decoder_normalize_before=True),
    "shared embeddings": dict(share_all_embeddings=True),
    "learned positions": dict(encoder_learned_pos=True, decoder_learned_pos=True),
    "no positions": dict(no_token_positional_embeddings=True),
    "layernorm embedding": dict(layernorm_embedding=True, no_scale_embedding=True),
    "one layer": dict(encoder_layers=1, decoder_layers=1),
    "narrow decoder": dict(decoder_embed_dim=12, decoder_input_dim=12, decoder_output_dim=12),
    "adaptive softmax": dict(adaptive_softmax_cutoff="10,20"),
    "cross+self-attention": dict(cross_self_attention=True, no_cross_attention=True),
    "no cross-attention": dict(no_cross_attention=True),
    "gelu": dict(activation_fn="gelu"),
    "tanh": dict(activation_fn="tanh"),
    "adaptive input and softmax": dict(adaptive_input=True, adaptive_softmax_cutoff="10,20"),
    "adaptive softmax factor": dict(adaptive_softmax_cutoff="10", adaptive_softmax_factor=2),
    "narrow output": dict(decoder_output_dim=12),
    "NormFormer": dict(scale_attn=True, scale_fc=True, scale_heads=True, scale_resids=True),
    "Pre-LN without the last norm": dict(
        encoder_normalize_before=True, decoder_normalize_before=True, no_decoder_final_norm=True
    ),
    "one embedding": dict(merge_src_tgt_embed=True),
    "LayerDrop": dict(encoder_layerdrop=0.5, decoder_layerdrop=0.5),
    "unequal depth": dict(encoder_layers=5, decoder_layers=1),
}


def without_second_set(names):
    """Parameters without those that only fairseq 0.12.2's Transformer has, and never trains."""
    return {name for name in names if name.split(".")[-1] not in FAST_PATH_PARAMETERS}


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_none_equals_fairseqs_transformer(options, training):
    vanilla = build("transformer", **options)
    ours = build_with_weights_of(vanilla, residual_attention="none", **options)
    source, previous = batch()
    for model in (vanilla, ours):
        without_dropout(model).train(training)
    expected, actual = (logits(model, source, previous) for model in (vanilla, ours))
    assert_close(actual, expected)

    for out in (expected, actual):
        out[previous.ne(PAD)].pow(2).mean().backward()
    gradients = dict(ours.named_parameters())
    for name, parameter in vanilla.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(
                gradients[name].grad, parameter.grad, atol=1e-5, rtol=1e-4, msg=name
            )


@pytest.mark.parametrize("mode", MODES)
def test_initialisation_is_fairseqs(mode):
    vanilla, ours = build("transformer", seed=5), build(seed=5, residual_attention=mode)
    state, ours_state = vanilla.state_dict(), ours.state_dict()
    assert without_second_set(state) == ours_state.keys()
    for name, value in ours_state.items():
        if not name.endswith("_float_tensor"):  # of fairseq 0.12.2: only its type is used
            assert torch.equal(value, state[name]), name


def test_residual_scores_change_the_output():
    source, previous = batch()
    model = build(residual_attention="none").eval()
    outputs = [logits(model, source, previous)]
    for mode in ("mean", "sum"):
        for chains in ("encoder", "decoder", "cross", "encoder,decoder,cross"):
            other = build_with_weights_of(model, residual_attention=mode, residual_chains=chains)
            outputs.append(logits(other.eval(), source, previous))
    for i, first in enumerate(outputs):
        for second in outputs[:i]:
            assert (first - second).abs().max() > 1e-3


@pytest.mark.parametrize("mode", MODES)
def test_padded_batch_equals_batches_of_one(mode):
    model = build(residual_attention=mode).eval()
    source, previous = batch()
    together = logits(model, source, previous)
    for i in range(len(source)):
        words = source[i : i + 1, source[i].ne(PAD)]
        target = previous[i : i + 1, previous[i].ne(PAD)]
        alone = logits(model, words, target)
        assert_close(alone[0], together[i, : target.size(1)])


def parameters_without_gradient(model):
    out = logits(without_dropout(model), *batch())
    (out * torch.randn_like(out)).sum().backward()
    return {name for name, parameter in model.named_parameters() if parameter.grad is None}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", VARIANTS)
def test_every_parameter_gets_a_gradient(mode, name):
    """DDP stops on one that does not. Some options leave some out in fairseq's Transformer, too:
    the encoder without cross-attention, the output without the adaptive softmax's criterion."""
    without = parameters_without_gradient(build(residual_attention=mode, **VARIANTS[name]))
    if name == "no cross-attention" or "adaptive" in name:
        vanilla = build("transformer", **VARIANTS[name])
        assert without == without_second_set(parameters_without_gradient(vanilla))
    else:
        assert without == set()


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("mode", ["mean", "sum"])
def test_layerdrop_counts_the_layers_it_traverses(mode, stack):
    options = {f"{stack}_layers": 8, f"{stack}_layerdrop": 0.5}
    model = without_dropout(build(residual_attention=mode, **options))
    layers = model.get_submodule(stack).layers
    layers.p = 0.5
    counted = []
    for layer in layers._modules.values():
        layer.self_attn.register_forward_pre_hook(
            lambda _, __, kwargs: counted.append(kwargs["layers_traversed"]), with_kwargs=True
        )
    torch.manual_seed(3)
    logits(model, *batch())
    assert 0 < len(counted) < 8
    assert counted == list(range(len(counted)))


@pytest.mark.parametrize("scaling", SUBLAYER_SCALING_CHOICES)
@pytest.mark.parametrize("mode", MODES)
def test_torchscript_gives_the_same_logits(mode, scaling):
    model = build(residual_attention=mode, sublayer_scaling=scaling).eval()
    scripted = torch.jit.script(model)
    torch.testing.assert_close(logits(scripted, *batch()), logits(model, *batch()))


# Sizes of the architectures, from the tables that architectures.py names.
SIZES = {
    "realformer": (512, 2048, 8, 6, 6),
    "realformer_wmt_en_de": (512, 2048, 8, 6, 6),
    "realformer_wmt_en_de_12_12": (512, 2048, 8, 12, 12),
    "realformer_wmt_en_de_18_18": (512, 2048, 8, 18, 18),
    "realformer_wmt_en_fr": (512, 2048, 8, 6, 6),
    "realformer_wmt_en_fr_60_12": (512, 2048, 8, 60, 12),
    "realformer_iwslt_de_en": (512, 1024, 4, 6, 6),
    "realformer_tiny": (128, 256, 4, 3, 3),
}


def configured(name, **options):
    """The options of an architecture; those given are as on the command line."""
    args = argparse.Namespace(**options)
    ARCH_CONFIG_REGISTRY[name](args)
    return args


@pytest.mark.parametrize("name", SIZES)
def test_architectures(name):
    args = configured(name)
    for stack in ("encoder", "decoder"):
        sizes = ("embed_dim", "ffn_embed_dim", "attention_heads")
        sizes = tuple(getattr(args, f"{stack}_{size}") for size in sizes)
        assert (*sizes, args.encoder_layers, args.decoder_layers) == SIZES[name]
    assert (args.residual_attention, args.encoder_normalize_before) == ("mean", False)
    assert args.sublayer_scaling == ("admin" if args.encoder_layers > 6 else "none")
    dropout = (args.dropout, args.attention_dropout, args.activation_dropout)
    assert dropout == ((0.1, 0.1, 0.1) if "wmt" in name else (0.1, 0.0, 0.0))
    assert ARCH_MODEL_REGISTRY[name].__name__ == "RealFormerModel"
    args = configured(name, encoder_layers=2, residual_attention="sum")
    assert (args.encoder_layers, args.residual_attention) == (2, "sum")


def test_every_architecture_is_listed_here():
    assert {function.__name__ for function in ARCHITECTURES} == SIZES.keys()


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(residual_attention="max"), "--residual-attention max.* mean, sum"),
        (dict(residual_chains="encoder,both"), "--residual-chains: 'encoder,both'.*encoder, dec"),
        (dict(residual_chains=""), "--residual-attention none"),
        (dict(base_layers=1), "--base-layers 1"),
        (dict(sublayer_scaling="fixup"), "--sublayer-scaling fixup.* none, admin, adm"),
        (
            dict(adaptive_softmax_cutoff="__import__('os').abort()"),
            "--adaptive-softmax-cutoff __imp",
        ),
        (dict(admin_profile_tokens=0), "--admin-profile-tokens: .0. .*whole number above 0"),
    ],
)
def test_what_cannot_work_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        build(**options)
