"""Launches of a GPU and the bytes that they move, counted on torch's meta device.

That device computes nothing. Each operator is a launch, which reads its inputs and writes its
outputs once; what runs meanwhile is what torch and this project choose on a GPU.
"""

from contextlib import contextmanager
from typing import Iterator, List
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from realformer_fairseq.modules import fused_attention, fused_attention_operator

# Bytes and, of bfloat16, operations a second: NVIDIA's data sheets of the A100 80GB SXM and the
# H100 SXM, without sparsity.
GPUS = {"a100": (2.039e12, 312e12), "h100": (3.35e12, 989e12)}
# Seconds of the host for an operator of torch, from github.com/meta-pytorch/autoparallel/pull/146
# (H100), and for a kernel of Triton, from github.com/meta-pytorch/tritonbench/pull/1002.
TORCH_LAUNCH, TRITON_LAUNCH = 7e-6, 11e-6

NO_LAUNCH = {"_unsafe_view", "_local_scalar_dense", "empty", "empty_like", "empty_strided"}
NO_LAUNCH |= {"new_empty", "new_empty_strided"}
FILLS = {"zeros", "zeros_like", "new_zeros", "ones_like", "zero_", "fill_"}  # read nothing
LOOK_UPS = {"embedding", "index_select", "gather"}  # read as much of the first input as they write


class Counter(TorchDispatchMode):
    """Counts the launches, and the bytes they move, of what runs on the meta device.

    Attributes:
        launches: their number
        moved_bytes: read and written
        host_seconds: that the launches take
        seconds: by GPU, sum of the time that each launch needs for its bytes or, if that is
            longer, for its products
    """

    def __init__(self):
        super().__init__()
        self.launches, self.moved_bytes, self.host_seconds = 0, 0, 0.0
        self.seconds = dict.fromkeys(GPUS, 0.0)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name.partition("::")[2]
        if func.namespace == "realformer_fairseq":
            with self, patch.object(fused_attention_operator, "launch", self.add_kernel):
                return getattr(fused_attention_operator, name)(*args, **kwargs)
        inputs = tensors_on_meta((args, kwargs))
        if name == "_local_scalar_dense" and inputs:
            return True  # the only one asks whether the batch has padding, which it has
        result = func(*args, **kwargs)
        outputs = tensors_on_meta(result)
        if (inputs or outputs) and not func.is_view and name not in NO_LAUNCH:
            written = tensors_on_meta(changed_arguments(func, args)) or outputs
            products = flop_registry.get(func._overloadpacket)
            operations = products(*args, **kwargs, out_val=result) if products else 0
            moved = size(read(name, inputs, written)) + size(written)
            self.add(TORCH_LAUNCH, moved, operations)
        return result

    def add_kernel(self, kernel, length: int, **arguments) -> None:
        """Add a kernel of Triton, which reads or writes each tensor.

        Its products are left out. With heads of 64 dimensions they take less time than its bytes,
        but for the gradients in the first and the last layer.
        """
        self.add(TRITON_LAUNCH, size(tensors_on_meta(arguments)))

    def add(self, host_seconds: float, moved: int, operations: int = 0) -> None:
        self.launches += 1
        self.moved_bytes += moved
        self.host_seconds += host_seconds
        for gpu, (bandwidth, arithmetic) in GPUS.items():
            self.seconds[gpu] += max(moved / bandwidth, operations / arithmetic)


def tensors_on_meta(tree) -> List[Tensor]:
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, Tensor) and x.is_meta]


def changed_arguments(func, args) -> List:
    """The arguments that an operator writes to."""
    changed = [x.alias_info is not None and x.alias_info.is_write for x in func._schema.arguments]
    return [x for x, is_written in zip(args, changed) if is_written]


def read(name: str, inputs: List[Tensor], written: List[Tensor]) -> List[Tensor]:
    """The tensors that are read, or as large as what is."""
    if name in FILLS:
        return []
    if name == "copy_":
        return inputs[1:]
    return [*written, *inputs[1:]] if name in LOOK_UPS else inputs


def size(tensors: List[Tensor]) -> int:
    """Bytes of tensors, without the repetitions of expanded ones."""
    total = 0
    for x in tensors:
        of_element = x.element_size()
        for length, stride in zip(x.size(), x.stride()):
            of_element *= length if stride else min(length, 1)
        total += of_element
    return total


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``F.dropout`` as on a GPU: one kernel in each direction."""
    return torch.native_dropout(x, p, True)[0] if training and p > 0 else x


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False):
    """``F.scaled_dot_product_attention`` as on a GPU that is given a mask: memory-efficient.

    The kernel wants rows of masks at multiples of 8 numbers, so torch copies other ones.
    """
    if attn_mask is not None:
        keys = key.size(-2)
        if keys % 8:
            attn_mask = F.pad(attn_mask, (0, -keys % 8))[..., :keys]
        attn_mask = attn_mask.expand(*query.shape[:-1], keys)
    return torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, attn_mask, True, dropout_p, is_causal
    )[0]


@contextmanager
def as_on_a_gpu() -> Iterator[None]:
    """Meanwhile, operators are those that torch and this project choose on a GPU."""
    with (
        patch.object(F, "dropout", dropout),
        patch.object(F, "scaled_dot_product_attention", scaled_dot_product_attention),
        patch.object(fused_attention, "can_attend", lambda *_: True),
    ):
        yield
