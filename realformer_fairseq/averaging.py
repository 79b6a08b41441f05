"""Average the parameters of checkpoints, as fairseq's scripts/average_checkpoints.py does.

No distribution of fairseq ships that script. Option names and the choice of files are fairseq's.
What differs: a file never runs code, tied parameters stay tied, every parameter keeps its type
(fairseq turns float16 into float32), and the optimizer's state is left out of the result.
"""

import copy
import functools
import os
import pickle
import re
import warnings
from typing import Any, Dict, List, Optional, Sequence

import torch
from torch import Tensor

from .atomic_output import atomic_output
from .checkpoint_loading import allow_fairseq_checkpoints
from .command_line import ArgumentParser, UserError, run_main

PROGRAM = "average_checkpoints.sh"
EPOCH_CHECKPOINT = re.compile(r"checkpoint(\d+)\.pt")
UPDATE_CHECKPOINT = re.compile(r"checkpoint_\d+_(\d+)\.pt")
ZIP_MAGIC = b"PK\x03\x04"


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
        UserError: fewer than ``n`` are there
        OSError: no such directory
    """
    pattern = UPDATE_CHECKPOINT if by_update else EPOCH_CHECKPOINT
    matches = [match for match in map(pattern.fullmatch, os.listdir(directory)) if match]
    numbered = sorted((int(match.group(1)), match.group(0)) for match in matches)
    if upper_bound is not None:
        numbered = [(number, name) for number, name in numbered if number <= upper_bound]
    if len(numbered) < n:
        kind = "checkpoint_<epoch>_<update>.pt" if by_update else "checkpoint<epoch>.pt"
        unit = "update" if by_update else "epoch"
        limit = "" if upper_bound is None else f" up to {unit} {upper_bound}"
        raise UserError(f"{directory}: found {len(numbered)} {kind}{limit}, asked for {n}")
    return [os.path.join(directory, name) for _, name in numbered[-n:]]


def load_checkpoint(path: str) -> Dict[str, Any]:
    """A checkpoint with its tensors left on the disk, mapped into memory.

    Files from before torch 1.6 cannot be mapped and are read as a whole.

    Raises:
        UserError: truncated, not a checkpoint, or it would have to run code to be loaded
        OSError: no such file
    """
    with open(path, "rb") as file:
        mmap = file.read(len(ZIP_MAGIC)) == ZIP_MAGIC
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = torch.load(path, map_location="cpu", mmap=mmap, weights_only=True)
    except Exception as error:  # torch raises seven different types for a file it cannot read
        raise UserError(f"{path}: {reason_for_refusal(error)}") from None
    model = state.get("model") if isinstance(state, dict) else None
    if not isinstance(model, dict) or not all(isinstance(v, Tensor) for v in model.values()):
        raise UserError(f"{path}: refused: not a fairseq checkpoint, it has no model in it")
    return state


def reason_for_refusal(error: Exception) -> str:
    """Half a line about why torch did not load a file."""
    name = re.search(r"(?:GLOBAL|class) ([\w.]+)", str(error))
    if isinstance(error, pickle.UnpicklingError) and name:
        return f"refused: it holds {name.group(1)}, which could run code when loaded"
    return "refused: truncated, or not a fairseq checkpoint"


def check_same_parameters(states: Sequence[Dict[str, Any]], paths: Sequence[str]) -> None:
    """Compare all models with the last one.

    Raises:
        UserError: naming the file and the first parameter that is missing, unknown or of another
            shape
    """
    expected = states[-1]["model"]
    for state, path in zip(states, paths):
        model = state["model"]
        for key in sorted(expected.keys() ^ model.keys()):
            has, lacks = (paths[-1], path) if key in expected else (path, paths[-1])
            raise UserError(f"{lacks}: has no parameter {key}, which {has} has")
        for key, tensor in model.items():
            if tensor.shape != expected[key].shape:
                shape, other = tuple(tensor.shape), tuple(expected[key].shape)
                raise UserError(f"{path}: {key} has shape {shape}, but {other} in {paths[-1]}")


def mean(tensors: Sequence[Tensor]) -> Tensor:
    """Element-wise mean in the type of the last tensor; integers are rounded down.

    Summed in float64 (or int64). Equal tensors give that tensor bit for bit.
    """
    last = tensors[-1]
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    if all(t.dtype == last.dtype and torch.equal(t, last) for t in tensors):
        return last.clone()
    whole = not (dtype.is_floating_point or dtype.is_complex)
    wide = torch.promote_types(dtype, torch.int64 if whole else torch.float64)
    total = tensors[0].to(wide, copy=True)
    for tensor in tensors[1:]:
        total += tensor
    return total.div_(len(tensors), rounding_mode="floor" if whole else None).to(last.dtype)


@torch.no_grad()
def average_models(models: Sequence[Dict[str, Tensor]]) -> Dict[str, Tensor]:
    """Mean of every parameter, one parameter at a time.

    Parameters that are one tensor in every model (shared embeddings) are one in the result, too.

    Args:
        models: state dictionaries with the same keys and shapes
    """
    result = copy.copy(models[-1])  # keeps the version numbers of the modules, see state_dict()
    means: Dict[tuple, Tensor] = {}
    for key in result:
        tensors = [model[key] for model in models]
        views = tuple((t.data_ptr(), t.shape, t.stride(), t.dtype) for t in tensors)
        if views not in means:
            means[views] = mean(tensors)
        result[key] = means[views]
    return result


def average_states(states: Sequence[Dict[str, Any]], names: Sequence[str]) -> Dict[str, Any]:
    """The last state with the mean of all models, and without its optimizer's state.

    Epoch, configuration and ``optimizer_history`` stay: fairseq reads them when it generates and
    with ``--restore-file FILE --reset-optimizer``. ``averaged_from`` records ``names``.
    """
    result = {key: value for key, value in states[-1].items() if key != "last_optimizer_state"}
    result["model"] = average_models([state["model"] for state in states])
    result["averaged_from"] = list(names)
    return result


def chosen_inputs(args) -> List[str]:
    """The files to average, the one whose other state is kept last.

    Raises:
        UserError: options that do not go together, or too few checkpoints
    """
    by_epoch, by_update = args.num_epoch_checkpoints, args.num_update_checkpoints
    if by_epoch is not None and by_update is not None:
        raise UserError("choose one of --num-epoch-checkpoints and --num-update-checkpoints")
    n = by_update if by_epoch is None else by_epoch
    choice = "--num-epoch-checkpoints or --num-update-checkpoints"
    if n is None:
        if args.checkpoint_upper_bound is not None:
            raise UserError(f"--checkpoint-upper-bound needs {choice}")
        for path in args.inputs:
            if os.path.isdir(path):
                raise UserError(f"--inputs {path}: is a directory and needs {choice}")
        return args.inputs
    if n < 1:
        raise UserError(f"{choice}: {n} is not a number of checkpoints")
    if len(args.inputs) != 1 or not os.path.isdir(args.inputs[0]):
        raise UserError(f"--inputs must be one directory that exists, with {choice}")
    return last_checkpoints(args.inputs[0], n, by_update is not None, args.checkpoint_upper_bound)


def parse_args():
    parser = ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    parser.add_argument(
        "--inputs", required=True, nargs="+", metavar="PATH", help="checkpoints, or one directory"
    )
    parser.add_argument("--output", required=True, metavar="FILE", help="averaged checkpoint")
    parser.add_argument(
        "--num-epoch-checkpoints", type=int, metavar="N", help="the last N checkpoint<epoch>.pt"
    )
    parser.add_argument(
        "--num-update-checkpoints",
        type=int,
        metavar="N",
        help="the last N checkpoint_<epoch>_<update>.pt",
    )
    parser.add_argument(
        "--checkpoint-upper-bound", type=int, metavar="N", help="highest epoch (update) to use"
    )
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    allow_fairseq_checkpoints()
    paths = chosen_inputs(args)
    with atomic_output(args.output) as temporary:
        states = [load_checkpoint(path) for path in paths]
        check_same_parameters(states, paths)
        state = average_states(states, [os.path.basename(path) for path in paths])
        # torch writes the name of a path into the file, but not that of an open file: this way
        # the same inputs always give the same bytes.
        with open(temporary, "wb") as file:
            torch.save(state, file)
    print(f"averaged into {args.output}:", *paths, sep="\n  ")


if __name__ == "__main__":
    run_main(main, PROGRAM)
