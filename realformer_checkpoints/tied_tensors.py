"""Tied parameters: one tensor under several names of a state dictionary."""

from typing import Hashable

from torch import Tensor


def storage_key(tensor: Tensor) -> Hashable:
    """Key that is equal for two tensors if, and only if, they are the same view of one storage."""
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype
