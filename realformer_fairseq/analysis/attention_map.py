"""Maps of the attention in one sentence pair or text, one for each head of a layer."""

from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from realformer_checkpoints.figures import heading, new_figure, plain, save
from realformer_runtime.command_line import UserError

from .attention_recorder import PLACES, recorded_attention

# Inches.
CELL, LARGEST_MAP = 0.2, 9.0  # of one token, and of a whole map
MARGIN, TOP, SCALE = 0.9, 0.7, 0.15  # left of and below each map; above all; the colour scale
FEW_MAPS = 4  # up to this number stand in rows of 2, more in rows of 4
POINTS_PER_INCH = 40  # font size of a token, for each inch of its cell

Names = Tuple[List[str], List[str]]


def check_sentence(dataset, number: int) -> None:
    """Refuse a ``--sentence`` that the data set does not have."""
    if number >= len(dataset):
        raise UserError(f"--sentence {number}: there are 0 to {len(dataset) - 1}")


@torch.no_grad()
def attention_of_sentence(model, dataset, number: int) -> Dict[Tuple[str, int], Tensor]:
    """Probabilities ``(heads, T, S)`` for each kind of attention and layer, in one pair."""
    found: Dict[Tuple[str, int], Tensor] = {}

    def receive(attention: str, layer: int, probabilities: Tensor, attendable: Tensor) -> None:
        found[attention, layer] = probabilities[:, 0].cpu()

    inputs = dataset.collater([dataset[number]])["net_input"]
    device = next(model.parameters()).device
    with recorded_attention(model, receive):
        model(**{name: value.to(device) for name, value in inputs.items()}, features_only=True)
    return found


def tokens_of_sentence(task, dataset, number: int) -> Dict[str, Names]:
    """The tokens of queries and keys, for each kind of attention.

    The token of a query is the one that its position predicts in cross-attention, and the one that
    its position reads in self-attention.
    """
    sample = dataset.collater([dataset[number]])
    source, target = task.source_dictionary, task.target_dictionary
    read = [source[token] for token in sample["net_input"]["src_tokens"][0]]
    if "prev_output_tokens" not in sample["net_input"]:  # a language model has one stack only
        return {"encoder": (read, read), "decoder": (read, read)}
    written = [target[token] for token in sample["net_input"]["prev_output_tokens"][0]]
    predicted = [target[token] for token in sample["target"][0]]
    return {"encoder": (read, read), "decoder": (written, written), "cross": (predicted, read)}


def names_of_map(names: Dict[str, Names], attention: str, keys: int) -> Names:
    """The tokens of queries and keys in one map, of ``names`` from ``tokens_of_sentence``.

    With ``--cross-self-attention`` the keys of the encoder precede those of the decoder.
    """
    queries, own = names[attention]
    return queries, own if len(own) == keys else names["encoder"][1] + own


def draw_sentence(
    model, task, dataset, number: int, layer: Optional[int], title: str, folder: Path
) -> None:
    """Draw the maps of one sentence, a picture for each kind of attention that has the layer.

    Args:
        layer: from 0; None for the top layer of each stack
        title: of the pictures; if empty, the number of the sentence
    """
    check_sentence(dataset, number)
    found = attention_of_sentence(model, dataset, number)
    if layer is not None and all(other != layer for _, other in found):
        raise UserError(f"--layer {layer}: there are 0 to {max(other for _, other in found)}")
    names = tokens_of_sentence(task, dataset, number)
    for attention in PLACES:
        layers = [other for kind, other in found if kind == attention]
        chosen = max(layers, default=-1) if layer is None else layer
        if chosen in layers:
            probabilities = found[attention, chosen]
            tokens = names_of_map(names, attention, probabilities.size(-1))
            above = heading(f"{title or f'sentence {number}'}, layer {chosen}", attention)
            picture = folder / f"sentence-{number}-{attention}-layer-{chosen}.png"
            draw_maps(probabilities, *tokens, above, picture)


def draw_maps(
    probabilities: Tensor, queries: Sequence[str], keys: Sequence[str], title: str, output: Path
) -> None:
    """Draw a picture with a map for each head.

    Args:
        probabilities: ``(heads, T, S)``
        queries, keys: the T and S tokens; queries go down, keys go right
    """
    heads = len(probabilities)
    columns = min(heads, 2 if heads <= FEW_MAPS else 4)
    rows = -(-heads // columns)
    cell = min(CELL, LARGEST_MAP / max(len(queries), len(keys)))
    map_width, map_height = cell * len(keys), cell * len(queries)
    width = max(columns * (map_width + MARGIN) + 1, 5.0)
    height = rows * (map_height + MARGIN) + TOP
    figure = new_figure(width, height)

    def axes_at(left: float, top: float, wide: float, high: float):
        box = left / width, 1 - (top + high) / height, wide / width, high / height
        return figure.add_axes(box)

    for head in range(heads):
        row, column = divmod(head, columns)
        left, top = column * (map_width + MARGIN) + MARGIN, row * (map_height + MARGIN) + TOP
        axes = axes_at(left, top, map_width, map_height)
        image = axes.imshow(probabilities[head], cmap="Blues", vmin=0, vmax=1)
        axes.set_title(f"head {head}", fontsize=8, pad=3)
        size = cell * POINTS_PER_INCH
        axes.set_yticks(range(len(queries)), map(plain, queries), fontsize=size)
        axes.set_xticks(range(len(keys)), map(plain, keys), fontsize=size, rotation=90)
        axes.tick_params(length=0, pad=1)
    scale = axes_at(columns * (map_width + MARGIN) + 0.2, TOP, SCALE, min(map_height, 3.0))
    figure.colorbar(image, cax=scale).ax.tick_params(labelsize=7)
    figure.suptitle(title, fontsize=10, y=1 - 0.1 / height)
    save(figure, output)
