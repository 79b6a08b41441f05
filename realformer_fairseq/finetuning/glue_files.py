"""Examples of the TSV files of GLUE's public archive."""

import os
from typing import List, NamedTuple, Sequence, Tuple

from realformer_runtime.command_line import UserError
from realformer_runtime.text.utf8_lines import open_text, read_utf8_lines

from .glue_tasks import HIGHEST_SCORE, TASKS, GlueTask


class Example(NamedTuple):
    """One or two sentences, and the label or score as the file has it."""

    sentences: Tuple[str, ...]
    label: str


class Split(NamedTuple):
    """The examples of a file, and how many lines were left out since they lack a field."""

    examples: List[Example]
    skipped: int


def read_split(name: str, folder: str, split: str) -> Split:
    """Read ``folder/split.tsv``. Quotes are characters like any other.

    Args:
        name: of the task

    Raises:
        UserError: naming the file, the line and what is expected there
    """
    task, path = TASKS[name], os.path.join(folder, f"{split}.tsv")
    if not os.path.isfile(path):
        raise UserError(f"--data {folder}: there is no {split}.tsv in it, which {name} has")
    examples, skipped = [], 0
    with open_text(path) as file:
        rows = (line.split("\t") for line in read_utf8_lines(file, path))
        columns = task.columns or next(rows, [])
        sentences, label = places(task, columns, path)
        for number, row in enumerate(rows, 1 if task.columns else 2):
            where = f"{path}, line {number}"
            if len(row) < len(columns) and task.skips_short_lines:
                skipped += 1
                continue
            if len(row) != len(columns):
                raise UserError(
                    f"{where}: it has {len(row)} fields with tabs between them, not the "
                    f"{len(columns)} of {name}: {', '.join(columns)}"
                )
            check_label(name, row[label], where)
            examples.append(Example(tuple(row[place] for place in sentences), row[label]))
    if not examples:
        raise UserError(f"{path}: there is no example in it")
    return Split(examples, skipped)


def places(task: GlueTask, columns: Sequence[str], path: str) -> Tuple[List[int], int]:
    """Where in a line the sentences are, and where the label."""
    for column in (*task.sentences, task.label):
        if column not in columns:
            raise UserError(
                f"{path}, line 1: no column '{column}' among those that it names: "
                f"{', '.join(columns) or 'none'}"
            )
    return [columns.index(column) for column in task.sentences], columns.index(task.label)


def check_label(name: str, label: str, where: str) -> None:
    """Refuse what is no label of the task."""
    labels = TASKS[name].labels
    if not labels and not is_score(label):
        raise UserError(f"{where}: score '{label}': {name} has numbers from 0 to {HIGHEST_SCORE:g}")
    if labels and label not in labels:
        raise UserError(f"{where}: label '{label}': {name} has {', '.join(labels)}")


def is_score(text: str) -> bool:
    try:
        return 0 <= float(text) <= HIGHEST_SCORE
    except ValueError:
        return False
