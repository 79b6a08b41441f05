"""Residual connections whose input is scaled: ``x * omega + f(x)``, before the layer norm.

Very deep Post-LN models need it to train. The kinds of scaling:

``none``
    omega is 1: fairseq's residual connection.
``admin``
    ADMIN (Liu et al. 2020, arXiv 2004.08249 and 2008.07772): a trainable omega for each dimension
    of each sub-layer, from a profile of the first training batches (``admin_profile.py``).
``admin-analytic``
    The same, starting from a constant that only the depth decides, as in admin-torch.
``deepnorm``
    DeepNorm (Wang et al. 2022, arXiv 2203.00555, figure 2): a constant of the depth that is not
    trained, and smaller initial weights.

This file holds the residual connection and the constants. Folding omega away after training is the
business of ``fold_omega.py``.
"""

import math
from typing import Dict, NamedTuple, Optional

import torch
from torch import Tensor, nn

SUBLAYER_SCALING_CHOICES = ("none", "admin", "admin-analytic", "deepnorm")


class ScaledResidual(nn.Module):
    """``x * omega + f(x)``, a sub-layer's output before its layer norm.

    Args:
        omega: where it starts, ``(C,)`` or a single number ``()``; None for 1, which then is in no
            checkpoint
        trainable: a parameter; otherwise a buffer, which a checkpoint holds as well
    """

    def __init__(self, omega: Optional[Tensor] = None, trainable: bool = True):
        super().__init__()
        if omega is None or trainable:
            self.register_parameter("omega", None if omega is None else nn.Parameter(omega))
        else:
            self.register_buffer("omega", omega)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        """Join what a sub-layer computed with its input.

        Args:
            x: output of the sub-layer, after dropout, ``(T, B, C)``
            residual: its input, ``(T, B, C)``
        """
        if self.omega is None:
            return residual + x
        return torch.addcmul(x, residual, self.omega)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        # A checkpoint without omega is one of a plain Post-LN model, where it is 1.
        if self.omega is not None:
            state_dict.setdefault(f"{prefix}omega", torch.ones_like(self.omega))
        super()._load_from_state_dict(state_dict, prefix, *args)


def analytic_omega(sublayers: int) -> float:
    """ADMIN without a profile, for a stack of that many sub-layers, all with the same omega.

    Source: the package admin-torch of ADMIN's first author, output change O(log n).
    """
    return math.sqrt((sublayers + 1) / math.log(sublayers + 1) - 1)


class DeepNorm(NamedTuple):
    """``alpha`` scales the residual, ``beta`` is the gain of the initial weights."""

    alpha: float
    beta: float


def deepnorm(stack: str, encoder_layers: int, decoder_layers: int) -> DeepNorm:
    """DeepNorm's constants of an encoder-decoder (arXiv 2203.00555, figure 2).

    Args:
        stack: ``encoder`` or ``decoder``
        encoder_layers, decoder_layers: N and M in the paper
    """
    if stack == "encoder":
        depth = (encoder_layers**4 * decoder_layers) ** (1 / 16)
        return DeepNorm(0.81 * depth, 0.87 / depth)
    return DeepNorm((3 * decoder_layers) ** 0.25, (12 * decoder_layers) ** -0.25)


def build_residual(cfg, stack: str) -> ScaledResidual:
    """The residual connection of one sub-layer, with the omega it has before any profile.

    Args:
        cfg: ``RealFormerConfig``
        stack: ``encoder`` or ``decoder``
    """
    scaling = str(cfg.sublayer_scaling)
    if scaling == "none":
        return ScaledResidual()
    if scaling == "deepnorm":
        alpha = deepnorm(stack, cfg.encoder.layers, cfg.decoder.layers).alpha
        return ScaledResidual(torch.tensor(alpha), trainable=False)
    omega = 1.0
    if scaling == "admin-analytic":
        omega = analytic_omega(count_sublayers(cfg)[stack])
    size = cfg.encoder.embed_dim if stack == "encoder" else cfg.decoder.embed_dim
    return ScaledResidual(torch.full((size,), omega))


def count_sublayers(cfg) -> Dict[str, int]:
    """Residual connections in each stack."""
    in_decoder_layer = 2 if cfg.no_cross_attention else 3
    return {
        "encoder": 2 * cfg.encoder.layers,
        "decoder": in_decoder_layer * cfg.decoder.layers,
    }


def initialize_deepnorm(layer: nn.Module, cfg, stack: str) -> None:
    """Draw the weights of a layer again, as DeepNorm does.

    Xavier's normal distribution: with gain beta for the feed-forward weights, the values and the
    output projections of attention, with gain 1 for queries and keys.

    Args:
        layer: an encoder or decoder layer
        cfg: ``RealFormerConfig``
        stack: ``encoder`` or ``decoder``
    """
    beta = deepnorm(stack, cfg.encoder.layers, cfg.decoder.layers).beta
    gains = {"fc1": beta, "fc2": beta, "v_proj": beta, "out_proj": beta, "q_proj": 1, "k_proj": 1}
    for name, module in layer.named_modules():
        role = name.rpartition(".")[2]
        if role in gains:
            nn.init.xavier_normal_(module.weight, gain=gains[role])
