"""From the trainings of translation_experiment.sh to curves.csv, rates.csv, table.md and loss.png.

    python -m results.translation_table --runs DIR --out DIR

--runs has NAME-SEED.log, and scores-NAME-SEED.json with the comparisons with NAME. A training that
is not yet as far as the others is left out. Where there are no logs, the curves.csv of --out is
read instead, so that table and picture can be made again from what is in the repository.
"""

import json
import math
import statistics
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Sequence, Tuple

from realformer_checkpoints.figures import new_figure, save
from realformer_checkpoints.training_log import log_lines, read_curves, read_speeds
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, run_main
from results.rates import rates_of_logs
from results.rows import read_rows, write_rows
from results.seeds import differences, mean_and_values, plot_seeds, updates_until

PROGRAM = "translation_table.py"
# Of the paired bootstrap, and of when a loss is reached.
BASELINES = {"none": "none", "admin": "ADMIN"}
LABELS = {
    "fairseq-post-ln": "fairseq's Transformer, Post-LN",
    "fairseq-pre-ln": "fairseq's Transformer, Pre-LN",
    "none": "ours, no residual scores (Post-LN)",
    "mean": "mean in all three attentions",
    "sum": "sum in all three attentions",
    "encoder": "mean, encoder self-attention only",
    "decoder": "mean, decoder self-attention only",
    "cross": "mean, cross-attention only",
    "admin": "ADMIN, no residual scores",
    "admin-mean": "ADMIN, mean in all three",
    "admin-sum": "ADMIN, sum in all three",
    "admin-encoder": "ADMIN, encoder only",
    "admin-decoder": "ADMIN, decoder only",
    "admin-cross": "ADMIN, cross-attention only",
    "admin-analytic": "ADMIN, analytic omega",
    "deepnorm": "DeepNorm",
}


class Point(NamedTuple):
    """A validation of one training.

    ``valid_nll_bits`` is in bits per subword, ``tokens_per_second`` the median over the whole
    training, in target tokens, and ``gradient_norm`` the largest line of the log since the last
    validation.
    """

    training: str
    seed: int
    tokens_per_second: int
    update: int
    valid_nll_bits: float
    gradient_norm: float = math.nan


class Run(NamedTuple):
    """One training, by update."""

    name: str
    seed: int
    speed: int
    losses: Dict[int, float]
    gradient_norms: Dict[int, float]

    @property
    def last_loss(self) -> float:
        return self.losses[max(self.losses)]


# By seed and system: sacreBLEU, chrF2, and p by baseline.
Scores = Dict[Tuple[int, str], Dict[str, float]]


def points_of_logs(folder: Path) -> List[Point]:
    """The trainings of LABELS that are at their end, in its order."""
    found = []
    for name in LABELS:
        for path in sorted(folder.glob(f"{name}-[0-9]*.log")):
            seed = path.stem[len(name) + 1 :]
            if seed.isdigit():
                found.append(points_of_log(name, int(seed), path))
    end = max((points[-1].update for points in found if points), default=0)
    return [point for points in found for point in points if points[-1].update == end]


def points_of_log(name: str, seed: int, path: Path) -> List[Point]:
    lines = list(log_lines(path))
    losses = read_curves(lines).get("valid", [])
    norms = read_curves(lines, "gradient-norm")["train"]
    speed = round(statistics.median(read_speeds(lines))) if losses else 0
    points, before = [], 0
    for update, loss in losses:
        since = [norm for at, norm in norms if before < at <= update]
        points.append(Point(name, seed, speed, update, loss, max(since, default=math.nan)))
        before = update
    return points


def runs_of(points: Iterable[Point]) -> List[Run]:
    """The trainings whose validations these are."""
    runs: Dict[Tuple[str, int], Run] = {}
    for point in points:
        new = Run(*point[:3], {}, {})
        run = runs.setdefault(point[:2], new)
        run.losses[point.update] = point.valid_nll_bits
        if not math.isnan(point.gradient_norm):
            run.gradient_norms[point.update] = point.gradient_norm
    return list(runs.values())


def by_name(runs: Sequence[Run]) -> Dict[str, List[Run]]:
    """The seeds of each training that is there, in the order of LABELS."""
    seeds = {name: [run for run in runs if run.name == name] for name in LABELS}
    return {name: own for name, own in seeds.items() if own}


def read_scores(folder: Path) -> Scores:
    """What translation_experiment.sh wrote with ``score_bleu.sh --json``."""
    scores: Scores = {}
    for path in sorted(folder.glob("scores-*.json")):
        _, *baseline, seed = path.stem.split("-")
        figures = json.loads(path.read_text(encoding="utf-8"))
        tests = figures["paired_bootstrap"]["sacreBLEU"]["systems"]
        for system, measures in figures["systems"].items():
            row = scores.setdefault((int(seed), system), {})
            row.update({name: measures[name]["score"] for name in ("sacreBLEU", "chrF2")})
            row["-".join(baseline)] = tests[system].get("p_value")
    return scores


def reached(runs: Sequence[Run], baselines: Dict[int, Run]) -> str:
    """When each run had the loss that the baseline with its seed ended with."""
    pairs = [(run, baselines[run.seed]) for run in runs if run.seed in baselines]
    found = [updates_until(run.losses, baseline.last_loss) for run, baseline in pairs]
    return ", ".join(f"{updates:.0f}" if updates else "not reached" for updates in found)


def table_row(
    name: str, runs: Sequence[Run], scores: Scores, baselines: Dict[str, Dict[int, Run]]
) -> Dict[str, str]:
    """One line of the table: the mean over seeds, and in brackets each seed."""
    # score_bleu.sh was given the translations of a folder by their bare names.
    found = [scores.get((run.seed, f"{name}-{run.seed}.fr"), {}) for run in runs]

    def shown(what: str) -> List[float]:
        return [row[what] for row in found if row.get(what) is not None]

    row = {
        "model": LABELS[name],
        "validation loss": mean_and_values([run.last_loss for run in runs], 3),
        "sacreBLEU": mean_and_values(shown("sacreBLEU"), 1),
        "chrF2": mean_and_values(shown("chrF2"), 1),
    }
    for baseline in baselines:
        row[f"p ({BASELINES[baseline]})"] = ", ".join(f"{p:.3f}" for p in shown(baseline))
    for baseline, own in baselines.items():
        row[f"updates ({BASELINES[baseline]})"] = reached(runs, own)
    row["tokens a second"] = f"{statistics.median(run.speed for run in runs):.0f}"
    return row


def markdown_table(runs: Sequence[Run], scores: Scores) -> str:
    """Every training that is in ``runs``."""
    seeds = by_name(runs)
    baselines = {
        name: {run.seed: run for run in seeds[name]} for name in BASELINES if name in seeds
    }
    rows = [table_row(name, own, scores, baselines) for name, own in seeds.items()]
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def draw(runs: Sequence[Run], output: Path) -> None:
    """Validation loss by update; the difference to a baseline; the gradient norm, if known.

    Models on ADMIN have a column of their own. The baseline is black, the other colours are those
    of the order.
    """
    seeds = by_name(runs)
    admin = [name for name in seeds if name.startswith("admin")]
    others = [name for name in seeds if name not in admin]
    shown = {"without ADMIN": others, "on ADMIN": admin}
    shown = {title: names for title, names in shown.items() if names}
    rows = 3 if any(run.gradient_norms for run in runs) else 2
    figure = new_figure(1 + 5 * len(shown), 4 * rows, dpi=110)
    panels = figure.subplots(rows, len(shown), sharex=True, sharey="row", squeeze=False)
    for column, (title, names) in zip(panels.T, shown.items()):
        draw_column(column, {name: seeds[name] for name in names})
        column[0].set(title=title)
        column[-1].set(xlabel="updates")
        for axes in column:
            axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("validation loss, bits per subword")
    if rows == 3:
        panels[2][0].set(ylabel="largest gradient norm since the last validation", yscale="log")
    figure.tight_layout()
    save(figure, output)


def draw_column(column, seeds: Dict[str, List[Run]]) -> None:
    baseline = next(name for name in (*BASELINES, *seeds) if name in seeds)
    baselines = {run.seed: run.losses for run in seeds[baseline]}
    for number, (name, runs) in enumerate(seeds.items()):
        color = "black" if name == baseline else f"C{number}"
        plot_seeds(column[0], name, color, [run.losses for run in runs])
        compared = differences({run.seed: run.losses for run in runs}, baselines)
        if compared and name != baseline:
            plot_seeds(column[1], name, color, compared)
        norms = [run.gradient_norms for run in runs if run.gradient_norms]
        if norms:
            plot_seeds(column[2], name, color, norms)
    column[0].legend(fontsize=8)
    column[1].set_ylabel(f"the same, less that of '{baseline}'")


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--runs", required=True, type=Path, metavar="DIR", help="--out of run.sh")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where all goes")
    args = parser.parse_args()
    curves, points = args.out / "curves.csv", points_of_logs(args.runs)
    if points:
        write_rows(points, curves)
    elif not curves.exists():
        raise UserError(f"--runs {args.runs}: no log of a training that has validated")
    rates = rates_of_logs(args.runs, LABELS)
    if rates:
        write_rows(rates, args.out / "rates.csv")
    runs = runs_of(read_rows(Point, curves))
    with atomic_output(args.out / "table.md") as temporary:
        temporary.write_text(markdown_table(runs, read_scores(args.runs)), encoding="utf-8")
    draw(runs, args.out / "loss.png")


if __name__ == "__main__":
    run_main(main, PROGRAM)
