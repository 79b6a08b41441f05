"""One step of the decoder as an ONNX graph: from a token of each row to what comes next."""

from torch import nn

from .encoder_graph import position_table
from .graph import FLOAT, INT64, Graph
from .layers import (
    Chain,
    feed_forward,
    layer_norm,
    linear,
    residual,
    scaled_queries,
    self_attention_projection,
)


class DecoderGraph(Graph):
    """Has the inputs that all layers share."""

    def __init__(self):
        super().__init__("decoder step")
        self.tokens = self.input("tokens", INT64, ["rows"])
        self.parents = self.input("parents", INT64, ["rows"])
        self.position = self.input("position", INT64, [1])
        self.mask = self.input("mask_scores", FLOAT, ["batch", 1, 1, "length"])
        batch = self.op("Slice", self.op("Shape", self.mask), self.integers(0), self.integers(1))
        self._batch = batch
        self._shapes = {}

    def by_sentence(self, value: str, *shape: int) -> str:
        """Reshape to ``(batch, *shape)``."""
        if shape not in self._shapes:
            parts = [self._batch, self.integers(*shape)]
            self._shapes[shape] = self.op("Concat", *parts, axis=0)
        return self.op("Reshape", value, self._shapes[shape])


def embedding(graph: DecoderGraph, decoder: nn.Module) -> str:
    """Input of the first layer, ``(R, C)``."""
    table = graph.weight(decoder.embed_tokens.weight * decoder.embed_scale)
    x = graph.op("Gather", table, graph.tokens)
    if decoder.project_in_dim is not None:
        x = linear(graph, x, decoder.project_in_dim.weight, None)
    if decoder.embed_positions is not None:
        positions = graph.weight(position_table(decoder.embed_positions, decoder.max_positions()))
        x = graph.op("Add", x, graph.op("Gather", positions, graph.position))
    return layer_norm(graph, x, decoder.layernorm_embedding)


def with_cache(graph: DecoderGraph, new: str, name: str, heads: int, size: int) -> str:
    """Keys or values of all steps ``(R, heads, steps, size)``, from those of one."""
    cache = graph.input(f"cache_{name}", FLOAT, ["cached rows", heads, "steps", size])
    kept = graph.op("Gather", cache, graph.parents, axis=0)
    found = graph.op("Concat", kept, new, axis=2)
    graph.output(found, f"new_cache_{name}", FLOAT, ["rows", heads, "steps + 1", size])
    return found


def self_attention(graph: DecoderGraph, x: str, chain: Chain, layer: nn.Module, number: int) -> str:
    """The first sub-layer, ``(R, C)`` to ``(R, C)``. The step's keys and values are appended."""
    attention, before = layer.self_attn, x
    heads, size = attention.num_heads, attention.head_dim
    if layer.normalize_before:
        x = layer_norm(graph, x, layer.self_attn_layer_norm)
    packed = graph.reshape(self_attention_projection(graph, x, attention), 0, 3 * heads, 1, size)
    q, keys, values = graph.split(packed, 3, axis=1)
    keys = with_cache(graph, keys, f"keys_{number}", heads, size)
    values = with_cache(graph, values, f"values_{number}", heads, size)
    fresh = graph.op("MatMul", q, graph.transpose(keys, 0, 1, 3, 2))
    weights = graph.op("Softmax", chain.add(graph, fresh))
    found = graph.reshape(graph.op("MatMul", weights, values), 0, heads * size)
    x = linear(graph, found, attention.out_proj.weight, attention.out_proj.bias)
    x = residual(graph, x, before, getattr(layer, "self_attn_residual", None))
    return x if layer.normalize_before else layer_norm(graph, x, layer.self_attn_layer_norm)


def cross_attention(graph: DecoderGraph, x: str, chain: Chain, layer: nn.Module, number: int):
    """The second sub-layer, ``(R, C)`` to ``(R, C)``, and its weights ``(B, heads, beam, S)``."""
    attention, before = layer.encoder_attn, x
    heads, size = attention.num_heads, attention.head_dim
    if layer.normalize_before:
        x = layer_norm(graph, x, layer.encoder_attn_layer_norm)
    q = linear(graph, x, *scaled_queries(attention))
    q = graph.transpose(graph.by_sentence(q, -1, heads, size), 0, 2, 1, 3)
    keys = graph.input(f"keys_{number}", FLOAT, ["batch", heads, size, "length"])
    values = graph.input(f"values_{number}", FLOAT, ["batch", heads, "length", size])
    scores = chain.add(graph, graph.op("MatMul", q, keys))
    weights = graph.op("Softmax", graph.op("Add", scores, graph.mask))
    found = graph.transpose(graph.op("MatMul", weights, values), 0, 2, 1, 3)
    found = graph.reshape(found, -1, heads * size)
    x = linear(graph, found, attention.out_proj.weight, attention.out_proj.bias)
    x = residual(graph, x, before, getattr(layer, "encoder_attn_residual", None))
    x = x if layer.normalize_before else layer_norm(graph, x, layer.encoder_attn_layer_norm)
    return x, weights


def decoder_graph(model: nn.Module, activation: str, self_chain: str, cross_chain: str) -> Graph:
    """Graph of one step of ``R`` rows, which are the hypotheses of a batch, sentence by sentence.

    Inputs: ``tokens`` ``(R,)``; ``parents`` ``(R,)``, the rows of the caches that they continue;
    ``position`` ``(1,)``; ``count`` ``(1,)``, how many of the best words are wanted; what the
    encoder graph found; and of each layer ``cache_keys_N`` and ``cache_values_N`` ``(rows before,
    heads, steps before, head size)``.

    Outputs: ``best``, ``best_tokens`` ``(R, count)``; ``logits`` ``(R, V)``; ``attn`` ``(R, S)``,
    of the last layer, the mean of its heads; and ``new_cache_keys_N``, ``new_cache_values_N``.
    """
    decoder, graph = model.decoder, DecoderGraph()
    x = embedding(graph, decoder)
    chains, weights = (Chain(self_chain), Chain(cross_chain)), ""
    for number, layer in enumerate(decoder.layers.children()):
        x = self_attention(graph, x, chains[0], layer, number)
        x, weights = cross_attention(graph, x, chains[1], layer, number)
        x = feed_forward(graph, x, layer, activation)
    x = layer_norm(graph, x, decoder.layer_norm)
    if decoder.project_out_dim is not None:
        x = linear(graph, x, decoder.project_out_dim.weight, None)
    output = decoder.output_projection
    logits = linear(graph, x, output.weight, output.bias)
    graph.output(logits, "logits", FLOAT, ["rows", output.weight.size(0)])
    choose(graph, logits)
    average = graph.op("ReduceMean", weights, axes=[1], keepdims=0)
    length = graph.op("Slice", graph.op("Shape", graph.mask), *map(graph.integers, (3, 4)))
    by_row = graph.op("Concat", graph.integers(-1), length, axis=0)
    graph.output(graph.op("Reshape", average, by_row), "attn", FLOAT, ["rows", "length"])
    return graph


def choose(graph: DecoderGraph, logits: str) -> None:
    """Choose the best words of each row, so that thousands of scores a row need not be copied."""
    count = graph.input("count", INT64, [1])
    best, tokens = graph.ops("TopK", 2, graph.op("LogSoftmax", logits), count, axis=1)
    graph.output(best, "best", FLOAT, ["rows", "count"])
    graph.output(tokens, "best_tokens", INT64, ["rows", "count"])
