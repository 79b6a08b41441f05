"""Entropy of attention and its divergence between neighbouring layers, head by head.

These are the measures of RealFormer's analysis of BERT (He et al. 2020, arXiv 2012.11747): the
entropy of each (token, layer, head) distribution, and the Jensen-Shannon divergence between the
same head of two adjacent layers. Both are in nats.

Results are collected in histograms with the sum of each bin, so memory depends on the model and
not on the text: 96 kB for each head, 66 MB for 60-12 layers of 8 heads.
"""

import math
from typing import Dict, Tuple

import torch
from torch import Tensor

LN_2 = math.log(2)
BINS = 2048  # of each histogram
# Label, and end of the histogram.
MEASURES = {
    # For up to 4,096 keys. Higher entropies fall into the last bin, but the mean stays exact.
    "entropy": ("entropy, nats", math.log(4096)),
    "normalised_entropy": ("entropy / ln(number of keys)", 1.0),
    "jsd": ("Jensen-Shannon divergence from the layer below, nats", LN_2),
}


def entropy(probabilities: Tensor) -> Tensor:
    """Entropy in nats of probabilities ``(..., S)``, which are zero at masked keys.

    It is 0 for a one-hot distribution, and ln n for a uniform one over n keys.
    """
    return torch.special.entr(probabilities).sum(dim=-1)


def jensen_shannon_divergence(p: Tensor, q: Tensor) -> Tensor:
    """Jensen-Shannon divergence in nats: 0 for equal distributions, ln 2 for disjoint ones."""
    divergence = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
    return divergence.clamp(0, LN_2)  # rounding can exceed these bounds


class HeadHistograms:
    """Histograms of one measure, from 0 to ``upper``, one for each head of a layer."""

    def __init__(self, heads: int, upper: float, device="cpu"):
        self.upper = upper
        self.counts = torch.zeros(heads, BINS, dtype=torch.long, device=device)
        self.sums = torch.zeros(heads, BINS, dtype=torch.double, device=device)

    def add(self, values: Tensor) -> None:
        """Count values ``(heads, N)``."""
        bins = (values * (BINS / self.upper)).long().clamp(0, BINS - 1)
        first_of_head = torch.arange(len(values), device=values.device).unsqueeze(1) * BINS
        places = (bins + first_of_head).flatten()
        size = self.counts.numel()
        self.counts += torch.bincount(places, minlength=size).view_as(self.counts)
        weights = values.double().flatten()
        self.sums += torch.bincount(places, weights, minlength=size).view_as(self.sums)

    def count(self) -> int:
        """Number of distributions, the same for each head."""
        return int(self.counts[0].sum())

    def mean(self) -> Tensor:
        """Exact mean for each head, ``(heads,)``."""
        return self.sums.sum(dim=1) / self.count()

    def quantile(self, share: float) -> Tensor:
        """The mean of the values in the quantile's bin, ``(heads,)``.

        Its error is less than the width of a bin, and zero if all values in the bin are equal.
        """
        rank = max(1, math.ceil(share * self.count()))
        places = (self.counts.cumsum(dim=1) >= rank).int().argmax(dim=1, keepdim=True)
        return (self.sums.gather(1, places) / self.counts.gather(1, places)).squeeze(1)


class AttentionStatistics:
    """Every measure of every attention of a model, collected batch by batch.

    ``histograms`` has those of each layer for each (measure, attention). The layer of a divergence
    is the upper of the two layers.
    """

    def __init__(self):
        self.histograms: Dict[Tuple[str, str], Dict[int, HeadHistograms]] = {}
        self._below: Dict[str, Tuple[int, Tensor]] = {}

    def add(
        self, attention: str, layer: int, probabilities: Tensor, attendable: Tensor, queries: Tensor
    ) -> None:
        """Add one attention of one batch. Layers must come from the bottom to the top.

        Queries that are padding do not count, nor do those that may attend to one key only, such as
        the first target position in decoder self-attention.

        Args:
            probabilities: ``(heads, B, T, S)``; values at masked positions are ignored
            attendable: whether a query may attend to a key, ``(B, T, S)``
            queries: false at padding, ``(B, T)``

        Raises:
            FloatingPointError: a probability is not finite
        """
        keys = attendable.sum(dim=-1)
        chosen = queries & (keys > 1)
        p = torch.where(attendable[chosen], probabilities[:, chosen].float(), 0.0)  # heads x N x S
        if not p.isfinite().all():
            raise FloatingPointError(f"{attention} attention of layer {layer} is not finite")
        in_nats = entropy(p)
        values = {"entropy": in_nats, "normalised_entropy": in_nats / keys[chosen].log()}
        below, p_below = self._below.get(attention, (-1, p))
        if layer > 0 and below == layer - 1:
            values["jsd"] = jensen_shannon_divergence(p_below, p)
        self._below[attention] = layer, p
        for measure, numbers in values.items():
            layers = self.histograms.setdefault((measure, attention), {})
            if layer not in layers:
                layers[layer] = HeadHistograms(len(p), MEASURES[measure][1], p.device)
            layers[layer].add(numbers)
