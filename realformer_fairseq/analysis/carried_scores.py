"""Read the scores that residual attention carries from layer to layer, for one head."""

from typing import List, NamedTuple, Optional

import torch
from torch import Tensor

from realformer_runtime.command_line import UserError

from ..modules.residual_scores import chain_weights
from .attention_recorder import attention_modules, hooked


class LayerScores(NamedTuple):
    """Scores and attention of one head in one layer, each ``(T, S)``; only attention is masked.

    ``scores = carry * carried + fresh_weight * fresh``
    """

    fresh: Tensor
    carried: Optional[Tensor]
    scores: Tensor
    attention: Tensor
    carry: float
    fresh_weight: float


@torch.no_grad()
def scores_by_layer(model, dataset, number: int, attention: str, head: int) -> List[LayerScores]:
    """The scores of one head for one sentence, from the bottom to the top layer.

    Raises:
        UserError: this attention carries no scores from layer to layer, or has no such head
    """
    places = [place for place in attention_modules(model) if place.attention == attention]
    kinds = {getattr(place.module, "residual_attention", "none") for place in places}
    if not places or kinds == {"none"}:
        raise UserError(f"--attention {attention}: this model carries no scores there")
    if head >= places[0].module.num_heads:
        raise UserError(f"--head {head}: there are 0 to {places[0].module.num_heads - 1}")
    (kind,) = kinds
    found: List[LayerScores] = []

    def hook(place, args, kwargs, output) -> None:
        _, probabilities, scores = output
        previous = kwargs.get("previous_scores")
        carry, weight = chain_weights(kind, len(found))
        carried = None if previous is None else previous[head].float()
        own = scores[head].float()
        fresh = own if carried is None else (own - carry * carried) / weight
        found.append(LayerScores(fresh, carried, own, probabilities[head, 0], carry, weight))

    with hooked(places, hook):
        model(**dataset.collater([dataset[number]])["net_input"], features_only=True)
    return found
