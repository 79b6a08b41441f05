"""What the log of fairseq-train says, as fields of a model card."""

from collections import Counter
from statistics import median
from typing import Dict

from realformer_runtime.command_line import UserError

from ..training_log import log_lines, read_curves, read_gpus, read_speeds
from .markdown import NOT_RECORDED, listed, number, scalar, text


def log_facts(path: str) -> Dict[str, str]:
    """Speed, GPUs and validation from the log of fairseq-train.

    Raises:
        UserError: none of it is in the file
        OSError: no such file
    """
    lines = list(log_lines(path))
    curves, speeds, gpus = read_curves(lines), read_speeds(lines), read_gpus(lines)
    del curves["train"]
    if not speeds and not curves and not gpus:
        raise UserError(f"--log {path}: no log of fairseq-train (--log-format simple)")
    validation = []
    for subset, curve in curves.items():
        (update, best), (end, last) = min(curve, key=lambda point: point[1]), curve[-1]
        validation.append(
            f"{text(subset)}: best {best:g} after {number(update)} updates, "
            f"last {last:g} after {number(end)}"
        )
    return {
        "speed": f"{median(speeds):,.0f}" if speeds else NOT_RECORDED,
        "gpus": listed(f"{n} x {text(scalar(name))}" for name, n in Counter(gpus.values()).items()),
        "validation": "; ".join(validation) or NOT_RECORDED,
    }
