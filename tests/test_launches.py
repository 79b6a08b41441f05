"""Launches and bytes of an update are those that one counts by hand."""

import json
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from benchmarks import launches
from benchmarks.launch_counter import Counter, as_on_a_gpu
from benchmarks.tables import table
from realformer_fairseq.modules.fused_attention_operator import OPERATORS


def empty(*shape, dtype=torch.bfloat16, grad=False):
    return torch.empty(*shape, dtype=dtype, device="meta", requires_grad=grad)


def counted(function):
    with as_on_a_gpu(), Counter() as counter:
        function()
    return counter.launches, counter.moved_bytes


X = empty(4, 6)  # 48 bytes
ROW, INDEX = empty(6), empty(3, dtype=torch.int64)
BY_HAND = {
    "product-and-bias": (lambda: F.linear(X, empty(5, 6), empty(5)), 1, 48 + 60 + 10 + 40),
    "views": (lambda: X.view(6, 4).t()[1:].unsqueeze(0), 0, 0),
    "copying-reshape": (lambda: X.t().reshape(24), 1, 48 + 48),
    "memory": (lambda: X.new_empty(9), 0, 0),
    "fill": (lambda: torch.zeros_like(X), 1, 48),
    "in-place": (lambda: empty(4, 6).add_(X), 1, 2 * 48 + 48),
    "broadcast": (lambda: X + ROW.expand(4, 6), 1, 48 + 12 + 48),
    "conversion": (lambda: empty(4, 6).copy_(empty(4, 6, dtype=torch.float32)), 1, 96 + 48),
    "look-up": (lambda: F.embedding(INDEX, empty(100, 6)), 1, 24 + 36 + 36),
    "optimizer": (lambda: torch._foreach_add_([empty(4, 6), ROW], [X, ROW]), 1, 3 * (48 + 12)),
    "dropout": (lambda: F.dropout(X, 0.1), 1, 48 + 48 + 24),  # a byte for what is kept
    "none": (lambda: F.dropout(X, 0.1, training=False), 0, 0),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_an_operator(case):
    function, *expected = BY_HAND[case]
    assert counted(function) == tuple(expected)


def test_backward_passes_count():
    """A product without bias has two in its derivative, ReLU one."""
    x, layer = empty(4, 6, grad=True), nn.Linear(6, 5, False, "meta", torch.bfloat16)
    out = F.relu(layer(x))
    backward = 3 * 40 + (40 + 48 + 60) + (40 + 60 + 48)  # gradients of ReLU, weight and input
    assert counted(lambda: out.backward(empty(4, 5))) == (3, backward)


@pytest.mark.parametrize("length, kernels", [(32, 1), (33, 2)])
def test_fused_attention(length, kernels):
    """One launch forward; backward one for sentences of a block, else two, as it is launched."""
    batch, heads, size = 2, 4, 32
    inputs = [empty(length, batch, size, grad=True) for _ in range(3)]
    previous = empty(batch * heads, length, length, grad=True)
    numbers = (heads, 0.5, 0.5, 0.1, 3, torch.bfloat16)
    found = []

    def forward():
        found.extend(OPERATORS.attend(*inputs, previous, None, None, *numbers))

    rows, scores = 4 * batch * heads * length, 2 * previous.numel()
    states = 2 * inputs[0].numel()
    assert counted(forward) == (1, 4 * states + 2 * scores + 2 * rows)
    gradients = [torch.empty_like(x) for x in found[:2]]
    launched, moved = counted(lambda: torch.autograd.backward(found[:2], gradients))
    assert launched == kernels
    # All of them read queries, keys, values, gradients, both scores, sums and deltas of the rows.
    each = 4 * states + 2 * scores + 3 * rows
    assert moved == kernels * each + scores + 4 * states


@pytest.mark.parametrize("length, launched", [(32, 1), (30, 2)])
def test_attention_of_torch_is_fused(length, launched):
    """Rows of the mask that are not aligned are copied."""
    x, mask = empty(2, 4, length, 16), empty(1, 1, length, length)
    assert counted(lambda: F.scaled_dot_product_attention(x, x, x, mask))[0] == launched


def test_the_report(monkeypatch, tmp_path, capsys):
    """The kernel saves launches, and the longer of host and GPU is what is predicted."""
    path, shape = tmp_path / "launches.json", launches.SHAPES["tiny"]
    shape = shape._replace(encoder_layers=1, decoder_layers=1)
    monkeypatch.setitem(launches.SHAPES, "tiny", shape)
    monkeypatch.setattr(sys, "argv", f"x --shapes tiny --types 40 --json {path}".split())
    launches.main()
    report = json.loads(path.read_text("utf-8"))
    assert "\n".join(table(report)) in capsys.readouterr().out
    (case,) = report["cases"]
    figures = case["figures"]
    assert list(figures) == ["fairseq", "mean", "fused"]
    assert figures["fused"]["launches"] < figures["fairseq"]["launches"]
    assert figures["fused"]["moved_bytes"] < figures["mean"]["moved_bytes"]
    for own in figures.values():
        (host,), (gpu,) = own["host_seconds"], own["a100_seconds"]
        assert own["a100_update_seconds"] == [max(host, gpu)]
        assert gpu >= own["moved_bytes"][0] / 2.039e12
