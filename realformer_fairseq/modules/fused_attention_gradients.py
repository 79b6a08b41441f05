"""Triton kernels of the gradients of attention with residual scores.

Both repeat the probabilities of a block from its scores and from what ``forward_kernel`` kept of
each row. The first kernel computes the gradients of the queries and of the scores below, and also
those of keys and values if all queries are one block, as in most sentences. Else the second kernel
does that, a block of keys a program. Shapes as in ``fused_attention_kernels.py``.
"""

from __future__ import annotations  # which name tl, which may be missing

from .fused_attention_kernels import (
    chained_scores,
    dropout_factors,
    jit,
    load_rows,
    masked,
    product,
    store_rows,
    tl,
)


@jit
def gradient_block(
    q,
    k,
    v,
    grad,
    previous,
    attn_mask,
    padding,
    grad_scores,
    row_statistics,
    delta,
    rows,
    columns,
    head,
    T,
    S,
    carry,
    fresh,
    dropout,
    seed,
    DROPS: tl.constexpr,
    MASKED: tl.constexpr,
    F: tl.constexpr,
):
    """Probabilities after dropout and the gradient of the scores, of blocks ``q`` and ``k``.

    Pointers are those of the head, or of its sentence.

    Args:
        grad: rows of the gradient of the output
        delta: of each row, the product of the output and its gradient
    """
    at = rows[:, None] * S + columns[None, :]
    inside = (rows < T)[:, None] & (columns < S)[None, :]
    scores = chained_scores(q, k, previous, at, inside, carry, fresh, F)
    scores = masked(scores, attn_mask, padding, at, inside, columns, S, MASKED)
    maximum = tl.load(row_statistics + rows, mask=rows < T, other=0.0)
    total = tl.load(row_statistics + T + rows, mask=rows < T, other=1.0)
    probabilities = tl.exp(scores - maximum[:, None]) / total[:, None]
    gradient = product(grad, tl.trans(v), F)
    dropped = probabilities
    if DROPS:
        factors = dropout_factors(dropout, seed, head, at)
        dropped = probabilities * factors
        gradient *= factors
    gradient = probabilities * (gradient - delta[:, None])
    if grad_scores is not None:
        gradient += tl.load(grad_scores + at, mask=inside, other=0.0).to(F)
    return dropped, gradient


@jit
def query_gradient_kernel(
    query,
    key,
    value,
    previous,
    attn_mask,
    padding,
    output,
    grad_output,
    grad_scores,
    row_statistics,
    deltas,
    grad_query,
    grad_previous,
    grad_key,
    grad_value,
    T,
    S,
    carry,
    fresh,
    dropout,
    seed,
    HEADS: tl.constexpr,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_S: tl.constexpr,
    DROPS: tl.constexpr,
    MASKED: tl.constexpr,
    F: tl.constexpr,
):
    """Gradients of queries and of the scores below, and what the other kernel needs of each row.

    Args:
        grad_scores: what the layer above has returned for the scores
        grad_key, grad_value: None, unless a block takes all queries
    """
    head = tl.program_id(0).to(tl.int64)
    stride = tl.num_programs(0) * D
    rows = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    if padding is not None:
        padding += head // HEADS * S
    if previous is not None:
        previous += head * T * S
    if grad_scores is not None:
        grad_scores += head * T * S
    row_statistics += head * 2 * T
    q = load_rows(query + head * D, rows, stride, T, D, BLOCK_D)
    out = load_rows(output + head * D, rows, stride, T, D, BLOCK_D)
    grad = load_rows(grad_output + head * D, rows, stride, T, D, BLOCK_D)
    delta = tl.sum(out.to(F) * grad.to(F), 1)
    tl.store(deltas + head * T + rows, delta, mask=rows < T)
    result = tl.zeros((BLOCK_T, BLOCK_D), F)
    for start in range(0, S, BLOCK_S):
        columns = start + tl.arange(0, BLOCK_S)
        k = load_rows(key + head * D, columns, stride, S, D, BLOCK_D)
        v = load_rows(value + head * D, columns, stride, S, D, BLOCK_D)
        dropped, gradient = gradient_block(
            q, k, v, grad, previous, attn_mask, padding, grad_scores, row_statistics, delta,
            rows, columns, head, T, S, carry, fresh, dropout, seed, DROPS, MASKED, F,
        )  # fmt: skip
        if grad_previous is not None:
            at = rows[:, None] * S + columns[None, :]
            inside = (rows < T)[:, None] & (columns < S)[None, :]
            tl.store(grad_previous + head * T * S + at, carry * gradient, mask=inside)
        gradient = gradient.to(k.dtype)
        result += product(gradient, k, F)
        if grad_key is not None:  # stored one after the other: both at once would spill registers
            result_v = product(tl.trans(dropped.to(grad.dtype)), grad, F)
            store_rows(grad_value + head * D, result_v, columns, stride, S, D, BLOCK_D)
            result_k = fresh * product(tl.trans(gradient), q, F)
            store_rows(grad_key + head * D, result_k, columns, stride, S, D, BLOCK_D)
    store_rows(grad_query + head * D, fresh * result, rows, stride, T, D, BLOCK_D)


@jit
def key_gradient_kernel(
    query,
    key,
    value,
    previous,
    attn_mask,
    padding,
    grad_output,
    grad_scores,
    row_statistics,
    deltas,
    grad_key,
    grad_value,
    T,
    S,
    carry,
    fresh,
    dropout,
    seed,
    HEADS: tl.constexpr,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_S: tl.constexpr,
    DROPS: tl.constexpr,
    MASKED: tl.constexpr,
    F: tl.constexpr,
):
    """Gradients of keys and values."""
    head = tl.program_id(0).to(tl.int64)
    stride = tl.num_programs(0) * D
    columns = tl.program_id(1) * BLOCK_S + tl.arange(0, BLOCK_S)
    if padding is not None:
        padding += head // HEADS * S
    if previous is not None:
        previous += head * T * S
    if grad_scores is not None:
        grad_scores += head * T * S
    row_statistics += head * 2 * T
    k = load_rows(key + head * D, columns, stride, S, D, BLOCK_D)
    v = load_rows(value + head * D, columns, stride, S, D, BLOCK_D)
    result_k = tl.zeros((BLOCK_S, BLOCK_D), F)
    result_v = tl.zeros((BLOCK_S, BLOCK_D), F)
    for start in range(0, T, BLOCK_T):
        rows = start + tl.arange(0, BLOCK_T)
        q = load_rows(query + head * D, rows, stride, T, D, BLOCK_D)
        grad = load_rows(grad_output + head * D, rows, stride, T, D, BLOCK_D)
        delta = tl.load(deltas + head * T + rows, mask=rows < T, other=0.0)
        dropped, gradient = gradient_block(
            q, k, v, grad, previous, attn_mask, padding, grad_scores, row_statistics, delta,
            rows, columns, head, T, S, carry, fresh, dropout, seed, DROPS, MASKED, F,
        )  # fmt: skip
        result_v += product(tl.trans(dropped.to(grad.dtype)), grad, F)
        result_k += product(tl.trans(gradient.to(q.dtype)), q, F)
    store_rows(grad_key + head * D, fresh * result_k, columns, stride, S, D, BLOCK_D)
    store_rows(grad_value + head * D, result_v, columns, stride, S, D, BLOCK_D)
