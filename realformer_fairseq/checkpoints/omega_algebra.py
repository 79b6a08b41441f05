"""The algebra that removes omega from a trained model without changing what the model computes.

A sub-layer computes ``LN(x * omega + f(x))``, where x is the output of the layer norm below. That
norm takes the scale: its weight and bias are multiplied by omega. The weights that read x (queries,
keys and values; only queries in cross-attention; the first feed-forward layer) have their input
columns divided by omega. No reference has a script for this; the algebra is ours.

The first sub-layer of a stack has no norm below it, so its token and position embeddings are
multiplied by omega. Embeddings that encoder and decoder share become two, and sinusoidal positions
become a learned table of the scaled sinusoids. If the decoder's embeddings are also its output
projection, the norm before the projection is divided by omega; in a masked language model that is
the norm of its head. RoBERTa has a layer norm on the embeddings, which takes omega instead.

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

from ..models.stacks import ModelOfStacks

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
# Output projection of a masked language model.
HEAD = "encoder.lm_head.weight"
# Index of <pad> in every dictionary of fairseq, from which positions are counted.
PADDING = 1
MOST_POSITIONS = 1_000_000  # a thousand times fairseq's default


def fold_omega(
    model: Dict[str, Tensor],
    args: argparse.Namespace,
    stacks: Dict[str, str] = ModelOfStacks.stacks,
) -> None:
    """Remove every omega from a model, in place.

    Args:
        model: a state dictionary
        args: the model's options, updated if embeddings change
        stacks: path of each stack in the model, by the side that its options are named after

    Raises:
        UserError: an omega cannot be folded
    """
    if getattr(args, "cross_self_attention", False):
        raise UserError(
            "trained with --cross-self-attention: keys and values also read the encoder's output, "
            "which has no omega"
        )
    firsts = {side: _fold_stack(model, stack) for side, stack in stacks.items()}
    if all(bool((omega == 1).all()) for omega in firsts.values()):
        return
    check_embeddings(model, args, stacks)
    if args.layernorm_embedding:
        for side, omega in firsts.items():
            scale_norm(model, f"{stacks[side]}.layernorm_embedding", omega)
        return
    for side, omega in firsts.items():
        scale_embeddings(model, args, side, stacks[side], omega)
    if getattr(args, "share_all_embeddings", False):
        args.share_all_embeddings = False
        args.share_decoder_input_output_embed = True
    output = "decoder.output_projection.weight"  # an adaptive softmax has none
    if output in model and args.share_decoder_input_output_embed:
        model[output] = parameter(model, "decoder.embed_tokens.weight")
        last = f"decoder.layers.{count_layers(model, 'decoder') - 1}.final_layer_norm"
        scale_norm(model, last, 1 / firsts["decoder"])
    if HEAD in model and not args.untie_weights_roberta:
        model[HEAD] = parameter(model, f"{stacks['encoder']}.embed_tokens.weight")
        scale_norm(model, "encoder.lm_head.layer_norm", 1 / firsts["encoder"])


def count_layers(model: Dict[str, Tensor], stack: str) -> int:
    matches = (re.match(rf"{re.escape(stack)}\.layers\.([0-9]{{1,6}})\.", key) for key in model)
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


def scale_norm(model: Dict[str, Tensor], norm: str, factor: Tensor) -> None:
    """Multiply what a layer norm computes by a factor."""
    multiply(model, f"{norm}.weight", factor)
    multiply(model, f"{norm}.bias", factor)


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
                    scale_norm(model, norm_below, omega)
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


def check_embeddings(
    model: Dict[str, Tensor], args: argparse.Namespace, stacks: Dict[str, str]
) -> None:
    """Refuse embeddings that cannot take the omega of a first sub-layer.

    Raises:
        UserError: naming the option of the training
    """
    refused = {
        "--tie-adaptive-weights": getattr(args, "tie_adaptive_weights", False),
        # fairseq 0.12.2 lacks this option.
        "--merge-src-tgt-embed": getattr(args, "merge_src_tgt_embed", False),
        "--adaptive-input": "decoder.embed_tokens.embeddings.0.0.weight" in model,
        "--character-embeddings": getattr(args, "character_embeddings", False),
        "--quant-noise-pq": any(
            f"{stack}.quant_noise.weight" in model for stack in stacks.values()
        ),
        "--decoder-input-dim": "decoder.project_in_dim.weight" in model,
        "--decoder-output-dim": "decoder.project_out_dim.weight" in model,
    }
    for option, present in refused.items():
        if present:
            raise UserError(
                f"trained with {option}: its embeddings cannot take the omega of the first "
                "sub-layer, which has no layer norm below it"
            )


def scale_embeddings(
    model: Dict[str, Tensor], args: argparse.Namespace, side: str, stack: str, omega: Tensor
) -> None:
    """Multiply the embeddings of tokens, positions and segments of a stack by its first omega."""
    embeddings = f"{stack}.embed_tokens.weight"
    multiply(model, embeddings, omega)
    if model[embeddings].dim() != 2:
        raise UserError(f"{embeddings} is no table of embeddings")
    segments = f"{side}.embed_token_types.weight"
    if segments in model:
        multiply(model, segments, omega)
    if args.no_token_positional_embeddings:
        return
    positions = f"{stack}.embed_positions.weight"
    if positions not in model:
        longest = args.max_source_positions if side == "encoder" else args.max_target_positions
        if not isinstance(longest, int) or not 0 < longest <= MOST_POSITIONS:
            raise UserError(f"it was trained with {longest} positions in the {side}")
        model.pop(f"{stack}.embed_positions._float_tensor", None)
        model[positions] = SinusoidalPositionalEmbedding.get_embedding(
            longest + PADDING + 1, model[embeddings].size(1), PADDING
        ).to(model[embeddings])
        setattr(args, f"{side}_learned_pos", True)
    multiply(model, positions, omega)
