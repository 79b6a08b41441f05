"""Turn a checkpoint with omega into one without, that computes the same (``omega_algebra``)."""

import argparse
from typing import Any, Dict, List, Type

from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

from realformer_checkpoints.incomplete_states import load_with_options
from realformer_checkpoints.reading import (
    FOLDED,
    drop_moving_average,
    has_moving_average,
    option_group,
)
from realformer_checkpoints.writing import write_checkpoint
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, flag, printable, run_main

from ..models.architectures import complete_options
from ..models.config import MaskedLMConfig
from ..models.model import RealFormerModel
from ..models.stacks import ModelOfStacks
from .omega_algebra import fold_omega
from .plain_models import become_plain

PROGRAM = "fold_admin.sh"


def stored_options(state: Dict[str, Any]) -> argparse.Namespace:
    """The model's options in a checkpoint, completed with the options of later versions.

    Raises:
        UserError: the checkpoint has no such options
    """
    stored = option_group(state, "model")
    if stored is None or not all(isinstance(name, str) for name in stored):
        raise UserError("its options are not stored as fairseq-train stores them")
    args = argparse.Namespace(**stored)
    # As fairseq does when it builds the model: sizes that are not stored are the architecture's.
    architecture = architecture_of(args)
    ARCH_CONFIG_REGISTRY.get(architecture, complete_options)(args)
    if model_of(args) is RealFormerModel:
        complete_options(args)
    elif getattr(args, "max_target_positions", 0) is None:
        args.max_target_positions = args.tokens_per_sample
    return args


def architecture_of(args: argparse.Namespace) -> str:
    return str(getattr(args, "_name", None) or getattr(args, "arch", None))


def model_of(args: argparse.Namespace) -> Type[ModelOfStacks]:
    """The class of a model by its options; without a name it translates."""
    model = ARCH_MODEL_REGISTRY.get(architecture_of(args), RealFormerModel)
    one_stack = issubclass(model, ModelOfStacks) and len(model.stacks) == 1
    return model if one_stack else RealFormerModel


def fold_state(state: Dict[str, Any]) -> List[str]:
    """Fold a checkpoint in place, and drop the state of its training.

    Without residual scores the model becomes a plain ``transformer``, ``roberta`` or
    ``transformer_lm`` of fairseq, if fairseq's model has all its options.

    Returns:
        remarks for the user

    Raises:
        UserError: there is no omega, or one that cannot be folded
    """
    if not any(name.endswith(".omega") for name in state["model"]):
        raise UserError("there is no omega in it (--sublayer-scaling none)")
    args = stored_options(state)
    before = argparse.Namespace(**vars(args))
    model = model_of(args)
    fold_omega(state["model"], args, model.stacks)
    args.sublayer_scaling = "none"
    state[FOLDED] = True
    state.pop("last_optimizer_state", None)
    plain, lacks = model.plain, options_that_fairseq_lacks(args)
    about = remarks(before, args)
    if args.residual_attention == "none" and lacks:
        about.append(f"the model stays ours: fairseq's {plain} has no {lacks}")
    elif args.residual_attention == "none":
        about.append(f"the model is a plain fairseq {plain}: no --user-dir is needed")
    if has_moving_average(state):
        about.append(
            "the EMA weights are left out: average_checkpoints.sh --ema makes them a model"
        )
        drop_moving_average(state)
    if args.residual_attention == "none" and not lacks:
        become_plain(state, args, plain)
    elif not isinstance(state.get("cfg"), dict):
        state["args"] = args
    else:
        as_dictionary = isinstance(state["cfg"]["model"], dict)
        state["cfg"]["model"] = vars(args) if as_dictionary else args
    return about


def remarks(before: argparse.Namespace, after: argparse.Namespace) -> List[str]:
    """Changes of the model that a user should know about."""
    found = []
    if getattr(before, "share_all_embeddings", False) and not after.share_all_embeddings:
        found.append(
            "encoder and decoder no longer share embeddings: each has its first omega in it"
        )
    if learned_positions(after) != learned_positions(before):
        found.append("positions are a learned table now, of the sinusoids times the first omega")
    return found


def options_that_fairseq_lacks(args: argparse.Namespace) -> str:
    """The flags of a masked language model that a ``roberta`` cannot have."""
    own = {
        "token_types": MaskedLMConfig.token_types,
        "layer_norm_eps": MaskedLMConfig.layer_norm_eps,
    }
    found = [name for name, default in own.items() if getattr(args, name, default) != default]
    return " and no ".join(map(flag, found))


def learned_positions(args: argparse.Namespace) -> List[bool]:
    """Whether positions are a learned table, in the encoder and in the decoder."""
    return [bool(getattr(args, f"{side}_learned_pos", False)) for side in ("encoder", "decoder")]


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--checkpoint", required=True, metavar="FILE", help="with omega")
    parser.add_argument("--output", required=True, metavar="FILE", help="without omega")
    args = parser.parse_args()
    with atomic_output(args.output) as temporary:
        state = load_with_options(args.checkpoint)
        try:
            about = fold_state(state)
        except UserError as error:
            raise UserError(f"--checkpoint {args.checkpoint}: {error}") from None
        write_checkpoint(state, temporary)
    print(printable(f"folded into {args.output}"), *about, sep="\n  ")


if __name__ == "__main__":
    run_main(main, PROGRAM)
