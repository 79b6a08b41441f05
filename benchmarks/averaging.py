"""Time and memory of averaging, against loading every checkpoint as a whole.

    python benchmarks/averaging.py [--checkpoints 10] [--rounds 3] [--folder DIR]

Makes checkpoints of a Transformer of 60 million parameters (the base model of Vaswani et al. 2017,
1706.03762, 6-6, d 512, FFN 2048, joint dictionary of 32,000) with the state of Adam, 7 GB for ten,
and averages them in two ways in turns, each time in a process of its own:

* ordinary: what fairseq's script does. Every file is loaded, the models are summed in a dictionary,
  the sums divided, the first file's other state kept;
* mapped: ``realformer_checkpoints.averaging``, which scripts/average_checkpoints.sh runs.

Both write their result, and the parameters must be equal bit for bit. Prints for every process the
time on the clock, that time without the import of torch, which both need, the processor time, and
the largest resident memory; then the medians. On a busy machine it is the processor time that says
something. Exits with 1 if mapped is not at least 3 times as fast on the clock, without that import,
or takes more than a third of the memory.
"""

import argparse
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
LAYERS, WIDTH, FFN, TYPES = 6, 512, 2048, 32000
SPEED, MEMORY = 3, 1 / 3  # what is asked for


def shapes():
    """Names and shapes of the parameters, without the shared embeddings' two other names."""
    yield "encoder.embed_tokens.weight", (TYPES, WIDTH)
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "enc_attn"])):
        for layer in range(LAYERS):
            prefix = f"{side}.layers.{layer}"
            for attention in attentions:
                for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    yield f"{prefix}.{attention}.{projection}.weight", (WIDTH, WIDTH)
                    yield f"{prefix}.{attention}.{projection}.bias", (WIDTH,)
            for norm in range(len(attentions) + 1):
                yield f"{prefix}.norm{norm}.weight", (WIDTH,)
                yield f"{prefix}.norm{norm}.bias", (WIDTH,)
            yield f"{prefix}.fc1.weight", (FFN, WIDTH)
            yield f"{prefix}.fc1.bias", (FFN,)
            yield f"{prefix}.fc2.weight", (WIDTH, FFN)
            yield f"{prefix}.fc2.bias", (WIDTH,)


PARAMETERS = sum(math.prod(shape) for _, shape in shapes())


def make(folder: Path, count: int) -> None:
    """Write ``checkpoint1.pt`` and so on, as fairseq would, with random parameters."""
    import torch

    for number in range(1, count + 1):
        torch.manual_seed(number)
        model = {name: torch.randn(shape) for name, shape in shapes()}
        adam = {
            i: {"step": number, "exp_avg": torch.randn(shape), "exp_avg_sq": torch.rand(shape)}
            for i, (_, shape) in enumerate(shapes())
        }
        for name in ("decoder.embed_tokens.weight", "decoder.output_projection.weight"):
            model[name] = model["encoder.embed_tokens.weight"]
        extra = {"train_iterator": {"epoch": number}}
        state = {"args": None, "cfg": {}, "model": model, "extra_state": extra}
        state["last_optimizer_state"] = {"state": adam, "param_groups": []}
        torch.save(state, folder / f"checkpoint{number}.pt")


def average_ordinarily(paths, output) -> None:
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


COMMANDS = {
    "import": ["-c", "import torch"],
    "ordinary": ["-m", "benchmarks.averaging", "--average-ordinarily"],
    "mapped": ["-m", "realformer_checkpoints.averaging"],
}
IMPORT_OF_TORCH = re.compile(r"\|\s*(\d+) \|\s*torch$", re.M)  # cumulative, in microseconds


def measure(command, *arguments):
    """Run Python; seconds on the clock, those without its import of torch, seconds of processor
    time, and the largest resident memory in MiB."""
    with tempfile.TemporaryFile("w+") as log:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", *command, *arguments],
            cwd=PROJECT,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        log.seek(0)
        said = log.read()
    if status:
        sys.exit(f"averaging.py: {command} failed:\n{said[-2000:]}")
    importing = int(IMPORT_OF_TORCH.search(said).group(1)) / 1e6
    processor = usage.ru_utime + usage.ru_stime
    return seconds, seconds - importing, processor, usage.ru_maxrss / 1024


def equal_models(paths) -> bool:
    command = """
import sys, torch
first, second = (torch.load(path, mmap=True, weights_only=True)["model"] for path in sys.argv[1:])
sys.exit(first.keys() != second.keys() or not all(torch.equal(first[k], second[k]) for k in first))
"""
    return subprocess.run([sys.executable, "-c", command, *paths]).returncode == 0


def compare(folder: Path, count: int, rounds: int) -> bool:
    """Run both ways in turns; print what was measured. Whether mapped was good enough."""
    measure(["-m", "benchmarks.averaging", "--make"], str(folder), str(count))
    paths = [str(folder / f"checkpoint{number}.pt") for number in range(1, count + 1)]
    print(
        f"{count} checkpoints of {PARAMETERS / 1e6:.1f} million parameters, load average ", end=""
    )
    print(f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    figures = {way: [] for way in COMMANDS}
    outputs = {way: str(folder / f"{way}.pt") for way in COMMANDS}
    for number in range(rounds):
        for way, command in COMMANDS.items():
            figures[way].append(measure(command, "--output", outputs[way], "--inputs", *paths))
            print_row(f"round {number + 1}", way, figures[way][-1])
    medians = {
        way: [statistics.median(column) for column in zip(*figures[way])] for way in COMMANDS
    }
    for way in COMMANDS:
        print_row("median", way, medians[way])
    imports, ordinary, mapped = medians.values()
    speed, memory = ordinary[1] / mapped[1], mapped[3] / ordinary[3]
    processor = (ordinary[2] - imports[2]) / (mapped[2] - imports[2])
    print(
        f"mapped, without the import of torch: {speed:.1f} times as fast, 1/{processor:.1f} of the"
    )
    print(f"processor time; with it {ordinary[0] / mapped[0]:.1f} times as fast; ", end="")
    print(f"{memory:.2f} of the memory; load average now {os.getloadavg()[0]:.1f}")
    equal = equal_models([outputs["ordinary"], outputs["mapped"]])
    print("parameters: " + ("equal bit for bit" if equal else "NOT EQUAL"))
    return equal and speed >= SPEED and memory <= MEMORY


def print_row(what: str, way: str, row) -> None:
    text = "{:8}  {:8}  {:6.2f} s  without import {:6.2f} s  processor {:6.2f} s  {:5.0f} MiB"
    print(text.format(what, way, *row), flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--make"]:
        return make(Path(sys.argv[2]), int(sys.argv[3]))
    if sys.argv[1:2] == ["--average-ordinarily"]:
        return average_ordinarily(sys.argv[5:], sys.argv[3])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoints", type=int, default=10, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of both ways")
    parser.add_argument("--folder", help="where there is room (default: the system's temporary)")
    args = parser.parse_args()
    if args.folder and not os.path.isdir(args.folder):
        sys.exit(f"averaging.py: --folder: no such folder: '{args.folder}'")
    needed = (args.checkpoints * 12 + 8) * PARAMETERS  # bytes: float32 and two moments
    with tempfile.TemporaryDirectory(prefix="averaging-", dir=args.folder) as folder:
        if shutil.disk_usage(folder).free < needed:
            sys.exit(f"averaging.py: {folder}: {needed / 1e9:.1f} GB of free disk are needed")
        sys.exit(0 if compare(Path(folder), args.checkpoints, args.rounds) else 1)


if __name__ == "__main__":
    main()
