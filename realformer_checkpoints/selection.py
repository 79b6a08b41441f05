"""Choose the checkpoints of a training to average: the last ones, or the best ones.

The names are those that fairseq-train gives: ``checkpoint<epoch>.pt``,
``checkpoint_<epoch>_<update>.pt`` and, with ``--keep-best-checkpoints``,
``checkpoint.best_<metric>_<value>.pt``.
"""

import argparse
import os
import re
from typing import List, Optional, Sequence

from realformer_runtime.command_line import UserError, flag, whole_number_above_0

from .reading import load_checkpoint, stored_option

EPOCH_CHECKPOINT = re.compile(r"checkpoint(\d+)\.pt")
UPDATE_CHECKPOINT = re.compile(r"checkpoint_\d+_(\d+)\.pt")
BEST_CHECKPOINT = re.compile(r"checkpoint\.best_(.+)_(-?\d+\.\d+)\.pt")
LOWEST, HIGHEST = "lowest", "highest"
EPOCHS, UPDATES, BEST = "num_epoch_checkpoints", "num_update_checkpoints", "num_best_checkpoints"
HINT = f"give --best-is {LOWEST} or {HIGHEST}"


def last_checkpoints(
    directory: str, n: int, by_update: bool = False, upper_bound: Optional[int] = None
) -> List[str]:
    """The ``n`` checkpoints of the highest epochs (or updates), oldest first.

    Args:
        by_update: choose among ``checkpoint_<epoch>_<update>.pt``, by update
        upper_bound: highest epoch (or update) to consider

    Raises:
        UserError: fewer than ``n`` are there, or one in between is missing
        OSError: no such directory
    """
    pattern = UPDATE_CHECKPOINT if by_update else EPOCH_CHECKPOINT
    matches = [match for match in map(pattern.fullmatch, os.listdir(directory)) if match]
    names = {int(match.group(1)): match.group(0) for match in matches}
    numbers = sorted(n for n in names if upper_bound is None or n <= upper_bound)
    if len(numbers) < n:
        kind = "checkpoint_<epoch>_<update>.pt" if by_update else "checkpoint<epoch>.pt"
        unit = "update" if by_update else "epoch"
        limit = "" if upper_bound is None else f" up to {unit} {upper_bound}"
        raise UserError(f"{directory}: found {len(numbers)} {kind}{limit}, asked for {n}")
    if not by_update:
        check_no_epoch_is_missing(directory, numbers[-n:], sorted(names))
    return [os.path.join(directory, names[number]) for number in numbers[-n:]]


def check_no_epoch_is_missing(directory: str, chosen: Sequence[int], there: Sequence[int]) -> None:
    """Refuse chosen epochs with a gap larger than the smallest gap between any two epochs.

    The smallest gap is the ``--save-interval`` of the training. Updates are not checked: fairseq
    leaves out the update at which an epoch ends.

    Args:
        chosen: epochs, increasing
        there: all epochs that have a checkpoint, increasing

    Raises:
        UserError: naming the first file that is missing
    """
    step = min((b - a for a, b in zip(there, there[1:])), default=1)
    for a, b in zip(chosen, chosen[1:]):
        if b - a > step:
            raise UserError(
                f"{directory}: checkpoint{a + step}.pt is missing between checkpoint{a}.pt and "
                f"checkpoint{b}.pt (to do without it, name the files after --inputs)"
            )


def best_checkpoints(paths: Sequence[str], n: int, best_is: Optional[str] = None) -> List[str]:
    """The ``n`` best of ``checkpoint.best_<metric>_<value>.pt``, the best one last.

    Args:
        paths: files, of which those with other names are ignored
        best_is: ``lowest`` or ``highest``, by default from the configuration in the checkpoints

    Raises:
        UserError: fewer than ``n`` are there, or they are of different metrics
    """
    matches = {path: BEST_CHECKPOINT.fullmatch(os.path.basename(path)) for path in paths}
    values = {path: float(match.group(2)) for path, match in matches.items() if match}
    where = os.path.dirname(paths[0]) if paths else "--inputs"
    if len(values) < n:
        kind = "checkpoint.best_<metric>_<value>.pt"
        raise UserError(f"{where or '.'}: found {len(values)} {kind}, asked for {n}")
    metrics = sorted({matches[path].group(1) for path in values})
    if len(metrics) > 1:
        raise UserError(
            f"{where or '.'}: the best checkpoints of {' and '.join(metrics)} (name the files of "
            "one metric after --inputs)"
        )
    highest = (best_is or stored_direction(sorted(values))) == HIGHEST
    ranked = sorted(values, key=lambda path: (values[path], path), reverse=not highest)
    return ranked[-n:]


def stored_direction(paths: Sequence[str]) -> str:
    """The direction of ``--maximize-best-checkpoint-metric`` in the training: lowest or highest.

    Raises:
        UserError: the checkpoints do not store it, or disagree
    """
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
    for name, which in (
        (EPOCHS, "the last N epochs"),
        (UPDATES, "the last N updates"),
        (BEST, "the N best of the validation"),
    ):
        group.add_argument(flag(name), type=whole_number_above_0, metavar="N", help=which)
    bound = "highest epoch (update) to use"
    parser.add_argument("--checkpoint-upper-bound", type=int, metavar="N", help=bound)
    by_default = "default: as the training had it"
    parser.add_argument("--best-is", choices=(LOWEST, HIGHEST), help=by_default)


def selected_checkpoints(args: argparse.Namespace) -> List[str]:
    """The files to average. The average keeps the remaining state of the last one.

    Args:
        args: from a parser with the options of :func:`add_arguments`

    Raises:
        UserError: options exclude each other, or there are too few checkpoints
    """
    last = args.num_epoch_checkpoints or args.num_update_checkpoints
    if args.checkpoint_upper_bound is not None and not last:
        raise UserError(f"--checkpoint-upper-bound needs {flag(EPOCHS)} or {flag(UPDATES)}")
    if args.best_is is not None and not args.num_best_checkpoints:
        raise UserError(f"--best-is needs {flag(BEST)}")
    directories = [path for path in args.inputs if os.path.isdir(path)]
    directory = directories[0] if len(args.inputs) == len(directories) == 1 else None
    if args.num_best_checkpoints:
        paths = args.inputs
        if directory:
            paths = [os.path.join(directory, name) for name in os.listdir(directory)]
        return best_checkpoints(paths, args.num_best_checkpoints, args.best_is)
    if last and directory is None:
        option = flag(EPOCHS if args.num_epoch_checkpoints else UPDATES)
        raise UserError(f"--inputs must be one directory that exists, with {option}")
    if last:
        by_update = args.num_update_checkpoints is not None
        return last_checkpoints(directory, last, by_update, args.checkpoint_upper_bound)
    if directories:
        options = f"{flag(EPOCHS)}, {flag(UPDATES)} or {flag(BEST)}"
        raise UserError(f"--inputs {directories[0]}: is a directory and needs {options}")
    return args.inputs
