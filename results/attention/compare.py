"""Entropy and divergence of several models' attention by layer, as a Markdown table.

    python results/attention/compare.py FOLDER... > table.md

Each folder has the attention.csv of scripts/analyze_attention.sh and names its model.
"""

import csv
import statistics
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Dict, Sequence, Tuple

from realformer_checkpoints.figures import TITLES
from realformer_runtime.command_line import run_main

MEASURES = {"entropy": "entropy", "jsd": "JSD to the layer below"}

Means = Dict[Tuple[str, str, int], float]  # nats by measure, attention and layer


def means_by_layer(path: Path) -> Means:
    """The mean over heads."""
    heads = defaultdict(list)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            heads[row["measure"], row["attention"], int(row["layer"])].append(float(row["mean"]))
    return {place: statistics.mean(values) for place, values in heads.items()}


def markdown(models: Dict[str, Means]) -> str:
    """A row for each measure, attention and model; a column for each layer, and their mean."""
    layers = sorted({layer for means in models.values() for _, _, layer in means})
    head = ["measure", "attention", "model", *(f"layer {layer}" for layer in layers), "mean"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for (measure, label), (attention, full_name) in product(MEASURES.items(), TITLES.items()):
        for model, means in models.items():
            places = {layer: (measure, attention, layer) for layer in layers}
            there = {layer: means[place] for layer, place in places.items() if place in means}
            if there:
                cells = [f"{there[layer]:.3f}" if layer in there else "" for layer in layers]
                mean = f"**{statistics.mean(there.values()):.3f}**"
                lines.append(f"| {' | '.join([label, full_name, model, *cells, mean])} |")
    return "\n".join(lines) + "\n"


def main(folders: Sequence[str]) -> None:
    paths = {Path(folder).name: Path(folder) / "attention.csv" for folder in folders}
    print(markdown({name: means_by_layer(path) for name, path in paths.items()}), end="")


if __name__ == "__main__":
    run_main(lambda: main(sys.argv[1:]))
