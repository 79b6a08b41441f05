"""The data of ``fairseq-train``: files that are missing, damaged, or of something else."""

import os
from typing import Any, Dict, Iterator, List, Optional

import numpy as np
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset, infer_dataset_impl

from realformer_checkpoints.reading import SENTENCE_TASKS
from realformer_runtime.command_line import UserError, flag

from .binary_files import Part, check_format, check_parts, check_sizes, load_dictionary
from .task_checks import REPORTS
from .validation_checks import warn_once


def check_data(cfg: Any, task: str) -> None:
    """Refuse data that cannot be read.

    Args:
        cfg: fairseq's configuration
        task: its name; only those of ``CHECKS`` have data that is known

    Raises:
        UserError: naming the file or the flag
    """
    data = getattr(cfg.task, "data", None)
    if task not in CHECKS or not data:
        return
    # The data of a task of sentences is one folder, whatever its name.
    folder = data if task in SENTENCE_TASKS else utils.split_paths(data)[0]
    if not os.path.isdir(folder):
        colon = " (a colon separates several folders)" if folder != data else ""
        raise UserError(f"{folder}: no such folder of data{colon}")
    CHECKS[task](cfg, folder)


def subsets(cfg: Any) -> List[str]:
    """Names of the data sets of a training, and of its validation."""
    return [cfg.dataset.train_subset, *(cfg.dataset.valid_subset or "").split(",")]


def check_translation(cfg: Any, folder: str) -> None:
    """Refuse dictionaries and binary files of two languages that cannot be read."""
    words = {}
    for name in ("source_lang", "target_lang"):
        lang = cfg.task[name]
        if lang is not None:
            needed_by = f"{flag(name)} {lang}"
            words[lang] = len(load_dictionary(folder, f"dict.{lang}.txt", needed_by))
    if len(words) < 2:
        return
    for pair in ("-".join(words), "-".join(reversed(words))):
        for subset in subsets(cfg):
            prefix = os.path.join(folder, f"{subset}.{pair}")
            check_format(f"{prefix}.{cfg.task.source_lang}", cfg)
            check_parts(prefix, {lang: Part(f"{prefix}.{lang}", words[lang]) for lang in words})


def check_text(cfg: Any, folder: str) -> None:
    """Refuse the dictionary and binary files of a language model that cannot be read."""
    words = len(load_dictionary(folder, "dict.txt", f"--task {cfg.task._name}"))
    for subset in subsets(cfg):
        path = os.path.join(folder, subset)
        check_format(path, cfg)
        check_parts(path, {subset: Part(path, words)})


def check_sentences(cfg: Any, folder: str) -> None:
    """Refuse sentences or labels that cannot be read or do not fit ``--num-classes``."""
    needed_by, labels = f"--task {cfg.task._name}", None
    words = len(load_dictionary(folder, "input0/dict.txt", needed_by))
    for name in ("init_token", "separator_token"):
        token = getattr(cfg.task, name)
        if token is not None and not 0 <= token <= words:  # one more is <mask>
            raise UserError(f"{flag(name)} {token}: the dictionary has the entries 0 to {words}")
    if not (ranks(cfg) or cfg.criterion.regression_target):
        labels = load_dictionary(folder, "label/dict.txt", needed_by)
        check_names(cfg, labels, os.path.join(folder, "label/dict.txt"))
    for subset in subsets(cfg)[: 1 if cfg.dataset.disable_validation else None]:
        check_labelled(cfg, folder, subset, words, labels)


def ranks(cfg: Any) -> bool:
    """Whether the first sentence is followed by as many as there are classes."""
    return cfg.task._name == "sentence_ranking"


def check_labelled(
    cfg: Any, folder: str, subset: str, words: int, labels: Optional[Dictionary]
) -> None:
    """Refuse a data set of sentences and labels, which are text without a dictionary."""
    sizes = {f"input{n}": words for n in range(1 + cfg.task.num_classes if ranks(cfg) else 1)}
    if not ranks(cfg) and infer_dataset_impl(os.path.join(folder, "input1", subset)):
        sizes["input1"] = words
    if labels is not None:
        sizes["label"] = len(labels)
    parts = {name: Part(os.path.join(folder, name, subset), sizes[name]) for name in sizes}
    for part in parts.values():
        if infer_dataset_impl(part.path) is None:
            raise UserError(f"{part.path}.bin and .idx: not there, or damaged")
    check_parts(subset, parts)
    if infer_dataset_impl(parts["input0"].path) != "mmap":
        return
    if labels is not None:
        check_classes(parts["label"].path, labels, cfg.task.num_classes)
    else:
        lines = sum(1 for _ in text_labels(os.path.join(folder, "label", f"{subset}.label"), cfg))
        size = len(MMapIndexedDataset.Index(f"{parts['input0'].path}.idx"))
        check_sizes(subset, {"input0": size, "label": lines})


def check_names(cfg: Any, labels: Dictionary, path: str) -> None:
    """Refuse labels that are no numbers where scores are computed of them."""
    names = labels.symbols[labels.nspecial :][: cfg.task.num_classes]
    there = sum(not name.startswith("madeupword") for name in names)
    if there < cfg.task.num_classes:
        warn_once(f"--num-classes {cfg.task.num_classes}: {path} has {there} labels")
    asked = [name for name in REPORTS if getattr(cfg.criterion, name, False)]  # not in 0.12.2
    others = [name for name in names if not name.lstrip("-").isdigit()]
    if asked and (others or len(names) < cfg.task.num_classes):
        found = f"'{others[0]}' is none" if others else f"there are {len(names)}"
        raise UserError(
            f"{flag(asked[0])}: {path} must have --num-classes {cfg.task.num_classes} whole "
            f"numbers as labels, {found}"
        )


def check_classes(path: str, labels: Dictionary, classes: int) -> None:
    """Refuse labels outside of ``--num-classes``."""
    dtype = MMapIndexedDataset.Index(f"{path}.idx").dtype
    found = set(np.fromfile(f"{path}.bin", dtype).tolist()) - {labels.eos()}
    for number in sorted(found):
        if not 0 <= number - labels.nspecial < classes:
            raise UserError(
                f"{path}.bin has the label {labels[number]}, which is not among the first "
                f"{classes} of its dictionary (--num-classes {classes})"
            )


def text_labels(path: str, cfg: Any) -> Iterator[List[float]]:
    """The numbers of each line of a file of labels."""
    classes = cfg.task.num_classes
    needed = f"a number from 0 to {classes - 1}" if ranks(cfg) else f"{classes} numbers"
    if not os.path.isfile(path):
        raise UserError(f"{path}: not there")
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            try:
                values = [int(line)] if ranks(cfg) else list(map(float, line.split()))
            except ValueError:
                values = []
            fits = values and 0 <= values[0] < classes if ranks(cfg) else len(values) == classes
            if not fits:
                raise UserError(f"{path}, line {number}: {needed} (--num-classes {classes})")
            yield values


CHECKS: Dict[str, Any] = {
    "translation": check_translation,
    "masked_lm": check_text,
    "language_modeling": check_text,
    **dict.fromkeys(SENTENCE_TASKS, check_sentences),
}
