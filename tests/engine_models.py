"""Exported models of few and narrow layers, for tests of the engine."""

from pathlib import Path

import torch
from models import EOS, PAD, TASK

from realformer_fairseq.export.int8 import quantize_graphs
from realformer_fairseq.export.onnx_export import limits_of, write_model
from realformer_runtime.engine.model_folder import Manifest
from realformer_runtime.engine.translator import Translator


def export(model, folder: Path, int8=False, **manifest) -> Path:
    """Export a model that is in memory; its text is subwords."""
    folder.mkdir()
    write_model(model.eval(), folder)
    if int8:
        quantize_graphs(folder)
    facts = dict(source_lang="en", target_lang="fr", moses=False)
    Manifest(**facts, **{**limits_of(model), **manifest}).write(folder)
    return folder


def sentences(lengths, seed=1):
    """Lists of subwords of these lengths."""
    generator = torch.Generator().manual_seed(seed)
    types = len(TASK.source_dictionary)
    numbers = [torch.randint(4, types, (length,), generator=generator) for length in lengths]
    return [[TASK.source_dictionary[int(number)] for number in each] for each in numbers]


def batch_of(subwords):
    """The sentences ``(B, S)``, padded on the left as fairseq does."""
    encoded = [[TASK.source_dictionary.index(word) for word in each] + [EOS] for each in subwords]
    longest = max(map(len, encoded))
    return torch.tensor([[PAD] * (longest - len(each)) + each for each in encoded])


__all__ = ["Translator", "batch_of", "export", "sentences"]
