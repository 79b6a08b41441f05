"""The report of a benchmark: what ran and on what, the figures of every round, and their ratios.

raw/README.md describes it. It is written as JSON, and shown by ``tables.py``.
"""

import json
import os
import platform
import re
import shlex
import signal
import sys
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Dict, Iterator

from benchmarks.options import PROJECT
from benchmarks.rounds import Figures, ratios
from benchmarks.tables import caption, checks, table
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import UserError
from realformer_runtime.installed_versions import installed_versions

PEERS = ("x-transformers",)  # the others are in installed_versions
Report = Dict[str, object]


def machine(device: str) -> Dict[str, object]:
    """Processors, and the threads of torch where the benchmark itself uses it."""
    processors = [platform.processor() or platform.machine()]
    with suppress(OSError):  # Linux names the model only there
        text = Path("/proc/cpuinfo").read_text("utf-8")
        processors = re.findall(r"^model name\s*: (.+)$", text, re.M)[:1] or processors
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

    Args:
        name: of the benchmark's module
        args: its options
        baseline: contender that the others are compared with
        rate: what ``amount`` of a case by its seconds is, such as sentences a second

    Raises:
        UserError: contenders had different results; the file is there nevertheless
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
