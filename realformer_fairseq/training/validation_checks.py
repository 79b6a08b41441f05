"""Data and validation of ``fairseq-train``: what cannot be read or computed, found at the start."""

import argparse
import functools
import glob
import json
import logging
import os
from typing import Any, Dict

from fairseq import utils
from fairseq.data import encoders
from fairseq.data.indexed_dataset import infer_dataset_impl

from realformer_runtime.command_line import UserError, flag

# What validation computes with these criterions in a translation, apart from BLEU and accuracy.
CRITERIONS = ("cross_entropy", "label_smoothed_cross_entropy")
METRICS = ("loss", "nll_loss", "ppl")
HIGHER_IS_BETTER = ("bleu", "accuracy")


@functools.cache
def warn_once(message: str) -> None:
    """Log a warning, but not again where options are checked again."""
    logging.getLogger(__name__).warning(message)


def name_of(group: Any) -> Any:
    """Which criterion, optimizer or task a group of options is for."""
    return getattr(group, "_name", group)


def check_data(cfg: Any) -> None:
    """Refuse languages without a dictionary, and a data format that is not that of the files."""
    task = cfg.task
    if name_of(task) != "translation" or not getattr(task, "data", None):
        return
    folder = utils.split_paths(task.data)[0]
    if not os.path.isdir(folder):
        raise UserError(f"{folder}: no such folder of data{split_at_colon(task.data)}")
    for name in ("source_lang", "target_lang"):
        lang = task[name]
        if lang is not None and not os.path.exists(os.path.join(folder, f"dict.{lang}.txt")):
            there = ", ".join(sorted(glob.glob("dict.*.txt", root_dir=folder))) or "none"
            raise UserError(f"{flag(name)} {lang}: no dict.{lang}.txt in {folder} (there: {there})")
    given, languages = cfg.dataset.dataset_impl, (task.source_lang, task.target_lang)
    if given is None or None in languages:
        return
    for pair in ("-".join(languages), "-".join(reversed(languages))):
        prefix = os.path.join(folder, f"{cfg.dataset.train_subset}.{pair}.{languages[0]}")
        found = infer_dataset_impl(prefix)
        if found is not None and str(given) != found and {str(given), found} != {"lazy", "cached"}:
            raise UserError(f"--dataset-impl {given}: the data is {found} (leave the option out)")


def split_at_colon(data: str) -> str:
    return " (a colon separates several folders)" if len(utils.split_paths(data)) > 1 else ""


def check_bleu(task: Any) -> None:
    """Refuse what ``--eval-bleu`` cannot be computed with."""
    if not getattr(task, "eval_bleu", False):
        return
    for name in ("eval_bleu_args", "eval_bleu_detok_args"):
        text = getattr(task, name)
        if not isinstance(json_or_none(text), dict):
            raise UserError(f"{flag(name)} '{text}': JSON in braces is needed, such as {{}}")
    detokenizer, tokenizers = task.eval_bleu_detok, ", ".join(encoders.TOKENIZER_REGISTRY)
    if detokenizer not in encoders.TOKENIZER_REGISTRY:
        raise UserError(f"--eval-bleu-detok {detokenizer}: choose one of {tokenizers}")
    options = json_or_none(task.eval_bleu_detok_args)
    try:
        encoders.build_tokenizer(argparse.Namespace(tokenizer=detokenizer, **options))
    except Exception as error:  # which each has its own
        raise UserError(
            f"--eval-bleu-detok {detokenizer} --eval-bleu-detok-args '{options}': {error}"
        ) from error


def json_or_none(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def check_metric(cfg: Any) -> None:
    """Refuse a metric that no validation computes; warn where the worst would be the best."""
    metric, criterion, task = cfg.checkpoint.best_checkpoint_metric, cfg.criterion, cfg.task
    has: Dict[str, bool] = {
        "bleu": bool(getattr(task, "eval_bleu", False)),
        "accuracy": bool(getattr(criterion, "report_accuracy", False)),
    }
    needs = {"bleu": "--eval-bleu", "accuracy": "--report-accuracy"}
    named = f"--best-checkpoint-metric {metric}"
    is_known = name_of(criterion) in CRITERIONS and name_of(task) == "translation"
    if is_known and metric in has and not has[metric]:
        raise UserError(f"{named} needs {needs[metric]}")
    if is_known and metric not in (*METRICS, *has):
        known = [*METRICS, *(name for name in has if has[name])]
        raise UserError(f"{named}: validation computes {', '.join(known)}")
    higher = cfg.checkpoint.maximize_best_checkpoint_metric
    if metric in (*METRICS, *HIGHER_IS_BETTER) and higher != (metric in HIGHER_IS_BETTER):
        how = "without" if metric in HIGHER_IS_BETTER else "with"
        warn_once(
            f"{named} {how} --maximize-best-checkpoint-metric: checkpoint_best.pt is the worst"
        )
