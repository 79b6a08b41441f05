"""Read the log of fairseq-train (``--log-format simple``): figures by update, speed, GPUs."""

import os
import re
from typing import Dict, Iterable, Iterator, List, Tuple, Union

NUMBER = r"[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?(?![\w.])|nan\b|inf\b"
LONGEST_LINE = 10_000  # characters; fairseq's lines of figures are below 1,000
UPDATES = r"([0-9]{1,12})\b"
TRAINING_LINE = re.compile(rf"\bepoch [0-9]+: .*\bnum_updates={UPDATES}")
VALIDATION_LINE = re.compile(rf"valid on '(\w+)' subset .*\bnum_updates {UPDATES}")

EPOCH_SPEED = re.compile(rf"\bepoch [0-9]+ \| loss .*\bwps ({NUMBER}) ")
GPU = re.compile(r"rank +([0-9]{1,6}): capabilities = .* ; name = (.{1,100}?) *$")
# The quantities in a line, the first that it has. The loss of a language model is a likelihood
# where its perplexity stands beside it.
QUANTITIES = {
    "loss": (rf"\bnll_loss[= ]({NUMBER})", rf"\bloss[= ]({NUMBER})(?=.*\bppl[= ])"),
    "accuracy": (rf"\baccuracy[= ]({NUMBER})",),
    "gradient-norm": (rf"\bgnorm=({NUMBER})",),
    "speed": (rf"\bwps=({NUMBER})",),
}
VALIDATED = ("loss", "accuracy")

Curve = List[Tuple[int, float]]


def log_lines(path: Union[str, "os.PathLike[str]"]) -> Iterator[str]:
    """The lines of a log, without very long ones, which hold no figures and are slow to search."""
    with open(path, encoding="utf-8", errors="replace") as file:
        yield from (line for line in file if len(line) <= LONGEST_LINE)


def read_curves(lines: Iterable[str], quantity: str = "loss") -> Dict[str, Curve]:
    """A quantity by update, for the training and, if it is validated, for each validation set.

    The curves of ``{"train": [...], "valid": [...]}`` are sorted. If an update was logged twice, as
    after resuming, the later line counts.
    """
    patterns = [re.compile(pattern) for pattern in QUANTITIES[quantity]]
    found: Dict[str, Dict[int, float]] = {"train": {}}
    for line in lines:
        training, validation = TRAINING_LINE.search(line), VALIDATION_LINE.search(line)
        if not training and not (validation and quantity in VALIDATED):
            continue
        value = next(filter(None, (pattern.search(line) for pattern in patterns)), None)
        if value and training:
            found["train"][int(training[1])] = float(value[1])
        elif value:
            found.setdefault(validation[1], {})[int(validation[2])] = float(value[1])
    return {name: sorted(curve.items()) for name, curve in found.items()}


def read_speeds(lines: Iterable[str]) -> List[float]:
    """All logged speeds, in tokens a second, of a translation model in target tokens.

    They are from lines within epochs or, if there are none, from lines about whole epochs.
    """
    lines = list(lines)
    found = [speed for _, speed in read_curves(lines, "speed")["train"]]
    return found or [float(match[1]) for match in map(EPOCH_SPEED.search, lines) if match]


def read_gpus(lines: Iterable[str]) -> Dict[str, str]:
    """The name of each process's GPU, by rank; empty on CPUs."""
    return {match[1]: match[2] for match in map(GPU.search, lines) if match}
