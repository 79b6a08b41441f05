"""The learning rates that lib.sh's ``try_rates`` has tried."""

from pathlib import Path
from typing import Iterable, List, NamedTuple, Sequence


class Rate(NamedTuple):
    """The validation loss after a short training with one learning rate."""

    training: str
    rate: float
    loss: float


def rates_of_logs(folder: Path, names: Iterable[str]) -> List[Rate]:
    found = []
    for name in names:
        for path in sorted(folder.glob(f"rates/{name}-[0-9]*.loss")):
            rate = float(path.stem[len(name) + 1 :])
            found.append(Rate(name, rate, float(path.read_text("utf-8"))))
    return found


def best_rate(rates: Sequence[Rate], name: str) -> float:
    own = [rate for rate in rates if rate.training == name]
    return min(own, key=lambda rate: rate.loss).rate
