"""Dictionaries and binary files of fairseq that are missing or damaged."""

import os
from pathlib import Path
from typing import Any, Dict, NamedTuple

import numpy as np
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset, infer_dataset_impl

from realformer_runtime.command_line import UserError

FIRST_WORDS = 1 << 20  # of a data set, which are looked up in the dictionary


class Part(NamedTuple):
    """One of the binary files of a data set, without suffix, and the size of its dictionary."""

    path: str
    words: int


def load_dictionary(folder: str, name: str, needed_by: str) -> Dictionary:
    """A dictionary; a UserError says what needs it if it is not there or damaged."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        there = ", ".join(sorted(file.name for file in Path(folder).glob("dict.*txt"))) or "none"
        raise UserError(f"{needed_by}: no {name} in {folder} (there: {there})")
    try:
        return Dictionary.load(path)
    except (RuntimeError, ValueError) as error:
        first_line = str(error).split("\n")[0]
        raise UserError(f"{path}: no dictionary of fairseq: {first_line}") from error


def check_format(path: str, cfg: Any) -> None:
    """Refuse ``--dataset-impl`` of another format than the files have."""
    given, found = cfg.dataset.dataset_impl, infer_dataset_impl(path)
    if None in (given, found) or {str(given), found} == {"lazy", "cached"}:
        return
    if str(given) != found:
        raise UserError(f"--dataset-impl {given}: the data is {found} (leave the option out)")


def check_parts(name: str, parts: Dict[str, Part]) -> None:
    """Refuse binary files that are incomplete or do not belong together.

    Args:
        name: of the data set
        parts: by name; where none is there, or in an older format, fairseq checks them
    """
    kinds = {part: infer_dataset_impl(files.path) for part, files in parts.items()}
    if "mmap" not in kinds.values():
        return
    for part, kind in kinds.items():
        if kind != "mmap":
            raise UserError(f"{parts[part].path}.bin and .idx: not there, or damaged")
    check_sizes(name, {part: check_binary(*files) for part, files in parts.items()})


def check_sizes(name: str, sizes: Dict[str, int]) -> None:
    """Refuse parts of a data set with unequal numbers of sentences."""
    if len(set(sizes.values())) > 1:
        counted = ", ".join(f"{part} has {size}" for part, size in sizes.items())
        raise UserError(f"{name}: numbers of sentences differ, {counted}")


def check_binary(prefix: str, words: int) -> int:
    """The number of sentences of a binary file and its index, which must fit each other."""
    binary = f"{prefix}.bin"
    try:
        index = MMapIndexedDataset.Index(f"{prefix}.idx")
        start, size = index[len(index) - 1] if len(index) else (0, 0)
    except ValueError as error:
        raise UserError(f"{prefix}.idx: damaged ({error})") from error
    if not len(index):
        raise UserError(f"{binary}: there is no sentence in it")
    found, expected = os.path.getsize(binary), start + size * index.dtype().itemsize
    if found != expected:
        raise UserError(f"{binary}: damaged, {found} bytes instead of {expected}")
    if np.fromfile(binary, index.dtype, FIRST_WORDS).max(initial=0) >= words:
        raise UserError(
            f"{binary}: has words that are not among the {words} of its dictionary "
            "(is that from another preprocessing?)"
        )
    return len(index)
