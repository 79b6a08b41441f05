"""Average the parameters of checkpoints, as fairseq's scripts/average_checkpoints.py does.

No distribution of fairseq ships that script. Options, the choice of files and the bits of float32
averages are fairseq's. Differences: parameters are read one at a time from mapped files; a file
never runs code; tied parameters stay tied; every parameter keeps its type (fairseq turns float16
into float32); the optimizer's state is neither read nor written; if the metric was maximised, the
best checkpoints are those of the highest values; NaN and infinity are refused; the EMA weights of
``--store-ema`` can be averaged, and are never those of one input alone.
"""

import itertools
import os
from typing import Any, Dict, List, Optional, Sequence

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, flag, printable, run_main

from .average_record import KEYS, AverageRecord, recorded_average
from .parameter_mean import MeanNotFinite, all_finite, average_models
from .reading import (
    EMA,
    FOLDED,
    drop_moving_average,
    has_moving_average,
    load_checkpoint,
    option_group,
)
from .safe_types import allow_fairseq_checkpoints
from .selection import add_arguments, selected_checkpoints
from .writing import write_checkpoint

PROGRAM = "average_checkpoints.sh"
# Options that no parameter shows: their group, and what fairseq's Transformer without them has.
COMPARED = {
    "residual_attention": ("model", "none"),
    "residual_chains": ("model", None),
    "encoder_attention_heads": ("model", None),
    "decoder_attention_heads": ("model", None),
    "activation_fn": ("model", None),
    "layer_norm_eps": ("model", 1e-5),
    "source_lang": ("task", None),
    "target_lang": ("task", None),
}


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


def check_same_computation(states: Sequence[Dict[str, Any]], paths: Sequence[str]) -> None:
    """Refuse models that have the same parameters and compute something else with them.

    Raises:
        UserError: naming the file and the first option that differs from that of the last one, or
            the first of several models without their omegas, whose layers are scaled apart
    """
    folded = [path for state, path in zip(states, paths) if FOLDED in state]
    if folded and len(paths) > 1:
        raise UserError(f"{folded[0]}: omega is folded into it: average first, fold afterwards")
    for name, (group, without) in COMPARED.items():
        options = [option_group(state, group) for state in states]
        values = [None if found is None else found.get(name, without) for found in options]
        for value, path in zip(values, paths):
            if None not in (value, values[-1]) and str(value) != str(values[-1]):
                was = f"{flag(name)} {value}, but {paths[-1]} with {values[-1]}"
                raise UserError(f"{path}: was trained with {was}")


def reason_for_refusal(name: str, states: Sequence[Dict[str, Any]], paths: Sequence[str]) -> str:
    """Why the mean of a parameter is not finite."""
    for state, path in zip(states, paths):
        if not all_finite(state["model"][name]):
            return f"{path}: {name} has NaN or infinity in it; nothing is averaged"
    dtype = str(states[-1]["model"][name].dtype).replace("torch.", "")
    return f"the mean of {name} is too large for {dtype}, its type in {paths[-1]}"


def average_states(
    states: Sequence[Dict[str, Any]], paths: Sequence[str], weights: Optional[Sequence[float]]
) -> Dict[str, Any]:
    """The last state with the mean of all models, without its optimizer's state and EMA weights.

    Epoch, configuration and ``optimizer_history`` stay: fairseq-generate and ``--restore-file FILE
    --reset-optimizer`` read them.

    Raises:
        UserError: models differ, or a mean would not be finite
    """
    check_same_parameters(states, paths)
    check_same_computation(states, paths)
    dropped = ("last_optimizer_state", *KEYS)
    result = {key: value for key, value in states[-1].items() if key not in dropped}
    try:
        result["model"] = average_models([state["model"] for state in states], weights)
    except MeanNotFinite as error:
        raise UserError(reason_for_refusal(str(error), states, paths)) from None
    drop_moving_average(result)
    return result


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
    add("--ema", action="store_true", help="average the weights of --store-ema")
    add("--show", metavar="FILE", help="print which files an average was made from")
    args = parser.parse_args()
    missing = [name for name in ("inputs", "output") if getattr(args, name) is None]
    if missing and args.show is None:
        parser.error(f"the following arguments are required: {', '.join(map(flag, missing))}")
    if args.show is not None and len(missing) < 2:
        parser.error("--show goes without --inputs and --output")
    return args


def show(path: str) -> None:
    """Print which files an average was made from."""
    record = recorded_average(load_checkpoint(path))
    if record is None:
        raise UserError(f"{path}: is not an average of checkpoints")
    print(*map(printable, record.lines()), sep="\n")


def main() -> None:
    args = parse_args()
    allow_fairseq_checkpoints()
    if args.show is not None:
        return show(args.show)
    paths = selected_checkpoints(args)
    record = AverageRecord(paths, checked_weights(args, paths), args.ema)
    with atomic_output(args.output) as temporary:
        states = [load_checkpoint(path, args.ema) for path in paths]
        average = average_states(states, paths, record.weights)
        record.write(average)
        if args.ema:
            # For --store-ema and --ema-seed-model. The file has these tensors once.
            average["extra_state"] = {**average["extra_state"], EMA: average["model"]}
        write_checkpoint(average, temporary)
    lines = [f"averaged into {args.output}:", *(f"  {line}" for line in record.lines())]
    if not args.ema and any(map(has_moving_average, states)):
        lines.append("the EMA weights of the inputs are left out: --ema averages those")
    for one, other in itertools.combinations(paths, 2):
        if os.path.samefile(one, other):
            lines.append(f"{one} counts more than once: {other} is the same file")
    print(*map(printable, lines), sep="\n")


if __name__ == "__main__":
    run_main(main, PROGRAM)
