"""Turn a checkpoint with omega into one without, that computes the same (``omega_algebra``)."""

import argparse
from typing import Any, Dict, List

from fairseq.models.transformer.transformer_config import DEFAULT_MIN_PARAMS_TO_WRAP

from realformer_checkpoints.reading import load_checkpoint
from realformer_checkpoints.writing import write_checkpoint
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, run_main

from ..models.architectures import complete_options
from ..models.config import own_options
from .omega_algebra import fold_omega

PROGRAM = "fold_admin.sh"


def stored_options(state: Dict[str, Any]) -> argparse.Namespace:
    """The model's options in a checkpoint, completed with the options of later versions.

    Raises:
        UserError: the checkpoint has no such options
    """
    cfg = state.get("cfg")
    stored = cfg.get("model") if isinstance(cfg, dict) else None
    if isinstance(stored, argparse.Namespace):
        stored = vars(stored)
    # fairseq-hydra-train stores a dictionary.
    if not isinstance(stored, dict) or not all(isinstance(name, str) for name in stored):
        raise UserError("its options are not stored as fairseq-train stores them")
    args = argparse.Namespace(**stored)
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
    for name in ("ema", "ema_fp32_params"):
        (state.get("extra_state") or {}).pop(name, None)
    if args.residual_attention == "none":
        become_transformer(state["cfg"], args)
    else:
        as_dictionary = isinstance(state["cfg"]["model"], dict)
        state["cfg"]["model"] = vars(args) if as_dictionary else args
    return remarks(before, args)


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


def become_transformer(cfg: Dict[str, Any], args: argparse.Namespace) -> None:
    """Turn a configuration into one of fairseq's ``transformer``.

    The model's options become a dictionary, because without our plugin torch 2.6 and later does not
    load the ``Namespace`` of fairseq.
    """
    own = {option.name for option in own_options()}
    options = {name: value for name, value in vars(args).items() if name not in own}
    options.update(arch="transformer", _name="transformer", user_dir=None)
    # fairseq 0.12.2 sets this option on loading, and hydra refuses to set one that is missing.
    options.setdefault("min_params_to_wrap", DEFAULT_MIN_PARAMS_TO_WRAP)
    cfg["model"] = options
    if isinstance(cfg.get("common"), dict):
        cfg["common"]["user_dir"] = None


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--checkpoint", required=True, metavar="FILE", help="with omega")
    parser.add_argument("--output", required=True, metavar="FILE", help="without omega")
    args = parser.parse_args()
    with atomic_output(args.output) as temporary:
        state = load_checkpoint(args.checkpoint)
        try:
            about = fold_state(state)
        except UserError as error:
            raise UserError(f"--checkpoint {args.checkpoint}: {error}") from None
        write_checkpoint(state, temporary)
    print(f"folded into {args.output}", *about, sep="\n  ")


if __name__ == "__main__":
    run_main(main, PROGRAM)
