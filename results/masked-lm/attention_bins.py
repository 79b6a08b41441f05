"""How many heads are in the bins of the paper's analysis of BERT, as a Markdown table.

    python results/masked-lm/attention_bins.py --runs DIR > attention.md

--runs has LANGUAGE/NAME-SEED.attention/attention.csv of scripts/analyze_attention.sh. Heads of all
seeds of a training are taken together.
"""

import csv
import statistics
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple

from realformer_fairseq.analysis.attention_plots import MEDIAN_BINS
from realformer_runtime.command_line import ArgumentParser, UserError, run_main

PROGRAM = "attention_bins.py"
MODELS = ("fairseq-post-ln", "fairseq-pre-ln", "none", "mean", "sum")
MODELS += ("fairseq-post-ln-long", "mean-long", "sum-long")
MEASURES = {"entropy": "entropy, nats", "jsd": "divergence from the layer below, nats"}


class Head(NamedTuple):
    """One head of one model: layer, median and mean of a measure."""

    layer: int
    median: float
    mean: float


def heads(path: Path) -> Dict[str, List[Head]]:
    """The heads of an attention.csv by measure."""
    found: Dict[str, List[Head]] = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            head = Head(int(row["layer"]), float(row["median"]), float(row["mean"]))
            found.setdefault(row["measure"], []).append(head)
    return found


def cells(measure: str, own: List[Head]) -> List[str]:
    """Heads in each bin of the medians, in percent, and the mean."""
    bins, medians = MEDIAN_BINS[measure], [head.median for head in own]
    low = sum(median < bins.low for median in medians)
    high = sum(median > bins.high for median in medians)
    counts = (low, len(own) - low - high, high)
    shares = [f"{100 * count / len(own):.0f}" for count in counts]
    return [*shares, f"{statistics.mean(head.mean for head in own):.3f}"]


def table(folder: Path, measure: str) -> List[str]:
    names = MEDIAN_BINS[measure].names
    head = ["model", "layers", *(f"{name}, % of heads" for name in names), "mean"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for model in MODELS:
        paths = sorted(folder.glob(f"{model}-[0-9].attention/attention.csv"))
        found = [head for path in paths for head in heads(path)[measure]]
        half = (max((head.layer for head in found), default=0) + 1) // 2
        for label, upper in (("lower half", False), ("upper half", True)):
            own = [head for head in found if (head.layer >= half) == upper]
            if own:
                lines.append(f"| {' | '.join([model, label, *cells(measure, own)])} |")
    return lines


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--runs", required=True, type=Path, metavar="DIR", help="--out of run.sh")
    folder = parser.parse_args().runs
    languages = sorted({path.parents[1] for path in folder.glob("*/*.attention/attention.csv")})
    if not languages:
        raise UserError(f"--runs {folder}: there is no attention.csv in it")
    for language in languages:
        for measure, label in MEASURES.items():
            lines = [f"{language.name}, {label}:", "", *table(language, measure), ""]
            print(*lines, sep="\n", file=sys.stdout)


if __name__ == "__main__":
    run_main(main, PROGRAM)
