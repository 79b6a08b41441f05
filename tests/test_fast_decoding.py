"""What makes decoding fast, each against the plain way of computing the same."""

import pytest
import torch
from models import EOS, MODES, PAD, assert_close, batch, build

from realformer_fairseq.models.encoder import shared_by
from realformer_fairseq.modules.decoding_cache import append_step
from realformer_fairseq.modules.linear import FEW_ROWS, Linear, PackedLinear, linear

BEAM = 3


@torch.no_grad()
def decode(model, tokens, encoder_out, state):
    """Logits of the last step."""
    out, _ = model.decoder(tokens, encoder_out=encoder_out, incremental_state=state)
    return out[:, -1]


@torch.no_grad()
def encode(model, source, shared):
    """The encoder's output for ``BEAM`` copies of each sentence ``(sentences, S)``.

    Args:
        shared: whether the model knows that they are copies
    """
    copies = torch.arange(len(source)).repeat_interleave(BEAM)
    encoder_out = model.encoder.reorder_encoder_out(model.encoder(source), copies)
    assert shared_by(encoder_out) == BEAM
    return encoder_out if shared else {k: v for k, v in encoder_out.items() if k != "beam"}


def steps(model, source, targets, shared, orders):
    """Logits of each step of incremental decoding, and how many keys each layer keeps at last.

    Args:
        targets: ``(sentences * BEAM, T)``
        orders: of the batch after each step
    """
    encoder_out = encode(model, source, shared)
    state, result, histories = {}, [], targets[:, :0]
    for step, order in enumerate(orders):
        histories = torch.cat([histories, targets[: len(histories), step : step + 1]], dim=1)
        result.append(decode(model, histories, encoder_out, state))
        model.decoder.reorder_incremental_state_scripting(state, order)
        encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
        histories = histories[order]
    kept = [entry["prev_key"].size(0) for entry in state.values() if "prev_key" in entry]
    return result, kept


# Of the batch after each step; and for how many sentences the keys are kept at last.
ORDERS = {
    "within sentences": ([[1, 0, 2, 3, 3, 4, 8, 7, 6]] * 3, 3),
    "a sentence is finished": ([[1, 0, 2, 8, 7, 7], [0, 0, 1, 4, 3, 5], [3, 3, 4]], 1),
    "sentences change places": ([[6, 7, 8, 0, 1, 2, 3, 4, 5]] * 3, 3),
    "beams of different sentences": ([[0, 3, 6, 1, 4, 7, 2, 5, 8]] * 3, 9),
    "one entry is left": ([[0, 1, 2, 3, 4, 5, 6, 7], [7], [0]], 1),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("orders, kept", ORDERS.values(), ids=ORDERS.keys())
def test_keys_kept_once_a_sentence_change_nothing(mode, orders, kept):
    model = build(residual_attention=mode).eval()
    source, _ = batch()
    generator = torch.Generator().manual_seed(4)
    targets = torch.randint(4, 40, (len(source) * BEAM, len(orders)), generator=generator)
    targets[:, 0] = EOS
    orders = [torch.tensor(order) for order in orders]
    shared, kept_keys = steps(model, source, targets, True, orders)
    plain, all_keys = steps(model, source, targets, False, orders)
    for a, b in zip(shared, plain):
        assert_close(a, b)
    assert kept_keys == [kept] * 3 and all_keys == [len(orders[-1])] * 3


@pytest.mark.parametrize(
    "copies, order, beam",
    [
        (1, [0, 0, 0, 1, 1, 1, 2, 2, 2], 3),
        (1, [0, 1, 2], 1),
        (1, [0, 0, 2, 2, 1, 1], 1),  # other neighbours than a beam search would make
        (1, [0, 0, 1, 2], 1),
        (BEAM, [2, 1, 0, 3, 3, 3, 8, 6, 7], 3),
        (BEAM, [3, 4, 4, 8, 7, 6], 3),
        (BEAM, [0, 1, 3, 3, 4, 5], 1),
        (BEAM, [0, 1], 1),
    ],
)
def test_only_copies_in_place_are_taken_for_beams(copies, order, beam):
    """Nothing is copied where only beams of a sentence change places; the result is the same."""
    model = build().eval()
    source, _ = batch()
    with torch.no_grad():
        encoder_out = model.encoder(source) if copies == 1 else encode(model, source, shared=True)
        reordered = model.encoder.reorder_encoder_out(encoder_out, torch.tensor(order))
    assert shared_by(encoder_out) == copies and shared_by(reordered) == beam
    if copies == BEAM:
        assert (reordered is encoder_out) == (len(order) == BEAM * len(source))
    for name, dimension in (("encoder_out", 1), ("encoder_padding_mask", 0)):
        expected = encoder_out[name][0].index_select(dimension, torch.tensor(order))
        assert torch.equal(reordered[name][0], expected)


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("order", [None, [2, 0, 0, 1], [1], [0, 1, 2]])
@pytest.mark.parametrize("tokens", [1, 2])
def test_append_step(gradient, order, tokens):
    keys_values = torch.randn(3, 2, 3, 8)
    step = torch.randn(tokens, 2, 3 if order is None else len(order), 8)
    order = None if order is None else torch.tensor(order)
    with torch.set_grad_enabled(gradient):
        grown = append_step(keys_values, order, step)
        again = append_step(grown[:3], None, step)  # a part of a tensor
    expected = keys_values if order is None else keys_values[:, :, order]
    assert torch.equal(grown, torch.cat([expected, step])) and torch.equal(grown, again)


def test_copies_of_a_state_do_not_share_what_comes():
    """Two continuations from one state, as a search that looks ahead makes them."""
    model = build().eval()
    source, previous = batch()
    encoder_out, state = model.encoder(source), {}
    decode(model, previous[:, :1], encoder_out, state)
    model.decoder.reorder_incremental_state_scripting(state, torch.tensor([0, 1, 2]))
    branches = [{key: dict(value) for key, value in state.items()} for _ in range(2)]
    for branch, word in zip(branches, (7, 9)):
        decode(model, torch.tensor([[EOS, word]] * 3), encoder_out, branch)
    tokens = torch.tensor([[EOS, 7, 8]] * 3)
    found = decode(model, tokens, encoder_out, branches[0])
    assert_close(found, decode(model, tokens, encoder_out, None))


def test_two_orders_without_a_step_between_them():
    model = build().eval()
    source, previous = batch()
    first, second = torch.tensor([2, 0, 1]), torch.tensor([0, 0, 1])
    results = []
    for orders in ([first, second], [first[second]]):
        state, encoder_out = {}, model.encoder(source)
        model.decoder.reorder_incremental_state_scripting(state, first)
        assert state == {}  # nothing there yet
        decode(model, previous[:, :1], encoder_out, state)
        for order in orders:
            model.decoder.reorder_incremental_state_scripting(state, order)
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
        results.append(decode(model, previous[:, :2], encoder_out, state))
    assert torch.equal(*results)


@pytest.mark.parametrize("rows", [1, 2, 5, 8, 9])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(rows, bias, monkeypatch):
    torch.manual_seed(1)
    products = []
    for name in ("mm", "addmm"):
        plain_product = getattr(torch, name)
        spy = lambda *args, p=plain_product: products.append(p) or p(*args)  # noqa: E731
        monkeypatch.setattr(torch, name, spy)
    plain = torch.nn.Linear(256, 600, bias=bias)
    x = torch.randn(1, rows, 256)
    with torch.no_grad():
        assert_close(linear(x, plain.weight, plain.bias), plain(x))
    assert bool(products) == (rows in FEW_ROWS)
    layer = Linear(256, 3)
    layer(torch.ones(rows, 256)).sum().backward()
    assert torch.equal(layer.weight.grad, torch.full((3, 256), float(rows)))


def test_one_product_for_queries_keys_and_values():
    """Only where the model is not trained again; it follows whatever is written to the weights."""
    model = build().eval()
    attention = model.decoder.layers[0].self_attn
    assert attention.packed is None
    model.make_generation_fast_()
    other = build(seed=2).decoder.layers[0].self_attn.state_dict()
    changes = [
        lambda: None,
        lambda: attention.k_proj.weight.data.mul_(2),
        lambda: attention.load_state_dict(other),
        model.double,
    ]
    for change in changes:
        change()
        x = torch.randn(1, 5, 16, dtype=attention.k_proj.weight.dtype)
        with torch.no_grad():
            separate = [attention.q_proj(x), attention.k_proj(x), attention.v_proj(x)]
            torch.testing.assert_close(attention._packed_projection(x), torch.cat(separate, dim=-1))
    assert model.state_dict().keys() == build().state_dict().keys()


def test_hooks_on_projections_are_called_in_every_step():
    model = build().eval()
    calls = []
    query = model.decoder.layers[0].self_attn.q_proj
    query.register_forward_hook(lambda *_: calls.append(1))
    model.make_generation_fast_()
    source, previous = batch()
    state, encoder_out = {}, model.encoder(source)
    for step in (1, 2, 3):
        decode(model, previous[:, :step], encoder_out, state)
    assert len(calls) == 3


def test_a_model_that_may_be_trained_keeps_torchs_linear_layers():
    """Quantization, in fairseq and in torch, looks for exactly them."""
    model = build()
    assert {type(m) for m in model.modules() if isinstance(m, torch.nn.Linear)} == {torch.nn.Linear}
    model.make_generation_fast_()
    decoder = [m for m in model.decoder.modules() if isinstance(m, torch.nn.Linear)]
    assert {type(m) for m in decoder} == {Linear, PackedLinear}


def test_what_a_step_returns_for_alignment_is_the_same_for_shared_keys():
    model = build().eval()
    source, _ = batch()
    targets = torch.arange(4, 13).unsqueeze(1)
    attention = []
    for shared in (False, True):
        encoder_out = encode(model, source, shared)
        with torch.no_grad():
            _, extra = model.decoder(targets, encoder_out=encoder_out, incremental_state={})
        attention.append(extra["attn"][0])  # (B, 1, S)
    torch.testing.assert_close(*attention)
    assert (attention[0][3:6, :, :3] == 0).all() and source[1, :3].eq(PAD).all()
