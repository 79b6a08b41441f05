"""Residual connections whose input is scaled: ``x * omega + f(x)``, before the layer norm.

Very deep Post-LN models need it to train. The kinds of scaling:

``none``
    omega is 1: fairseq's residual connection.
``admin``
    ADMIN (Liu et al. 2020, arXiv 2004.08249 and 2008.07772): a trainable omega for each dimension
    of each sub-layer, initialised from a profile of the first training batches
    (``training/admin_profile.py``).
``admin-analytic``
    The same omega, initialised from the depth alone, as in the package admin-torch.
``deepnorm``
    DeepNorm (Wang et al. 2022, arXiv 2203.00555, figure 2): an untrained omega that depends on the
    depth, and smaller initial weights.

``checkpoints/folding.py`` removes omega from a trained model.
"""

import math
from typing import Dict, NamedTuple, Optional

import torch
from torch import Tensor, nn

SUBLAYER_SCALING_CHOICES = ("none", "admin", "admin-analytic", "deepnorm")


class ScaledResidual(nn.Module):
    """``x * omega + f(x)``, a sub-layer's output before its layer norm.

    Args:
        omega: initial value, ``(C,)`` or ``()``; None for a fixed 1, which no checkpoint stores
        trainable: whether omega is a parameter; if not it is a buffer, which checkpoints store too
    """

    def __init__(self, omega: Optional[Tensor] = None, trainable: bool = True):
        super().__init__()
        if omega is None or trainable:
            self.register_parameter("omega", None if omega is None else nn.Parameter(omega))
        else:
            self.register_buffer("omega", omega)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        """Add the scaled input of a sub-layer to its output.

        Args:
            x: output of the sub-layer, after dropout, ``(T, B, C)``
            residual: input of the sub-layer, ``(T, B, C)``
        """
        if self.omega is None:
            return residual + x
        return torch.addcmul(x, residual, self.omega)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        # A checkpoint without omega is of a plain Post-LN model, whose omega is 1.
        if self.omega is not None:
            state_dict.setdefault(f"{prefix}omega", torch.ones_like(self.omega))
        super()._load_from_state_dict(state_dict, prefix, *args)


def analytic_omega(sublayers: int) -> float:
    """Initial omega of ``admin-analytic``, the same for all sub-layers of a stack.

    Source: the package admin-torch of ADMIN's first author, output change O(log n).
    """
    return math.sqrt((sublayers + 1) / math.log(sublayers + 1) - 1)


class DeepNorm(NamedTuple):
    """``alpha`` scales the residual, ``beta`` is the gain of the initial weights."""

    alpha: float
    beta: float


def deepnorm(stack: str, encoder_layers: int, decoder_layers: int) -> DeepNorm:
    """DeepNorm's constants (arXiv 2203.00555, figure 2).

    Args:
        stack: ``encoder`` or ``decoder``
        encoder_layers, decoder_layers: N and M in the paper; 0 if the model has one stack only
    """
    if not (encoder_layers and decoder_layers):
        layers = encoder_layers or decoder_layers
        return DeepNorm((2 * layers) ** 0.25, (8 * layers) ** -0.25)
    if stack == "encoder":
        depth = (encoder_layers**4 * decoder_layers) ** (1 / 16)
        return DeepNorm(0.81 * depth, 0.87 / depth)
    return DeepNorm((3 * decoder_layers) ** 0.25, (12 * decoder_layers) ** -0.25)


def build_residual(cfg, stack: str) -> ScaledResidual:
    """The residual connection of one sub-layer, with its initial omega.

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
    """Number of residual connections in each stack."""
    in_decoder_layer = 2 if cfg.no_cross_attention else 3
    return {
        "encoder": 2 * cfg.encoder.layers,
        "decoder": in_decoder_layer * cfg.decoder.layers,
    }


def initialize_deepnorm(layer: nn.Module, cfg, stack: str) -> None:
    """Initialise the weights of an encoder or decoder layer as DeepNorm does.

    The distribution is Xavier's normal one. The gain is beta for the feed-forward weights, the
    values and the output projections of attention, and 1 for queries and keys.
    """
    beta = deepnorm(stack, cfg.encoder.layers, cfg.decoder.layers).beta
    gains = {"fc1": beta, "fc2": beta, "v_proj": beta, "out_proj": beta, "q_proj": 1, "k_proj": 1}
    for name, module in layer.named_modules():
        role = name.rpartition(".")[2]
        if role in gains:
            nn.init.xavier_normal_(module.weight, gain=gains[role])
