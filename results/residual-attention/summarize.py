"""From the trainings of run.sh to curves.csv, table.md and loss.png.

    python results/residual-attention/summarize.py --runs DIR --out DIR

--runs has NAME-SEED.log and scores-SEED.json. Where there are no logs, the curves.csv of --out is
read instead, so that table and picture can be made again from what is in the repository.
"""

import csv
import json
import logging
import re
import statistics
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence

from realformer_fairseq.analysis.learning_curve import read_curves
from realformer_fairseq.atomic_output import atomic_output
from realformer_fairseq.command_line import ArgumentParser, UserError, run_main

PROGRAM = "summarize.py"
BASELINE = "none"
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
}
PANELS = ("Post-LN and Pre-LN", "on ADMIN")
SPEED = re.compile(r"\btrain_inner\b.*\bwps=([0-9.]+)")


class Run(NamedTuple):
    """One training: validation loss in bits per subword by update, and target tokens a second."""

    name: str
    seed: int
    losses: Dict[int, float]
    speed: float


def runs_of_logs(folder: Path) -> List[Run]:
    """All trainings of LABELS that have validated, in its order."""
    runs = []
    for name in LABELS:
        for path in sorted(folder.glob(f"{name}-[0-9]*.log")):
            seed = path.stem[len(name) + 1 :]
            if not seed.isdigit():
                continue
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            losses = dict(read_curves(lines).get("valid", []))
            speeds = [float(found[1]) for found in map(SPEED.search, lines) if found]
            if losses:
                runs.append(Run(name, int(seed), losses, statistics.median(speeds)))
    return runs


def write_curves(runs: Iterable[Run], path: Path) -> None:
    with atomic_output(path) as temporary, open(temporary, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["training", "seed", "tokens_per_second", "update", "valid_nll_bits"])
        for run in runs:
            for update, loss in sorted(run.losses.items()):
                table.writerow([run.name, run.seed, f"{run.speed:.0f}", update, loss])


def read_runs(path: Path) -> List[Run]:
    """What ``write_curves`` wrote."""
    runs: Dict[tuple, Run] = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            name, seed = row["training"], int(row["seed"])
            run = runs.setdefault(
                (name, seed), Run(name, seed, {}, float(row["tokens_per_second"]))
            )
            run.losses[int(row["update"])] = float(row["valid_nll_bits"])
    return list(runs.values())


def updates_until(losses: Dict[int, float], target: float) -> Optional[float]:
    """When a loss is reached first, on the straight lines between validations; None if never."""
    points = sorted(losses.items())
    for (before, high), (after, low) in zip(points, points[1:]):
        if low <= target < high:
            return before + (after - before) * (high - target) / (high - low)
    return None


def mean_and_values(values: Sequence[float], digits: int) -> str:
    """``34.5``, or with several seeds ``34.5 (34.2, 34.8)``."""
    if not values:
        return ""
    mean = f"{statistics.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ({', '.join(f'{value:.{digits}f}' for value in values)})"


def significance(scores: Dict, run: Run) -> str:
    p = scores["paired_bootstrap"]["sacreBLEU"]["systems"][system(run)].get("p_value")
    return "" if p is None else f"{p:.3f}"


def system(run: Run) -> str:
    """How score_bleu.sh calls it, which is given the files of a folder by their bare names."""
    return f"{run.name}-{run.seed}.fr"


def table_row(name: str, runs: Sequence[Run], scores: Dict[int, Dict], targets: Dict) -> str:
    """One line of the table: the mean over seeds, and in brackets each seed."""
    end = max(max(run.losses) for run in runs)
    whole = [run for run in runs if max(run.losses) == end]
    scored = [run for run in whole if system(run) in scores.get(run.seed, {}).get("systems", {})]
    figures = [scores[run.seed]["systems"][system(run)] for run in scored]
    reached = [updates_until(run.losses, targets[run.seed]) for run in whole if run.seed in targets]
    times = [f"{updates:.0f}" if updates else "not reached" for updates in reached]
    cells = [
        LABELS[name],
        mean_and_values([run.losses[end] for run in whole], 3),
        mean_and_values([figure["sacreBLEU"]["score"] for figure in figures], 1),
        mean_and_values([figure["chrF2"]["score"] for figure in figures], 1),
        ", ".join(significance(scores[run.seed], run) for run in scored),
        ", ".join(times),
        f"{statistics.median(run.speed for run in whole):.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def markdown_table(runs: Sequence[Run], scores: Dict[int, Dict]) -> str:
    """Every training that is in ``runs``, in the order of LABELS.

    Args:
        scores: by seed, what ``score_bleu.sh --json`` wrote with the baseline first
    """
    baselines = [run for run in runs if run.name == BASELINE]
    targets = {run.seed: run.losses[max(run.losses)] for run in baselines}
    lines = [
        "| model | validation loss | sacreBLEU | chrF2 | p | updates to the baseline's end "
        "| tokens a second |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in LABELS:
        own = [run for run in runs if run.name == name]
        if own:
            lines.append(table_row(name, own, scores, targets))
    return "\n".join(lines) + "\n"


def draw(runs: Sequence[Run], output: Path) -> None:
    """Validation loss by update: the mean over seeds, and a band between them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [name for name in LABELS if any(run.name == name for run in runs)]
    titles = PANELS if any(name.startswith("admin") for name in names) else PANELS[:1]
    figure, panels = pyplot.subplots(
        1, len(titles), figsize=(1 + 5 * len(titles), 4.8), dpi=110, sharey=True, squeeze=False
    )
    for axes, title in zip(panels[0], titles):
        with_admin = title == PANELS[1]
        shown = [name for name in names if name.startswith("admin") == with_admin]
        for name in [BASELINE, *shown] if with_admin else shown:
            own = [run for run in runs if run.name == name]
            updates = sorted(set.intersection(*(set(run.losses) for run in own)))
            columns = [[run.losses[update] for run in own] for update in updates]
            style = dict(color="black") if name == BASELINE else {}
            (line,) = axes.plot(updates, list(map(statistics.mean, columns)), label=name, **style)
            axes.fill_between(
                updates,
                list(map(min, columns)),
                list(map(max, columns)),
                color=line.get_color(),
                alpha=0.2,
            )
        axes.set(title=title, xlabel="updates")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    panels[0][0].set_ylabel("validation loss, bits per subword")
    figure.tight_layout()
    figure.savefig(output, format="png")


def main() -> None:
    parser = ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    parser.add_argument("--runs", required=True, type=Path, metavar="DIR", help="--out of run.sh")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where all goes")
    args = parser.parse_args()
    logging.getLogger().setLevel(logging.WARNING)  # fairseq lets everyone say everything
    runs = runs_of_logs(args.runs)
    if runs:
        write_curves(runs, args.out / "curves.csv")
    elif (args.out / "curves.csv").exists():
        runs = read_runs(args.out / "curves.csv")
    else:
        raise UserError(f"--runs {args.runs}: no log of a training that has validated")
    scores = {}
    for path in sorted(args.runs.glob("scores-[0-9]*.json")):
        scores[int(path.stem.split("-")[1])] = json.loads(path.read_text(encoding="utf-8"))
    with atomic_output(args.out / "table.md") as temporary:
        Path(temporary).write_text(markdown_table(runs, scores), encoding="utf-8")
    with atomic_output(args.out / "loss.png") as temporary:
        draw(runs, temporary)


if __name__ == "__main__":
    run_main(main, PROGRAM)
