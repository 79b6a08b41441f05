"""From the trainings of run.sh to curves.csv, final.csv, rates.csv, table.md and accuracy.png.

    PYTHONPATH=. python results/masked-lm/summarize.py --runs DIR --out DIR

Where there are no logs in --runs, the files .csv of --out are read instead, so that table and
picture can be made again from what is in the repository.
"""

import re
import statistics
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence

from realformer_checkpoints.figures import new_figure, save
from realformer_checkpoints.training_log import log_lines
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, run_main
from results.rates import Rate, best_rate, rates_of_logs
from results.rows import read_rows, write_rows
from results.seeds import differences, mean_and_values, plot_seeds, updates_until

PROGRAM = "summarize.py"
BASELINE, LONG = "fairseq-post-ln", "-long"
LABELS = {
    "fairseq-post-ln": "fairseq's RoBERTa, Post-LN",
    "fairseq-pre-ln": "fairseq's RoBERTa, Pre-LN",
    "none": "ours, no residual scores (Post-LN)",
    "mean": "mean of scores",
    "sum": "sum of scores",
    "mean-half": "mean, half of the updates",
    "sum-half": "sum, half of the updates",
    "fairseq-post-ln-long": "fairseq's RoBERTa, Post-LN, three times the updates",
    "mean-long": "mean, three times the updates",
    "sum-long": "sum, three times the updates",
}
LANGUAGES = {"en": "English", "fr": "French"}
VALIDATION = re.compile(
    r"valid on '(\w+)' subset \| loss ([\d.]+) \| .*?accuracy ([\d.]+)(?:.* num_updates (\d+))?"
)


class Point(NamedTuple):
    """A validation of one training: loss in bits, accuracy in percent of the masked words."""

    language: str
    training: str
    seed: int
    update: int
    loss: float
    accuracy: float


class Final(NamedTuple):
    """The end of one training.

    ``loss`` and ``accuracy`` are of the test set, means over several masks. ``classified`` is the
    percentage of test sentences whose source is found after fine-tuning, ``rate`` the peak
    learning rate.
    """

    language: str
    training: str
    seed: int
    rate: float
    loss: float
    accuracy: float
    classified: float


def validations(path: Path, subset: str) -> Iterator[List[float]]:
    """Loss, accuracy and update of each validation in a log; fairseq-validate's has no update."""
    for line in log_lines(path) if path.exists() else ():
        found = VALIDATION.search(line)
        if found and found[1] == subset:
            yield [float(number or 0) for number in found.groups()[1:]]


def points_of_logs(folder: Path) -> List[Point]:
    """All validations of what is at its end; of an update that was logged twice, the later."""
    found = {}
    for language, training, seed, trained in trainings(folder, ".trained"):
        path = trained.with_suffix(".log")
        for loss, accuracy, update in validations(path, "valid"):
            point = Point(language, training, seed, int(update), loss, accuracy)
            found[point[:4]] = point
    return list(found.values())


def trainings(folder: Path, ending: str) -> Iterator[tuple]:
    """Language, name, seed and path of each file, in the order of LABELS."""
    for language in LANGUAGES:
        for name in LABELS:
            for path in sorted((folder / language).glob(f"{name}-[0-9]{ending}")):
                yield language, name, int(path.name[len(name) + 1 : -len(ending)]), path


def finals_of_logs(folder: Path, rates: Sequence[Rate]) -> List[Final]:
    """The trainings that are done, fine-tuning included."""
    finals = []
    for language, name, seed, path in trainings(folder, ".classified"):
        masks = list(validations(path.with_suffix(".validated"), "test"))
        *_, (_, classified, _) = validations(path, "test")
        figures = (statistics.mean(column) for column in list(zip(*masks))[:2])
        rate = best_rate(rates, model_of(name))
        finals.append(Final(language, name, seed, rate, *figures, classified))
    return finals


def model_of(name: str) -> str:
    """The name of a training without its length."""
    return name.removesuffix("-half").removesuffix(LONG)


def accuracies(points: Sequence[Point], language: str, name: str) -> Dict[int, Dict[int, float]]:
    """Accuracy by update, for each seed of one training."""
    found: Dict[int, Dict[int, float]] = {}
    for point in points:
        if (point.language, point.training) == (language, name):
            found.setdefault(point.seed, {})[point.update] = point.accuracy
    return found


def baseline_of(name: str) -> str:
    """The training that another one is compared with: Post-LN, of the same length if it is long."""
    return BASELINE + LONG * name.endswith(LONG)


def updates_until_baseline(curve: Dict[int, float], baseline: Dict[int, float]) -> Optional[float]:
    """When a curve has the accuracy that the baseline ends with; None if never."""
    falling = {update: -accuracy for update, accuracy in curve.items()}
    return updates_until(falling, -baseline[max(baseline)])


def table_row(name: str, finals: Sequence[Final], curves, baselines) -> str:
    """One line of the table: the mean over seeds, and in brackets each seed."""
    until = [
        updates_until_baseline(curve, baselines[seed])
        for seed, curve in curves.items()
        if seed in baselines
    ]
    cells = [
        LABELS[name],
        f"{finals[0].rate:g}",
        mean_and_values([final.loss for final in finals], 3),
        mean_and_values([final.accuracy for final in finals], 2),
        ", ".join(f"{updates:.0f}" if updates else "not reached" for updates in until),
        mean_and_values([final.classified for final in finals], 1),
    ]
    return f"| {' | '.join(cells)} |"


def markdown_table(points: Sequence[Point], finals: Sequence[Final]) -> str:
    head = "model | peak learning rate | test loss | masked-LM accuracy, % | "
    head += "updates until Post-LN's accuracy | source found, %"
    lines = []
    for language, full_name in LANGUAGES.items():
        here = [final for final in finals if final.language == language]
        rows = []
        for name in LABELS:
            own = [final for final in here if final.training == name]
            if own:
                baselines = accuracies(points, language, baseline_of(name))
                rows.append(table_row(name, own, accuracies(points, language, name), baselines))
        if rows:
            lines += [f"{full_name}:", "", f"| {head} |", f"|{'---|' * 6}", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


def draw(points: Sequence[Point], output: Path) -> None:
    """Accuracy on the validation set by update, and below it the difference to Post-LN.

    The long trainings have a column of their own; those of half of the updates are left out.
    """
    there = {(p.language, p.training.endswith(LONG)) for p in points}
    figure = new_figure(1 + 5 * len(there), 8, dpi=110)
    panels = figure.subplots(2, len(there), sharex="col", squeeze=False)
    for (above, below), (language, is_long) in zip(panels.T, sorted(there)):
        names = [n for n in LABELS if n.endswith(LONG) == is_long and not n.endswith("-half")]
        baselines = accuracies(points, language, baseline_of(names[0]))
        for name in names:
            curves = accuracies(points, language, name)
            number = list(LABELS).index(model_of(name))
            color = "black" if name == baseline_of(name) else f"C{number}"
            if curves:
                plot_seeds(above, name, color, list(curves.values()))
            compared = differences(curves, baselines)
            if compared:
                plot_seeds(below, name, color, compared)
        above.set(title=LANGUAGES[language] + ", long trainings" * is_long)
        above.legend(fontsize=8)
        below.set(xlabel="updates")
        for axes in (above, below):
            axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("masked-LM accuracy, validation, %")
    panels[1][0].set_ylabel(f"the same, less that of '{BASELINE}'")
    figure.tight_layout()
    save(figure, output)


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--runs", required=True, type=Path, metavar="DIR", help="--out of run.sh")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where all goes")
    args = parser.parse_args()
    tables = {"curves": Point, "final": Final, "rates": Rate}
    rates, points = rates_of_logs(args.runs, LABELS), points_of_logs(args.runs)
    if rates and points:
        for name, rows in zip(tables, (points, finals_of_logs(args.runs, rates), rates)):
            if rows:
                write_rows(rows, args.out / f"{name}.csv")
    elif not (args.out / "curves.csv").exists():
        raise UserError(f"--runs {args.runs}: no log of a training that has validated")
    there = {name: args.out / f"{name}.csv" for name in tables}
    points, finals, rates = (
        read_rows(tables[name], path) if path.exists() else [] for name, path in there.items()
    )
    with atomic_output(args.out / "table.md") as temporary:
        temporary.write_text(markdown_table(points, finals), encoding="utf-8")
    draw(points, args.out / "accuracy.png")


if __name__ == "__main__":
    run_main(main, PROGRAM)
