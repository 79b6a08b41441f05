"""Training: speed and peak memory against fairseq's own Transformer, on the same batches.

    python -m benchmarks.training [--shapes d512,d128,d64,long] [--contenders fairseq,mean,...]

An update is forward pass, label-smoothed loss, backward pass and a step of torch's Adam. All
contenders make one update each in turns; the speed is the median over the rounds of
"seconds of fairseq / own seconds in the same round", with the lowest and the highest. The peak is
that of parameters, gradients, Adam's state and everything else that lives at the same time.
"""

import argparse
import gc
import importlib.util
import json
import statistics
import sys
import tempfile
from pathlib import Path

import torch
from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
from torch.profiler import ProfilerActivity, profile

from benchmarks.contenders import CONTENDERS, Shape, Task, build, make_batch
from benchmarks.options import add_device, check_device, listed
from benchmarks.rounds import print_versions, seconds_in_turns, speed_ratios, with_spread

SHAPES = {
    "d512": Shape(512, 2048, 8, 6, 6, sentences=32, length=25),
    "d128": Shape(128, 512, 4, 18, 6, sentences=32, length=25),
    "d64": Shape(64, 256, 4, 60, 12, sentences=32, length=25),
    "long": Shape(512, 2048, 8, 6, 6, sentences=4, length=250),
    "tiny": Shape(16, 32, 2, 2, 2, sentences=4, length=6),
    "gpu-6-6": Shape(512, 2048, 8, 6, 6, sentences=200, length=25),
    "gpu-60-12": Shape(512, 2048, 8, 60, 12, sentences=200, length=25),
    "gpu-long": Shape(512, 2048, 8, 6, 6, sentences=20, length=250),
}
PRECISIONS = {"float32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


class Trainer:
    """One contender and its optimizer."""

    def __init__(self, name: str, shape: Shape, task: Task, args):
        self.model = build(name, shape, task, args.dropout).to(args.device).train()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)
        self.source, self.target = make_batch(shape, task, args.device)
        self.lengths = self.source.ne(task.source_dictionary.pad()).sum(1)
        self.padding = task.source_dictionary.pad()
        self.half = PRECISIONS[args.precision]
        # fp16 without loss scaling: the speed is the same, and nothing is learned here anyway.
        self.device = args.device

    def update(self) -> None:
        with torch.autocast(self.device, dtype=self.half, enabled=self.half is not None):
            logits = self.model(self.source, self.lengths, self.target)[0]
        lprobs = torch.log_softmax(logits.float(), dim=-1)
        loss, _ = label_smoothed_nll_loss(
            lprobs.view(-1, lprobs.size(-1)),
            self.target.view(-1, 1),
            epsilon=0.1,
            ignore_index=self.padding,
        )
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def peak_bytes(trainer: Trainer) -> int:
    """Most bytes of tensors that live at the same time in an update after the first."""
    if trainer.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        trainer.update()
        return torch.cuda.max_memory_allocated()
    lasting = sum(p.numel() * p.element_size() * 3 for p in trainer.model.parameters())  # with Adam
    trainer.optimizer.zero_grad()
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        trainer.update()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text("utf-8"))["traceEvents"]
    changes = [event for event in events if event.get("name") == "[memory]"]
    now = peak = lasting
    for event in sorted(changes, key=lambda event: event["ts"]):
        now += event["args"]["Bytes"]
        peak = max(peak, now)
    return peak


def measure(shape: Shape, task: Task, args) -> None:
    """Print one row of Markdown a contender."""
    peaks = {}
    for name in args.contenders:  # one at a time, so that the peak is its own
        trainer = Trainer(name, shape, task, args)
        trainer.update()
        peaks[name] = peak_bytes(trainer)
        del trainer
        gc.collect()
        if args.device == "cuda":
            torch.cuda.empty_cache()
    trainers = {name: Trainer(name, shape, task, args) for name in args.contenders}
    runs = {name: trainer.update for name, trainer in trainers.items()}
    seconds = seconds_in_turns(runs, args.rounds, warm_up=args.warm_up)
    tokens = int(trainers["fairseq"].target.ne(task.source_dictionary.pad()).sum())
    for name in args.contenders:
        speed = tokens / statistics.median(seconds[name])
        ratio = with_spread(speed_ratios(seconds, "fairseq", name))
        memory = peaks[name] / peaks["fairseq"]
        print(f"| {shape} | {name} | {speed:,.0f} | {ratio} | ", end="")
        print(f"{peaks[name] / 2**20:,.0f} | {memory:.3f} |", flush=True)


def parse_args():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add("--shapes", default="d512,d128,d64,long", help=f"of {', '.join(SHAPES)}")
    add("--contenders", default="fairseq,mean,none,eager", help=f"of {', '.join(CONTENDERS)}")
    add("--rounds", type=int, default=9, metavar="N")
    add("--warm-up", type=int, default=2, metavar="N", help="updates before those that count")
    add("--dropout", type=float, default=0.1, metavar="P", help="everywhere; 0.1 is the recipes'")
    add("--types", type=int, default=8000, metavar="N", help="size of the dictionary")
    add_device(parser, PRECISIONS)
    args = parser.parse_args()
    args.shapes = listed(parser, "--shapes", args.shapes, SHAPES)
    args.contenders = listed(parser, "--contenders", args.contenders, CONTENDERS)
    if args.rounds < 1 or args.warm_up < 0:
        parser.error("--rounds and --warm-up are whole numbers, and there is a round at least")
    check_device(parser, args.device)
    if "x-transformers" in args.contenders and not importlib.util.find_spec("x_transformers"):
        parser.error("--contenders x-transformers: not installed (pip install '.[benchmarks]')")
    if "fairseq" not in args.contenders:
        args.contenders.insert(0, "fairseq")
    return args


def main() -> None:
    args = parse_args()
    task = Task(args.types)
    print_versions(args.device)
    print(f"dropout {args.dropout}, {args.types} types, {args.precision}, {args.rounds} rounds\n")
    print("| shape | model | tokens/s | times as fast as fairseq | peak MiB | of fairseq's |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in args.shapes:
        measure(SHAPES[name], task, args)


if __name__ == "__main__":
    sys.exit(main())
