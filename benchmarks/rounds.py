"""Measuring contenders in turns, so that all of them meet the same noise of the machine."""

import os
import statistics
import time
from typing import Callable, Dict, List

import torch


def seconds_in_turns(
    contenders: Dict[str, Callable[[], object]], rounds: int, warm_up: int = 1
) -> Dict[str, List[float]]:
    """Run every contender once a round, another one first each time; seconds on the clock.

    Args:
        contenders: what to run, by name
        rounds: runs of each that count
        warm_up: runs of each before those
    """
    seconds = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(warm_up + rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            run = contenders[name]
            synchronize()
            start = time.perf_counter()
            run()
            synchronize()
            if number >= warm_up:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def speed_ratios(seconds: Dict[str, List[float]], baseline: str, name: str) -> List[float]:
    """How many times as fast as the baseline, for each round."""
    return [base / own for base, own in zip(seconds[baseline], seconds[name])]


def with_spread(values: List[float]) -> str:
    """The median, the lowest and the highest: ``1.12 (1.08 to 1.15)``."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def print_versions(device: str) -> None:
    """The first lines of a benchmark's output: what it ran on and with."""
    import fairseq

    name = torch.cuda.get_device_name() if device == "cuda" else f"{os.cpu_count()} CPU cores"
    load = os.getloadavg()[0]
    print(f"torch {torch.__version__}, fairseq {fairseq.__version__}, {name}, ", end="")
    print(f"{torch.get_num_threads()} threads, load average {load:.1f}", flush=True)
