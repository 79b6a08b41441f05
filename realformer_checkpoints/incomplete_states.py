"""Checkpoints that have less in them than ``fairseq-train`` writes, as people publish them."""

import argparse
from collections import OrderedDict
from typing import Any, Dict

from realformer_runtime.command_line import UserError

from .reading import load_checkpoint, option_group


def load_with_options(path: str) -> Dict[str, Any]:
    """Read a checkpoint that a model can be built from, as ``load_checkpoint`` does.

    Raises:
        UserError: the checkpoint is refused, or is no more than parameters
    """
    state = load_checkpoint(path)
    reason = why_no_model_can_be_built(state)
    if reason:
        raise UserError(f"{path}: refused: {reason}")
    return state


def why_no_model_can_be_built(state: Dict[str, Any]) -> str:
    """What fairseq lacks for building the model of a checkpoint, or an empty string."""
    names, args = state["model"], state.get("args")
    if names and all(name.startswith("module.") for name in names):
        return (
            "the names of its parameters start with 'module.' (save model.module instead of model)"
        )
    if option_group(state, "model") is None:
        return "it has parameters, but no options of the model (cfg or args)"
    if not isinstance(args, (argparse.Namespace, OrderedDict, type(None))):
        return f"its args are a {type(args).__name__}, where fairseq has an argparse.Namespace"
    return ""


def complete_state(state: Dict[str, Any]) -> None:
    """Add what fairseq needs beside the model and its options: the place in a training.

    What the first versions of fairseq wrote, with ``best_loss`` and ``epoch``, is left to fairseq.
    """
    if "best_loss" not in state:
        state["optimizer_history"] = state.get("optimizer_history") or [{"num_updates": 0}]
        last = state["optimizer_history"][-1]
        if "best_loss" not in last:
            last.setdefault("lr_scheduler_state", {})
    if "epoch" not in state:
        state["extra_state"] = state.get("extra_state") or {}
        if "epoch" not in state["extra_state"]:
            place = {"epoch": 1, "iterations_in_epoch": 0}
            state["extra_state"].setdefault("train_iterator", place)
