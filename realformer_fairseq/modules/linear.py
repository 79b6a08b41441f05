"""Linear layers that are fast for the few rows of a decoding step on a CPU."""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import skip_init

# For these numbers of rows and a large weight, weight times input is faster than the other order.
# Measured with MKL on AVX2 and two threads, 5 rows: 1.3 times as fast with 512 x 512, 1.8 with
# 2048 x 512, 2.8 with 8000 x 512. It is slower with one row or ten, and with 128 x 128.
FEW_ROWS = range(2, 9)
LARGE_WEIGHT = 1 << 17  # numbers


@torch.jit.unused
def linear(x: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    """``torch.nn.functional.linear``, as weight times input for a few rows in inference on a CPU.

    Args:
        x: ``(..., in_features)``
        weight: ``(out_features, in_features)``
        bias: ``(out_features,)`` or None
    """
    rows = x.numel() // weight.size(1)
    if (
        rows not in FEW_ROWS
        or weight.numel() < LARGE_WEIGHT
        or torch.is_grad_enabled()
        or x.device.type != "cpu"
        or x.dtype != torch.float32
    ):
        return F.linear(x, weight, bias)
    columns = x.reshape(rows, -1).t()
    if bias is None:
        product = torch.mm(weight, columns)
    else:
        product = torch.addmm(bias.unsqueeze(1), weight, columns)
    return product.t().reshape(x.size()[:-1] + (weight.size(0),))


class Linear(nn.Linear):
    """``nn.Linear`` that computes with :func:`linear`."""

    def forward(self, input: Tensor) -> Tensor:
        if torch.jit.is_scripting():
            return F.linear(input, self.weight, self.bias)
        return linear(input, self.weight, self.bias)


class PackedLinear(Linear):
    """A layer whose weights are those of other layers, and are saved and loaded with these."""

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        pass

    def _load_from_state_dict(self, *args):
        pass


def replace_linear(model: nn.Module) -> None:
    """Turn every ``nn.Linear`` of a model into a ``Linear`` with the same parameters."""
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = Linear


def pack(*projections: nn.Module) -> Optional[Linear]:
    """One linear layer that concatenates the outputs of several layers of the same input.

    The weights of the layers become views of its weight, so writing to them changes it. None if a
    layer is not an ``nn.Linear`` or has hooks, which the joint layer would not call.
    """
    if any(type(p) not in (nn.Linear, Linear) for p in projections) or any(
        p._forward_hooks or p._forward_pre_hooks for p in projections
    ):
        return None
    outputs = sum(p.out_features for p in projections)
    bias = projections[0].bias is not None
    # skip_init draws no random numbers, so sampling with a seed gives the same as without packing.
    packed = skip_init(PackedLinear, projections[0].in_features, outputs, bias=bias)
    for name, parameter in list(packed.named_parameters()):
        parts = [getattr(p, name) for p in projections]
        parameter.data = torch.cat([part.data for part in parts])
        for part, share in zip(parts, parameter.data.split([len(part) for part in parts])):
            part.data = share
        parameter.requires_grad_(False)
    return packed
