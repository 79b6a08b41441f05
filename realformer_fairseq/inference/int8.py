"""Linear layers in 8-bit integers, for translation on a CPU: ``scripts/translate.sh --int8``.

Weights become 8-bit integers with a scale for each output, activations with one for each product,
as it comes (torch's dynamic quantization). Embeddings, attention and normalisation stay float32.
It serves our models and fairseq's own.
"""

import warnings

import torch
from fairseq.modules import MultiheadAttention
from torch import nn
from torch.nn.utils import skip_init

from realformer_runtime.command_line import UserError

from ..models.decoder import RealFormerDecoder
from ..modules.encoder_layer import leave_fast_path


def int8_linear(weight: torch.Tensor, bias) -> nn.Module:
    """A linear layer in 8-bit integers.

    Args:
        weight: ``(out_features, in_features)``
        bias: ``(out_features,)`` or None

    Raises:
        UserError: this torch has none
    """
    try:
        from torch.ao.nn.quantized.dynamic import Linear
        from torch.ao.quantization import per_channel_dynamic_qconfig
    except ImportError:
        raise UserError(
            f"--int8: torch {torch.__version__} has no torch.ao.nn.quantized any more"
        ) from None
    layer = skip_init(nn.Linear, weight.size(1), weight.size(0), bias=bias is not None)
    layer.weight = nn.Parameter(weight.detach().float())
    if bias is not None:
        layer.bias = nn.Parameter(bias.detach().float())
    layer.qconfig = per_channel_dynamic_qconfig
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is to move into torchao, one day
        return Linear.from_float(layer)


def quantize(model: nn.Module) -> None:
    """Replace each linear layer of a model by one in 8-bit integers."""
    leave_fast_path(model)
    model.float()  # there is no product of halves and 8-bit integers
    for module in list(model.modules()):
        if isinstance(module, RealFormerDecoder):
            module.make_generation_fast_()
        elif type(module) is MultiheadAttention:
            module.skip_embed_dim_check = True  # else fairseq reads weights behind the layer's back
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, int8_linear(child.weight, child.bias))
