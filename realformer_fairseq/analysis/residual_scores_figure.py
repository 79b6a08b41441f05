"""What residual attention is, drawn from a trained model: scores of one head, layer by layer."""

from typing import List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from realformer_checkpoints.figures import TITLES, check_matplotlib, new_figure, plain, save
from realformer_checkpoints.writing import check_not_an_input
from realformer_runtime.command_line import ArgumentParser, run_main, whole_number_from_0

from .attention_map import check_sentence, names_of_map, tokens_of_sentence
from .attention_recorder import PLACES, attention_modules
from .carried_scores import LayerScores, scores_by_layer
from .trained_model import load_model_and_split

PROGRAM = "draw_residual_attention.sh"
# Inches.
CELL = 0.17  # of a token
LEFT, RIGHT, TOP, BOTTOM = 1.1, 0.15, 0.6, 0.8  # around the maps
GAP, ROW_GAP, CAPTION = 0.35, 0.65, 0.2  # between columns, between rows, above each map
SIGNS = ("+", "=", "→")


def parts_of(layer: LayerScores) -> List[Tuple[str, Optional[Tensor]]]:
    """Caption and map of each column in a row. The third map is the sum of the first two."""

    def times(weight: float, what: str) -> str:
        return what if weight in (0, 1) else f"{weight:.2g} × {what}"

    carried = None if layer.carried is None else layer.carry * layer.carried
    return [
        (times(layer.carry, "scores of the layer below"), carried),
        (times(layer.fresh_weight, "Q Kᵀ / √d_k"), layer.fresh_weight * layer.fresh),
        ("scores of this layer", layer.scores),
        ("softmax: its attention", layer.attention),
    ]


def draw_scores(
    layers: Sequence[LayerScores], queries: Sequence[str], keys: Sequence[str], title: str, output
) -> None:
    """Draw a row for each layer, the bottom layer at the bottom, and arrows for carried scores.

    Args:
        layers: from the bottom to the top
        queries, keys: the T and S tokens; queries go down, keys go right
    """
    map_width, map_height = CELL * len(keys), CELL * len(queries)
    width = LEFT + 4 * map_width + 3 * GAP + RIGHT
    height = TOP + len(layers) * map_height + (len(layers) - 1) * ROW_GAP + BOTTOM
    figure = new_figure(width, height)
    maps = figure.subplots(len(layers), len(SIGNS) + 1, squeeze=False)[::-1]
    edges = LEFT / width, BOTTOM / height, 1 - RIGHT / width, 1 - TOP / height
    figure.subplots_adjust(*edges, wspace=GAP / map_width, hspace=ROW_GAP / map_height)
    scores = [part for layer in layers for _, part in parts_of(layer)[:-1] if part is not None]
    extreme = max(float(part.abs().max()) for part in scores)
    for number, (row, layer) in enumerate(zip(maps, layers)):
        draw_row(row, layer, extreme)
        row[0].set_ylabel(f"layer {number}", fontsize=9, labelpad=12)
        row[0].set_yticks(range(len(queries)), map(plain, queries), fontsize=7)
        if number:
            draw_arrow(figure, maps[number - 1][2], row[0], map_height)
    for axes in maps[0]:
        axes.set_xticks(range(len(keys)), map(plain, keys), fontsize=7, rotation=90)
    figure.suptitle(plain(title), fontsize=10, y=1 - 0.1 / height)
    save(figure, output)


def draw_row(row, layer: LayerScores, extreme: float) -> None:
    """Draw the maps of a layer. Scores above 0 are red and those below 0 blue, to ``extreme``."""
    for column, (axes, (caption, part)) in enumerate(zip(row, parts_of(layer))):
        axes.set(xticks=[], yticks=[])
        axes.tick_params(length=0, pad=1)
        colours = dict(cmap="RdBu_r", vmin=-extreme, vmax=extreme)
        if part is None:
            part, caption = torch.zeros_like(layer.scores), "nothing below"
        elif column == len(SIGNS):
            colours = dict(cmap="Greys", vmin=0, vmax=1)
        axes.imshow(part, aspect="auto", **colours)
        axes.set_title(caption, fontsize=8, pad=3)
    half_gap = dict(xytext=(GAP * 72 / 2, 0), textcoords="offset points")
    style = dict(ha="center", va="center", fontsize=14, annotation_clip=False)
    for axes, sign in zip(row, SIGNS):
        axes.annotate(sign, (1, 0.5), xycoords="axes fraction", **half_gap, **style)


def draw_arrow(figure, below, above, map_height: float) -> None:
    """Draw an arrow from the scores of a layer to the row above, which takes these scores."""
    from matplotlib.patches import ConnectionPatch

    ends = (0.5, 1 + CAPTION / map_height), (0.5, -0.05), "axes fraction", "axes fraction"
    style = dict(arrowstyle="-|>", color="#c0392b", linewidth=1.5)
    figure.add_artist(ConnectionPatch(*ends, axesA=below, axesB=above, **style))


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="FILE", help="a model with residual scores")
    add("--data", required=True, metavar="DIR", help="what fairseq-preprocess wrote")
    add("--output", required=True, metavar="FILE", help="PNG file")
    add("--gen-subset", default="test", metavar="NAME", help="split of --data")
    add("--sentence", type=whole_number_from_0, default=0, metavar="N", help="which one, from 0")
    add("--attention", choices=PLACES, help="default: cross, if the model has it")
    add("--head", type=whole_number_from_0, default=0, metavar="N", help="which head, from 0")
    args = parser.parse_args()
    check_matplotlib()
    check_not_an_input(args.output, [args.checkpoint])
    model, task, dataset = load_model_and_split(args.checkpoint, args.data, args.gen_subset)
    check_sentence(dataset, args.sentence)
    attention = args.attention or list(attention_modules(model))[-1].attention
    layers = scores_by_layer(model, dataset, args.sentence, attention, args.head)
    names = tokens_of_sentence(task, dataset, args.sentence)
    tokens = names_of_map(names, attention, layers[0].scores.size(-1))
    draw_scores(layers, *tokens, f"{TITLES[attention]}, head {args.head}", args.output)


if __name__ == "__main__":
    run_main(main, PROGRAM)
