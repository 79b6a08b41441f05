"""From the trainings of run.sh to curves.csv, table.md and loss.png.

    python results/residual-attention/summarize.py --runs DIR --out DIR

--runs has NAME-SEED.log, scores-SEED.json and scores-NAME-SEED.json. A training that is not yet as
far as the others is left out. Where there are no logs, the curves.csv of --out is read instead, so
that table and picture can be made again from what is in the repository.
"""

import csv
import json
import statistics
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Sequence, Tuple

from realformer_checkpoints.figures import new_figure, save
from realformer_checkpoints.training_log import log_lines, read_curves, read_speeds
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, run_main
from results.seeds import differences, mean_and_values, plot_seeds, updates_until

PROGRAM = "summarize.py"
BASELINES = ("none", "admin")  # of the paired bootstrap, and of when a loss is reached
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


class Run(NamedTuple):
    """One training: validation loss in bits per subword by update, and target tokens a second."""

    name: str
    seed: int
    losses: Dict[int, float]
    speed: float

    @property
    def last_loss(self) -> float:
        return self.losses[max(self.losses)]


# By seed and system: sacreBLEU, chrF2, and p by baseline.
Scores = Dict[Tuple[int, str], Dict[str, float]]


def runs_of_logs(folder: Path) -> List[Run]:
    """The trainings of LABELS that are at their end, in its order."""
    runs = []
    for name in LABELS:
        for path in sorted(folder.glob(f"{name}-[0-9]*.log")):
            seed = path.stem[len(name) + 1 :]
            lines = list(log_lines(path)) if seed.isdigit() else []
            losses = dict(read_curves(lines).get("valid", []))
            if losses:
                # Whole numbers, as curves.csv has them: the table is the same from either.
                speed = float(round(statistics.median(read_speeds(lines))))
                runs.append(Run(name, int(seed), losses, speed))
    end = max((max(run.losses) for run in runs), default=0)
    return [run for run in runs if max(run.losses) == end]


def by_name(runs: Sequence[Run]) -> Dict[str, List[Run]]:
    """The seeds of each training that is there, in the order of LABELS."""
    seeds = {name: [run for run in runs if run.name == name] for name in LABELS}
    return {name: own for name, own in seeds.items() if own}


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
            key = row["training"], int(row["seed"])
            new = Run(*key, {}, float(row["tokens_per_second"]))
            runs.setdefault(key, new).losses[int(row["update"])] = float(row["valid_nll_bits"])
    return list(runs.values())


def read_scores(folder: Path) -> Scores:
    """What run.sh wrote with ``score_bleu.sh --json``."""
    scores: Scores = {}
    for path in sorted(folder.glob("scores-*.json")):
        *baseline, seed = path.stem.split("-")[1:]
        figures = json.loads(path.read_text(encoding="utf-8"))
        tests = figures["paired_bootstrap"]["sacreBLEU"]["systems"]
        for system, measures in figures["systems"].items():
            row = scores.setdefault((int(seed), system), {})
            row.update({name: measures[name]["score"] for name in ("sacreBLEU", "chrF2")})
            row["-".join(baseline) or BASELINES[0]] = tests[system].get("p_value")
    return scores


def reached(runs: Sequence[Run], baselines: Dict[int, Run]) -> str:
    """When each run had the loss that the baseline with its seed ended with."""
    pairs = [(run, baselines[run.seed]) for run in runs if run.seed in baselines]
    found = [updates_until(run.losses, baseline.last_loss) for run, baseline in pairs]
    return ", ".join(f"{updates:.0f}" if updates else "not reached" for updates in found)


def table_row(name: str, runs: Sequence[Run], scores: Scores, baselines: Sequence) -> str:
    """One line of the table: the mean over seeds, and in brackets each seed."""
    # score_bleu.sh was given the translations of a folder by their bare names.
    found = [scores.get((run.seed, f"{name}-{run.seed}.fr"), {}) for run in runs]

    def shown(what: str) -> List[float]:
        return [row[what] for row in found if row.get(what) is not None]

    cells = [
        LABELS[name],
        mean_and_values([run.last_loss for run in runs], 3),
        mean_and_values(shown("sacreBLEU"), 1),
        mean_and_values(shown("chrF2"), 1),
        *(", ".join(f"{p:.3f}" for p in shown(baseline)) for baseline in BASELINES),
        reached(runs, baselines[0]),
        reached(runs, baselines[1]) if name.startswith("admin") else "",
        f"{statistics.median(run.speed for run in runs):.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def markdown_table(runs: Sequence[Run], scores: Scores) -> str:
    """Every training that is in ``runs``."""
    seeds = by_name(runs)
    baselines = [{run.seed: run for run in seeds.get(name, [])} for name in BASELINES]
    head = "model | validation loss | sacreBLEU | chrF2 | p (none) | p (ADMIN)"
    head += " | updates (none) | updates (ADMIN) | tokens a second"
    lines = [f"| {head} |", f"|{'---|' * 9}"]
    lines += [table_row(name, own, scores, baselines) for name, own in seeds.items()]
    return "\n".join(lines) + "\n"


def plot(axes, name: str, curves: Sequence[Dict[int, float]]) -> None:
    alike = name[len("admin-") :] if name.startswith("admin-") else name
    color = "black" if name == BASELINES[0] else f"C{list(LABELS).index(alike)}"
    plot_seeds(axes, name, color, curves)


def draw(runs: Sequence[Run], output: Path) -> None:
    """Validation loss by update, and below it the difference to the baseline."""
    seeds = by_name(runs)
    baselines = {run.seed: run.losses for run in seeds.get(BASELINES[0], [])}
    admin = [name for name in seeds if name.startswith("admin")]
    others = [name for name in seeds if name not in admin]
    shown = {"Post-LN and Pre-LN": others, "on ADMIN": admin}
    shown = {title: names for title, names in shown.items() if names}
    figure = new_figure(1 + 5 * len(shown), 8, dpi=110)
    panels = figure.subplots(2, len(shown), sharex=True, sharey="row", squeeze=False)
    for (losses, below), (title, names) in zip(panels.T, shown.items()):
        also = [BASELINES[0]] if names is admin and BASELINES[0] in seeds else []
        for name in also + names:
            plot(losses, name, [run.losses for run in seeds[name]])
            compared = differences({run.seed: run.losses for run in seeds[name]}, baselines)
            if compared:
                plot(below, name, compared)
        losses.set(title=title)
        below.set(xlabel="updates")
        losses.legend(fontsize=8)
        losses.grid(alpha=0.3)
        below.grid(alpha=0.3)
    panels[0][0].set_ylabel("validation loss, bits per subword")
    panels[1][0].set_ylabel("the same, less that of 'none'")
    figure.tight_layout()
    save(figure, output)


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--runs", required=True, type=Path, metavar="DIR", help="--out of run.sh")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where all goes")
    args = parser.parse_args()
    runs = runs_of_logs(args.runs)
    if runs:
        write_curves(runs, args.out / "curves.csv")
    elif (args.out / "curves.csv").exists():
        runs = read_runs(args.out / "curves.csv")
    else:
        raise UserError(f"--runs {args.runs}: no log of a training that has validated")
    scores = read_scores(args.runs)
    with atomic_output(args.out / "table.md") as temporary:
        temporary.write_text(markdown_table(runs, scores), encoding="utf-8")
    draw(runs, args.out / "loss.png")


if __name__ == "__main__":
    run_main(main, PROGRAM)
