"""Turn a trained model with omega into one without, that computes the same.

A sub-layer computes ``LN(x * omega + f(x))``; x is the output of the layer norm below. The
scale moves into that norm: its weight and bias are multiplied by omega, and the weights that read x
(queries, keys, values; only the queries of cross-attention; the first feed-forward layer) have
their input columns divided by it. No reference has a script for this; the algebra is ours.

The first sub-layer of a stack has no norm below it, so the embeddings take its omega: token and
position embeddings are multiplied by it. Embeddings that encoder and decoder share become two, and
sinusoidal positions become a learned table that holds the scaled sinusoids. Where the decoder's
embeddings are the output projection, too, the norm before that is divided by omega.

Folding is not linear: average first, fold afterwards. It needs every layer to stay where it is:
prune with --encoder-layers-to-keep before, not after.
"""

import argparse
from typing import Any, Dict, List

import torch
from fairseq.models.transformer.transformer_config import DEFAULT_MIN_PARAMS_TO_WRAP
from fairseq.modules import SinusoidalPositionalEmbedding
from torch import Tensor

from realformer_checkpoints.reading import load_checkpoint
from realformer_checkpoints.safe_types import allow_fairseq_checkpoints
from realformer_checkpoints.writing import write_checkpoint
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, run_main

from ..models.config import own_options

PROGRAM = "fold_admin.sh"

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
    """Take every omega out of a model, in place.

    Args:
        model: a state dictionary
        args: the model's options, brought up to date where embeddings change

    Raises:
        UserError: an omega that cannot be folded, and why
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
        model[output] = model["decoder.embed_tokens.weight"]
        last = f"decoder.layers.{count_layers(model, 'decoder') - 1}.final_layer_norm"
        multiply(model, f"{last}.weight", 1 / firsts["decoder"])
        multiply(model, f"{last}.bias", 1 / firsts["decoder"])


def count_layers(model: Dict[str, Tensor], stack: str) -> int:
    prefix = f"{stack}.layers."
    numbers = {int(key.split(".")[2]) for key in model if key.startswith(prefix)}
    if not numbers or numbers != set(range(len(numbers))):
        raise UserError(f"layers of the {stack} are missing")
    return len(numbers)


def multiply(model: Dict[str, Tensor], key: str, factor: Tensor) -> None:
    """Replace a parameter by its product with something, computed in float64."""
    model[key] = (model[key].double() * factor).to(model[key].dtype)


def _fold_stack(model: Dict[str, Tensor], stack: str) -> Tensor:
    """Fold all sub-layers of a stack but what its first one needs from the embeddings.

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
    """Remove one omega and return it in float64.

    Raises:
        UserError: it is zero in some dimension, or not finite
    """
    omega = model.pop(key).double()
    if not bool(torch.isfinite(omega).all()) or bool((omega == 0).any()):
        raise UserError(f"{key} is zero or not finite in some dimension: it cannot be folded")
    return omega


def check_embeddings(model: Dict[str, Tensor], args: argparse.Namespace) -> None:
    """Refuse embeddings that cannot take the omega of a first sub-layer.

    Raises:
        UserError: naming the option they were trained with
    """
    refused = {
        "--tie-adaptive-weights": args.tie_adaptive_weights,
        # fairseq 0.12.2 does not have this option.
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
    """Multiply what enters the first layer of a stack by that layer's omega."""
    embeddings = f"{stack}.embed_tokens.weight"
    multiply(model, embeddings, omega)
    if args.no_token_positional_embeddings:
        return
    positions = f"{stack}.embed_positions.weight"
    if positions not in model:
        longest = args.max_source_positions if stack == "encoder" else args.max_target_positions
        if not 0 < longest <= MOST_POSITIONS:
            raise UserError(f"it was trained with {longest} positions in the {stack}")
        model.pop(f"{stack}.embed_positions._float_tensor", None)
        model[positions] = SinusoidalPositionalEmbedding.get_embedding(
            longest + PADDING + 1, model[embeddings].size(1), PADDING
        ).to(model[embeddings])
        setattr(args, f"{stack}_learned_pos", True)
    multiply(model, positions, omega)


def fold_state(state: Dict[str, Any]) -> List[str]:
    """Fold a checkpoint in place, and drop what belongs to the training before.

    Without residual scores the model becomes a plain ``transformer`` of fairseq.

    Returns:
        what there is to say about it, one sentence a line

    Raises:
        UserError: no omega in it, or one that cannot be folded
    """
    if not any(name.endswith(".omega") for name in state["model"]):
        raise UserError("there is no omega in it (--sublayer-scaling none)")
    cfg = state.get("cfg")
    stored = cfg.get("model") if isinstance(cfg, dict) else None
    args = argparse.Namespace(**stored) if isinstance(stored, dict) else stored
    if not isinstance(args, argparse.Namespace):
        raise UserError("its options are not stored as fairseq-train stores them")
    was_shared = args.share_all_embeddings
    had_table = learned_positions(args)
    fold_omega(state["model"], args)
    args.sublayer_scaling = "none"
    state.pop("last_optimizer_state", None)
    for name in ("ema", "ema_fp32_params"):
        (state.get("extra_state") or {}).pop(name, None)
    # fairseq-hydra-train stores a dictionary.
    cfg["model"] = vars(args) if isinstance(stored, dict) else args
    said = []
    if was_shared and not args.share_all_embeddings:
        said.append(
            "encoder and decoder no longer share embeddings: each has its first omega in it"
        )
    if learned_positions(args) != had_table:
        said.append("positions are a learned table now, of the sinusoids times the first omega")
    if args.residual_attention == "none":
        become_transformer(cfg, args)
        said.append("the model is a plain fairseq transformer: no --user-dir is needed")
    return said


def learned_positions(args: argparse.Namespace) -> List[bool]:
    """Whether positions are a learned table, in the encoder and in the decoder."""
    return [bool(args.encoder_learned_pos), bool(args.decoder_learned_pos)]


def become_transformer(cfg: Dict[str, Any], args: argparse.Namespace) -> None:
    """Leave nothing of ours in a configuration.

    The model's options become a dictionary, because torch 2.6 and later does not load fairseq's
    ``Namespace`` unless someone, such as our plugin, allows it.
    """
    own = {option.name for option in own_options()}
    options = {name: value for name, value in vars(args).items() if name not in own}
    options.update(arch="transformer", _name="transformer", user_dir=None)
    # fairseq 0.12.2 sets it on loading, which hydra allows only where it is there already.
    options.setdefault("min_params_to_wrap", DEFAULT_MIN_PARAMS_TO_WRAP)
    cfg["model"] = options
    cfg["common"]["user_dir"] = None


def main() -> None:
    parser = ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True, metavar="FILE", help="with omega")
    parser.add_argument("--output", required=True, metavar="FILE", help="without omega")
    args = parser.parse_args()
    allow_fairseq_checkpoints()
    with atomic_output(args.output) as temporary:
        state = load_checkpoint(args.checkpoint)
        try:
            said = fold_state(state)
        except UserError as error:
            raise UserError(f"--checkpoint {args.checkpoint}: {error}") from None
        except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
            raise UserError(
                f"--checkpoint {args.checkpoint}: its parameters and options do not fit: "
                f"{type(error).__name__}: {error}"
            ) from None
        write_checkpoint(state, temporary)
    print(f"folded into {args.output}", *said, sep="\n  ")


if __name__ == "__main__":
    run_main(main, PROGRAM)
