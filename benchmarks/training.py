"""Training: speed and peak memory against fairseq's own Transformer, on the same batches.

    python -m benchmarks.training [--shapes d512,d128,d64,long] [--contenders fairseq,mean,...]

An update is forward pass, label-smoothed loss, backward pass and a step of torch's Adam. All
contenders make one update each in turns; the speed is the median over the rounds of
"seconds of fairseq / own seconds in the same round", with the lowest and the highest. The peak is
that of parameters, gradients, Adam's state and everything else that lives at the same time.
"""

import gc
import importlib.util
import json
import tempfile
from pathlib import Path

import torch
from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from benchmarks.contenders import CONTENDERS, Task, build, make_batch
from benchmarks.options import (
    PRECISIONS,
    SHAPES,
    Shape,
    add_model_options,
    check_device,
    listed,
    new_parser,
)
from benchmarks.rounds import in_turns, ratios, timed
from benchmarks.tables import Report, add_case, new_report, with_spread
from realformer_fairseq.modules.fused_attention import lacking
from realformer_runtime.command_line import UserError, run_main


class Trainer:
    """One contender and its optimizer. ``tokens`` is the number of target tokens in an update."""

    def __init__(self, name: str, shape: Shape, task: Task, args):
        self.model = build(name, shape, task, args.dropout).to(args.device).train()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)
        self.source, self.target = make_batch(shape, task, args.device)
        self.lengths = self.source.ne(task.source_dictionary.pad()).sum(1)
        self.padding = task.source_dictionary.pad()
        self.tokens = int(self.target.ne(self.padding).sum())
        # fp16 without loss scaling: the speed is the same, and nothing is learned here anyway.
        self.precision = getattr(torch, PRECISIONS[args.precision])
        self.device = args.device

    def logits(self) -> Tensor:
        return self.model(self.source, self.lengths, self.target)[0]

    def loss(self, logits: Tensor) -> Tensor:
        lprobs = torch.log_softmax(logits, dim=-1)
        loss, _ = label_smoothed_nll_loss(
            lprobs.view(-1, lprobs.size(-1)),
            self.target.view(-1, 1),
            epsilon=0.1,
            ignore_index=self.padding,
        )
        return loss

    def update(self) -> None:
        half = self.precision != torch.float32
        with torch.autocast(self.device, dtype=self.precision if half else None, enabled=half):
            logits = self.logits()
        loss = self.loss(logits.float())
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


def measure(report: Report, case: str, shape: Shape, task: Task, args, new=Trainer) -> None:
    """Peaks, which do not vary, and the seconds of each round."""
    peaks = {}
    for name in args.contenders:  # one at a time, so that the peak is its own
        trainer = new(name, shape, task, args)
        trainer.update()
        peaks[name] = peak_bytes(trainer)
        del trainer
        gc.collect()
        if args.device == "cuda":
            torch.cuda.empty_cache()
    trainers = {name: new(name, shape, task, args) for name in args.contenders}
    runs = {name: timed(trainer.update, args.device) for name, trainer in trainers.items()}
    figures = in_turns(runs, args.rounds, args.warm_up)
    for name in args.contenders:
        figures[name]["peak_bytes"] = [peaks[name]]
    add_case(report, case, figures, trainers["fairseq"].tokens)
    if {"mean", "fused"} <= figures.keys():
        speed = with_spread(ratios(figures["mean"], figures["fused"])["seconds"])
        report["checks"][f"{case}: fused is so many times as fast as mean"] = speed


def parse_args():
    parser = new_parser("training", __doc__, rounds=9)
    add = parser.add_argument
    accepted, default = listed(CONTENDERS), "fairseq,mean,none,eager"
    add("--contenders", type=accepted, default=default, help=f"of {', '.join(CONTENDERS)}")
    add("--warm-up", type=int, default=2, metavar="N", help="updates before those that count")
    add("--dropout", type=float, default=0.1, metavar="P", help="everywhere; 0.1 is the recipes'")
    add_model_options(parser, "d512,d128,d64,long")
    args = parser.parse_args()
    check_device(args.device)
    if args.warm_up < 0:
        parser.error(f"--warm-up: {args.warm_up} is below 0")
    if "x-transformers" in args.contenders and not importlib.util.find_spec("x_transformers"):
        raise UserError("--contenders x-transformers: not installed (pip install '.[benchmarks]')")
    needed = lacking(torch.device(args.device))
    if "fused" in args.contenders and needed:
        raise UserError(f"--contenders fused: needs {needed}")
    if "fairseq" not in args.contenders:
        args.contenders.insert(0, "fairseq")
    return args


def main() -> None:
    args = parse_args()
    task = Task(args.types)
    with new_report("training", args, "fairseq", "target tokens a second") as report:
        for name in args.shapes:
            shape = SHAPES[name]
            case = f"{shape}, {shape.sentences} x {shape.length} tokens"
            measure(report, case, shape, task, args)


if __name__ == "__main__":
    run_main(main)
