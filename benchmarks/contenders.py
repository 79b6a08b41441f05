"""Models of the same size by name: fairseq's, ours, and other people's."""

import argparse
from pathlib import Path

import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

import realformer_fairseq  # noqa: F401  registers the architectures
from benchmarks.eager_realformer import make_eager
from benchmarks.options import Shape

# What each contender is in fairseq's terms: architecture and options.
FAIRSEQ_MODELS = {
    "fairseq": ("transformer", {}),
    "mean": ("realformer", {"residual_attention": "mean", "attention_kernel": "eager"}),
    "fused": ("realformer", {"residual_attention": "mean", "attention_kernel": "fused"}),
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


def options_of(name: str, shape: Shape, dropout: float = 0.0) -> argparse.Namespace:
    """The options of a model, complete."""
    arch, options = FAIRSEQ_MODELS[name]
    return completed(
        arch,
        shape,
        dropout,
        decoder_layers=shape.decoder_layers,
        decoder_attention_heads=shape.heads,
        share_all_embeddings=True,
        activation_dropout=dropout,
        max_source_positions=1024,
        max_target_positions=1024,
        **options,
    )


def completed(arch: str, shape: Shape, dropout: float, **options) -> argparse.Namespace:
    """The options of an architecture with an encoder of a shape, and further ones, complete."""
    args = argparse.Namespace(
        arch=arch,
        encoder_embed_dim=shape.width,
        encoder_ffn_embed_dim=shape.ffn,
        encoder_layers=shape.encoder_layers,
        encoder_attention_heads=shape.heads,
        dropout=dropout,
        attention_dropout=dropout,
        **options,
    )
    ARCH_CONFIG_REGISTRY[arch](args)
    return args


def build(name: str, shape: Shape, task: Task, dropout: float, seed: int = 1):
    """A model with random weights; the same ones for all but x-transformers."""
    torch.manual_seed(seed)
    if name == "x-transformers":
        from benchmarks.x_transformers_peer import XTransformersPeer

        return XTransformersPeer(shape, len(task.source_dictionary), dropout)
    args = options_of(name, shape, dropout)
    model = ARCH_MODEL_REGISTRY[args.arch].build_model(args, task)
    return make_eager(model) if name == "eager" else model


def save_for_converters(shape: Shape, task: Task, folder: Path) -> None:
    """Write fairseq's Transformer as ``model.pt``, from English to French, and its dictionaries."""
    args = options_of("fairseq", shape)
    translation = dict(_name="transformer", task="translation", data=str(folder))
    languages = dict(source_lang="en", target_lang="fr")
    vars(args).update(**translation, **languages, left_pad_source=True, left_pad_target=False)
    history = {"best_loss": 0, "lr_scheduler_state": {}, "num_updates": 0}
    state = {
        "args": args,
        "model": build("fairseq", shape, task, dropout=0.0).state_dict(),
        "optimizer_history": [{**history, "criterion_name": "", "optimizer_name": ""}],
        "extra_state": {"epoch": 1, "train_iterator": {"epoch": 1}},
    }
    torch.save(state, folder / "model.pt")
    for lang in languages.values():
        task.source_dictionary.save(str(folder / f"dict.{lang}.txt"))


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
