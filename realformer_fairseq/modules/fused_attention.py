"""Attention with residual scores in one GPU kernel: when it is used.

``--attention-kernel`` chooses between this and the operations of ``residual_scores.py``, which have
the same results. ``fused_attention_operator.py`` has the operator and its gradients.
"""

import functools
import importlib.util
import os
from typing import Optional, Tuple

import torch
from torch import Tensor, nn

from .fused_attention_operator import OPERATORS
from .residual_scores import chain_weights, is_carried_in_float32

ATTENTION_KERNEL_CHOICES = ("auto", "eager", "fused")
# What "auto" stands for, until a GPU has shown that "fused" is equal and faster.
AUTO = "eager"
TYPES = (torch.float32, torch.float16, torch.bfloat16)
LARGEST_HEAD = 128  # dimensions
COMPUTE_CAPABILITY = (8, 0)  # the lowest that Triton compiles for


def is_chosen(attention_kernel: str) -> bool:
    """Whether the fused kernel is to be used where it can be."""
    return (AUTO if attention_kernel == "auto" else attention_kernel) == "fused"


@functools.cache
def lacking(device: torch.device) -> Optional[str]:
    """What the kernel needs and this device or installation lacks, or None."""
    if importlib.util.find_spec("triton") is None:
        return "the package triton, which is not installed"
    if os.environ.get("TRITON_INTERPRET") == "1":  # on a CPU, too
        return None
    if device.type != "cuda" or torch.version.hip:
        return "an NVIDIA GPU"
    if torch.cuda.get_device_capability(device) < COMPUTE_CAPABILITY:
        return "a GPU of compute capability {}.{} or above".format(*COMPUTE_CAPABILITY)
    return None


def fused_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Optional[Tensor],
    attn_mask: Optional[Tensor],
    previous_scores: Optional[Tensor],
    layers_traversed: int,
    is_last: bool,
) -> Optional[Tuple[Tensor, Optional[Tensor]]]:
    """Output, before its projection, and scores of ``ResidualMultiheadAttention.forward``.

    Args:
        module: the attention; the other arguments are those of its forward

    Returns:
        output ``(T, B, C)``; scores ``(B * heads, T, S)``, or None without a chain or a layer
        above. A single None where the kernel cannot be used
    """
    if not can_attend(query, module.head_dim, attn_mask):
        return None
    query = module.q_proj(query)
    chain, scores_type = module.residual_attention, None
    if chain != "none" and not is_last:
        scores_type = torch.float32 if is_carried_in_float32(query, chain) else query.dtype
    carry, fresh = chain_weights(chain, 0 if previous_scores is None else layers_traversed)
    dropout = module.dropout_module
    drops = dropout.p > 0 and (module.training or dropout.apply_during_inference)
    output, scores, _ = OPERATORS.attend(
        query,
        module.k_proj(key),
        module.v_proj(value),
        previous_scores,
        attn_mask,
        None if key_padding_mask is None else key_padding_mask.to(torch.bool),
        module.num_heads,
        carry,
        fresh * module.scaling,
        dropout.p if drops else 0.0,
        draw_seed() if drops else 0,
        scores_type,
    )
    return output, None if scores_type is None else scores


def can_attend(query: Tensor, head_dim: int, attn_mask: Optional[Tensor]) -> bool:
    """Whether the kernel takes the projections of ``query``, which autocast may make halves.

    Args:
        attn_mask: gets no gradient from the kernel
    """
    device, dtype = query.device, query.dtype
    if torch.is_autocast_enabled(device.type):
        dtype = torch.get_autocast_dtype(device.type)
    if attn_mask is not None and attn_mask.requires_grad:
        return False
    return dtype in TYPES and head_dim <= LARGEST_HEAD and lacking(device) is None


def draw_seed() -> int:
    """A seed from torch's generator on the CPU, which no GPU has to wait for."""
    return int(torch.randint(1 << 31, (1,), device="cpu"))
