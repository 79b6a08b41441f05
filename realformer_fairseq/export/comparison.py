"""Translate with a checkpoint and with what was exported from it, and compare."""

from pathlib import Path
from typing import List, Tuple

import numpy as np
import torch

from realformer_runtime.command_line import UserError
from realformer_runtime.engine.translator import Translator

from ..inference.fairseq_interactive import Ensemble, errors_in_one_line

SENTENCES = 32
TOLERANCE = 1e-4  # of scores, which are means of log-probabilities


def sentences_of(ensemble: Ensemble) -> List[List[str]]:
    """Sentences of 1 to 30 subwords at random, which the model of any text can translate."""
    random = np.random.default_rng(1)
    words = ensemble.src_dict.symbols[ensemble.src_dict.nspecial :]
    longest = min(30, ensemble.subword_limit())
    lengths = 1 + np.arange(SENTENCES) % longest
    return [random.choice(words, length).tolist() for length in lengths]


def best_of_fairseq(
    ensemble: Ensemble, sentences: List[List[str]]
) -> List[Tuple[List[int], float]]:
    tensors = [ensemble.binarize(" ".join(sentence)) for sentence in sentences]
    found = ensemble.generate(tensors, ensemble.cfg.generation.beam)
    return [(best[0]["tokens"].tolist(), float(best[0]["score"])) for best in found]


def compare(ensemble: Ensemble, folder: Path, int8: bool) -> str:
    """Lines that say how well the best hypotheses agree.

    Args:
        int8: whether there are graphs with 8-bit integers, which may differ

    Raises:
        UserError: they differ, otherwise than by two that are equally good
    """
    sentences = sentences_of(ensemble)
    with torch.no_grad(), errors_in_one_line("the checkpoint's own translation"):
        expected = best_of_fairseq(ensemble, sentences)
    equal, worst = agreement(Translator(folder), sentences, expected)
    if not worst < TOLERANCE:
        raise UserError(
            f"the exported model differs from the checkpoint: scores by up to {worst:.2g}, and "
            f"{len(sentences) - equal} of {len(sentences)} translations; nothing is written"
        )
    line = f"{equal} of {len(sentences)} translations equal, scores to {worst:.1g}"
    if not int8:
        return line
    equal, worst = agreement(Translator(folder, int8=True), sentences, expected)
    return f"{line}; with 8-bit integers {equal} equal, scores to {worst:.1g}"


def agreement(
    translator: Translator, sentences: List[List[str]], expected: List[Tuple[List[int], float]]
) -> Tuple[int, float]:
    """How many best hypotheses are equal, and the largest difference of their scores."""
    found = [best[0] for best in translator.translate_tokens(sentences)]
    pairs = list(zip(found, expected))
    equal = sum(own.tokens.tolist() == tokens for own, (tokens, _) in pairs)
    differences = [abs(own.score - score) for own, (_, score) in pairs]
    return equal, float(np.max(differences))  # unlike Python's, of nan, too
