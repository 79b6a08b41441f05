"""What changes log-probabilities before tokens are chosen: ensembles, n-grams, prefixes."""

from typing import Sequence

import numpy as np

PAD, EOS, UNK = 1, 2, 3  # fairseq's dictionaries start with <s>, <pad>, </s>, <unk>


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Of each row ``(R, V)``."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def mean_of_models(lprobs: Sequence[np.ndarray]) -> np.ndarray:
    """The logarithm of the mean of several models' probabilities, ``(R, V)``."""
    if len(lprobs) == 1:
        return lprobs[0]
    stacked = np.stack(lprobs)
    highest = stacked.max(axis=0)
    return highest + np.log(np.exp(stacked - highest).mean(axis=0))


def block_repeated_ngrams(lprobs: np.ndarray, tokens: np.ndarray, size: int) -> None:
    """Forbid, in place, what would repeat ``size`` tokens of a row.

    fairseq without its CUDA extension compares with padding, and forbids nothing.

    Args:
        lprobs: ``(R, V)``
        tokens: ``(R, T)``, without the ``</s>`` that they start with
    """
    for row, history in enumerate(tokens.tolist()):
        start = len(history) - size + 1
        last = history[max(start, 0) :]
        for first in range(start):
            if history[first : first + size - 1] == last:
                lprobs[row, history[first + size - 1]] = -np.inf


def force_prefix(lprobs: np.ndarray, prefix: np.ndarray) -> None:
    """Allow, in place, only the given token of each row ``(R,)``; ``PAD`` leaves a row free."""
    rows = np.flatnonzero(prefix != PAD)
    kept = lprobs[rows, prefix[rows]].copy()
    lprobs[rows] = -np.inf
    lprobs[rows, prefix[rows]] = kept
