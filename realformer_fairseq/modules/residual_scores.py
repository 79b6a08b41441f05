"""Attention scores that are carried from layer to layer: their arithmetic.

RealFormer (He et al. 2020, arXiv 2012.11747, section 3): ``S_l = Q_l K_l^T / sqrt(d_k) + S_{l-1}``,
``P_l = softmax(S_l + mask)``. ``sum`` carries this sum. ``mean`` carries the running mean of the
fresh scores, which section 4.2 uses for all of machine translation. A mask never enters the chain.
The attention module, with its parameters, is in ``residual_attention.py``.
"""

from typing import Optional, Tuple

import torch
from torch import Tensor

RESIDUAL_ATTENTION_CHOICES = ("mean", "sum", "none")


def chain_weights(residual_attention: str, layers_traversed: int) -> Tuple[float, float]:
    """Weights of the carried scores and of the fresh scores in one layer.

    Args:
        residual_attention: ``mean``, ``sum`` or ``none``
        layers_traversed: layers of this chain that were computed before this one

    Returns:
        ``(carry, fresh)`` such that ``scores = carry * previous + fresh * q k^T / sqrt(d_k)``
    """
    if layers_traversed == 0 or residual_attention == "none":
        return 0.0, 1.0
    if residual_attention == "sum":
        return 1.0, 1.0
    return layers_traversed / (layers_traversed + 1), 1.0 / (layers_traversed + 1)


def is_carried_in_float32(q: Tensor, residual_attention: str) -> bool:
    """Whether a layer returns float32 scores for queries in half precision.

    A ``sum`` grows with depth beyond the resolution of a half.
    """
    half = q.dtype == torch.float16 or q.dtype == torch.bfloat16
    return half and residual_attention == "sum"


def chained_scores(
    q: Tensor,
    k: Tensor,
    previous_scores: Optional[Tensor],
    scaling: float,
    residual_attention: str,
    layers_traversed: int,
) -> Tensor:
    """Attention scores of one layer, including those of the layers below, before mask and softmax.

    Args:
        q: queries ``(B * heads, T, head_dim)``
        k: keys ``(B * heads, S, head_dim)``
        previous_scores: result of the layer below, ``(B * heads, T, S)``, or None in the first
            layer and without a chain
        scaling: ``1 / sqrt(head_dim)``

    Returns:
        scores ``(B * heads, T, S)`` of the type of ``q`` or :func:`is_carried_in_float32`
    """
    in_float32 = is_carried_in_float32(q, residual_attention)
    carry, fresh = chain_weights(
        residual_attention, 0 if previous_scores is None else layers_traversed
    )
    if previous_scores is None or in_float32:
        nothing = torch.zeros(1, 1, 1, dtype=q.dtype, device=q.device)
        scores = torch.baddbmm(nothing, q, k.transpose(1, 2), beta=0.0, alpha=fresh * scaling)
        if in_float32:
            scores = scores.float()
        return scores if previous_scores is None else scores + previous_scores
    # Under autocast a layer is computed anew without it, from scores that were made with it.
    previous_scores = previous_scores.type_as(q)
    return torch.baddbmm(previous_scores, q, k.transpose(1, 2), beta=carry, alpha=fresh * scaling)


def additive_mask(
    attn_mask: Optional[Tensor],
    key_padding_mask: Optional[Tensor],
    masked: float = torch.finfo(torch.float32).min / 2,
) -> Optional[Tensor]:
    """Mask to add to scores ``(B, heads, T, S)`` before softmax.

    It has a large finite number in place of minus infinity. The probabilities are the same, and a
    query whose keys are all masked has finite ones instead of NaN. Adding takes a tenth of the
    time of ``masked_fill`` on a CPU.

    Args:
        attn_mask: additive ``(T, S)``, for example the decoder's future mask
        key_padding_mask: ``(B, S)``, true (or non-zero) at padding
        masked: the large number, an argument because TorchScript knows no ``finfo``; it is added
            twice at keys that both masks exclude

    Returns:
        float32 ``(1 or B, 1, 1 or T, S)``, or None if nothing is masked
    """
    mask: Optional[Tensor] = None
    if attn_mask is not None:
        mask = attn_mask.float().clamp(min=masked).unsqueeze(0).unsqueeze(1)
    if key_padding_mask is not None:
        padding = key_padding_mask.to(torch.bool).unsqueeze(1).unsqueeze(2)
        at_padding = torch.zeros(padding.size(), device=padding.device).masked_fill(padding, masked)
        mask = at_padding if mask is None else mask + at_padding
    return mask


def attention_probabilities(scores: Tensor, mask: Optional[Tensor], num_heads: int) -> Tensor:
    """Masked softmax over the keys, in float32.

    Args:
        scores: ``(B * heads, T, S)``
        mask: from :func:`additive_mask`

    Returns:
        float32 probabilities ``(B * heads, T, S)``
    """
    scores = scores.float()
    if mask is not None:
        by_head = scores.view(-1, num_heads, scores.size(1), scores.size(2))
        scores = (by_head + mask).view(scores.size())
    return torch.softmax(scores, dim=-1)
