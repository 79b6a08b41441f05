"""Parts of a Transformer's layer as ONNX operators, from the modules of a trained model."""

import math
from typing import Callable, Dict, Optional

import torch
from torch import Tensor, nn

from .graph import Graph


def linear(graph: Graph, x: str, weight: Tensor, bias: Optional[Tensor]) -> str:
    """``x W^T + b``; ``x`` is ``(..., C_in)``, ``weight`` ``(C_out, C_in)``."""
    product = graph.op("MatMul", x, graph.weight(weight.t()))
    return product if bias is None else graph.op("Add", product, graph.weight(bias))


def layer_norm(graph: Graph, x: str, norm: Optional[nn.Module]) -> str:
    """Layer normalisation; without a module nothing."""
    if norm is None:
        return x
    scale, bias = graph.weight(norm.weight), graph.weight(norm.bias)
    return graph.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=norm.eps)


def _gelu(graph: Graph, x: str) -> str:
    erf = graph.op("Erf", graph.op("Div", x, graph.number(math.sqrt(2))))
    twice = graph.op("Mul", x, graph.op("Add", erf, graph.number(1)))
    return graph.op("Mul", twice, graph.number(0.5))


def _gelu_tanh(graph: Graph, x: str) -> str:
    cube = graph.op("Mul", graph.op("Mul", x, x), graph.op("Mul", x, graph.number(0.044715)))
    inner = graph.op("Mul", graph.op("Add", x, cube), graph.number(math.sqrt(2 / math.pi)))
    twice = graph.op("Mul", x, graph.op("Add", graph.op("Tanh", inner), graph.number(1)))
    return graph.op("Mul", twice, graph.number(0.5))


def _relu_squared(graph: Graph, x: str) -> str:
    positive = graph.op("Relu", x)
    return graph.op("Mul", positive, positive)


# fairseq's names, fairseq/utils.py get_activation_fn; its swish cannot be called.
ACTIVATIONS: Dict[str, Callable[[Graph, str], str]] = {
    "relu": lambda graph, x: graph.op("Relu", x),
    "relu_squared": _relu_squared,
    "gelu": _gelu,
    "gelu_fast": _gelu_tanh,
    "gelu_accurate": _gelu_tanh,
    "tanh": lambda graph, x: graph.op("Tanh", x),
    "linear": lambda graph, x: x,
}


def residual(graph: Graph, x: str, before: str, scaled: Optional[nn.Module]) -> str:
    """``x + before * omega``: a sub-layer's output and its input."""
    omega = getattr(scaled, "omega", None)
    if omega is not None:
        before = graph.op("Mul", before, graph.weight(omega))
    return graph.op("Add", before, x)


def feed_forward(graph: Graph, x: str, layer: nn.Module, activation: str) -> str:
    """The feed-forward sub-layer with its residual connection and layer normalisation."""
    before = x
    if layer.normalize_before:
        x = layer_norm(graph, x, layer.final_layer_norm)
    x = ACTIVATIONS[activation](graph, linear(graph, x, layer.fc1.weight, layer.fc1.bias))
    x = linear(graph, x, layer.fc2.weight, layer.fc2.bias)
    x = residual(graph, x, before, getattr(layer, "ffn_residual", None))
    return x if layer.normalize_before else layer_norm(graph, x, layer.final_layer_norm)


class Chain:
    """The attention scores that are carried from layer to layer.

    The running mean of n layers is carried as their sum, with queries that are scaled for a sum;
    each layer divides by n before its softmax, so that one multiplication a layer is saved.

    Args:
        kind: ``mean``, ``sum`` or ``none``
    """

    def __init__(self, kind: str):
        self.kind = kind
        self.layers = 0
        self.scores = ""

    def add(self, graph: Graph, fresh: str) -> str:
        """The scores of one layer, before mask and softmax."""
        self.layers += 1
        if self.kind == "none" or not self.scores:
            self.scores = fresh
            return fresh
        self.scores = graph.op("Add", self.scores, fresh)
        if self.kind == "sum":
            return self.scores
        return graph.op("Mul", self.scores, graph.number(1 / self.layers))


def scaled_queries(attention: nn.Module) -> tuple:
    """Weight and bias of the queries, divided by the root of a head's size."""
    scaling = attention.head_dim**-0.5
    bias = attention.q_proj.bias
    return attention.q_proj.weight * scaling, None if bias is None else bias * scaling


def self_attention_projection(graph: Graph, x: str, attention: nn.Module) -> str:
    """Queries, keys and values in one product: ``(..., 3 C)``."""
    q, q_bias = scaled_queries(attention)
    k, v = attention.k_proj, attention.v_proj
    bias = None if q_bias is None else torch.cat([q_bias, k.bias, v.bias])
    return linear(graph, x, torch.cat([q, k.weight, v.weight]), bias)
