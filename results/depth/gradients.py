"""fairseq-train that also writes the gradient norms of a model's parts, update by update.

    python -m results.depth.gradients FILE.csv DATA [fairseq-train's options]

For translation models on one device. The norms are those before clipping. ``encoder 1/3`` are the
lowest third of the encoder's layers.
"""

import csv
import re
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator, List
from unittest import mock

from fairseq.trainer import Trainer
from fairseq_cli.train import cli_main

LAYER = re.compile(r"(encoder|decoder)\.layers\.(\d+)\.(.*)")


def parts_of(name: str, encoder_layers: int) -> Iterator[str]:
    """The parts that a parameter belongs to."""
    found = LAYER.fullmatch(name)
    if not found:
        yield "embeddings and the rest"
        return
    stack, layer, rest = found[1], int(found[2]), found[3]
    where = f"encoder {1 + 3 * layer // encoder_layers}/3" if stack == "encoder" else "decoder"
    yield where
    if re.match(r"self_attn\.[qk]_proj", rest):
        yield f"{where}, queries and keys"
    if re.match(r"encoder_attn\.[qk]_proj", rest):
        yield "cross-attention, queries and keys"


def norms(model) -> List[Iterable]:
    """Part and norm, sorted by part."""
    squares, layers = Counter(), len(model.encoder.layers)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            for part in parts_of(name, layers):
                squares[part] += float(parameter.grad.float().pow(2).sum())
    return [(part, f"{square**0.5:.4g}") for part, square in sorted(squares.items())]


@contextmanager
def recorded_gradients(path: Path) -> Iterator[None]:
    """A context in which trainings write the norms to a file."""
    clip = Trainer.clip_grad_norm
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["update", "part", "gradient_norm"])

        def record(self, clip_norm):
            table.writerows([self.get_num_updates() + 1, *row] for row in norms(self.model))
            return clip(self, clip_norm)

        with mock.patch.object(Trainer, "clip_grad_norm", record):
            yield


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with recorded_gradients(Path(sys.argv.pop(1))):
        cli_main()


if __name__ == "__main__":
    main()
