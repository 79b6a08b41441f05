"""Measuring contenders in turns, so that all of them meet the same noise of the machine."""

import statistics
import time
from typing import Callable, Dict, List

Figures = Dict[str, List[float]]  # of one contender: by quantity, a value for each round


def in_turns(
    contenders: Dict[str, Callable[[], Dict[str, float]]], rounds: int, warm_up: int = 0
) -> Dict[str, Figures]:
    """Run every contender once a round, another one first each time.

    Args:
        contenders: by name, what runs and has its figures
        rounds: runs of each that count
        warm_up: runs of each before those
    """
    figures: Dict[str, Figures] = {name: {} for name in contenders}
    names = list(contenders)
    for number in range(-warm_up, rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            measured = contenders[name]()
            for quantity, value in measured.items() if number >= 0 else ():
                figures[name].setdefault(quantity, []).append(value)
    return figures


def timed(run: Callable[[], object], device: str = "cpu") -> Callable[[], Dict[str, float]]:
    """The same with a clock: each call runs it and has the seconds."""

    def measure() -> Dict[str, float]:
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        return {"seconds": time.perf_counter() - start}

    return measure


def synchronize(device: str) -> None:
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def ratios(baseline: Figures, own: Figures) -> Dict[str, Dict[str, float]]:
    """By quantity: how many times as fast as the baseline, or the part of what it takes."""
    found = {}
    for quantity, values in own.items():
        over, under = baseline[quantity], values
        if "seconds" not in quantity:
            over, under = under, over
        each = [first / second for first, second in zip(over, under)]
        spread = {"median": statistics.median(each), "minimum": min(each), "maximum": max(each)}
        found[quantity] = spread
    return found
