"""How the kernels of attention with residual scores are launched: blocks, warps, sizes."""

from typing import Any

import torch
from torch import Tensor

MASKED = torch.finfo(torch.float32).min / 2  # as in residual_scores.additive_mask


def launch(kernel: Any, length: int, query: Tensor, key: Tensor, heads: int, **arguments) -> None:
    """Run a kernel: a program for each head and each block of its ``length`` queries or keys."""
    import triton.language as tl

    head_dim = query.size(2) // heads
    largest = largest_block(query.dtype, head_dim)
    block = block_size(length, largest)
    with torch.cuda.device_of(query):  # Triton would take the current device
        kernel[(query.size(1) * heads, -(-length // block))](
            query=query,
            key=key,
            T=query.size(0),
            S=key.size(0),
            HEADS=heads,
            D=head_dim,
            BLOCK_D=block_size(head_dim, 128),
            BLOCK_T=block_size(query.size(0), largest),
            BLOCK_S=block_size(key.size(0), largest),
            DROPS=arguments["dropout"] > 0,
            MASKED=MASKED,
            F=getattr(tl, str(accumulated_in(query.dtype)).partition(".")[2]),
            num_warps=warps(query.dtype, head_dim, "grad_output" not in arguments),
            num_stages=1,
            **arguments,
        )


def accumulated_in(dtype: torch.dtype) -> torch.dtype:
    """The type of all arithmetic; float64 is for checking gradients."""
    return torch.float64 if dtype == torch.float64 else torch.float32


# With these sizes ptxas keeps the kernels in registers, for sm_80 and sm_90
# (tests/test_fused_attention.py); larger blocks spill. No GPU has timed them.
def largest_block(dtype: torch.dtype, head_dim: int) -> int:
    return 16 if dtype == torch.float32 and head_dim > 32 else 32


def warps(dtype: torch.dtype, head_dim: int, is_forward: bool) -> int:
    """Warps of a program. Heads of 64 halves would spill with 4 forward, with 8 backward."""
    largest_of_4 = 32 if is_forward or dtype == torch.float32 else 64
    return 8 if head_dim > largest_of_4 else 4


def block_size(length: int, largest: int) -> int:
    """The power of two that takes a length, or the largest block."""
    return min(largest, max(16, 1 << (length - 1).bit_length()))
