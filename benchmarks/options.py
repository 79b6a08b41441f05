"""Options that the benchmarks of training and of generation share."""

import argparse
from typing import Container, Iterable, List

import torch


def add_device(parser: argparse.ArgumentParser, precisions: Container[str]) -> None:
    """Add ``--device`` and ``--precision``."""
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--precision", choices=precisions, default="float32", help="training: of autocast"
    )


def check_device(parser: argparse.ArgumentParser, device: str) -> None:
    """End with an error if a GPU is wanted and there is none."""
    if device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch finds no CUDA device")


def listed(
    parser: argparse.ArgumentParser, option: str, value: str, accepted: Iterable[str]
) -> List[str]:
    """The words of a comma-separated list; ends with an error for one that is not accepted."""
    words = value.split(",")
    for word in words:
        if word not in accepted:
            parser.error(f"{option}: '{word}' is not one of {', '.join(accepted)}")
    return words
