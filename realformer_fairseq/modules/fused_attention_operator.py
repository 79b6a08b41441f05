"""The operator of attention with residual scores and that of its gradients.

They are registered with torch by hand: ``torch.library.custom_op`` takes three times as long a
call, as long as the operations that the kernel replaces need to be launched.

Queries are ``(T, B, C)``, keys and values ``(S, B, C)``, scores ``(B * heads, T, S)``.
"""

from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from .fused_attention_launch import accumulated_in, largest_block, launch


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    previous_scores: Optional[Tensor],
    attn_mask: Optional[Tensor],
    key_padding_mask: Optional[Tensor],
    heads: int,
    carry: float,
    fresh: float,
    dropout: float,
    seed: int,
    scores_type: Optional[torch.dtype],
) -> Tuple[Tensor, Tensor, Tensor]:
    """Attention whose scores include those of the layer below.

    Args:
        previous_scores: of the layer below
        attn_mask: additive ``(T, S)``
        key_padding_mask: boolean ``(B, S)``, true at padding
        carry, fresh: of ``residual_scores.chain_weights``, the second times ``1 / sqrt(d_k)``
        dropout: of the probabilities, by random numbers that ``seed`` determines
        scores_type: of the returned scores; None for none

    Returns:
        output ``(T, B, C)``; scores, or an empty tensor; what the gradients need of each row,
        ``(B * heads, 2, T)``
    """
    from .fused_attention_kernels import forward_kernel

    outputs = empty_outputs(query, key, heads, scores_type)
    output, scores, row_statistics = outputs
    launch(
        forward_kernel,
        query.size(0),
        query=query.contiguous(),
        key=key.contiguous(),
        value=value.contiguous(),
        previous=contiguous(previous_scores),
        attn_mask=contiguous(attn_mask),
        padding=contiguous(key_padding_mask),
        output=output,
        scores=None if scores_type is None else scores,
        row_statistics=row_statistics,
        heads=heads,
        carry=carry,
        fresh=fresh,
        dropout=dropout,
        seed=seed,
    )
    return outputs


def empty_outputs(
    query: Tensor, key: Tensor, heads: int, scores_type: Optional[torch.dtype]
) -> Tuple[Tensor, Tensor, Tensor]:
    length, batch, _ = query.size()
    of_scores = (0,) if scores_type is None else (batch * heads, length, key.size(0))
    return (
        query.new_empty(query.size()),
        query.new_empty(of_scores, dtype=scores_type),
        query.new_empty((batch * heads, 2, length), dtype=accumulated_in(query.dtype)),
    )


def attend_backward(
    grad_output: Tensor,
    grad_scores: Optional[Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    previous_scores: Optional[Tensor],
    attn_mask: Optional[Tensor],
    key_padding_mask: Optional[Tensor],
    output: Tensor,
    row_statistics: Tensor,
    heads: int,
    carry: float,
    fresh: float,
    dropout: float,
    seed: int,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of query, key, value and previous scores, of these an empty tensor without them."""
    from .fused_attention_gradients import key_gradient_kernel, query_gradient_kernel

    gradients = empty_gradients(query, key, value, previous_scores)
    shared = dict(
        query=query.contiguous(),
        key=key.contiguous(),
        value=value.contiguous(),
        previous=contiguous(previous_scores),
        attn_mask=contiguous(attn_mask),
        padding=contiguous(key_padding_mask),
        grad_output=grad_output.contiguous(),
        grad_scores=contiguous(grad_scores),
        row_statistics=row_statistics,
        deltas=row_statistics.new_empty(row_statistics.size(0), row_statistics.size(2)),
        heads=heads,
        carry=carry,
        fresh=fresh,
        dropout=dropout,
        seed=seed,
    )
    grad_query, grad_key, grad_value, grad_previous = gradients
    of_keys = dict(grad_key=grad_key, grad_value=grad_value)
    in_one = query.size(0) <= largest_block(query.dtype, query.size(2) // heads)
    launch(
        query_gradient_kernel,
        query.size(0),
        output=output,
        grad_query=grad_query,
        grad_previous=None if previous_scores is None else grad_previous,
        **(of_keys if in_one else dict.fromkeys(of_keys)),
        **shared,
    )
    if not in_one:
        launch(key_gradient_kernel, key.size(0), **of_keys, **shared)
    return gradients


def empty_gradients(
    query: Tensor, key: Tensor, value: Tensor, previous_scores: Optional[Tensor]
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    previous = query.new_empty(0) if previous_scores is None else previous_scores
    return tuple(x.new_empty(x.size()) for x in (query, key, value, previous))


class Attention(torch.autograd.Function):
    """The derivative of :func:`attend`; the arguments are its own."""

    @staticmethod
    def forward(ctx: Any, *arguments):
        *tensors, heads, carry, fresh, dropout, seed, scores_type = arguments
        with torch._C._AutoDispatchBelowAutograd():
            output, scores, row_statistics = OPERATORS.attend(*arguments)
        ctx.save_for_backward(*tensors, output, row_statistics)
        ctx.numbers = heads, carry, fresh, dropout, seed
        without = [row_statistics] if scores_type is not None else [row_statistics, scores]
        ctx.mark_non_differentiable(*without)
        ctx.set_materialize_grads(False)  # the top layer's scores have none
        return output, scores, row_statistics

    @staticmethod
    def backward(ctx: Any, grad_output: Optional[Tensor], grad_scores: Optional[Tensor], _):
        query, _, _, previous_scores, *_ = ctx.saved_tensors
        if grad_output is None:
            grad_output = torch.zeros_like(query)
        *gradients, grad_previous = OPERATORS.attend_backward(
            grad_output, grad_scores, *ctx.saved_tensors, *ctx.numbers
        )
        return *gradients, None if previous_scores is None else grad_previous, *[None] * 8


def contiguous(x: Optional[Tensor]) -> Optional[Tensor]:
    return None if x is None else x.contiguous()


LIBRARY = torch.library.Library("realformer_fairseq", "FRAGMENT")
OPERATORS = torch.ops.realformer_fairseq
for function in (attend, attend_backward):
    schema = torch.library.infer_schema(function, mutates_args=())
    LIBRARY.define(function.__name__ + schema)
    LIBRARY.impl(function.__name__, function, "CompositeExplicitAutograd")
LIBRARY.impl("attend", lambda *arguments: Attention.apply(*arguments), "Autograd")


@torch.library.register_fake("realformer_fairseq::attend", lib=LIBRARY)
def _(query, key, value, previous, mask, padding, heads, carry, fresh, dropout, seed, scores_type):
    return empty_outputs(query, key, heads, scores_type)


@torch.library.register_fake("realformer_fairseq::attend_backward", lib=LIBRARY)
def _(grad_output, grad_scores, query, key, value, previous_scores, *_):
    return empty_gradients(query, key, value, previous_scores)
