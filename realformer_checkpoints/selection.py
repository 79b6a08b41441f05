"""Which checkpoints of a training to average: the last ones, or the best ones.

The names are those that fairseq-train gives: ``checkpoint<epoch>.pt``,
``checkpoint_<epoch>_<update>.pt`` and, with ``--keep-best-checkpoints``,
``checkpoint.best_<metric>_<value>.pt``.
"""

import os
import re
from typing import List, Optional, Sequence, Tuple

from realformer_runtime.command_line import UserError, flag

from .reading import load_checkpoint, stored_option

EPOCH_CHECKPOINT = re.compile(r"checkpoint(\d+)\.pt")
UPDATE_CHECKPOINT = re.compile(r"checkpoint_\d+_(\d+)\.pt")
BEST_CHECKPOINT = re.compile(r"checkpoint\.best_(.+)_(-?\d+\.\d+)\.pt")
LOWEST, HIGHEST = "lowest", "highest"
NUMBERS = EPOCHS, UPDATES, BEST = (
    "num_epoch_checkpoints",
    "num_update_checkpoints",
    "num_best_checkpoints",
)
HINT = f"give --best-is {LOWEST} or {HIGHEST}"


def last_checkpoints(
    directory: str, n: int, by_update: bool = False, upper_bound: Optional[int] = None
) -> List[str]:
    """The ``n`` checkpoints of the highest epochs (or updates), oldest first.

    Args:
        directory: where ``checkpoint<epoch>.pt`` and ``checkpoint_<epoch>_<update>.pt`` are
        n: how many
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
    """Compare the distance of the chosen epochs with the smallest between any two epochs.

    That is 1, or what ``--save-interval`` was. Updates are not checked: fairseq leaves out the
    update at which an epoch ends.

    Args:
        chosen: increasing
        there: all epochs of which there is a checkpoint, increasing

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
        paths: files; others than those are left aside
        n: how many
        best_is: ``lowest`` or ``highest``; by default as the training had it, from its
            configuration in the checkpoints

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
    """Whether ``--maximize-best-checkpoint-metric`` was set in the training: lowest or highest.

    Raises:
        UserError: the checkpoints do not know, or disagree
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


def chosen_number(args) -> Tuple[Optional[str], Optional[int]]:
    """Which of ``NUMBERS`` is set, and to what; None if none is.

    Raises:
        UserError: options that do not go together, or a number below 1
    """
    given = [name for name in NUMBERS if getattr(args, name) is not None]
    if len(given) > 1:
        raise UserError(f"choose one of {' and '.join(map(flag, given))}")
    choice = given[0] if given else None
    n = getattr(args, choice) if choice else None
    if choice and n < 1:
        raise UserError(f"{flag(choice)}: {n} is not a number of checkpoints")
    if args.checkpoint_upper_bound is not None and choice not in (EPOCHS, UPDATES):
        raise UserError(f"--checkpoint-upper-bound needs {flag(EPOCHS)} or {flag(UPDATES)}")
    if args.best_is is not None and choice != BEST:
        raise UserError(f"--best-is needs {flag(BEST)}")
    return choice, n


def chosen_inputs(args) -> List[str]:
    """The files to average, the one whose other state is kept last.

    Args:
        args: ``inputs``, the three of ``NUMBERS``, ``checkpoint_upper_bound``, ``best_is``

    Raises:
        UserError: options that do not go together, or too few checkpoints
    """
    choice, n = chosen_number(args)
    directories = [path for path in args.inputs if os.path.isdir(path)]
    if choice is None and directories:
        options = f"{flag(EPOCHS)}, {flag(UPDATES)} or {flag(BEST)}"
        raise UserError(f"--inputs {directories[0]}: is a directory and needs {options}")
    if choice is None:
        return args.inputs
    one_directory = len(args.inputs) == len(directories) == 1
    if choice == BEST and one_directory:
        paths = [os.path.join(directories[0], name) for name in os.listdir(directories[0])]
        return best_checkpoints(paths, n, args.best_is)
    if choice == BEST:
        return best_checkpoints(args.inputs, n, args.best_is)
    if not one_directory:
        raise UserError(f"--inputs must be one directory that exists, with {flag(choice)}")
    return last_checkpoints(directories[0], n, choice == UPDATES, args.checkpoint_upper_bound)
