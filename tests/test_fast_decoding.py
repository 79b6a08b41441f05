"""What makes decoding fast, each against the plain way of computing the same."""

import pytest
import torch
from models import EOS, MODES, PAD, batch, build

from realformer_fairseq.decoding_cache import reordered_with_room
from realformer_fairseq.encoder import shared_by
from realformer_fairseq.linear import FEW_ROWS, Linear, linear

BEAM = 3


def encode(model, source, shared):
    """The encoder's output for ``BEAM`` copies of each sentence ``(sentences, S)``.

    Args:
        shared: whether the model knows that they are copies
    """
    copies = torch.arange(len(source)).repeat_interleave(BEAM)
    with torch.no_grad():
        encoder_out = model.encoder.reorder_encoder_out(model.encoder(source), copies)
    assert shared_by(encoder_out) == BEAM
    return encoder_out if shared else {k: v for k, v in encoder_out.items() if k != "beam"}


def steps(model, source, targets, shared, orders):
    """Logits of each step of incremental decoding, ``(steps, B, types)``.

    Args:
        targets: ``(sentences * BEAM, T)``
        orders: of the batch after each step
    """
    encoder_out = encode(model, source, shared)
    with torch.no_grad():
        state, result = {}, []
        histories = targets[:, :0]
        for step, order in enumerate(orders):
            histories = torch.cat([histories, targets[: len(histories), step : step + 1]], dim=1)
            result.append(
                model.decoder(histories, encoder_out=encoder_out, incremental_state=state)[0]
            )
            model.decoder.reorder_incremental_state_scripting(state, order)
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
            histories = histories[order]
    kept = [entry["prev_key"].size(0) for entry in state.values() if "prev_key" in entry]
    return [logits[:, -1] for logits in result], kept


ORDERS = {
    "within sentences": [[1, 0, 2, 3, 3, 4, 8, 7, 6]] * 3,
    "a sentence is finished": [[1, 0, 2, 8, 7, 7], [0, 0, 1, 4, 3, 5], [3, 3, 4]],
    "sentences change places": [[6, 7, 8, 0, 1, 2, 3, 4, 5]] * 3,
    "beams of different sentences": [[0, 3, 6, 1, 4, 7, 2, 5, 8]] * 3,
    "one entry is left": [[0, 1, 2, 3, 4, 5, 6, 7], [7], [0]],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("orders", ORDERS.values(), ids=ORDERS.keys())
def test_keys_kept_once_a_sentence_change_nothing(mode, orders):
    model = build(residual_attention=mode).eval()
    source, _ = batch()
    generator = torch.Generator().manual_seed(4)
    targets = torch.randint(4, 40, (len(source) * BEAM, len(orders)), generator=generator)
    targets[:, 0] = EOS
    orders = [torch.tensor(order) for order in orders]
    shared, _ = steps(model, source, targets, True, orders)
    plain, _ = steps(model, source, targets, False, orders)
    for a, b in zip(shared, plain):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_keys_are_kept_once_a_sentence():
    model = build().eval()
    source, _ = batch()
    targets = torch.full((len(source) * BEAM, 2), 7)
    order = torch.arange(len(source) * BEAM)
    assert steps(model, source, targets, True, [order] * 2)[1] == [3, 3, 3]
    assert steps(model, source, targets, False, [order] * 2)[1] == [9, 9, 9]
    assert steps(model, source, targets, True, [order, order[3:]])[1] == [2, 2, 2]


@pytest.mark.parametrize(
    "order, beam",
    [
        ([0, 0, 1, 1, 2, 2], 2),
        ([0, 0, 0, 1, 1, 1, 2, 2, 2], 3),
        ([0, 1, 2], 1),
        ([0, 0, 2, 2, 1, 1], 1),  # copies, but other neighbours than a beam search would make
        ([0, 0, 1, 1], 1),
        ([0, 0, 1, 2], 1),
        ([1], 1),
    ],
)
def test_only_copies_in_place_are_taken_for_beams(order, beam):
    model = build().eval()
    source, _ = batch()
    with torch.no_grad():
        encoder_out = model.encoder(source)
        reordered = model.encoder.reorder_encoder_out(encoder_out, torch.tensor(order))
    assert shared_by(encoder_out) == 1 and shared_by(reordered) == beam
    expected = encoder_out["encoder_out"][0][:, order]
    assert torch.equal(reordered["encoder_out"][0], expected)


@pytest.mark.parametrize(
    "order, beam, copied",
    [
        ([2, 1, 0, 3, 3, 3, 8, 6, 7], 3, False),
        ([3, 4, 4, 8, 7, 6], 3, True),
        ([0, 1, 3, 3, 4, 5], 1, True),
        ([0, 1], 1, True),
    ],
)
def test_reordering_beams_of_the_encoder(order, beam, copied):
    """Nothing is copied where only beams of a sentence change places; the result is the same."""
    model = build().eval()
    source, _ = batch()
    encoder_out = encode(model, source, shared=True)
    reordered = model.encoder.reorder_encoder_out(encoder_out, torch.tensor(order))
    assert shared_by(reordered) == beam
    assert (reordered is not encoder_out) == copied
    for name, dimension in (("encoder_out", 1), ("encoder_padding_mask", 0)):
        expected = encoder_out[name][0].index_select(dimension, torch.tensor(order))
        assert torch.equal(reordered[name][0], expected)


@pytest.mark.parametrize("order", [[2, 0, 0, 1], [1], [0, 1, 2]])
def test_reordered_with_room(order):
    keys_values, order = torch.randn(3, 2, 3, 8), torch.tensor(order)
    grown = reordered_with_room(keys_values, order)
    assert grown.shape == (4, 2, len(order), 8)
    assert torch.equal(grown[:3], keys_values[:, :, order])
    backwards = torch.arange(len(order)).flip(0)
    again = reordered_with_room(grown[:3], backwards)  # of a part of a tensor
    assert torch.equal(again[:3], grown[:3].flip(2))


@pytest.mark.parametrize("gradient", [False, True])
def test_steps_of_several_tokens_after_an_order(gradient):
    """Room is for one step; with more, and where gradients are wanted, it is made again."""
    attention = build().decoder.layers[0].self_attn.eval()
    x, order = torch.randn(4, 3, 16), torch.tensor([1, 2, 0])
    with torch.set_grad_enabled(gradient):
        state = {}
        attention(x[:2], x[:2], x[:2], incremental_state=state)
        attention.reorder_incremental_state(state, order)
        attention(x[2:], x[2:], x[2:], incremental_state=state)
        keys = attention.kept_keys(state)
        projected = [
            torch.stack([attention.k_proj(p), attention.v_proj(p)], 1) for p in (x[:2], x[2:])
        ]
    assert keys.requires_grad == gradient
    torch.testing.assert_close(keys, torch.cat([projected[0][:, :, order], projected[1]]))


def test_two_orders_without_a_step_between_them():
    model = build().eval()
    source, previous = batch()
    first, second = torch.tensor([2, 0, 1]), torch.tensor([0, 0, 1])
    results = []
    for orders in ([first, second], [first[second]]):
        state = {}
        with torch.no_grad():
            encoder_out = model.encoder(source)
            model.decoder(previous[:, :1], encoder_out=encoder_out, incremental_state=state)
            for order in orders:
                model.decoder.reorder_incremental_state_scripting(state, order)
                encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
            results.append(
                model.decoder(previous[:, :2], encoder_out=encoder_out, incremental_state=state)[0]
            )
    assert torch.equal(*results)


def test_reordering_before_the_first_step_leaves_the_state_empty():
    state = {}
    build().decoder.reorder_incremental_state_scripting(state, torch.tensor([0]))
    assert state == {}


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
        torch.testing.assert_close(
            linear(x, plain.weight, plain.bias), plain(x), atol=1e-5, rtol=1e-5
        )
    assert bool(products) == (rows in FEW_ROWS)


def test_linear_has_gradients_with_few_rows():
    layer = Linear(4, 3)
    layer(torch.ones(2, 4)).sum().backward()
    assert torch.equal(layer.weight.grad, torch.full((3, 4), 2.0))


def test_packed_weights_follow_the_parameters():
    """An update, a new tensor, loading a checkpoint and fairseq's optimizers' way of writing
    (before the model is evaluated again) each reach the product kept aside."""
    model = build().eval()
    attention = model.decoder.layers[0].self_attn
    x = torch.randn(1, 5, 16)

    def check():
        with torch.no_grad():
            expected = torch.cat(
                [attention.q_proj(x), attention.k_proj(x), attention.v_proj(x)], -1
            )
            torch.testing.assert_close(attention._packed_projection(x), expected)

    check()
    with torch.no_grad():
        attention.v_proj.weight.add_(1)
    check()
    attention.q_proj.bias.data = torch.ones(16)
    check()
    model.load_state_dict(build(seed=2).state_dict())
    check()
    model.train()
    attention.k_proj.weight.data.mul_(2)
    model.eval()
    check()
    assert set(model.state_dict()) == set(build().state_dict())


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
