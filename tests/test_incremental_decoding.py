"""Decoding step by step, with reordering, against one forward pass over the whole target."""

import pytest
import torch
from beam_search import assert_forced_scores, generate
from models import EOS, MODES, PAD, TASK, assert_close, batch, build

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


@pytest.mark.parametrize("left_pad", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("mode", MODES)
def test_sentences_of_very_different_lengths(mode, left_pad):
    models = [build(residual_attention=mode).eval()]
    torch.manual_seed(2)
    source = torch.full((4, 40), PAD)
    for row, length in zip(source, (1, 2, 9, 40)):
        words = torch.randint(4, len(TASK.source_dictionary), (length,))
        words[-1] = EOS
        row[slice(-length, None) if left_pad else slice(length)] = words
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
            assert_close(step_logits[:, -1], full_logits[:, -1])
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


@pytest.mark.parametrize("layers", [1, 2])
def test_alignment_is_there_with_few_layers(layers):
    model = build(residual_attention="mean", decoder_layers=layers).eval()
    source, previous = batch()
    _, extra = model(source, source.ne(PAD).sum(1), previous)
    attention = extra["attn"][0]  # (B, T, S)
    torch.testing.assert_close(attention.sum(-1), torch.ones(3, 6))
    assert (attention[1, :, :3] == 0).all()
