"""What a checkpoint says about its training, as fields of a model card."""

import math
from datetime import timedelta
from typing import Any, Dict, List

from ..averaging import FILES, WEIGHTS, are_all, lines_about
from ..reading import stored_option
from .markdown import NOT_RECORDED, base_name, code, listed, number, scalar, text

LONGEST_TIME = 3e9  # seconds; a century
MOST_FILES = 50  # of an average are named
PRECISIONS = {
    "amp": "automatic mixed precision (--amp)",
    "memory_efficient_bf16": "bfloat16 (--memory-efficient-bf16)",
    "bf16": "bfloat16 (--bf16)",
    "memory_efficient_fp16": "float16 (--memory-efficient-fp16)",
    "fp16": "float16 (--fp16)",
}


def kind(state: Dict[str, Any], group: str) -> Any:
    """Which task, criterion, optimizer or schedule: older checkpoints have it under that name."""
    return stored_option(state, group, "_name" if isinstance(state.get("cfg"), dict) else group)


def phrases(state: Dict[str, Any], group: str, **names: str) -> str:
    """``adam, betas (0.9, 0.98)``: the kind of a thing and those of its settings that it has."""
    values = {name: stored_option(state, group, name) for name in names}
    settings = [f"{names[k]} {text(v)}" for k, v in values.items() if scalar(v) is not None]
    return listed([text(kind(state, group)), *settings])


def numbers_of(value: Any) -> List[Any]:
    """Of an option that has a number for each epoch, often one."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [x for x in values if isinstance(x, (int, float))]


def batch(state: Dict[str, Any]) -> str:
    """Tokens of an update, with the arithmetic."""
    limits = {"max_tokens": "tokens", "batch_size": "sentences"}
    found = {unit: stored_option(state, "dataset", name) for name, unit in limits.items()}
    unit = next((unit for unit, limit in found.items() if isinstance(limit, int)), None)
    if unit is None:
        return NOT_RECORDED
    frequencies = numbers_of(stored_option(state, "optimization", "update_freq"))
    world = stored_option(state, "distributed_training", "distributed_world_size")
    factors = [found[unit], *frequencies, world]
    if len(frequencies) != 1 or not all(isinstance(x, int) for x in factors):
        by_epoch = ", ".join(map(text, frequencies)) or NOT_RECORDED
        return (
            f"at most {number(found[unit])} {unit} x {by_epoch} batches x {text(world)} processes"
        )
    product = " x ".join(map(number, factors))
    return f"{product} = at most {number(math.prod(factors))} {unit} (batch x batches x processes)"


def progress(state: Dict[str, Any]) -> Dict[str, str]:
    """Updates, epochs and seconds; of an average, those of its last file."""
    history = state.get("optimizer_history") or [{}]
    extra = state.get("extra_state") or {}
    iterator = extra.get("train_iterator")
    iterator = iterator if isinstance(iterator, dict) else {}
    epoch, batches = iterator.get("epoch"), iterator.get("iterations_in_epoch")
    epochs = NOT_RECORDED
    if isinstance(epoch, int) and isinstance(batches, int):
        epochs = f"{number(epoch - 1)} whole ones" + (
            f" and {number(batches)} batches of the next" if batches else ""
        )
    seconds, best = extra.get("previous_training_time"), extra.get("best")
    timed = isinstance(seconds, (int, float)) and 0 <= seconds < LONGEST_TIME
    metric = text(stored_option(state, "checkpoint", "best_checkpoint_metric"))
    return {
        "updates": number(history[-1].get("num_updates")),
        "epochs": epochs,
        "time": f"{timedelta(seconds=round(seconds))} (h:mm:ss)" if timed else NOT_RECORDED,
        "best": NOT_RECORDED if scalar(best) is None else f"{text(best)} ({metric})",
    }


def start(state: Dict[str, Any]) -> str:
    """Whose parameters a training started from."""
    other = base_name(stored_option(state, "checkpoint", "finetune_from_model"))
    restored = base_name(stored_option(state, "checkpoint", "restore_file"))
    if other is None and restored not in (None, "checkpoint_last.pt"):
        other = restored
    if other is not None:
        return code(other)
    return NOT_RECORDED if restored is None else "random"


def average_of(state: Dict[str, Any]) -> str:
    """Files that the parameters are the mean of."""
    files, weights = state.get(FILES), state.get(WEIGHTS)
    if files is None:
        return "no average"
    if not are_all(files, str) or not (weights is None or are_all(weights, float)):
        return NOT_RECORDED
    names = [code(line) for line in lines_about([base_name(x) or "" for x in files], weights)]
    more = f" and {len(names) - MOST_FILES} more" if len(names) > MOST_FILES else ""
    return f"mean of {len(names)}: {', '.join(names[:MOST_FILES])}{more}"


def precision(state: Dict[str, Any]) -> str:
    values = {name: stored_option(state, "common", name) for name in PRECISIONS}
    chosen = next((words for name, words in PRECISIONS.items() if values[name] is True), "float32")
    return NOT_RECORDED if all(value is None for value in values.values()) else chosen


def processes(state: Dict[str, Any]) -> str:
    count = stored_option(state, "distributed_training", "distributed_world_size")
    where = ", on CPUs (--cpu)" if stored_option(state, "common", "cpu") is True else ""
    return number(count) + where


def training_facts(state: Dict[str, Any]) -> Dict[str, str]:
    schedule = {"total_num_update": "total updates", "power": "power", "end_learning_rate": "end"}
    adam = {"adam_betas": "betas", "adam_eps": "epsilon", "weight_decay": "weight decay"}
    rates = numbers_of(stored_option(state, "optimization", "lr"))
    clip = scalar(stored_option(state, "optimization", "clip_norm"))
    return {
        "optimizer": phrases(state, "optimizer", **adam),
        "clipping": "none" if clip == "0" else text(clip),
        "learning_rate": listed(map(text, rates)),
        "schedule": phrases(state, "lr_scheduler", **schedule),
        "warmup": number(stored_option(state, "lr_scheduler", "warmup_updates")),
        "batch": batch(state),
        "processes": processes(state),
        **progress(state),
        "dropout": listed(
            f"{text(stored_option(state, 'model', name))} {where}"
            for name, where in (
                ("dropout", "(residual)"),
                ("attention_dropout", "(attention)"),
                ("activation_dropout", "(activation)"),
            )
        ),
        "loss": phrases(state, "criterion", label_smoothing="label smoothing"),
        "seed": text(stored_option(state, "common", "seed")),
        "precision": precision(state),
        "start": start(state),
        "average": average_of(state),
    }
