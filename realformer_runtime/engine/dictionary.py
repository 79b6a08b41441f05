"""Words of a model and their numbers, which are their places in a list."""

from typing import Dict, List, Sequence

import numpy as np

from .constraints import EOS, UNK

NOT_WRITTEN = (0, EOS)  # <s> and </s>


class Dictionary:
    """The words of one language."""

    def __init__(self, words: List[str]):
        self.words = words
        # A word that is there twice has the later number, as with #fairseq:overwrite.
        self.numbers: Dict[str, int] = {word: number for number, word in enumerate(words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, subwords: Sequence[str]) -> List[int]:
        """Numbers with ``</s>`` at the end; ``<unk>`` for what is not there."""
        return [*(self.numbers.get(word, UNK) for word in subwords), EOS]

    def decode(self, tokens: np.ndarray) -> List[str]:
        """Words, without ``</s>``."""
        return [self.words[token] for token in tokens.tolist() if token not in NOT_WRITTEN]
