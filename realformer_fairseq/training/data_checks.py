"""The data of ``fairseq-train``: files that are missing, damaged, or of something else."""

import glob
import os
from typing import Any, Dict

import numpy as np
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset, infer_dataset_impl

from realformer_runtime.command_line import UserError, flag

FIRST_WORDS = 1 << 20  # of a data set, which are looked up in the dictionary


def check_data(cfg: Any, task: str) -> None:
    """Refuse data that cannot be read.

    Args:
        cfg: fairseq's configuration
        task: its name; only that of translation has data that is known

    Raises:
        UserError: naming the file or the flag
    """
    if task != "translation" or not getattr(cfg.task, "data", None):
        return
    folder = utils.split_paths(cfg.task.data)[0]
    if not os.path.isdir(folder):
        raise UserError(f"{folder}: no such folder of data{split_at_colon(cfg.task.data)}")
    words = {}
    for name in ("source_lang", "target_lang"):
        lang = cfg.task[name]
        if lang is not None:
            words[lang] = number_of_words(folder, lang, flag(name))
    if len(words) < 2:
        return
    subsets = [cfg.dataset.train_subset, *(cfg.dataset.valid_subset or "").split(",")]
    for pair in ("-".join(words), "-".join(reversed(words))):
        for subset in subsets:
            prefix = os.path.join(folder, f"{subset}.{pair}")
            check_format(prefix, cfg)
            check_pairs(prefix, words)


def split_at_colon(data: str) -> str:
    return " (a colon separates several folders)" if len(utils.split_paths(data)) > 1 else ""


def number_of_words(folder: str, lang: str, option: str) -> int:
    """The number of entries of a language's dictionary."""
    path = os.path.join(folder, f"dict.{lang}.txt")
    if not os.path.exists(path):
        there = ", ".join(sorted(glob.glob("dict.*.txt", root_dir=folder))) or "none"
        raise UserError(f"{option} {lang}: no dict.{lang}.txt in {folder} (there: {there})")
    try:
        return len(Dictionary.load(path))
    except (RuntimeError, ValueError) as error:
        first_line = str(error).split("\n")[0]
        raise UserError(f"{path}: no dictionary of fairseq: {first_line}") from error


def check_format(prefix: str, cfg: Any) -> None:
    """Refuse ``--dataset-impl`` of another format than the files have."""
    given = cfg.dataset.dataset_impl
    found = infer_dataset_impl(f"{prefix}.{cfg.task.source_lang}")
    if None in (given, found) or {str(given), found} == {"lazy", "cached"}:
        return
    if str(given) != found:
        raise UserError(f"--dataset-impl {given}: the data is {found} (leave the option out)")


def check_pairs(prefix: str, words: Dict[str, int]) -> None:
    """Refuse binary files that are incomplete or do not belong together.

    Args:
        prefix: of the files of both languages
        words: how many entries the dictionary of each language has
    """
    kinds = {lang: infer_dataset_impl(f"{prefix}.{lang}") for lang in words}
    if "mmap" not in kinds.values():
        return  # there are none, or fairseq checks them
    for lang, kind in kinds.items():
        if kind != "mmap":
            raise UserError(f"{prefix}.{lang}.bin and .idx: not there, or damaged")
    sizes = {lang: check_binary(f"{prefix}.{lang}", number) for lang, number in words.items()}
    if len(set(sizes.values())) > 1:
        counted = ", ".join(f"{lang} has {size}" for lang, size in sizes.items())
        raise UserError(f"{prefix}: numbers of sentences differ, {counted}")


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
