"""Mean of the parameters of several models, a few megabytes at a time."""

import copy
import functools
import math
from typing import Dict, Hashable, Optional, Sequence

import torch
from torch import Tensor

from .reading import storage_key

CHUNK_SIZE = 1 << 19  # numbers that are averaged at a time


class MeanNotFinite(Exception):
    """The mean of a parameter has NaN or infinity in it."""


def mean(tensors: Sequence[Tensor], weights: Optional[Sequence[float]] = None) -> Tensor:
    """Element-wise mean in the type of the last tensor; integers are rounded down.

    Sums are in float32, as in fairseq (float64 and integers in their own type). With ``weights``
    they are in float64, since the products are not exact in float32. Equal tensors give the same
    tensor bit for bit.
    """
    last = tensors[-1]
    if all(t.dtype == last.dtype and torch.equal(t, last) for t in tensors):
        return last.clone()
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    whole = not (dtype.is_floating_point or dtype.is_complex)
    wide = torch.float64 if weights else torch.int64 if whole else torch.float32
    weights = weights or [1] * len(tensors)
    total = tensors[0].to(torch.promote_types(dtype, wide), copy=True).mul_(weights[0])
    for tensor, weight in zip(tensors[1:], weights[1:]):
        total.add_(tensor, alpha=weight)
    return total.div_(sum(weights), rounding_mode="floor" if whole else None).to(last.dtype)


def mean_in_chunks(tensors: Sequence[Tensor], weights: Optional[Sequence[float]]) -> Tensor:
    """:func:`mean`, a few megabytes at a time: an embedding is a tenth of a model."""
    result = torch.empty_like(tensors[-1], memory_format=torch.contiguous_format)
    flat = [tensor.reshape(-1) for tensor in tensors]
    for start in range(0, result.numel(), CHUNK_SIZE):
        chunk = slice(start, start + CHUNK_SIZE)
        result.view(-1)[chunk] = mean([tensor[chunk] for tensor in flat], weights)
    return result


def all_finite(tensor: Tensor) -> bool:
    """Whether there is neither NaN nor infinity in a tensor, but for masks, of 0 and -infinity."""
    # A sum is ten times as fast as a look at each number. It may overflow where no number is large.
    if bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all()):
        return True
    return bool(((tensor == 0) | (tensor == -math.inf)).all())


@torch.no_grad()
def average_models(
    models: Sequence[Dict[str, Tensor]], weights: Optional[Sequence[float]] = None
) -> Dict[str, Tensor]:
    """Mean of every parameter, one parameter at a time.

    Parameters that are tied in every model, such as shared embeddings, stay tied. The models are
    state dictionaries with the same keys and shapes.

    Raises:
        MeanNotFinite: with the name of the parameter
    """
    result = copy.copy(models[-1])  # keeps the _metadata of state_dict(), versions of modules
    means: Dict[Hashable, Tensor] = {}
    for key in result:
        tensors = [model[key] for model in models]
        tied = tuple(map(storage_key, tensors))
        if tied not in means:
            means[tied] = mean_in_chunks(tensors, weights)
            if not all_finite(means[tied]):
                raise MeanNotFinite(key)
        result[key] = means[tied]
    return result
