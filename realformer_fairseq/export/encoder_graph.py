"""The encoder as an ONNX graph, with the keys and values of the decoder's cross-attention."""

from torch import nn

from .graph import FLOAT, INT64, Graph
from .layers import Chain, feed_forward, layer_norm, linear, residual, self_attention_projection

MASKED = -1e9


def position_table(embedding: nn.Module, positions: int):
    """Embeddings of the first positions of a sentence, ``(positions, C)``."""
    first = embedding.padding_idx + 1
    weights = getattr(embedding, "weight", None)
    if weights is None:
        size = embedding.embedding_dim
        weights = embedding.get_embedding(positions + first, size, embedding.padding_idx)
    return weights[first : first + positions]


def self_attention(graph: Graph, x: str, mask: str, chain: Chain, layer: nn.Module) -> str:
    """The first sub-layer: ``(B, S, C)`` to ``(B, S, C)``."""
    attention, before = layer.self_attn, x
    heads, size = attention.num_heads, attention.head_dim
    if layer.normalize_before:
        x = layer_norm(graph, x, layer.self_attn_layer_norm)
    packed = self_attention_projection(graph, x, attention)
    packed = graph.reshape(packed, 0, 0, 3 * heads, size)
    q, k, v = graph.split(packed, 3, axis=2)
    fresh = graph.op("MatMul", graph.transpose(q, 0, 2, 1, 3), graph.transpose(k, 0, 2, 3, 1))
    scores = graph.op("Add", chain.add(graph, fresh), mask)
    found = graph.op("MatMul", graph.op("Softmax", scores), graph.transpose(v, 0, 2, 1, 3))
    found = graph.reshape(graph.transpose(found, 0, 2, 1, 3), 0, 0, heads * size)
    x = linear(graph, found, attention.out_proj.weight, attention.out_proj.bias)
    x = residual(graph, x, before, getattr(layer, "self_attn_residual", None))
    return x if layer.normalize_before else layer_norm(graph, x, layer.self_attn_layer_norm)


def embedding(graph: Graph, tokens: str, encoder: nn.Module) -> str:
    """Embeddings of tokens and positions, ``(B, S, C)``; padding is on the right."""
    table = graph.weight(encoder.embed_tokens.weight * encoder.embed_scale)
    x = graph.op("Gather", table, tokens)
    if encoder.embed_positions is not None:
        positions = graph.weight(position_table(encoder.embed_positions, encoder.max_positions()))
        length = graph.op("Slice", graph.op("Shape", tokens), *map(graph.integers, (1, 2)))
        first, axis = graph.integers(0), graph.integers(0)
        x = graph.op("Add", x, graph.op("Slice", positions, first, length, axis))
    return layer_norm(graph, x, encoder.layernorm_embedding)


def encoder_graph(model: nn.Module, activation: str, residual_attention: str) -> Graph:
    """Graph of the encoder, and of the keys and values of cross-attention in each decoder layer.

    Inputs: ``tokens`` ``(B, S)`` and ``mask`` ``(B, S)``, 1 at words and 0 at padding.

    Outputs: ``mask_scores`` ``(B, 1, 1, S)``; of each decoder layer ``keys_N`` ``(B, heads, head
    size, S)`` and ``values_N`` ``(B, heads, S, head size)``.
    """
    encoder, graph = model.encoder, Graph("encoder")
    tokens = graph.input("tokens", INT64, ["batch", "length"])
    words = graph.input("mask", FLOAT, ["batch", "length"])
    x = embedding(graph, tokens, encoder)
    x = graph.op("Mul", x, graph.op("Unsqueeze", words, graph.integers(2)))
    absent = graph.op("Sub", graph.number(1), words)
    mask = graph.op("Mul", absent, graph.number(MASKED))
    mask = graph.op("Unsqueeze", mask, graph.integers(1, 2))
    chain = Chain(residual_attention)
    for layer in encoder.layers.children():
        x = self_attention(graph, x, mask, chain, layer)
        x = feed_forward(graph, x, layer, activation)
    x = layer_norm(graph, x, encoder.layer_norm)
    graph.output(mask, "mask_scores", FLOAT, ["batch", 1, 1, "length"])
    for number, layer in enumerate(model.decoder.layers.children()):
        attention = layer.encoder_attn
        heads, size = attention.num_heads, attention.head_dim
        for name, projection, order, shape in (
            ("keys", attention.k_proj, (0, 2, 3, 1), (heads, size, "length")),
            ("values", attention.v_proj, (0, 2, 1, 3), (heads, "length", size)),
        ):
            y = linear(graph, x, projection.weight, projection.bias)
            y = graph.transpose(graph.reshape(y, 0, 0, heads, size), *order)
            graph.output(y, f"{name}_{number}", FLOAT, ["batch", *shape])
    return graph
