"""The algebra that removes omega from a trained model without changing what the model computes.

A sub-layer computes ``LN(x * omega + f(x))``, where x is the output of the layer norm below. That
norm takes the scale: its weight and bias are multiplied by omega. The weights that read x (queries,
keys and values; only queries in cross-attention; the first feed-forward layer) have their input
columns divided by omega. No reference has a script for this; the algebra is ours.

The first sub-layer of a stack has no norm below it, so its token and position embeddings are
multiplied by omega. Embeddings that encoder and decoder share become two, and sinusoidal positions
become a learned table of the scaled sinusoids. If the decoder's embeddings are also its output
projection, the norm before the projection is divided by omega.

Folding is not linear: average first, fold afterwards. Folding ties each layer to the one below:
prune with --encoder-layers-to-keep before, not after.
"""

import argparse
import re
from typing import Dict

import torch
from fairseq.modules import SinusoidalPositionalEmbedding
from torch import Tensor

from realformer_checkpoints.parameter_mean import all_finite
from realformer_runtime.command_line import UserError

# Sub-layers in the order of a layer: name, layer norm after it, weights that read its input.
SUBLAYERS = (
    (
        "self_attn",
        "self_attn_layer_norm",
        ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    ),
    ("encoder_attn", "encoder_attn_layer_norm", ("encoder_attn.q_proj",)),
    ("ffn", "final_layer_norm", ("fc1",)),
)
# Index of <pad> in every dictionary of fairseq, from which positions are counted.
PADDING = 1
MOST_POSITIONS = 1_000_000  # a thousand times fairseq's default


def fold_omega(model: Dict[str, Tensor], args: argparse.Namespace) -> None:
    """Remove every omega from a model, in place.

    Args:
        model: a state dictionary
        args: the model's options, updated if embeddings change

    Raises:
        UserError: an omega cannot be folded
    """
    if args.cross_self_attention:
        raise UserError(
            "trained with --cross-self-attention: keys and values also read the encoder's output, "
            "which has no omega"
        )
    firsts = {stack: _fold_stack(model, stack) for stack in ("encoder", "decoder")}
    if all(bool((omega == 1).all()) for omega in firsts.values()):
        return
    check_embeddings(model, args)
    if args.layernorm_embedding:
        for stack, omega in firsts.items():
            multiply(model, f"{stack}.layernorm_embedding.weight", omega)
            multiply(model, f"{stack}.layernorm_embedding.bias", omega)
        return
    for stack, omega in firsts.items():
        scale_embeddings(model, args, stack, omega)
    if args.share_all_embeddings:
        args.share_all_embeddings = False
        args.share_decoder_input_output_embed = True
    output = "decoder.output_projection.weight"  # an adaptive softmax has none
    if args.share_decoder_input_output_embed and output in model:
        model[output] = parameter(model, "decoder.embed_tokens.weight")
        last = f"decoder.layers.{count_layers(model, 'decoder') - 1}.final_layer_norm"
        multiply(model, f"{last}.weight", 1 / firsts["decoder"])
        multiply(model, f"{last}.bias", 1 / firsts["decoder"])


def count_layers(model: Dict[str, Tensor], stack: str) -> int:
    matches = (re.match(rf"{stack}\.layers\.([0-9]{{1,6}})\.", key) for key in model)
    numbers = {int(match.group(1)) for match in matches if match}
    if not numbers or numbers != set(range(len(numbers))):
        raise UserError(f"layers of the {stack} are missing")
    return len(numbers)


def parameter(model: Dict[str, Tensor], key: str) -> Tensor:
    """A parameter. Raises UserError if the model lacks it."""
    if key not in model:
        raise UserError(f"its parameters and options do not fit: there is no {key}")
    return model[key]


def multiply(model: Dict[str, Tensor], key: str, factor: Tensor) -> None:
    """Multiply a parameter by a factor, in float64.

    Args:
        factor: ``(C,)``, along the last dimension of the parameter, or ``()``

    Raises:
        UserError: the sizes differ, or the product is not finite
    """
    value = parameter(model, key)
    if factor.dim() > 1 or (factor.dim() == 1 and value.shape[-1:] != factor.shape):
        raise UserError(
            f"its parameters do not fit: {key} has shape {list(value.shape)}, the omega of that "
            f"place {list(factor.shape)}"
        )
    model[key] = (value.double() * factor).to(value.dtype)
    if not all_finite(model[key]):
        cause = f"too large for {value.dtype} with the omega of that place"
        cause = cause if all_finite(value) else "not finite"
        raise UserError(f"{key} is {cause}: it cannot be folded")


def _fold_stack(model: Dict[str, Tensor], stack: str) -> Tensor:
    """Fold the omegas of a stack, except for the embeddings, which take the first one.

    Returns:
        the omega of the first sub-layer, ``(C,)`` or ``()``, in float64
    """
    first, norm_below = torch.ones((), dtype=torch.float64), None
    for layer in range(count_layers(model, stack)):
        for sublayer, norm, readers in SUBLAYERS:
            prefix = f"{stack}.layers.{layer}"
            key = f"{prefix}.{sublayer}_residual.omega"
            if key in model:
                omega = pop_omega(model, key)
                for reader in readers:
                    multiply(model, f"{prefix}.{reader}.weight", 1 / omega)
                if norm_below is None:
                    first = omega
                else:
                    multiply(model, f"{norm_below}.weight", omega)
                    multiply(model, f"{norm_below}.bias", omega)
            if f"{prefix}.{norm}.weight" in model:
                norm_below = f"{prefix}.{norm}"
    return first


def pop_omega(model: Dict[str, Tensor], key: str) -> Tensor:
    """Remove one omega from a model, and pass it on in float64.

    Raises:
        UserError: omega is zero in some dimension, or not finite
    """
    omega = model.pop(key).double()
    if not bool(torch.isfinite(omega).all()) or bool((omega == 0).any()):
        raise UserError(f"{key} is zero or not finite in some dimension: it cannot be folded")
    return omega


def check_embeddings(model: Dict[str, Tensor], args: argparse.Namespace) -> None:
    """Refuse embeddings that cannot take the omega of a first sub-layer.

    Raises:
        UserError: naming the option of the training
    """
    refused = {
        "--tie-adaptive-weights": args.tie_adaptive_weights,
        # fairseq 0.12.2 lacks this option.
        "--merge-src-tgt-embed": getattr(args, "merge_src_tgt_embed", False),
        "--quant-noise-pq": "encoder.quant_noise.weight" in model,
        "--decoder-output-dim": "decoder.project_out_dim.weight" in model,
    }
    for option, present in refused.items():
        if present:
            raise UserError(
                f"trained with {option}: its embeddings cannot take the omega of the first "
                "sub-layer, which has no layer norm below it"
            )


def scale_embeddings(
    model: Dict[str, Tensor], args: argparse.Namespace, stack: str, omega: Tensor
) -> None:
    """Multiply the token and position embeddings of a stack by its first omega."""
    embeddings = f"{stack}.embed_tokens.weight"
    multiply(model, embeddings, omega)
    if model[embeddings].dim() != 2:
        raise UserError(f"{embeddings} is no table of embeddings")
    if args.no_token_positional_embeddings:
        return
    positions = f"{stack}.embed_positions.weight"
    if positions not in model:
        longest = args.max_source_positions if stack == "encoder" else args.max_target_positions
        if not isinstance(longest, int) or not 0 < longest <= MOST_POSITIONS:
            raise UserError(f"it was trained with {longest} positions in the {stack}")
        model.pop(f"{stack}.embed_positions._float_tensor", None)
        model[positions] = SinusoidalPositionalEmbedding.get_embedding(
            longest + PADDING + 1, model[embeddings].size(1), PADDING
        ).to(model[embeddings])
        setattr(args, f"{stack}_learned_pos", True)
    multiply(model, positions, omega)
