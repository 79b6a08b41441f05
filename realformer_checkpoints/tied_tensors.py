"""Tied parameters: the same numbers in memory under several names of a state dictionary."""

from typing import Hashable

from torch import Tensor


def storage_key(tensor: Tensor) -> Hashable:
    """Equal for two tensors if, and only if, they are the same view of the same numbers."""
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype
