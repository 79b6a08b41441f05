"""Options of a search that fairseq would not look at, or fail with."""

import dataclasses
import difflib
from typing import Any, Dict

from fairseq.dataclass.configs import GenerationConfig

from realformer_runtime.command_line import UserError

# What has an effect in fairseq-generate, but none where a sentence becomes a sentence.
WITHOUT_EFFECT = (
    "decoding_format",
    "lm_path",
    "lm_weight",
    "nbest",
    "prefix_size",
    "print_alignment",
    "print_step",
    "replace_unk",
    "sacrebleu",
    "score_reference",
)
NUMBERS = {int: (int,), float: (int, float)}


def check_generation(options: Dict[str, Any], named: str = "") -> None:
    """Refuse options of ``fairseq-generate`` that are none, and what is no number.

    Args:
        options: with underscores in their names
        named: where they are, at the start of the message

    Raises:
        UserError: naming the first
    """
    known = {each.name: each for each in dataclasses.fields(GenerationConfig)}
    for name, value in options.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = "".join(f" (is {other} meant?)" for other in close)
            raise UserError(f"{named}{name} is no option{meant}")
        accepted = NUMBERS.get(known[name].type)
        if accepted and type(value) not in accepted:
            raise UserError(f"{named}{name} is a {'whole ' * (accepted == (int,))}number")
    if options.get("beam", 1) < 1:
        raise UserError(f"{named}beam is 1 or more")


def check_effect(options: Dict[str, Any]) -> None:
    """Refuse what is other than its default, and of ``WITHOUT_EFFECT``."""
    for each in dataclasses.fields(GenerationConfig):
        if each.name in WITHOUT_EFFECT and options.get(each.name) not in (None, each.default):
            raise UserError(f"{each.name}: has no effect here, where a sentence becomes a sentence")
