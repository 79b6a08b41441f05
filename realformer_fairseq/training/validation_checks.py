"""Validation of ``fairseq-train``: what cannot be computed, found at the start."""

import argparse
import functools
import json
import logging
from typing import Any

from fairseq.data import encoders
from fairseq.data.data_utils import post_process

from realformer_runtime.command_line import UserError, flag

from ..models.generation_options import check_generation
from .task_checks import FITS, REPORTS

LOSSES = ("loss", "nll_loss", "ppl")
# What validation computes with these criterions, and on request, by option.
METRICS = {
    "cross_entropy": (("loss", "ppl"), {"sentence_avg": ("nll_loss",)}),
    "label_smoothed_cross_entropy": (LOSSES, {"report_accuracy": ("accuracy",)}),
    "masked_lm": (("loss", "ppl"), {}),
    "masked_lm_with_accuracy": (("loss", "ppl", "accuracy"), {}),
    "sentence_prediction": (("loss", "nll_loss", "accuracy"), REPORTS),
    "sentence_ranking": (("loss", "nll_loss", "accuracy"), {}),
}
HIGHER_IS_BETTER = ("bleu", "accuracy", *(name for names in REPORTS.values() for name in names))


@functools.cache
def warn_once(message: str) -> None:
    """Log a warning, but not again where options are checked again."""
    logging.getLogger(__name__).warning(message)


def name_of(group: Any) -> Any:
    """Which criterion, optimizer or task a group of options is for."""
    return getattr(group, "_name", group)


def check_bleu(task: Any) -> None:
    """Refuse what ``--eval-bleu`` cannot be computed with."""
    if not getattr(task, "eval_bleu", False):
        return
    for name in ("eval_bleu_args", "eval_bleu_detok_args"):
        text = getattr(task, name)
        if not isinstance(json_or_none(text), dict):
            raise UserError(f"{flag(name)} '{text}': JSON in braces is needed, such as {{}}")
    options = json_or_none(task.eval_bleu_args)
    check_generation(options, f"--eval-bleu-args '{json.dumps(options)}': ")
    try:
        post_process("", task.eval_bleu_remove_bpe)
    except NotImplementedError as error:
        raise UserError(f"--eval-bleu-remove-bpe {task.eval_bleu_remove_bpe}: {error}") from error
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
    named = f"--best-checkpoint-metric {metric}"
    if name_of(criterion) in METRICS and name_of(task) in FITS:
        always, requested = METRICS[name_of(criterion)]
        if getattr(criterion, "regression_target", False):
            always = tuple(name for name in always if name != "accuracy")
        if name_of(task) == "translation":
            requested = {**requested, "eval_bleu": ("bleu",)}
        asked = [name for name in requested if getattr(criterion, name, getattr(task, name, False))]
        known = [*always, *(each for name in asked for each in requested[name])]
        option = next((name for name in requested if metric in requested[name]), None)
        if metric not in known and option:
            raise UserError(f"{named} needs {flag(option)}")
        if metric not in known:
            raise UserError(f"{named}: validation computes {', '.join(known)}")
    higher = cfg.checkpoint.maximize_best_checkpoint_metric
    if metric in (*LOSSES, *HIGHER_IS_BETTER) and higher != (metric in HIGHER_IS_BETTER):
        how = "without" if metric in HIGHER_IS_BETTER else "with"
        warn_once(
            f"{named} {how} --maximize-best-checkpoint-metric: checkpoint_best.pt is the worst"
        )
