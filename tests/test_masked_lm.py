"""The masked language model against fairseq's RoBERTa, and what only it has."""

import argparse

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from models import EOS, MODES, PAD, TASK, assert_close, without_dropout
from torch import nn
from torch.nn import functional

from realformer_fairseq.modules.sublayer_scaling import SUBLAYER_SCALING_CHOICES, deepnorm
from realformer_fairseq.training.masked_lm_criterion import MaskedLmWithAccuracy

SIZES = dict(
    encoder_layers=3,
    encoder_embed_dim=16,
    encoder_ffn_embed_dim=24,
    encoder_attention_heads=2,
    max_positions=32,
)


def build(arch="realformer_masked_lm", seed=1, **options):
    torch.manual_seed(seed)
    args = argparse.Namespace(arch=arch, **{**SIZES, **options})
    ARCH_CONFIG_REGISTRY[arch](args)
    return ARCH_MODEL_REGISTRY[arch].build_model(args, TASK)


def batch():
    """Words ``(3, 9)``, padded on the right as fairseq's masked-LM task does."""
    tokens = torch.randint(4, len(TASK.source_dictionary), (3, 9), generator=torch.manual_seed(1))
    tokens[:, 0], tokens[:, -1] = TASK.source_dictionary.bos(), EOS
    tokens[1, 5], tokens[1, 6:] = EOS, PAD
    return tokens


# Options under which a model without residual scores is fairseq's RoBERTa.
VARIANTS = {
    "Post-LN": {},
    "Pre-LN": dict(encoder_normalize_before=True, layernorm_embedding=False),
    "untied": dict(untie_weights_roberta=True),
    "gelu_accurate": dict(activation_fn="gelu_accurate"),
    "LayerDrop": dict(encoder_layerdrop=0.5),
}


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_none_equals_fairseqs_roberta(options):
    vanilla = build("roberta", seed=5, **options)
    ours = build(seed=5, residual_attention="none", **options)
    for name, value in ours.state_dict().items():  # initialisation is fairseq's, too
        assert torch.equal(value, vanilla.state_dict()[name]), name
    outputs = []
    for model in (vanilla, ours):
        without_dropout(model)
        logits, extra = model(batch(), return_all_hiddens=True)
        outputs.append([logits, *extra["inner_states"]])
        logits[batch().ne(PAD)].pow(2).mean().backward()
    assert len(outputs[0]) == len(outputs[1])
    for expected, actual in zip(*outputs):
        assert_close(actual, expected)
    gradients = dict(ours.named_parameters())
    for name, parameter in vanilla.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(
                gradients[name].grad, parameter.grad, atol=1e-5, rtol=1e-4, msg=name
            )


@pytest.mark.parametrize("mode", MODES)
def test_padded_batch_equals_batches_of_one(mode):
    model = build(residual_attention=mode, token_types=2).eval()
    together = model(batch())[0]
    for tokens, expected in zip(batch(), together):
        words = tokens[tokens.ne(PAD)]
        assert_close(model(words.unsqueeze(0))[0][0], expected[: len(words)])


def eager_features(model, tokens, carry):
    """Post-LN layers with residual scores, one sentence at a time, as the paper writes them."""
    encoder = model.encoder.sentence_encoder
    x = encoder.forward_embedding(tokens)[0][0]  # T x C
    total = 0
    for number, layer in enumerate(encoder.layers):
        attn = layer.self_attn
        q, k, v = (
            p(x).view(len(x), attn.num_heads, -1).transpose(0, 1)
            for p in (attn.q_proj, attn.k_proj, attn.v_proj)
        )
        total = total + q @ k.transpose(1, 2) / attn.head_dim**0.5
        scores = total / (number + 1) if carry == "mean" else total
        heads = scores.softmax(dim=-1) @ v
        x = layer.self_attn_layer_norm(x + attn.out_proj(heads.transpose(0, 1).flatten(1)))
        x = layer.final_layer_norm(x + layer.fc2(layer.activation_fn(layer.fc1(x))))
    return x


@pytest.mark.parametrize("mode", ["mean", "sum"])
def test_scores_are_those_of_the_paper(mode):
    model = build(residual_attention=mode).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    tokens = batch()[:1]
    assert_close(model(tokens, features_only=True)[0][0], eager_features(model, tokens, mode))


def test_segments_are_counted_by_their_ends():
    model = build(token_types=2).eval()
    tokens = batch()[:1]
    tokens[0, 4] = tokens[0, 5] = EOS
    types = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1, 1]])
    assert_close(model(tokens)[0], model(tokens, token_types=types)[0])
    other = model(tokens, token_types=1 - types)[0]
    assert (other - model(tokens)[0]).abs().max() > 1e-3
    with pytest.raises(ValueError, match="--token-types 0"):
        build()(tokens, token_types=types)


def test_layer_norms_have_the_epsilon_that_was_asked_for():
    model = build(layer_norm_eps=1e-12)
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
    assert len(norms) == 2 * 3 + 2  # of layers, embeddings and the head
    assert {norm.eps for norm in norms} == {1e-12}


@pytest.mark.parametrize("scaling", SUBLAYER_SCALING_CHOICES)
@pytest.mark.parametrize("mode", MODES)
def test_every_parameter_gets_a_gradient(mode, scaling):
    model = without_dropout(build(residual_attention=mode, sublayer_scaling=scaling, token_types=2))
    out, _ = model(batch())
    (out * torch.randn_like(out)).sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("mode", MODES)
def test_torchscript_gives_the_same_features(mode):
    """Of the stack of layers: what is around it scripts neither here nor in fairseq."""
    encoder = build(residual_attention=mode).eval().encoder.sentence_encoder
    scripted = torch.jit.script(encoder)
    assert_close(scripted(batch())["encoder_out"][0], encoder(batch())["encoder_out"][0])


def test_deepnorm_of_an_encoder_alone():
    """Figure 2 of arXiv 2203.00555 has constants for it; the weights are not BERT's."""
    assert deepnorm("encoder", 18, 0) == ((2 * 18) ** 0.25, (8 * 18) ** -0.25)
    model = build(sublayer_scaling="deepnorm", encoder_embed_dim=256, encoder_ffn_embed_dim=256)
    layer = model.encoder.sentence_encoder.layers[1]
    assert layer.ffn_residual.omega.item() == pytest.approx(6**0.25)
    for weight, gain in ((layer.fc1.weight, 24**-0.25), (layer.self_attn.q_proj.weight, 1)):
        assert weight.std().item() == pytest.approx(gain / 256**0.5, rel=0.02)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_layers_to_keep_of_a_deeper_checkpoint(stack):
    """In the first RoBERTas, such as the published ``roberta.base``, the stack was a decoder."""
    deep = build(residual_attention="sum", seed=2).eval()
    shallow = build(residual_attention="sum", encoder_layers_to_keep="0,2").eval()
    shallow.load_state_dict(
        {name.replace("encoder", stack, 1): x for name, x in deep.state_dict().items()}
    )
    del deep.encoder.sentence_encoder.layers[1]
    assert_close(shallow(batch())[0], deep(batch())[0])


def test_options_that_a_checkpoint_lacks_are_filled_in():
    """``build_model`` gets what the checkpoint stores, not what an architecture has filled in."""
    model = ARCH_MODEL_REGISTRY["realformer_masked_lm"].build_model(
        argparse.Namespace(**SIZES), TASK
    )
    assert (str(model.cfg.residual_attention), model.cfg.token_types) == ("sum", 0)


# Layers, d, FFN, heads, scores: the table of Google's README; _tiny is ours.
ARCHITECTURES = {
    "realformer_masked_lm": (12, 768, 3072, 12, "sum"),
    "realformer_bert_small": (4, 512, 2048, 8, "sum"),
    "realformer_bert_base": (12, 768, 3072, 12, "sum"),
    "realformer_bert_large": (24, 1024, 4096, 16, "sum"),
    "realformer_bert_xlarge": (36, 1536, 6144, 24, "mean"),
    "realformer_bert_tiny": (12, 64, 256, 4, "sum"),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architectures(name):
    args = argparse.Namespace()
    ARCH_CONFIG_REGISTRY[name](args)
    stack = (
        f"encoder_{part}" for part in ("layers", "embed_dim", "ffn_embed_dim", "attention_heads")
    )
    assert (*(getattr(args, part) for part in stack), args.residual_attention) == ARCHITECTURES[
        name
    ]
    assert args.activation_fn == ("gelu_accurate" if "bert" in name else "gelu")
    args = argparse.Namespace(encoder_layers=2, residual_attention="none")
    ARCH_CONFIG_REGISTRY[name](args)
    assert (args.encoder_layers, args.residual_attention) == (2, "none")


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(residual_attention="max"), "--residual-attention max.* mean, sum"),
        (dict(token_types=-1), "--token-types: '-1'.*from 0"),
        (dict(layer_norm_eps=0), "--layer-norm-eps: '0'.*above 0"),
        (dict(encoder_attention_heads=3), "--encoder-attention-heads 3"),
        (dict(sublayer_scaling="admin", encoder_normalize_before=True), "--encoder-normalize-befo"),
    ],
)
def test_what_cannot_work_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        build(**options)


@pytest.mark.parametrize("masked", ["some words", "no word", "no word, on a GPU"])
def test_criterion_counts_the_words_that_are_right(masked):
    model = build().eval()
    tokens = batch()
    logits = model(tokens)[0]
    if "GPU" in masked:  # there fairseq selects all words in place of none
        every = dict(masked_tokens=torch.ones_like(tokens, dtype=torch.bool))
        model.register_forward_pre_hook(lambda _, args, own: (args, own | every), with_kwargs=True)
    masked = "some" in masked
    target = torch.full_like(tokens, PAD)
    if masked:
        target[0, 1:5] = logits[0, 1:5].argmax(dim=-1)
        target[0, 2] = (target[0, 2] - 3) % 40 + 4  # another word
    sample = {"net_input": {"src_tokens": tokens}, "target": target, "ntokens": 27, "nsentences": 3}
    task = argparse.Namespace(target_dictionary=TASK.source_dictionary)
    criterion = MaskedLmWithAccuracy(argparse.Namespace(tpu=False), task)
    loss, words, logged = criterion(model, sample)
    assert (words, logged["n_correct"]) == ((4, 3) if masked else (0, 0))
    if masked:
        expected = functional.cross_entropy(logits[0, 1:5], target[0, 1:5], reduction="sum")
        assert_close(loss, expected)
