"""What the benchmarks share on the command line: shapes of models, rounds, the file of the report.

Needs no torch: the largest memory of a process includes that of the one that started it, and
averaging.py measures processes.
"""

import argparse
from pathlib import Path
from typing import Callable, Collection, List, NamedTuple, Optional

from realformer_runtime.command_line import ArgumentParser, UserError, whole_number_above_0

PROJECT = Path(__file__).resolve().parent.parent
RAW = PROJECT / "benchmarks/raw"
PRECISIONS = {"float32": "float32", "bf16": "bfloat16", "fp16": "float16"}  # torch's names


class Shape(NamedTuple):
    """Sizes of a model and of a batch of ``sentences`` times ``length`` tokens on either side."""

    width: int
    ffn: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    sentences: int
    length: int

    def __str__(self) -> str:
        return f"d {self.width}, {self.encoder_layers}-{self.decoder_layers}"


SHAPES = {
    "d512": Shape(512, 2048, 8, 6, 6, sentences=32, length=25),
    "d128": Shape(128, 512, 4, 18, 6, sentences=32, length=25),
    "d64": Shape(64, 256, 4, 60, 12, sentences=32, length=25),
    "d256": Shape(256, 1024, 4, 6, 6, sentences=32, length=25),
    "long": Shape(512, 2048, 8, 6, 6, sentences=4, length=250),
    "small-d512": Shape(512, 2048, 8, 6, 6, sentences=16, length=30),
    "small-d256": Shape(256, 1024, 4, 3, 3, sentences=16, length=30),
    "small-d128": Shape(128, 512, 4, 3, 3, sentences=16, length=30),
    "bert-d256": Shape(256, 1024, 4, 12, 0, sentences=8, length=128),
    "tiny": Shape(16, 32, 2, 2, 2, sentences=4, length=6),
    "gpu-6-6": Shape(512, 2048, 8, 6, 6, sentences=167, length=30),
    "gpu-60-12": Shape(512, 2048, 8, 60, 12, sentences=167, length=30),
    "gpu-long": Shape(512, 2048, 8, 6, 6, sentences=20, length=250),
    "gpu-60-12-long": Shape(512, 2048, 8, 60, 12, sentences=20, length=250),
}


def listed(accepted: Collection[str]) -> Callable[[str], List[str]]:
    """The ``type`` of an option that takes a comma-separated list of accepted words."""

    def words(text: str) -> List[str]:
        for word in text.split(","):
            if word not in accepted:
                raise argparse.ArgumentTypeError(f"'{word}' is not one of {', '.join(accepted)}")
        return text.split(",")

    return words


def counts(text: str) -> List[int]:
    """The ``type`` of an option that takes a comma-separated list of whole numbers above 0."""
    return list(map(whole_number_above_0, text.split(",")))


def new_parser(name: str, documentation: Optional[str], rounds: int = 0) -> ArgumentParser:
    """The parser of ``python -m benchmarks.name``, with the options that every benchmark has.

    Args:
        rounds: their default number; 0 without rounds
    """
    parser = ArgumentParser(documentation, prog=f"python -m benchmarks.{name}")
    add = parser.add_argument
    if rounds:
        number = dict(type=whole_number_above_0, default=rounds, metavar="N")
        add("--rounds", **number, help="of all in turns")
    add("--json", type=Path, default=RAW / f"{name}.json", metavar="FILE", help="raw figures")
    return parser


def add_model_options(parser: ArgumentParser, shapes: str) -> None:
    """Add what training and generation have in common."""
    add = parser.add_argument
    add("--shapes", type=listed(SHAPES), default=shapes, help=f"of {', '.join(SHAPES)}")
    add("--types", type=whole_number_above_0, default=8000, metavar="N", help="of the dictionary")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--precision", choices=PRECISIONS, default="float32", help="training: of autocast")


def check_device(device: str) -> None:
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no CUDA device")
