"""The options of a search, with fairseq's names, meanings and defaults."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Dict

from ..command_line import UserError

# The lowest and highest value of each number. Beyond those, float32 overflows or memory is short; a
# length to a higher power than 10 is too large, or too small.
RANGES = {
    "beam": (1, 10_000),
    "nbest": (1, 10_000),
    "lenpen": (-10, 10),
    "unkpen": (-1e6, 1e6),
    "min_len": (0, 10**6),
    "max_len_a": (0, 10**6),
    "max_len_b": (0, 10**6),
    "no_repeat_ngram_size": (0, 10**6),
    "temperature": (1e-3, 1e3),
    "sampling_topk": (-1, 10**9),
    "sampling_topp": (-1, 1),
    "seed": (0, 2**63 - 1),
    "max_tokens": (2, 10**9),
}


def check_range(name: str, value: Any, named: str = "") -> None:
    """Raise UserError for a number that makes no sense as the option ``name``."""
    lowest, highest = RANGES[name]
    if not lowest <= value <= highest:  # also for nan
        message = f"'{value}' is not a number from {lowest:g} to {highest:g}"
        raise UserError(f"{named or name}: {message}")


@dataclass(frozen=True)
class SearchOptions:
    """Options of ``fairseq-generate`` (``fairseq/dataclass/configs.py``, ``GenerationConfig``).

    Args:
        beam: hypotheses that are searched at a time
        nbest: how many of them are returned
        lenpen: the score is divided by the length to this power
        unkpen: subtracted from the log-probability of ``<unk>``
        min_len: the smallest number of tokens, without ``</s>``
        max_len_a, max_len_b: the largest is ``max_len_a * source length + max_len_b``
        match_source_len: it is the length of the source instead
        unnormalized: the score is the sum of log-probabilities
        no_repeat_ngram_size: sequences of so many tokens do not occur twice; 0 for no such rule
        temperature: logits are divided by it
        sampling: draw tokens instead of searching for the best
        sampling_topk: draw from so many of the most probable tokens; -1 for all
        sampling_topp: draw from the most probable tokens whose probabilities sum up to this
        seed: of the drawing
        max_tokens: source tokens in a batch, with ``</s>`` and padding
    """

    beam: int = 5
    nbest: int = 1
    lenpen: float = 1.0
    unkpen: float = 0.0
    min_len: int = 1
    max_len_a: float = 0.0
    max_len_b: int = 200
    match_source_len: bool = False
    unnormalized: bool = False
    no_repeat_ngram_size: int = 0
    temperature: float = 1.0
    sampling: bool = False
    sampling_topk: int = -1
    sampling_topp: float = -1.0
    seed: int = 1
    max_tokens: int = 2000

    def __post_init__(self):
        """Refuse values that cannot work; raises UserError."""
        for field in dataclasses.fields(self):
            value, accepted = getattr(self, field.name), field.type
            numbers = (int, float) if accepted is float else (accepted,)
            if type(value) not in numbers:
                raise UserError(f"{field.name}: {value!r} is no {accepted.__name__}")
            if accepted is not bool:
                check_range(field.name, value)
        if self.nbest > self.beam:
            raise UserError(f"nbest: {self.nbest} is above beam, {self.beam}")

    def changed(self, changes: Dict[str, Any]) -> "SearchOptions":
        """The same with other values; UserError for a name that is no option."""
        names = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in names:
                raise UserError(f"{name}: no option of the search; there are {', '.join(names)}")
        return dataclasses.replace(self, **changes)
