"""Choose the checkpoints of a training to average: the last ones, or the best ones.

The names are those that fairseq-train gives: ``checkpoint<epoch>.pt``,
``checkpoint_<epoch>_<update>.pt`` and, with ``--keep-best-checkpoints``,
``checkpoint.best_<metric>_<value>.pt``.
"""

import argparse
import os
import re
from typing import List, Optional, Sequence

from realformer_runtime.command_line import UserError, whole_number_above_0

from .reading import load_checkpoint, stored_option

# What the files of each unit are called, with the number of the epoch or update.
NUMBERED = {
    "epoch": ("checkpoint<epoch>.pt", re.compile(r"checkpoint(\d+)\.pt")),
    "update": ("checkpoint_<epoch>_<update>.pt", re.compile(r"checkpoint_\d+_(\d+)\.pt")),
}
BEST_CHECKPOINT = re.compile(r"checkpoint\.best_(.+)_(-?\d+\.\d+)\.pt")
LOWEST, HIGHEST = "lowest", "highest"
EPOCHS, UPDATES, BEST = (f"--num-{kind}-checkpoints" for kind in ("epoch", "update", "best"))
HINT = f"give --best-is {LOWEST} or {HIGHEST}"


def last_checkpoints(
    directory: str, n: int, unit: str, upper_bound: Optional[int] = None
) -> List[str]:
    """The ``n`` checkpoints of the highest epochs (or updates), oldest first.

    A gap between chosen epochs may not be larger than the smallest gap between any two epochs, the
    ``--save-interval`` of the training. Updates are not checked: fairseq leaves out the update at
    which an epoch ends.

    Args:
        unit: ``epoch`` or ``update``
        upper_bound: highest epoch (or update) to consider

    Raises:
        UserError: fewer than ``n`` are there, or one in between is missing
    """
    kind, pattern = NUMBERED[unit]
    matches = filter(None, map(pattern.fullmatch, os.listdir(directory)))
    names = {int(match[1]): match[0] for match in matches}
    there = sorted(names)
    chosen = [n for n in there if upper_bound is None or n <= upper_bound]
    if len(chosen) < n:
        limit = "" if upper_bound is None else f" up to {unit} {upper_bound}"
        raise UserError(f"{directory}: found {len(chosen)} {kind}{limit}, asked for {n}")
    chosen = chosen[-n:]
    step = min((b - a for a, b in zip(there, there[1:])), default=1)
    for a, b in zip(chosen, chosen[1:]):
        if unit == "epoch" and b - a > step:
            raise UserError(
                f"{directory}: checkpoint{a + step}.pt is missing between checkpoint{a}.pt and "
                f"checkpoint{b}.pt (to do without it, name the files after --inputs)"
            )
    return [os.path.join(directory, names[number]) for number in chosen]


def best_checkpoints(paths: Sequence[str], n: int, best_is: Optional[str] = None) -> List[str]:
    """The ``n`` best of ``checkpoint.best_<metric>_<value>.pt``, the best one last.

    Args:
        paths: files, of which those with other names are ignored
        best_is: ``lowest`` or ``highest``, by default from the configuration in the checkpoints

    Raises:
        UserError: fewer than ``n`` are there, or they are of different metrics
    """
    matches = {path: BEST_CHECKPOINT.fullmatch(os.path.basename(path)) for path in paths}
    values = {path: float(match[2]) for path, match in matches.items() if match}
    where = (os.path.dirname(paths[0]) if paths else "--inputs") or "."
    if len(values) < n:
        kind = "checkpoint.best_<metric>_<value>.pt"
        raise UserError(f"{where}: found {len(values)} {kind}, asked for {n}")
    metrics = sorted({matches[path][1] for path in values})
    if len(metrics) > 1:
        hint = "(name the files of one metric after --inputs)"
        raise UserError(f"{where}: the best checkpoints of {' and '.join(metrics)} {hint}")
    highest = (best_is or stored_direction(sorted(values))) == HIGHEST
    ranked = sorted(values, key=lambda path: (values[path], path), reverse=not highest)
    return ranked[-n:]


def stored_direction(paths: Sequence[str]) -> str:
    """The direction of ``--maximize-best-checkpoint-metric`` in the training: lowest or highest."""
    found = {}
    for path in paths:
        state = load_checkpoint(path)
        maximize = stored_option(state, "checkpoint", "maximize_best_checkpoint_metric")
        if maximize is None:
            raise UserError(f"{path}: does not tell whether its metric is maximised: {HINT}")
        found[HIGHEST if maximize else LOWEST] = path
    if len(found) > 1:
        files = " but not in ".join(found[kind] for kind in (HIGHEST, LOWEST))
        raise UserError(f"the metric is maximised in {files}: {HINT}")
    return next(iter(found))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--inputs`` and the options that choose among the checkpoints of a directory."""
    parser.add_argument("--inputs", nargs="+", metavar="PATH", help="checkpoints, or one directory")
    group = parser.add_mutually_exclusive_group()
    options = {EPOCHS: "the last N epochs", UPDATES: "the last N updates"}
    for option, which in {**options, BEST: "the N best of the validation"}.items():
        group.add_argument(option, type=whole_number_above_0, metavar="N", help=which)
    add = parser.add_argument
    count = whole_number_above_0
    add("--checkpoint-upper-bound", type=count, metavar="N", help="highest epoch (update) to use")
    add("--best-is", choices=(LOWEST, HIGHEST), help="default: as the training had it")


def selected_checkpoints(args: argparse.Namespace) -> List[str]:
    """The files to average. The average keeps the remaining state of the last one."""
    unit = "epoch" if args.num_epoch_checkpoints else "update"
    last, best = getattr(args, f"num_{unit}_checkpoints"), args.num_best_checkpoints
    if args.checkpoint_upper_bound is not None and not last:
        raise UserError(f"--checkpoint-upper-bound needs {EPOCHS} or {UPDATES}")
    if args.best_is is not None and not best:
        raise UserError(f"--best-is needs {BEST}")
    directories, paths = [path for path in args.inputs if os.path.isdir(path)], args.inputs
    one_directory = args.inputs == directories[:1]
    if best:
        if one_directory:
            paths = [os.path.join(directories[0], name) for name in os.listdir(directories[0])]
        return best_checkpoints(paths, best, args.best_is)
    if last and not one_directory:
        option = f"--num-{unit}-checkpoints"
        raise UserError(f"--inputs must be one directory that exists, with {option}")
    if last:
        return last_checkpoints(directories[0], last, unit, args.checkpoint_upper_bound)
    if directories:
        options = f"{EPOCHS}, {UPDATES} or {BEST}"
        raise UserError(f"--inputs {directories[0]}: is a directory and needs {options}")
    return paths
