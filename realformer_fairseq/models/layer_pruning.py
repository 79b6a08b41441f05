"""``--encoder-layers-to-keep`` and ``--decoder-layers-to-keep``: a checkpoint with fewer layers.

fairseq's parser makes lists of these options, which its models refuse. Its pruning takes out layers
again when the training of the rest resumes, and all of the layers of a side that is not pruned.
"""

import argparse
import re
from typing import Dict, Optional

from torch import Tensor

from realformer_runtime.command_line import flag

from .config import RefusedOption, as_text

SIDES = ("encoder", "decoder")


def layer_numbers(value: str) -> str:
    """Check a list of layers and sort it. The lowest layer is 0.

    Raises:
        argparse.ArgumentTypeError: naming the accepted values
    """
    numbers = [number.strip() for number in value.strip("[]()").rstrip(",").split(",")]
    if not all(re.fullmatch("[0-9]{1,9}", number) for number in numbers):
        raise argparse.ArgumentTypeError(
            f"{value!r} is not a comma-separated list of layers, such as 0,2,4"
        )
    if len(set(map(int, numbers))) < len(numbers):
        raise argparse.ArgumentTypeError(f"{value!r} names a layer twice")
    return ",".join(map(str, sorted(map(int, numbers))))


def add_arguments(parser) -> None:
    """Add the options, before fairseq's, which do not replace them."""
    for side in SIDES:
        parser.add_argument(
            f"--{side}-layers-to-keep",
            type=layer_numbers,
            metavar="LIST",
            default=argparse.SUPPRESS,
            help=f"{side} layers that remain, such as 0,2,4; the lowest is 0",
        )


def layers_to_keep(args, side: str) -> Optional[str]:
    """The layers of one side that remain, or None if all do.

    Args:
        args: of the model, with the number of layers before the others go

    Raises:
        RefusedOption: naming the flag and the layers that there are
    """
    value, layers = getattr(args, f"{side}_layers_to_keep"), getattr(args, f"{side}_layers")
    if value is None or as_text(value) == "":
        return None
    name = flag(f"{side}_layers_to_keep")
    try:
        kept = layer_numbers(as_text(value))
    except argparse.ArgumentTypeError as error:
        raise RefusedOption(f"{name}: {error}") from None
    if int(kept.split(",")[-1]) >= layers:
        raise RefusedOption(f"{name} {kept}: the layers are 0 to {layers - 1}")
    return kept


def count_layers(state: Dict[str, Tensor], stack: str) -> int:
    """The number of layers of one stack, a path, in a checkpoint's parameters."""
    found = (re.match(rf"{re.escape(stack)}\.layers\.(\d+)\.", name) for name in state)
    return len({layer[1] for layer in found if layer})


def pruned(state: Dict[str, Tensor], stack: str, kept: str) -> Dict[str, Tensor]:
    """The parameters of a checkpoint, without the layers of one stack that are not in ``kept``."""
    places = {number: str(place) for place, number in enumerate(kept.split(","))}
    found = {}
    for name, tensor in state.items():
        layer = re.match(rf"({re.escape(stack)}\.layers\.)(\d+)(\..*)", name)
        if layer is None:
            found[name] = tensor
        elif layer[2] in places:
            found[layer[1] + places[layer[2]] + layer[3]] = tensor
    return found
