"""The report of a benchmark: what ran and on what, the figures of every round, and their ratios.

    python -m benchmarks.tables [FILE...]

prints the tables of benchmarks/README.md from files that a benchmark wrote as ``--json``, by
default all in benchmarks/raw; raw/README.md describes such a file.
"""

import json
import os
import platform
import re
import shlex
import signal
import statistics
import sys
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Dict, Iterator, List

from benchmarks.options import PROJECT, RAW
from benchmarks.rounds import Figures, ratios
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, run_main
from realformer_runtime.installed_versions import installed_versions

PEERS = ("x-transformers", "ctranslate2")  # the others are in installed_versions
Report = Dict[str, object]
# Headings of each quantity and its ratio, which may be left out; what its median is divided by,
# decimals of the ratio.
COLUMNS = {
    "seconds": ("seconds", "times as fast as {}", 1, 2),
    "seconds_without_import": ("without importing torch", "times as fast", 1, 2),
    "processor_seconds": ("processor seconds", "times as fast", 1, 2),
    "peak_bytes": ("peak MiB", "of {}'s", 2**20, 3),
    "launches": ("launches", None, 1, 3),
    "moved_bytes": ("GB moved", None, 1e9, 3),
    "host_seconds": ("host, ms", None, 1e-3, 2),
    "a100_seconds": ("A100, ms", None, 1e-3, 2),
    "a100_update_seconds": ("A100, tokens a second", "times as fast", 1, 2),
    "h100_seconds": ("H100, ms", None, 1e-3, 2),
    "h100_update_seconds": ("H100, tokens a second", "times as fast", 1, 2),
}
RATES = ("seconds", "a100_update_seconds", "h100_update_seconds")  # shown as report["rate"], if any


def caption(report: Dict) -> List[str]:
    """How, when and where it was measured."""
    machine, rounds = report["machine"], report["options"].get("rounds")
    threads = [f"{machine['threads']} threads"] if machine["threads"] else []
    load = f"load average {machine['load_average']}"
    place = [*machine["processors"], f"{machine['cores']} cores", *threads, load]
    return [
        f"`{report['command']}`" + (f": {rounds} rounds" if rounds else ""),
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
        _, ratio_heading, divisor, digits = COLUMNS[name]
        value = statistics.median(values) / divisor
        if name in RATES and report["rate"]:
            value = case["amount"] / value
        cells.append(f"{value:,.0f}" if value >= 100 else f"{value:.2f}")
        if ratio_heading:
            ratio = case["ratios"].get(contender)
            cells.append(with_spread(ratio[name], digits) if ratio else "1")
    return cells


def table(report: Dict) -> List[str]:
    """Markdown: a row for each case and contender, with medians and ratios to the baseline."""
    head = ["case", "contender"]
    for name in report["cases"][0]["figures"][report["baseline"]]:
        heading, ratio_heading, _, _ = COLUMNS[name]
        head.append((name == "seconds" and report["rate"]) or heading)
        if ratio_heading:
            head.append(ratio_heading.format(report["baseline"]))
    rows = [row(report, case, name) for case in report["cases"] for name in case["figures"]]
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def checks(report: Dict) -> List[str]:
    """What was compared, and whether it is so."""
    words = {True: "yes", False: "NO"}
    return [f"{what}: {words.get(found, found)}" for what, found in report["checks"].items()]


def machine(device: str) -> Dict[str, object]:
    """Processors, and the threads of torch where the benchmark itself uses it."""
    processors = [platform.processor() or platform.machine()]
    with suppress(OSError):  # Linux names the model only there
        text = Path("/proc/cpuinfo").read_text("utf-8")
        fields = dict(re.findall(r"^(model name|cpu family|model)\s*: (.+)$", text, re.M))
        if fields:
            processors = [", ".join(map(" ".join, fields.items()))]
    torch = sys.modules.get("torch")
    if device == "cuda":
        processors.append(torch.cuda.get_device_name())
    return {
        "processors": processors,
        "cores": os.cpu_count(),
        "threads": torch and torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 1),
    }


@contextmanager
def new_report(name: str, args, baseline: str, rate: str = "") -> Iterator[Report]:
    """A report without cases; it becomes the file ``args.json`` if the block succeeds.

    If contenders had different results, the file is written and a UserError raised.

    Args:
        name: of the benchmark's module
        args: its options
        baseline: contender that the others are compared with
        rate: what ``amount`` of a case by its seconds is, such as sentences a second
    """
    # `timeout` ends a process so, and temporary files are to go with it.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    options = {key: value for key, value in vars(args).items() if key != "json"}
    installed = {found.metadata["Name"]: found.version for found in metadata.distributions()}
    peers = [f"{name} {installed[name]}" for name in PEERS if name in installed]
    report: Report = {
        "command": shlex.join(["python", "-m", f"benchmarks.{name}", *sys.argv[1:]]),
        "options": options,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": [*installed_versions(), *peers],
        "machine": machine(options.get("device", "cpu")),
        "baseline": baseline,
        "rate": rate,
        "cases": [],
        "checks": {},
    }
    with atomic_output(args.json) as temporary:
        print(*caption(report), "", sep="\n", flush=True)
        yield report
        print("", *checks(report), sep="\n")
        text = json.dumps(report, indent=1, default=str).replace(f"{PROJECT}/", "")
        temporary.write_text(f"{text}\n", "utf-8")
    different = [what for what, same in report["checks"].items() if same is False]
    if different:
        raise UserError(f"not so: {'; '.join(different)}")


def add_case(report: Report, case: str, figures: Dict[str, Figures], amount: float = 0) -> None:
    """Add what was measured and its ratios, and print its rows of the table."""
    compared = {
        name: ratios(figures[report["baseline"]], own)
        for name, own in figures.items()
        if name != report["baseline"]
    }
    new = {"case": case, "amount": amount, "figures": figures, "ratios": compared}
    report["cases"].append(new)
    lines = table(report)
    print(*(lines if len(report["cases"]) == 1 else lines[-len(figures) :]), sep="\n", flush=True)


def main() -> None:
    parser = ArgumentParser("Print the tables of benchmarks/README.md.", prog="tables.py")
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
