"""Linear layers that are fast for the few rows of a decoding step on a CPU."""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import skip_init

# With so many rows, weight times input is faster than input times weight, if the weight is large.
# Measured with MKL on AVX2 and two threads, 5 rows: 1.3 times as fast with 512 x 512, 1.8 with
# 2048 x 512, 2.8 with 8000 x 512. With one row or ten, or with 128 x 128, it is slower.
FEW_ROWS = range(2, 9)
LARGE_WEIGHT = 1 << 17  # numbers


@torch.jit.unused
def linear(x: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    """As ``torch.nn.functional.linear``; in inference on a CPU, a few rows are multiplied the other
    way round.

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
    """``nn.Linear`` by :func:`linear`."""

    def forward(self, input: Tensor) -> Tensor:
        if torch.jit.is_scripting():
            return F.linear(input, self.weight, self.bias)
        return linear(input, self.weight, self.bias)


def replace_linear(model: nn.Module) -> None:
    """Make every ``nn.Linear`` in a model one of ours, with the same parameters."""
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = Linear


def pack(*projections: nn.Module) -> Optional[Linear]:
    """One layer whose output is that of several of the same input, one after the other.

    Their weights become parts of its weight, so that what is written to them reaches it. None where
    a layer is another than ``nn.Linear``, or has hooks: those must go on being called.
    """
    if any(type(p) not in (nn.Linear, Linear) for p in projections) or any(
        p._forward_hooks or p._forward_pre_hooks for p in projections
    ):
        return None
    outputs = sum(p.out_features for p in projections)
    bias = projections[0].bias is not None
    # Without drawing initial weights: sampling with a seed stays what it is without packing.
    packed = skip_init(Linear, projections[0].in_features, outputs, bias=bias)
    for name, parameter in list(packed.named_parameters()):
        parts = [getattr(p, name) for p in projections]
        parameter.data = torch.cat([part.data for part in parts])
        for part, share in zip(parts, parameter.data.split([len(part) for part in parts])):
            part.data = share
        parameter.requires_grad_(False)
    return packed
