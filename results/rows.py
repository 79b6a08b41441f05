"""Files .csv of results/ whose rows are named tuples."""

import csv
from pathlib import Path
from typing import Callable, List, NamedTuple, Sequence

from realformer_runtime.atomic_output import atomic_output


def write_rows(rows: Sequence[NamedTuple], path: Path) -> None:
    with atomic_output(path) as temporary, open(temporary, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(rows[0]._fields)
        table.writerows([f"{v:.6g}" if isinstance(v, float) else v for v in row] for row in rows)


def read_rows(kind: Callable, path: Path) -> List:
    """What ``write_rows`` wrote; columns that are not there have the default of ``kind``."""
    types = kind.__annotations__
    with open(path, newline="", encoding="utf-8") as file:
        return [kind(**{k: types[k](v) for k, v in row.items()}) for row in csv.DictReader(file)]
