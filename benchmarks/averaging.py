"""Time and memory of averaging, against loading every checkpoint as a whole.

    python -m benchmarks.averaging [--checkpoints 10] [--rounds 3] [--folder DIR]

Makes checkpoints of a Transformer of 60 million parameters (the base model of Vaswani et al. 2017,
1706.03762, 6-6, d 512, FFN 2048, joint dictionary of 32,000) with the state of Adam, 7 GB for ten,
and averages them in two ways in turns, each time in a process of its own:

* ordinary: what fairseq's script does. Every file is loaded, the models are summed in a dictionary,
  the sums divided, the first file's other state kept;
* mapped: ``realformer_checkpoints.averaging``, which scripts/average_checkpoints.sh runs.

Both write their result, and the parameters must be equal bit for bit. Measured are the time on the
clock, that time without the import of torch, which both need, the processor time, and the peak of
memory without mapped files, of which Linux tells. On a busy machine it is the processor time that
says something. Exits with 1 if mapped is not at least 3 times as fast on the clock, without that
import, or takes more than a third of the memory.
"""

import functools
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Dict, List

from benchmarks.options import SHAPES, new_parser
from benchmarks.processes import run_measured
from benchmarks.rounds import in_turns
from benchmarks.tables import Report, add_case, new_report
from realformer_runtime.command_line import UserError, run_main, whole_number_above_0

SPEED, MEMORY = 3, 1 / 3  # what is asked for
IMPORT_OF_TORCH = re.compile(r"\|\s*(\d+) \|\s*torch$", re.M)  # cumulative, in microseconds
ORDINARY = "import sys; from benchmarks.averaging import ordinary; ordinary(*sys.argv[1:])"


def make(args, paths: List[str]) -> None:
    """Write checkpoints as fairseq would, with random parameters."""
    import torch
    from fairseq.optim.adam import Adam

    from benchmarks.contenders import Task, build

    for number, path in enumerate(paths, 1):
        model = build("fairseq", SHAPES[args.shape], Task(args.types), dropout=0.0, seed=number)
        optimizer = Adam(model.parameters())
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step()
        state = {"args": None, "cfg": {}, "model": model.state_dict()}
        state["extra_state"] = {"train_iterator": {"epoch": number}}
        state["last_optimizer_state"] = optimizer.state_dict()
        torch.save(state, path)
        needed = os.path.getsize(path) * (len(paths) - number + 1)
        if shutil.disk_usage(path).free < needed:
            raise UserError(f"{path}: {needed / 1e9:.1f} GB more of free disk are needed")


def ordinary(output: str, *paths: str) -> None:
    """Average as fairseq's script does."""
    import torch

    kept, sums = None, {}
    for path in paths:
        state = torch.load(path, map_location="cpu", weights_only=True)
        kept = kept or state
        for name, tensor in state["model"].items():
            if name in sums:
                sums[name] += tensor
            else:
                sums[name] = tensor.clone()
    for tensor in sums.values():
        tensor.div_(len(paths))
    kept["model"] = sums
    del kept["last_optimizer_state"]
    torch.save(kept, output)


def measure(*arguments: str) -> Dict[str, float]:
    """Run Python in a process of its own; what it took."""
    figures, written = run_measured([sys.executable, "-X", "importtime", *arguments])
    importing = int(IMPORT_OF_TORCH.search(written).group(1)) / 1e6
    seconds = figures.pop("seconds")
    return {"seconds": seconds, "seconds_without_import": seconds - importing, **figures}


def equal_models(*paths: str) -> bool:
    import torch

    first, second = (torch.load(path, mmap=True, weights_only=True)["model"] for path in paths)
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )


def compare(report: Report, args, folder: Path) -> None:
    """Make the checkpoints and average them both ways, in turns."""
    paths = [str(folder / f"checkpoint{number}.pt") for number in range(1, args.checkpoints + 1)]
    # Not in this process: its memory would be that of the processes that are measured, at first.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(make, (args, paths))
    outputs = [str(folder / "ordinary.pt"), str(folder / "mapped.pt")]
    mapped = ["-m", "realformer_checkpoints.averaging", "--output", outputs[1], "--inputs"]
    contenders = {
        "ordinary": functools.partial(measure, "-c", ORDINARY, outputs[0], *paths),
        "mapped": functools.partial(measure, *mapped, *paths),
    }
    figures = in_turns(contenders, args.rounds)
    case = f"{args.checkpoints} checkpoints, {SHAPES[args.shape]}, {args.types:,} types"
    add_case(report, case, figures)
    report["checks"]["parameters of both averages are equal bit for bit"] = equal_models(*outputs)


def parse_args():
    parser = new_parser("averaging", __doc__, rounds=3)
    add = parser.add_argument
    add("--checkpoints", type=whole_number_above_0, default=10, metavar="N")
    add("--shape", choices=SHAPES, default="d512", help="of the model")
    add("--types", type=whole_number_above_0, default=32000, metavar="N", help="of the dictionary")
    add("--folder", help="where there is room (default: the system's temporary)")
    args = parser.parse_args()
    if args.folder and not os.path.isdir(args.folder):
        raise UserError(f"--folder: no such folder: '{args.folder}'")
    return args


def main() -> None:
    args = parse_args()
    temporary = tempfile.TemporaryDirectory(prefix="averaging-", dir=args.folder)
    with temporary as folder, new_report("averaging", args, "ordinary") as report:
        compare(report, args, Path(folder))
    found = report["cases"][0]["ratios"]["mapped"]
    speed, memory = found["seconds_without_import"]["median"], found["peak_bytes"]["median"]
    if speed < SPEED or memory > MEMORY:
        raise UserError(f"not {SPEED} times as fast, or more than {MEMORY:.2f} of the memory")


if __name__ == "__main__":
    run_main(main)
