"""Print the tables of benchmarks/README.md from the raw figures of the benchmarks.

    python -m benchmarks.tables [FILE...]

FILE is what a benchmark wrote as ``--json``; by default all in benchmarks/raw.
"""

import json
import statistics
from pathlib import Path
from typing import Dict, List

from benchmarks.options import RAW
from realformer_runtime.command_line import ArgumentParser, UserError, run_main

# Headings of each quantity and its ratio, what its median is divided by, decimals of the ratio.
COLUMNS = {
    "seconds": ("seconds", "times as fast as {}", 1, 2),
    "seconds_without_import": ("without importing torch", "times as fast", 1, 2),
    "processor_seconds": ("processor seconds", "times as fast", 1, 2),
    "peak_bytes": ("peak MiB", "of {}'s", 2**20, 3),
}


def caption(report: Dict) -> List[str]:
    """How, when and where it was measured."""
    machine = report["machine"]
    threads = [f"{machine['threads']} threads"] if machine["threads"] else []
    load = f"load average {machine['load_average']}"
    place = [*machine["processors"], f"{machine['cores']} cores", *threads, load]
    return [
        f"`{report['command']}`: {report['options']['rounds']} rounds",
        f"{report['date']}, {', '.join(place)}",
        ", ".join(report["versions"]),
    ]


def with_spread(ratio: Dict[str, float], digits: int = 2) -> str:
    """The median, the lowest and the highest: ``1.12 (1.08 to 1.15)``."""
    median, low, high = (f"{ratio[key]:.{digits}f}" for key in ("median", "minimum", "maximum"))
    return median if low == high else f"{median} ({low} to {high})"


def row(report: Dict, case: Dict, contender: str) -> List[str]:
    cells = [case["case"], contender]
    for name, values in case["figures"][contender].items():
        _, _, divisor, digits = COLUMNS[name]
        value = statistics.median(values) / divisor
        if name == "seconds" and report["rate"]:
            value = case["amount"] / value
        cells.append(f"{value:,.0f}" if value >= 100 else f"{value:.2f}")
        ratio = case["ratios"].get(contender)
        cells.append(with_spread(ratio[name], digits) if ratio else "1")
    return cells


def table(report: Dict) -> List[str]:
    """Markdown: a row for each case and contender, with medians and ratios to the baseline."""
    head = ["case", "contender"]
    for name in report["cases"][0]["figures"][report["baseline"]]:
        heading, ratio_heading, _, _ = COLUMNS[name]
        head.append((name == "seconds" and report["rate"]) or heading)
        head.append(ratio_heading.format(report["baseline"]))
    rows = [row(report, case, name) for case in report["cases"] for name in case["figures"]]
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def checks(report: Dict) -> List[str]:
    """What was compared, and whether it is so."""
    words = {True: "yes", False: "NO"}
    return [f"{what}: {words.get(found, found)}" for what, found in report["checks"].items()]


def main() -> None:
    parser = ArgumentParser(prog="tables.py", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    files = parser.parse_args().files or sorted(RAW.glob("*.json"))
    for path in files:
        try:
            report = json.loads(path.read_text("utf-8"))
            lines = [*caption(report), "", *table(report), "", *checks(report)]
        except (ValueError, KeyError, TypeError, IndexError):
            raise UserError(f"{path}: is not what a benchmark wrote as --json") from None
        print(f"## {path.name}", "", *lines, "", sep="\n")
    if not files:
        raise UserError("no FILE, and none in benchmarks/raw")


if __name__ == "__main__":
    run_main(main)
