"""Decoding step by step, with reordering, against one forward pass over the whole target."""

import pytest
import torch
from beam_search import assert_forced_scores, generate
from models import MODES, PAD, TASK, batch, build, build_with_weights_of

DICTIONARY = TASK.target_dictionary
VARIANTS = {
    "Post-LN": {},
    "Pre-LN": dict(encoder_normalize_before=True, decoder_normalize_before=True),
    "cross+self-attention": dict(cross_self_attention=True, no_cross_attention=True),
    "one layer": dict(decoder_layers=1),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_beam_scores_equal_a_forced_full_forward(mode, options):
    models = [build(residual_attention=mode, **options).eval()]
    source, _ = batch()
    assert_forced_scores(models, source, generate(models, source))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_permuted_reorder_equals_a_full_forward(mode, options):
    """The states are permuted, some doubled and some dropped, between all steps."""
    model = build(residual_attention=mode, **options).eval()
    source, previous = batch()
    previous = previous.where(previous.ne(PAD), torch.tensor(7))
    order = torch.tensor([2, 0, 2])
    with torch.no_grad():
        encoder_out = model.encoder(source)
        state, histories = {}, torch.empty(3, 0, dtype=torch.long)
        for step in range(previous.size(1)):
            histories = torch.cat([histories, previous[:, step : step + 1]], dim=1)
            step_logits, _ = model.decoder(
                histories, encoder_out=encoder_out, incremental_state=state
            )
            full_logits, _ = model.decoder(histories, encoder_out=encoder_out)
            torch.testing.assert_close(step_logits[:, -1], full_logits[:, -1], atol=1e-5, rtol=1e-5)
            model.decoder.reorder_incremental_state_scripting(state, order)
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
            histories = histories[order]


@pytest.mark.parametrize("mode", MODES)
def test_only_keys_and_values_are_cached(mode):
    model = build(residual_attention=mode).eval()
    source, previous = batch()
    state = {}
    with torch.no_grad():
        model.decoder(previous[:, :1], encoder_out=model.encoder(source), incremental_state=state)
    names = [set(state[key]) for key in state if key.endswith("attn_state")]
    for_itself = {"prev_key_value", "prev_key_padding_mask", "order"}
    for_encoder = {"prev_key", "prev_value", "mask"}
    assert len(names) == 2 * 3  # self-attention and cross-attention of three layers
    assert names.count(for_itself) == 3 and names.count(for_encoder) == 3


@pytest.mark.parametrize("mode", MODES)
def test_none_generates_what_fairseqs_transformer_generates(mode):
    vanilla = build("transformer").eval()
    ours = build_with_weights_of(vanilla, residual_attention=mode).eval()
    source, _ = batch()
    pairs = zip(generate([vanilla], source), generate([ours], source))
    same = [
        torch.equal(a["tokens"], b["tokens"])
        and torch.allclose(a["positional_scores"], b["positional_scores"], atol=1e-5)
        for first, second in pairs
        for a, b in zip(first, second)
    ]
    assert all(same) if mode == "none" else not all(same)


def test_prefix_tokens():
    models = [build(residual_attention="mean").eval()]
    source, previous = batch()
    prefixes = previous[:, 1:4]
    generated = generate(models, source, prefix_tokens=prefixes)
    assert_forced_scores(models, source, generated)
    for hypotheses, prefix in zip(generated, prefixes):
        prefix = prefix[prefix.ne(PAD)]
        assert all(torch.equal(h["tokens"][: len(prefix)], prefix) for h in hypotheses)


def test_ensemble_with_a_vanilla_model():
    models = [build("transformer", seed=3).eval(), build(residual_attention="mean").eval()]
    source, _ = batch()
    assert_forced_scores(models, source, generate(models, source))


@pytest.mark.parametrize("layers", [1, 2])
def test_alignment_is_there_with_few_layers(layers):
    model = build(residual_attention="mean", decoder_layers=layers).eval()
    source, previous = batch()
    _, extra = model(source, source.ne(PAD).sum(1), previous)
    attention = extra["attn"][0]  # (B, T, S)
    torch.testing.assert_close(attention.sum(-1), torch.ones(3, 6))
    assert (attention[1, :, :3] == 0).all()
