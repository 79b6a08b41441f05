"""What an averaged checkpoint tells about the files that it was made from."""

import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from .reading import are_all

# Keys in the state of an average.
FILES, WEIGHTS, OF_EMA = KEYS = ("averaged_from", "averaged_with_weights", "averaged_ema")


class AverageRecord(NamedTuple):
    """The averaged files, any weights, and whether EMA weights were averaged."""

    files: Sequence[str]
    weights: Optional[Sequence[float]] = None
    ema: bool = False

    def write(self, state: Dict[str, Any]) -> None:
        """Put the record into a state, with the names of the files but not their folders."""
        state[FILES] = [os.path.basename(path) for path in self.files]
        if self.weights is not None:
            state[WEIGHTS] = list(map(float, self.weights))
        if self.ema:
            state[OF_EMA] = True

    def lines(self) -> List[str]:
        """One line for each file."""
        lines = [f"{name}  EMA weights" if self.ema else name for name in self.files]
        if self.weights is None:
            return lines
        return [f"{line}  weight {weight:g}" for line, weight in zip(lines, self.weights)]


def recorded_average(state: Dict[str, Any]) -> Optional[AverageRecord]:
    """The record in a state, None if there is none that makes sense."""
    files, weights = state.get(FILES), state.get(WEIGHTS)
    known = are_all(files, str) and (weights is None or are_all(weights, float))
    return AverageRecord(files, weights, state.get(OF_EMA) is True) if known else None
