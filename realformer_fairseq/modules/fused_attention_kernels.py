"""The Triton kernel of attention with residual scores, and what its gradients share with it.

A program computes a block of the queries of one head and goes through the blocks of its keys.
Probabilities are never stored: the softmax is FlashAttention's (Dao et al. 2022, arXiv 2205.14135).
``fused_attention.py`` launches the kernels. Without Triton this file can be imported, and its
functions cannot be called.

Queries are ``(T, B, C)``, keys and values ``(S, B, C)``, scores ``(B * heads, T, S)``, all
contiguous. An argument that is None leaves its part out. ``F`` is the type of all arithmetic,
float32.
"""

from __future__ import annotations  # which name tl, which may be missing

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


def jit(function):
    """``triton.jit``. Lengths and the seed change from batch to batch: not a new kernel each."""
    changing = ["T", "S", "seed"]
    return function if triton is None else triton.jit(function, do_not_specialize=changing)


@jit
def load_rows(x, rows, stride, length, D: tl.constexpr, BLOCK_D: tl.constexpr):
    """Rows of a matrix ``(length, D)``, with zeros outside of it."""
    columns = tl.arange(0, BLOCK_D)
    inside = (rows < length)[:, None] & (columns < D)[None, :]
    return tl.load(x + rows[:, None] * stride + columns[None, :], mask=inside, other=0.0)


@jit
def store_rows(x, values, rows, stride, length, D: tl.constexpr, BLOCK_D: tl.constexpr):
    columns = tl.arange(0, BLOCK_D)
    inside = (rows < length)[:, None] & (columns < D)[None, :]
    tl.store(x + rows[:, None] * stride + columns[None, :], values, mask=inside)


@jit
def product(a, b, F: tl.constexpr):
    return tl.dot(a, b, input_precision="ieee", out_dtype=F)


@jit
def chained_scores(query, key, previous, at, inside, carry, fresh, F: tl.constexpr):
    """As in ``residual_scores.py``; ``fresh`` includes ``1 / sqrt(d_k)``."""
    scores = product(query, tl.trans(key), F) * fresh
    if previous is not None:
        scores += carry * tl.load(previous + at, mask=inside, other=0.0).to(F)
    return scores


@jit
def masked(scores, attn_mask, padding, at, inside, columns, S, MASKED: tl.constexpr):
    """Add what ``additive_mask`` of ``residual_scores.py`` makes of the masks."""
    if attn_mask is not None:
        mask = tl.load(attn_mask + at, mask=inside, other=0.0).to(scores.dtype)
        scores += tl.maximum(mask, MASKED)
    if padding is not None:
        is_padding = tl.load(padding + columns, mask=columns < S, other=0) != 0
        scores += tl.where(is_padding, MASKED, 0.0)[None, :]
    return tl.where((columns < S)[None, :], scores, float("-inf"))


@jit
def dropout_factors(dropout, seed, head, at):
    """0 for a dropped probability, else ``1 / (1 - dropout)``, by Philox.

    Seed and head are the two halves of its key, the place in the head's scores is its counter.
    """
    kept = tl.rand(seed + (head << 32), at) >= dropout
    return tl.where(kept, 1 / (1 - dropout), 0.0)


@jit
def forward_kernel(
    query,
    key,
    value,
    previous,
    attn_mask,
    padding,
    output,
    scores,
    row_statistics,
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
    """Output, scores, and of each row the largest masked score and the sum of exponentials."""
    head = tl.program_id(0).to(tl.int64)  # of B * heads
    stride = tl.num_programs(0) * D
    rows = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    if padding is not None:
        padding += head // HEADS * S
    if previous is not None:
        previous += head * T * S
    q = load_rows(query + head * D, rows, stride, T, D, BLOCK_D)
    maximum = tl.full((BLOCK_T,), float("-inf"), F)
    total = tl.zeros((BLOCK_T,), F)
    result = tl.zeros((BLOCK_T, BLOCK_D), F)
    for start in range(0, S, BLOCK_S):
        columns = start + tl.arange(0, BLOCK_S)
        at = rows[:, None] * S + columns[None, :]
        inside = (rows < T)[:, None] & (columns < S)[None, :]
        k = load_rows(key + head * D, columns, stride, S, D, BLOCK_D)
        block = chained_scores(q, k, previous, at, inside, carry, fresh, F)
        if scores is not None:
            tl.store(scores + head * T * S + at, block, mask=inside)
        block = masked(block, attn_mask, padding, at, inside, columns, S, MASKED)
        highest = tl.maximum(maximum, tl.max(block, 1))
        shrink = tl.exp(maximum - highest)
        block = tl.exp(block - highest[:, None])
        total = total * shrink + tl.sum(block, 1)
        if DROPS:
            block *= dropout_factors(dropout, seed, head, at)
        v = load_rows(value + head * D, columns, stride, S, D, BLOCK_D)
        result = result * shrink[:, None] + product(block.to(v.dtype), v, F)
        maximum = highest
    store_rows(output + head * D, result / total[:, None], rows, stride, T, D, BLOCK_D)
    row_statistics += head * 2 * T + rows
    tl.store(row_statistics, maximum, mask=rows < T)
    tl.store(row_statistics + T, total, mask=rows < T)
