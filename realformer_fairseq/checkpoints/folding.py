"""Turn a checkpoint with omega into one without, that computes the same (``omega_algebra``)."""

import argparse
from typing import Any, Dict, List

from fairseq.models import ARCH_CONFIG_REGISTRY

from realformer_checkpoints.incomplete_states import load_with_options
from realformer_checkpoints.reading import (
    drop_moving_average,
    has_moving_average,
    option_group,
)
from realformer_checkpoints.writing import write_checkpoint
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, printable, run_main

from ..models.architectures import complete_options
from .omega_algebra import fold_omega
from .plain_transformer import become_transformer

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
    architecture = getattr(args, "_name", None) or getattr(args, "arch", None)
    ARCH_CONFIG_REGISTRY.get(str(architecture), complete_options)(args)
    complete_options(args)
    return args


def fold_state(state: Dict[str, Any]) -> List[str]:
    """Fold a checkpoint in place, and drop the state of its training.

    Without residual scores the model becomes a plain ``transformer`` of fairseq.

    Returns:
        remarks for the user

    Raises:
        UserError: there is no omega, or one that cannot be folded
    """
    if not any(name.endswith(".omega") for name in state["model"]):
        raise UserError("there is no omega in it (--sublayer-scaling none)")
    args = stored_options(state)
    before = argparse.Namespace(**vars(args))
    fold_omega(state["model"], args)
    args.sublayer_scaling = "none"
    state.pop("last_optimizer_state", None)
    about = remarks(before, args)
    if has_moving_average(state):
        about.append(
            "the EMA weights are left out: average_checkpoints.sh --ema makes them a model"
        )
        drop_moving_average(state)
    if args.residual_attention == "none":
        become_transformer(state, args)
    elif not isinstance(state.get("cfg"), dict):
        state["args"] = args
    else:
        as_dictionary = isinstance(state["cfg"]["model"], dict)
        state["cfg"]["model"] = vars(args) if as_dictionary else args
    return about


def remarks(before: argparse.Namespace, after: argparse.Namespace) -> List[str]:
    """Changes of the model that a user should know about."""
    found = []
    if before.share_all_embeddings and not after.share_all_embeddings:
        found.append(
            "encoder and decoder no longer share embeddings: each has its first omega in it"
        )
    if learned_positions(after) != learned_positions(before):
        found.append("positions are a learned table now, of the sinusoids times the first omega")
    if after.residual_attention == "none":
        found.append("the model is a plain fairseq transformer: no --user-dir is needed")
    return found


def learned_positions(args: argparse.Namespace) -> List[bool]:
    """Whether positions are a learned table, in the encoder and in the decoder."""
    return [bool(args.encoder_learned_pos), bool(args.decoder_learned_pos)]


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
