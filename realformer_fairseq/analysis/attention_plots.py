"""Violin plots of a measure of attention for each head, in the style of the RealFormer paper.

Each layer has a row, the bottom layer at the bottom. Each head has a violin in the row; heads are
sorted by median. The colour shows the median, in the bins of the paper's analysis of BERT.
"""

import itertools
from pathlib import Path
from typing import Dict, NamedTuple, Sequence, Tuple

import numpy

from realformer_checkpoints.figures import heading, new_figure, save

from .attention_statistics import BINS, LN_2, MEASURES, HeadHistograms

COLOURS = ("#3b6fb6", "#e3b23c", "#c0392b")  # from the lowest medians to the highest
SHAPE_BINS = 64  # vertical resolution of a violin
# Inches.
ROW_HEIGHT, FEW_ROWS_HEIGHT, HEAD_WIDTH = 0.85, 8.0, 0.75
LEFT, RIGHT, TOP, BOTTOM = 0.65, 0.15, 0.75, 0.45  # around the violins
LAYERS_IN_A_COLUMN = 20


class MedianBins(NamedTuple):
    """The two medians at which the colour changes, and names of the three colours."""

    low: float
    high: float
    names: Tuple[str, str, str]

    def colour(self, median: float) -> str:
        return COLOURS[(median >= self.low) + (median > self.high)]


MEDIAN_BINS = {
    "entropy": MedianBins(1.5, 4.5, ("median below 1.5", "1.5 to 4.5", "above 4.5")),
    # The paper names no unit. A divergence in nats cannot reach its 0.75, so we assume bits; the
    # entropies, where either unit is possible, stay in nats.
    "jsd": MedianBins(
        0.25 * LN_2,
        0.75 * LN_2,
        ("median below 0.25 bits (0.173 nats)", "0.25 to 0.75", "above 0.75 bits (0.520 nats)"),
    ),
}


def violin_shapes(histograms: HeadHistograms, top: float) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """Outlines of the heads' distributions, without values above ``top``.

    Returns:
        centres of the bins ``(SHAPE_BINS,)``; half widths ``(heads, SHAPE_BINS)``, at most 0.45
    """
    counts = histograms.counts.cpu().numpy()
    values = (numpy.arange(counts.shape[1]) + 0.5) * (histograms.upper / counts.shape[1])
    parts = [numpy.histogram(values, SHAPE_BINS, (0, top), weights=row)[0] for row in counts]
    shapes = numpy.array(parts)
    widest = shapes.max(axis=1, keepdims=True).clip(min=1)
    return (numpy.arange(SHAPE_BINS) + 0.5) * (top / SHAPE_BINS), 0.45 * shapes / widest


def highest_value(layers: Sequence[HeadHistograms]) -> float:
    """Upper edge of the highest bin that is not empty."""
    highest = max(int(histograms.counts.nonzero()[:, 1].max()) for histograms in layers)
    return (highest + 1) * layers[0].upper / BINS


def draw_layer(axes, histograms: HeadHistograms, bins: MedianBins, top: float) -> None:
    """Draw the violins of one layer, with a black line at each median."""
    medians = histograms.quantile(0.5).tolist()
    centres, widths = violin_shapes(histograms, top)
    order = sorted(range(len(medians)), key=medians.__getitem__)
    for place, head in enumerate(order):
        colour, left, right = bins.colour(medians[head]), place - widths[head], place + widths[head]
        axes.fill_betweenx(centres, left, right, color=colour, linewidth=0.5)
        axes.hlines(medians[head], place - 0.2, place + 0.2, color="black", linewidth=1)
    for edge in (bins.low, bins.high):
        if edge < top:
            axes.axhline(edge, color="grey", linewidth=0.5, linestyle=":", zorder=0)
    axes.set(xlim=(-0.6, len(medians) - 0.4), ylim=(0, top))
    axes.set_xticks(range(len(order)), order)
    axes.tick_params(labelsize=6, pad=1, length=2)


def draw_distributions(
    measure: str, attention: str, layers: Dict[int, HeadHistograms], title: str, output: Path
) -> None:
    """Draw a measure of ``MEDIAN_BINS`` for one kind of attention, as a PNG file.

    Args:
        layers: distributions by layer, from 0 at the bottom
        title: precedes the kind of attention in the heading
    """
    bins, heads = MEDIAN_BINS[measure], len(next(iter(layers.values())).counts)
    top = LN_2 if measure == "jsd" else highest_value(list(layers.values()))
    columns = -(-len(layers) // LAYERS_IN_A_COLUMN)
    rows = -(-len(layers) // columns)
    row = max(ROW_HEIGHT, min(2 * ROW_HEIGHT, FEW_ROWS_HEIGHT / rows))
    width, height = columns * max(6.0, HEAD_WIDTH * heads + 1), row * rows + TOP + BOTTOM
    figure = new_figure(width, height)
    panels = figure.subplots(rows, columns, squeeze=False)
    places = panels[::-1].T.flat  # up each column, from the left one to the right
    for axes, layer in itertools.zip_longest(places, sorted(layers)):
        if layer is None:
            axes.axis("off")
            continue
        draw_layer(axes, layers[layer], bins, top)
        axes.set_ylabel(f"layer {layer}", fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("heads, in the order of their medians", fontsize=8)
    add_heading(figure, f"{heading(title, attention)}\n{MEASURES[measure][0]}", bins)
    edges = LEFT / width, BOTTOM / height, 1 - RIGHT / width, 1 - TOP / height
    figure.subplots_adjust(*edges, wspace=0.15, hspace=0.2)
    save(figure, output)


def add_heading(figure, text: str, bins: MedianBins) -> None:
    """Add a title, and below it the legend of the colours."""
    from matplotlib.patches import Patch

    inch = 1 / figure.get_figheight()
    figure.suptitle(text, fontsize=9, y=1 - 0.08 * inch)
    place = dict(loc="upper center", bbox_to_anchor=(0.5, 1 - 0.42 * inch), ncol=3)
    patches = [Patch(color=colour) for colour in COLOURS]
    figure.legend(patches, bins.names, **place, fontsize=7, frameon=False)
