"""A device for tests, where there is none: it has real values, and refuses what a GPU would refuse.

``tensor.to(DEVICE)`` is a tensor whose device is not the CPU, although its numbers are. As on a
GPU, one operation cannot take tensors of both devices, apart from single numbers. Wrong types are
refused by the CPU itself.

The device has the name of one that torch knows and leaves to others. Its backward pass runs in the
thread of the CPU's, so that nothing has to be registered before the first of a process.
"""

import contextlib
from typing import Any, Callable, Dict, Iterator
from unittest import mock

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

DEVICE = torch.device("lazy", 0)
CPU = torch.device("cpu")
COPY, CONVERT = torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default
OF_ONE_TYPE = {torch.ops.aten.native_layer_norm.default}  # on a GPU; a CPU takes two


class DeviceTensor(Tensor):
    """A tensor of the device; ``on_cpu`` has its numbers."""

    reads = 0  # how often numbers went to the CPU, which waits for them

    @staticmethod
    def __new__(cls, on_cpu: Tensor):
        return Tensor._make_wrapper_subclass(
            cls,
            on_cpu.size(),
            strides=on_cpu.stride(),
            storage_offset=on_cpu.storage_offset(),
            dtype=on_cpu.dtype,
            device=DEVICE,
        )

    def __init__(self, on_cpu: Tensor):
        self.on_cpu = on_cpu

    @property
    def data(self) -> Tensor:
        """The tensor without its history."""
        return Tensor.data.__get__(self)

    @data.setter
    def data(self, other: Tensor) -> None:
        Tensor.data.__set__(self, other)
        self.on_cpu = other.on_cpu

    def tolist(self) -> Any:
        """Numbers, in one read."""
        return self.cpu().tolist()

    def __repr__(self) -> str:
        return f"DeviceTensor({self.on_cpu})"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return compute(function, args, kwargs or {})


def compute(function: Callable, args: Any, kwargs: Dict[str, Any]) -> Any:
    """Do on the CPU what ``function`` does on the device.

    Raises:
        RuntimeError: a GPU could not do it
    """
    tensors = [each for each in pytree.tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
    here = [each for each in tensors if isinstance(each, DeviceTensor)]
    elsewhere = [each for each in tensors if each.device == CPU and each.dim() > 0]
    if here and elsewhere and function not in (COPY, CONVERT):
        raise RuntimeError(f"{function}: tensors of two devices")
    if function in OF_ONE_TYPE and len({each.dtype for each in tensors}) > 1:
        raise RuntimeError(f"{function}: tensors of two types")
    device = kwargs.get("device") or (DEVICE if here else CPU)
    if function == COPY:
        device = args[0].device
    if kwargs.get("device"):
        kwargs = {**kwargs, "device": CPU}
    known = {id(each.on_cpu): each for each in here}

    def placed(result: Tensor) -> Tensor:
        return known[id(result)] if id(result) in known else DeviceTensor(result)

    args, kwargs = pytree.tree_map_only(DeviceTensor, lambda each: each.on_cpu, (args, kwargs))
    results = function(*args, **kwargs)
    if device.type == DEVICE.type:
        results = pytree.tree_map_only(Tensor, placed, results)
    if here and not pytree.tree_any(lambda each: isinstance(each, DeviceTensor), results):
        DeviceTensor.reads += 1
    return results


# Tensors are made by operations that have none among their arguments.
LIBRARY = torch.library.Library("_", "IMPL")
LIBRARY.fallback(lambda function, *args, **kwargs: compute(function, args, kwargs), "Lazy")


@contextlib.contextmanager
def device_at_hand() -> Iterator[None]:
    """What programs find where a GPU is.

    A module that is moved keeps its parameters, shared ones too, and ``torch.tensor`` takes a
    device. What torch has for GPUs only, and fairseq calls, is harmless.
    """
    torch.__future__.set_swap_module_params_on_conversion(True)
    torch._C._set_only_lift_cpu_tensors(True)
    no_autocast = mock.patch.object(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    try:
        with no_autocast, mock.patch.object(torch.cuda, "current_device", lambda: 0):
            yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
        torch._C._set_only_lift_cpu_tensors(False)
