"""How the next tokens are chosen: the best of all beams, or drawn. As ``fairseq/search.py``."""

from typing import NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .search_options import SearchOptions


class Candidates(NamedTuple):
    """Continuations of each sentence, the best first: scores, tokens and beams, ``(B, count)``."""

    scores: np.ndarray
    tokens: np.ndarray
    beams: np.ndarray


def allowed(
    scores: np.ndarray, tokens: np.ndarray, forbidden: Sequence[int]
) -> Tuple[np.ndarray, np.ndarray]:
    """Scores and tokens ``(R, any)``, the best first, with the forbidden ones last, at -inf."""
    last = np.zeros(tokens.shape, bool)
    for token in forbidden:
        last |= tokens == token
    if not last.any():
        return scores, tokens
    order = np.argsort(last, axis=1, kind="stable")
    scores = np.where(last, np.float32(-np.inf), scores)
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(tokens, order, axis=1)


def best_of_rows(
    scores: np.ndarray, tokens: np.ndarray, before: Optional[np.ndarray], batch: int, count: int
) -> Candidates:
    """The best ``count`` continuations of each sentence from the best of each of its rows.

    Args:
        scores, tokens: log-probabilities and numbers of tokens, ``(R, any)``, the best first
        before: scores of the rows so far, ``(R,)``; None in the first step, with a row a sentence
    """
    if before is None:
        beams = np.zeros((batch, min(count, scores.shape[1])), np.int64)
        return Candidates(scores[:, :count], tokens[:, :count], beams)
    width = scores.shape[1]
    scores = (scores + before[:, None]).reshape(batch, -1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    places = np.arange(batch)[:, None]
    return Candidates(
        scores[places, order], tokens.reshape(batch, -1)[places, order], order // width
    )


def best_of_all(lprobs: np.ndarray, before: Optional[np.ndarray], batch: int, count: int):
    """The same from all log-probabilities, ``(R, V)``."""
    width = min(count, lprobs.shape[1])
    tokens = np.argpartition(-lprobs, width - 1, axis=1)[:, :width]
    order = np.argsort(-np.take_along_axis(lprobs, tokens, axis=1), axis=1, kind="stable")
    tokens = np.take_along_axis(tokens, order, axis=1)
    return best_of_rows(np.take_along_axis(lprobs, tokens, axis=1), tokens, before, batch, count)


class Sampler:
    """Draws a token for each beam. fairseq's numbers depend on torch's generator, these do not."""

    def __init__(self, options: SearchOptions, random: np.random.Generator):
        self.options = options
        self.random = random

    def __call__(
        self, lprobs: np.ndarray, before: Optional[np.ndarray], batch: int, beam: int
    ) -> Candidates:
        """One candidate for each beam, in their order.

        Args:
            lprobs: ``(R, V)``; in the first step, where ``before`` is None, one row a sentence
        """
        order = np.argsort(-lprobs, axis=1, kind="stable")
        ranked = np.take_along_axis(lprobs, order, axis=1).astype(np.float64)
        # Relative to the best, which may itself be too improbable for a number.
        best = np.maximum(ranked[:, :1], np.finfo(np.float64).min)
        probabilities = np.exp(ranked - best)
        if self.options.sampling_topp > 0:
            # Up to the token with which the sum reaches the limit.
            below = np.cumsum(np.exp(ranked), axis=1) < self.options.sampling_topp
            probabilities[:, 1:][~below[:, :-1]] = 0
        elif self.options.sampling_topk > 0:
            probabilities[:, self.options.sampling_topk :] = 0
        sums = np.cumsum(probabilities, axis=1)
        draws = beam if before is None else 1
        thresholds = self.random.random((len(lprobs), draws)) * sums[:, -1:]
        drawn = (sums[:, None] <= thresholds[..., None]).sum(-1)
        drawn = np.minimum(drawn, lprobs.shape[1] - 1)  # nothing is allowed in such a row
        tokens = np.take_along_axis(order, drawn, axis=1)
        scores = np.take_along_axis(lprobs, tokens, axis=1).reshape(batch, beam)
        if before is None:
            beams = np.zeros((batch, beam), np.int64)
        else:
            scores = scores + before.reshape(batch, beam)
            beams = np.tile(np.arange(beam), (batch, 1))
        return Candidates(scores, tokens.reshape(batch, beam), beams)
