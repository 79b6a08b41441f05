"""Launches and bytes of a training update on a GPU, counted without one, and what they predict.

    python -m benchmarks.launches [--shapes gpu-6-6,gpu-60-12] [--contenders fairseq,mean,fused]

Nothing here is measured. An update is counted by launch_counter.py; README.md says what is assumed.
"""

from types import SimpleNamespace

import torch

from benchmarks.contenders import FAIRSEQ_MODELS, Task
from benchmarks.launch_counter import Counter, as_on_a_gpu
from benchmarks.options import SHAPES, Shape, listed, new_parser
from benchmarks.rounds import Figures
from benchmarks.tables import add_case, new_report
from benchmarks.training import Trainer
from realformer_runtime.command_line import run_main, whole_number_above_0


class MetaTrainer(Trainer):
    """An update of a model without numbers, in bfloat16, with Adam on float32 copies.

    fairseq's ``--bf16`` is so. Autocast copies weights and gradients as often, and activations
    besides.
    """

    def __init__(self, name: str, shape: Shape, task: Task, dropout: float):
        args = SimpleNamespace(dropout=dropout, device="cpu", precision="bf16")
        super().__init__(name, shape, task, args)
        self.model.to("meta")
        self.source, self.lengths, self.target = (
            x.to("meta") for x in (self.source, self.lengths, self.target)
        )
        self.copies = [p.detach().clone() for p in self.model.parameters()]
        self.model.bfloat16()
        self.optimizer = torch.optim.Adam(self.copies, foreach=True)

    def update(self) -> None:
        self.loss(self.logits().float()).backward()
        parameters = list(self.model.parameters())
        for copy, parameter in zip(self.copies, parameters):
            copy.grad, parameter.grad = parameter.grad.float(), None
        self.optimizer.step()
        with torch.no_grad():
            for copy, parameter in zip(self.copies, parameters):
                parameter.copy_(copy)


def count(trainer: MetaTrainer) -> Counter:
    """Count the second update: the first one makes what the optimizer keeps."""
    for counter in (Counter(), Counter()):
        with as_on_a_gpu(), counter:
            trainer.update()
    return counter


def figures_of(counter: Counter) -> Figures:
    """What is counted and what follows: host and GPU work at the same time."""
    figures = {
        "launches": counter.launches,
        "moved_bytes": counter.moved_bytes,
        "host_seconds": counter.host_seconds,
    }
    for gpu, seconds in counter.seconds.items():
        figures[f"{gpu}_seconds"] = seconds
        figures[f"{gpu}_update_seconds"] = max(seconds, counter.host_seconds)
    return {name: [value] for name, value in figures.items()}


def parse_args():
    parser = new_parser("launches", __doc__)
    add, shapes = parser.add_argument, "gpu-6-6,gpu-60-12,gpu-long,gpu-60-12-long"
    names = f"of {', '.join(FAIRSEQ_MODELS)}"
    add("--shapes", type=listed(SHAPES), default=shapes, help=f"of {', '.join(SHAPES)}")
    add("--contenders", type=listed(FAIRSEQ_MODELS), default="fairseq,mean,fused", help=names)
    add("--types", type=whole_number_above_0, default=32000, metavar="N", help="of the dictionary")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    task = Task(args.types)
    baseline = args.contenders[0]
    with new_report("launches", args, baseline, "target tokens a second") as report:
        for name in args.shapes:
            shape, figures = SHAPES[name], {}
            for contender in args.contenders:
                trainer = MetaTrainer(contender, shape, task, dropout=0.1)
                figures[contender] = figures_of(count(trainer))
            case = f"{shape}, {shape.sentences} x {shape.length} tokens"
            add_case(report, case, figures, trainer.tokens)


if __name__ == "__main__":
    run_main(main)
