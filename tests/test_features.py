"""Features of fairseq's Transformer one by one, in a model: equal to fairseq's, or to another way
of computing the same."""

import copy
import io

import pytest
import torch
from conftest import PROJECT
from fairseq.checkpoint_utils import load_model_ensemble_and_task
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.sequence_generator import SequenceGenerator
from models import (
    MODES,
    TASK,
    arguments,
    assert_close,
    assert_same_gradients,
    batch,
    build,
    build_with_weights_of,
    logits,
    without_dropout,
)

from realformer_fairseq.modules.sublayer_scaling import SUBLAYER_SCALING_CHOICES


def pair(**options):
    """fairseq's Transformer, and ours with its weights and without residual scores."""
    vanilla = build("transformer", **options)
    return vanilla, build_with_weights_of(vanilla, residual_attention="none", **options)


@pytest.mark.parametrize("seed", range(4))
def test_layerdrop_drops_the_layers_that_fairseq_drops(seed):
    options = dict(encoder_layers=6, encoder_layerdrop=0.5, decoder_layerdrop=0.5)
    found = []
    for model in pair(**options):
        without_dropout(model)
        for stack in (model.encoder, model.decoder):
            stack.layers.p = 0.5
        torch.manual_seed(seed)
        found.append(logits(model, *batch()))
    assert_close(found[1], found[0])


@pytest.mark.parametrize("option", ["checkpoint_activations", "offload_activations"])
@pytest.mark.parametrize("scaling", SUBLAYER_SCALING_CHOICES)
@pytest.mark.parametrize("mode", MODES)
def test_recomputed_layers_give_the_same_gradients(option, scaling, mode):
    """The second forward pass of a layer must draw the random numbers of the first."""
    options = dict(residual_attention=mode, sublayer_scaling=scaling)
    options |= dict(dropout=0.3, attention_dropout=0.3)
    plain = build(**options).train()
    saving = build_with_weights_of(plain, **options, **{option: True}).train()
    layers = [*saving.encoder.layers, *saving.decoder.layers]
    assert all(hasattr(layer, "precheckpoint_forward") for layer in layers)
    assert_same_gradients(plain, saving)


@pytest.mark.parametrize("mode", MODES)
def test_layers_recomputed_outside_of_autocast(mode):
    """As under ``--amp``: fairseq's backward pass is not inside of autocast."""
    plain, gradients = build(residual_attention=mode), []
    saving = build_with_weights_of(plain, residual_attention=mode, checkpoint_activations=True)
    for model in (plain, saving):
        without_dropout(model)
        with torch.autocast("cpu", torch.bfloat16):
            loss = logits(model, *batch()).float().pow(2).mean()
        loss.backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    assert (gradients[1] - gradients[0]).norm() < 0.1 * gradients[0].norm()


@pytest.mark.parametrize("mode", MODES)
def test_layers_to_keep_are_taken_from_a_deeper_checkpoint(mode):
    """And counted in what is saved: fairseq saves the arguments, but not which were kept."""
    deep = build(residual_attention=mode, encoder_layerdrop=0.5, decoder_layerdrop=0.5)
    keep = dict(encoder_layers_to_keep="0,2", decoder_layers_to_keep="0,2")
    args = arguments(residual_attention=mode, **keep)
    kept = ARCH_MODEL_REGISTRY[args.arch].build_model(args, TASK)
    assert (args.encoder_layers, args.decoder_layers) == (2, 2)
    asked = arguments(residual_attention=mode, **keep)
    kept.load_state_dict(deep.state_dict(), strict=True, model_cfg=asked)
    shallow, state = build(residual_attention=mode, encoder_layers=2, decoder_layers=2), {}
    for name in shallow.state_dict():
        state[name] = deep.state_dict()[name.replace(".layers.1.", ".layers.2.")]
    shallow.load_state_dict(state)
    assert torch.equal(logits(kept.eval(), *batch()), logits(shallow.eval(), *batch()))


@pytest.mark.parametrize("mode", MODES)
def test_quant_noise(mode):
    """It changes the weights in training only, and every weight still gets a gradient."""
    plain = build(residual_attention=mode).eval()
    noisy = build(residual_attention=mode, quant_noise_pq=0.5)
    noisy.load_state_dict(plain.state_dict(), strict=False)
    with torch.no_grad():  # an identity, which pq puts behind the embeddings
        for stack in (noisy.encoder, noisy.decoder):
            stack.quant_noise.weight.copy_(torch.eye(16))
    assert_close(logits(noisy.eval(), *batch()), logits(plain, *batch()))
    vanilla, ours = (model.eval() for model in pair(quant_noise_pq=0.5))
    assert_close(logits(ours, *batch()), logits(vanilla, *batch()))
    out = logits(without_dropout(noisy), *batch())
    assert (out - logits(plain, *batch())).abs().max() > 0.01
    out.pow(2).mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in noisy.parameters())


@pytest.mark.parametrize("normalize_before", [False, True])
def test_hidden_states_are_fairseqs(normalize_before):
    found, names = [], []
    options = dict.fromkeys(
        ("encoder_normalize_before", "decoder_normalize_before"), normalize_before
    )
    source, previous = batch()
    for model in pair(**options):
        encoder_out = model.eval().encoder(source, return_all_hiddens=True)
        _, extra = model.decoder(previous, encoder_out=encoder_out)
        found.append((encoder_out["encoder_states"], extra["inner_states"]))
        names.append(encoder_out.keys())
    assert names[1] >= names[0]
    for expected, actual in zip(*found):
        assert len(expected) == len(actual) == 4
        for one, other in zip(expected, actual):
            present = one.abs().sum(-1) > 0
            assert_close(other[present], one[present])


ALIGNMENTS = [
    {},
    dict(alignment_layer=0),
    dict(alignment_layer=1, alignment_heads=1),
    dict(full_context_alignment=True),
    dict(features_only=True),
]


@pytest.mark.parametrize("options", ALIGNMENTS, ids=map(str, ALIGNMENTS))
def test_alignments_are_fairseqs(options):
    source, previous = batch()
    found = []
    for model in pair():
        encoder_out = model.eval().encoder(source)
        found.append(model.decoder(previous, encoder_out=encoder_out, **options))
    assert_close(found[1][0], found[0][0])
    assert_close(found[1][1]["attn"][0], found[0][1]["attn"][0])


def test_embeddings_of_the_source_can_be_given():
    source, _ = batch()
    vanilla, ours = (model.eval() for model in pair())
    embeddings = torch.randn(3, 8, 16)
    one, other = (m.encoder(source, token_embeddings=embeddings) for m in (vanilla, ours))
    assert_close(other["encoder_out"][0], one["encoder_out"][0])


@pytest.fixture(scope="module")
def trained_model(trained, prepared):
    """The model of a checkpoint, and what it is to read."""
    checkpoint = str(trained / "checkpoint_last.pt")
    overrides = {"data": str(prepared / "data-bin"), "user_dir": str(PROJECT)}
    (model,), _, task = load_model_ensemble_and_task([checkpoint], overrides)
    task.load_dataset("test")
    dataset = task.dataset("test")
    return model.eval(), task, dataset.collater([dataset[index] for index in range(20)])


def test_a_trained_model_scripts_and_can_be_saved(trained_model):
    model, _, sample = trained_model
    inputs = tuple(sample["net_input"][n] for n in ("src_tokens", "src_lengths"))
    inputs += (sample["net_input"]["prev_output_tokens"],)
    scripted = torch.jit.script(copy.deepcopy(model))
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    with torch.no_grad():
        expected = model(*inputs)[0]
        torch.testing.assert_close(scripted(*inputs)[0], expected)
        torch.testing.assert_close(torch.jit.load(file)(*inputs)[0], expected)


def test_the_beam_search_around_a_model_scripts(trained_model):
    model, task, sample = trained_model
    generator = SequenceGenerator([model], task.target_dictionary, beam_size=3, max_len_b=6)
    scripted = torch.jit.script(copy.deepcopy(generator))
    net_input = {name: sample["net_input"][name] for name in ("src_tokens", "src_lengths")}
    with torch.no_grad():
        expected, actual = (search({"net_input": net_input}) for search in (generator, scripted))
    for one, other in zip(expected, actual):
        assert len(one) == len(other) == 3
        for hypothesis, again in zip(one, other):
            assert torch.equal(hypothesis["tokens"], again["tokens"])
            assert_close(again["positional_scores"], hypothesis["positional_scores"])
