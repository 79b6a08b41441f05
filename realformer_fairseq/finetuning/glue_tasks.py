"""The tasks of GLUE (Wang et al. 2019, arXiv 1804.07461): their files, labels and measures."""

from typing import Callable, Dict, NamedTuple, Sequence, Tuple

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

BINARY = ("0", "1")
ENTAILMENT = ("entailment", "not_entailment")
HIGHEST_SCORE = 5.0  # of STS-B, from 0


class GlueTask(NamedTuple):
    """What the files of a task have in them.

    Args:
        sentences: names of the columns with one sentence each
        label: name of the column with the label or the score
        labels: in the order of the classes; empty where the column is a score
        measures: keys of ``MEASURES``
        dev: names of the dev sets
        columns: of files without a line of names
        skips_short_lines: lines that lack a field are left out, else they are refused
    """

    sentences: Tuple[str, ...]
    label: str
    labels: Tuple[str, ...]
    measures: Tuple[str, ...] = ("accuracy",)
    dev: Tuple[str, ...] = ("dev",)
    columns: Tuple[str, ...] = ()
    skips_short_lines: bool = False

    def measure_names(self) -> Tuple[str, ...]:
        """The columns of a table of results, for several dev sets those of each."""
        return tuple(key(self, split, name) for split in self.dev for name in self.measures)


TASKS: Dict[str, GlueTask] = {
    "CoLA": GlueTask(
        sentences=("sentence",),
        label="acceptable",
        labels=BINARY,
        measures=("matthews",),
        columns=("source", "acceptable", "original mark", "sentence"),
    ),
    "SST-2": GlueTask(("sentence",), "label", BINARY),
    "MRPC": GlueTask(("#1 String", "#2 String"), "Quality", BINARY, ("accuracy", "f1")),
    "STS-B": GlueTask(("sentence1", "sentence2"), "score", (), ("pearson", "spearman")),
    "QQP": GlueTask(
        sentences=("question1", "question2"),
        label="is_duplicate",
        labels=BINARY,
        measures=("accuracy", "f1"),
        skips_short_lines=True,
    ),
    "MNLI": GlueTask(
        sentences=("sentence1", "sentence2"),
        label="gold_label",
        labels=("contradiction", "neutral", "entailment"),
        dev=("dev_matched", "dev_mismatched"),
    ),
    "QNLI": GlueTask(("question", "sentence"), "label", ENTAILMENT),
    "RTE": GlueTask(("sentence1", "sentence2"), "label", ENTAILMENT),
}


def correlation(statistic: Callable) -> Callable[[Sequence, Sequence], float]:
    """A correlation of scipy's; 0 where it is not defined, since one side is the same everywhere.

    scikit-learn does the same with Matthews'.
    """

    def defined(expected: Sequence, predicted: Sequence) -> float:
        if np.ptp(expected) == 0 or np.ptp(predicted) == 0:
            return 0.0
        return statistic(expected, predicted)[0]

    return defined


# Of expected and predicted classes, by number, or of scores. F1 is that of class 1.
MEASURES: Dict[str, Callable[[Sequence, Sequence], float]] = {
    "accuracy": accuracy_score,
    "f1": lambda expected, predicted: f1_score(expected, predicted, zero_division=0),
    "matthews": matthews_corrcoef,
    "pearson": correlation(pearsonr),
    "spearman": correlation(spearmanr),
}


def key(task: GlueTask, split: str, measure: str) -> str:
    """``accuracy``, or, of a task with several dev sets, ``accuracy_matched``."""
    return measure if len(task.dev) == 1 else f"{measure}{split.removeprefix('dev')}"


def measured(
    task: GlueTask, split: str, expected: Sequence, predicted: Sequence
) -> Dict[str, float]:
    """Each measure of a task on one dev set, in percent."""
    return {
        key(task, split, name): 100 * float(MEASURES[name](expected, predicted))
        for name in task.measures
    }
