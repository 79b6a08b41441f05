"""Models of the same size by name: fairseq's, ours, and other people's."""

import argparse

import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

import realformer_fairseq  # noqa: F401  registers the architectures
from benchmarks.eager_realformer import make_eager
from benchmarks.options import Shape

# What each contender is in fairseq's terms: architecture and options.
FAIRSEQ_MODELS = {
    "fairseq": ("transformer", {}),
    "mean": ("realformer", {"residual_attention": "mean"}),
    "sum": ("realformer", {"residual_attention": "sum"}),
    "none": ("realformer", {"residual_attention": "none"}),
    "eager": ("realformer", {"residual_attention": "mean"}),
}
CONTENDERS = (*FAIRSEQ_MODELS, "x-transformers")


class Task:
    """What building a model asks of a fairseq task: a joint dictionary."""

    def __init__(self, types: int):
        self.source_dictionary = self.target_dictionary = Dictionary()
        for number in range(types - len(self.source_dictionary)):
            self.source_dictionary.add_symbol(f"w{number}")


def build(name: str, shape: Shape, task: Task, dropout: float, seed: int = 1):
    """A model with random weights; the same ones for all but x-transformers."""
    torch.manual_seed(seed)
    if name == "x-transformers":
        from benchmarks.x_transformers_peer import XTransformersPeer

        return XTransformersPeer(shape, len(task.source_dictionary), dropout)
    arch, options = FAIRSEQ_MODELS[name]
    args = argparse.Namespace(
        arch=arch,
        encoder_embed_dim=shape.width,
        encoder_ffn_embed_dim=shape.ffn,
        encoder_layers=shape.encoder_layers,
        encoder_attention_heads=shape.heads,
        decoder_layers=shape.decoder_layers,
        decoder_attention_heads=shape.heads,
        share_all_embeddings=True,
        dropout=dropout,
        attention_dropout=dropout,
        activation_dropout=dropout,
        max_source_positions=1024,
        max_target_positions=1024,
        **options,
    )
    ARCH_CONFIG_REGISTRY[arch](args)
    model = ARCH_MODEL_REGISTRY[arch].build_model(args, task)
    return make_eager(model) if name == "eager" else model


def make_batch(shape: Shape, task: Task, device: str, seed: int = 1):
    """Random source and target ``(B, T)``; lengths fall by a quarter, padded as fairseq does."""
    dictionary = task.source_dictionary
    generator = torch.Generator().manual_seed(seed)
    size = (shape.sentences, shape.length)
    first = dictionary.nspecial
    source = torch.randint(first, len(dictionary), size, generator=generator)
    target = torch.randint(first, len(dictionary), size, generator=generator)
    source[:, -1], target[:, 0] = dictionary.eos(), dictionary.eos()
    for sentence in range(shape.sentences):
        padding = shape.length * sentence // (4 * shape.sentences)
        source[sentence, :padding] = dictionary.pad()
        target[sentence, shape.length - padding :] = dictionary.pad()
    return source.to(device), target.to(device)
