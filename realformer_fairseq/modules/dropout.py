"""Dropout whose random numbers are cheap on a CPU.

torch draws one Bernoulli variable for each element from a serial Mersenne Twister, which took a
fifth of a training step on a CPU. Here each draw of 64 bits decides four elements.
"""

import torch
import torch.nn.functional as F
from fairseq.modules import FairseqDropout
from torch import Tensor, nn

LEVELS = 1 << 16  # of the 16 random bits an element gets


@torch.jit.unused
def dropout_mask(like: Tensor, p: float) -> Tensor:
    """Random factors: 0 for a dropped element, else ``1 / (1 - p)``.

    The random bits are from torch's default generator, so ``torch.manual_seed`` applies. ``p`` is
    rounded to a multiple of 1 / 65536.

    Args:
        like: tensor that has the shape and type of the result
        p: probability to drop an element, from 0 to 1
    """
    dropped = round(p * LEVELS)
    if dropped == LEVELS:
        return torch.zeros_like(like, requires_grad=False)
    draws = torch.empty((like.numel() + 3) // 4, dtype=torch.int64)
    draws.random_(torch.iinfo(torch.int64).min, None)
    bits = draws.view(torch.int16)[: like.numel()].view(like.shape)
    scale = LEVELS / (LEVELS - dropped)
    # The threshold lies between two levels, so that no element equals it. Multiplying and clamping
    # takes a third of the time of a comparison.
    above = bits.to(torch.float32).add_(LEVELS / 2 - dropped + 0.5)
    return above.mul_(2 * scale).clamp_(0, scale).to(like.dtype)


class Dropout(FairseqDropout):
    """fairseq's dropout module, which uses :func:`dropout_mask` on a CPU."""

    def forward(self, x, inplace: bool = False):
        if self.p == 0 or not (self.training or self.apply_during_inference):
            return x
        if torch.jit.is_scripting() or x.device.type != "cpu":
            return F.dropout(x, p=self.p, training=True, inplace=inplace)
        mask = dropout_mask(x, self.p)
        return x.mul_(mask) if inplace else x * mask


def replace_dropout(model: nn.Module) -> None:
    """Turn every ``FairseqDropout`` of a model into a ``Dropout`` with the same settings."""
    for module in model.modules():
        if type(module) is FairseqDropout:
            module.__class__ = Dropout
