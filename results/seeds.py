"""What tables and pictures of results/ share: several seeds of one training."""

import statistics
from typing import Dict, List, Optional, Sequence

import numpy

Curve = Dict[int, float]  # a figure by update


def mean_and_values(values: Sequence[float], digits: int) -> str:
    """``34.5``, or with several seeds ``34.5 (34.2, 34.8)``."""
    shown = [f"{value:.{digits}f}" for value in values]
    if len(shown) < 2:
        return "".join(shown)
    return f"{statistics.mean(values):.{digits}f} ({', '.join(shown)})"


def updates_until(losses: Curve, target: float) -> Optional[float]:
    """When a loss is reached first, on the straight lines between validations; None if never."""
    points = sorted(losses.items())
    for (before, high), (after, low) in zip(points, points[1:]):
        if low <= target < high:
            return before + (after - before) * (high - target) / (high - low)
    return None


def differences(curves: Dict[int, Curve], baselines: Dict[int, Curve]) -> List[Curve]:
    """Curves less the baseline's of the same seed, at the updates that both have."""
    pairs = [(curve, baselines.get(seed, {})) for seed, curve in curves.items()]
    compared = [{at: a[at] - b[at] for at in a.keys() & b.keys()} for a, b in pairs]
    return list(filter(None, compared))


def plot_seeds(axes, name: str, color: str, curves: Sequence[Curve]) -> None:
    """The mean over seeds, and a band between them."""
    updates = sorted(set.intersection(*map(set, curves)))
    values = numpy.array([[curve[update] for update in updates] for curve in curves])
    axes.plot(updates, values.mean(axis=0), label=name, color=color)
    axes.fill_between(updates, values.min(axis=0), values.max(axis=0), color=color, alpha=0.2)
