"""Training of a masked language model: speed and peak memory against fairseq's own RoBERTa.

    python -m benchmarks.masked_lm [--shapes bert-d256] [--dropouts 0.1,0]

As ``benchmarks.training``, whose figures these are: an update predicts 15 % of the words, with the
same weights, batch and masked words for all contenders.
"""

from typing import List

import torch
from fairseq.models import ARCH_MODEL_REGISTRY
from torch import Tensor
from torch.nn import functional

import realformer_fairseq  # noqa: F401  registers the architectures
from benchmarks.contenders import Task, completed, make_batch
from benchmarks.options import (
    PRECISIONS,
    SHAPES,
    Shape,
    add_model_options,
    check_device,
    new_parser,
)
from benchmarks.tables import new_report
from benchmarks.training import Trainer, measure
from realformer_runtime.command_line import run_main

CONTENDERS = {
    "fairseq": ("roberta", {}),
    "mean": ("realformer_masked_lm", {"residual_attention": "mean"}),
    "sum": ("realformer_masked_lm", {"residual_attention": "sum"}),
    "none": ("realformer_masked_lm", {"residual_attention": "none"}),
}
MASKED = 0.15  # of the words, as in BERT


def build(name: str, shape: Shape, task: Task, dropout: float, seed: int = 1):
    """A model with the same random weights as the others."""
    torch.manual_seed(seed)
    arch, options = CONTENDERS[name]
    args = completed(arch, shape, dropout, max_positions=512, **options)
    return ARCH_MODEL_REGISTRY[arch].build_model(args, task)


class MaskedLMTrainer(Trainer):
    """One contender and its optimizer. ``tokens`` counts all words of a batch."""

    def __init__(self, name: str, shape: Shape, task: Task, args):
        self.model = build(name, shape, task, args.dropout).to(args.device).train()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)
        _, self.words = make_batch(shape, task, args.device)
        present = self.words.ne(task.source_dictionary.pad())
        chosen = torch.rand(self.words.shape, generator=torch.Generator().manual_seed(1)) < MASKED
        self.masked = chosen.to(args.device) & present
        self.tokens = int(present.sum())
        self.precision = getattr(torch, PRECISIONS[args.precision])
        self.device = args.device

    def logits(self) -> Tensor:
        return self.model(self.words, masked_tokens=self.masked)[0]

    def loss(self, logits: Tensor) -> Tensor:
        return functional.cross_entropy(logits, self.words[self.masked], reduction="sum")


def probabilities(text: str) -> List[float]:
    return [float(number) for number in text.split(",")]


def main() -> None:
    parser = new_parser("masked_lm", __doc__, rounds=9)
    add = parser.add_argument
    add("--warm-up", type=int, default=2, metavar="N", help="updates before those that count")
    add("--dropouts", type=probabilities, default="0.1,0", metavar="P,P", help="a case for each")
    add_model_options(parser, "bert-d256")
    args = parser.parse_args()
    check_device(args.device)
    args.contenders = list(CONTENDERS)
    task = Task(args.types)
    with new_report("masked_lm", args, "fairseq", "tokens a second") as report:
        for name in args.shapes:
            for dropout in args.dropouts:
                args.dropout, shape = dropout, SHAPES[name]
                case = f"d {shape.width}, {shape.encoder_layers} layers, "
                case += f"{shape.sentences} x {shape.length} tokens, dropout {dropout:g}"
                measure(report, case, shape, task, args, MaskedLMTrainer)


if __name__ == "__main__":
    run_main(main)
