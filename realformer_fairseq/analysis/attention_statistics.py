"""Entropy of attention and its divergence between neighbouring layers, head by head.

The measures of RealFormer's analysis (He et al. 2020, arXiv 2012.11747), which is of BERT: the
entropy of each (token, layer, head) distribution, and the Jensen-Shannon divergence between the
same head of two adjacent layers. Both are in nats.

Distributions are kept as histograms with the sum of each bin, so memory depends on the model and
not on the text: 96 kB a head, 66 MB for 60-12 layers of 8 heads.
"""

import math
from typing import Dict, NamedTuple, Tuple

import torch
from torch import Tensor

LN_2 = math.log(2)
BINS = 2048


class AttentionMeasure(NamedTuple):
    """A number that each distribution has.

    ``upper`` is where its histogram ends; the width of a bin is ``upper / BINS``.
    """

    label: str
    upper: float


MEASURES = {
    # Up to 4,096 keys; the few queries that attend to more still count in full in the mean.
    "entropy": AttentionMeasure("entropy, nats", math.log(4096)),
    "normalised_entropy": AttentionMeasure("entropy / ln(number of keys)", 1.0),
    "jsd": AttentionMeasure("Jensen-Shannon divergence from the layer below, nats", LN_2),
}


def entropy(probabilities: Tensor) -> Tensor:
    """In nats: 0 for a one-hot distribution, ln n for a uniform one over n keys.

    Args:
        probabilities: ``(..., S)``; zeros, such as masked keys, add nothing
    """
    return torch.special.entr(probabilities).sum(dim=-1)


def jensen_shannon_divergence(p: Tensor, q: Tensor) -> Tensor:
    """In nats: 0 for equal distributions, ln 2 for disjoint ones.

    Args:
        p, q: probabilities ``(..., S)``
    """
    divergence = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
    return divergence.clamp(0, LN_2)  # rounding leads out of it


class HeadHistograms:
    """What one measure is like for each head of a layer.

    Args:
        heads: number of heads
        upper: end of the histogram, which starts at 0
        device: of the values that will be added
    """

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
        """Exact, ``(heads,)``."""
        return self.sums.sum(dim=1) / self.count()

    def quantile(self, share: float) -> Tensor:
        """The mean of the values in the quantile's bin, ``(heads,)``.

        So it is less than a bin's width off, and exact where the values in that bin are equal.
        """
        rank = max(1, math.ceil(share * self.count()))
        places = (self.counts.cumsum(dim=1) >= rank).int().argmax(dim=1, keepdim=True)
        return (self.sums.gather(1, places) / self.counts.gather(1, places)).squeeze(1)


class AttentionStatistics:
    """Collects every measure of every attention of a model, batch by batch.

    ``histograms`` has a ``HeadHistograms`` for each (measure, attention, layer); the divergence
    stands under the upper of the two layers.
    """

    def __init__(self):
        self.histograms: Dict[Tuple[str, str, int], HeadHistograms] = {}
        self._below: Dict[str, Tuple[int, Tensor]] = {}

    def add(
        self,
        attention: str,
        layer: int,
        probabilities: Tensor,
        attendable: Tensor,
        queries: Tensor,
    ) -> None:
        """Take one attention of one batch; layers must come from the bottom to the top.

        Left out are padding and what has no choice: a query that may attend to one key only, such
        as the first target position in decoder self-attention.

        Args:
            attention: which of a model's kinds of attention this is
            layer: from 0 at the bottom
            probabilities: ``(heads, B, T, S)``; what they hold at masked positions is not looked at
            attendable: which keys a query may attend to, ``(B, T, S)``
            queries: which are no padding, ``(B, T)``

        Raises:
            FloatingPointError: a probability is not finite
        """
        keys = attendable.sum(dim=-1)
        chosen = queries & (keys > 1)
        p = torch.where(attendable[chosen], probabilities[:, chosen].float(), 0.0)  # heads x N x S
        if not p.isfinite().all():
            raise FloatingPointError(f"{attention} attention of layer {layer} is not finite")
        in_nats = entropy(p)
        self._count("entropy", attention, layer, in_nats)
        self._count("normalised_entropy", attention, layer, in_nats / keys[chosen].log())
        below, p_below = self._below.get(attention, (-1, p))
        if layer > 0 and below == layer - 1:
            self._count("jsd", attention, layer, jensen_shannon_divergence(p_below, p))
        self._below[attention] = layer, p

    def _count(self, measure: str, attention: str, layer: int, values: Tensor) -> None:
        place = measure, attention, layer
        if place not in self.histograms:
            upper = MEASURES[measure].upper
            self.histograms[place] = HeadHistograms(len(values), upper, values.device)
        self.histograms[place].add(values)
