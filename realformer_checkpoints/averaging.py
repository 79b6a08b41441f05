"""Average the parameters of checkpoints, as fairseq's scripts/average_checkpoints.py does.

No distribution of fairseq ships that script. Options, the choice of files and the bits of float32
averages are fairseq's. Differences: parameters are read one at a time from mapped files; a file
never runs code; tied parameters stay tied; every parameter keeps its type (fairseq turns float16
into float32); the optimizer's state is neither read nor written; if the metric was maximised, the
best checkpoints are those of the highest values.
"""

import os
from typing import Any, Dict, List, Optional, Sequence, Tuple

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, flag, printable, run_main

from .parameter_mean import average_models
from .reading import are_all, load_checkpoint
from .safe_types import allow_fairseq_checkpoints
from .selection import add_arguments, selected_checkpoints
from .writing import write_checkpoint

PROGRAM = "average_checkpoints.sh"
FILES, WEIGHTS = "averaged_from", "averaged_with_weights"  # in the state of an average


def check_same_parameters(states: Sequence[Dict[str, Any]], paths: Sequence[str]) -> None:
    """Refuse models whose parameters differ from those of the last one.

    Raises:
        UserError: naming the file and the first parameter that is missing or of another shape
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


def average_checkpoints(
    paths: Sequence[str], weights: Optional[Sequence[float]] = None
) -> Dict[str, Any]:
    """The state of the last file with the mean of all models, without its optimizer's state.

    Epoch, configuration and ``optimizer_history`` stay: fairseq-generate and ``--restore-file FILE
    --reset-optimizer`` read them. ``averaged_from`` records the names of the files,
    ``averaged_with_weights`` any weights.
    """
    states = [load_checkpoint(path) for path in paths]
    check_same_parameters(states, paths)
    dropped = ("last_optimizer_state", FILES, WEIGHTS)
    result = {key: value for key, value in states[-1].items() if key not in dropped}
    result["model"] = average_models([state["model"] for state in states], weights)
    result[FILES] = [os.path.basename(path) for path in paths]
    if weights is not None:
        result[WEIGHTS] = list(map(float, weights))
    return result


def lines_about(names: Sequence[str], weights: Optional[Sequence[float]]) -> List[str]:
    """One line for each averaged file, with any weight."""
    if weights is None:
        return list(names)
    return [f"{name}  weight {weight:g}" for name, weight in zip(names, weights)]


def checked_weights(args, paths: Sequence[str]) -> Optional[List[float]]:
    """The weights, or None. Raises UserError unless every file has a positive weight."""
    if args.weights is not None and len(args.weights) != len(paths):
        raise UserError(f"--weights: {len(args.weights)} weights for {len(paths)} files")
    for weight in args.weights or ():
        if not 0 < weight < float("inf"):
            raise UserError(f"--weights: {weight:g} is not a number above 0")
    return args.weights


def parse_args():
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add = parser.add_argument
    add_arguments(parser)
    add("--output", metavar="FILE", help="averaged checkpoint")
    add("--weights", type=float, nargs="+", metavar="X", help="one a file, default: all the same")
    add("--show", metavar="FILE", help="print which files an average was made from")
    args = parser.parse_args()
    missing = [name for name in ("inputs", "output") if getattr(args, name) is None]
    if missing and args.show is None:
        parser.error(f"the following arguments are required: {', '.join(map(flag, missing))}")
    if args.show is not None and len(missing) < 2:
        parser.error("--show goes without --inputs and --output")
    return args


def recorded_average(state: Dict[str, Any]) -> Optional[Tuple[List[str], Optional[List[float]]]]:
    """The files and any weights that a state was averaged with, None if it does not tell."""
    files, weights = state.get(FILES), state.get(WEIGHTS)
    known = are_all(files, str) and (weights is None or are_all(weights, float))
    return (files, weights) if known else None


def main() -> None:
    args = parse_args()
    allow_fairseq_checkpoints()
    if args.show is not None:
        recorded = recorded_average(load_checkpoint(args.show))
        if recorded is None:
            raise UserError(f"{args.show}: is not an average of checkpoints")
        return print(*map(printable, lines_about(*recorded)), sep="\n")
    paths = selected_checkpoints(args)
    weights = checked_weights(args, paths)
    with atomic_output(args.output) as temporary:
        write_checkpoint(average_checkpoints(paths, weights), temporary)
    print(f"averaged into {args.output}:", *lines_about(paths, weights), sep="\n  ")


if __name__ == "__main__":
    run_main(main, PROGRAM)
