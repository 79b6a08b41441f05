"""Small checkpoints as fairseq writes them, and averaging them."""

import argparse
from collections import OrderedDict

import numpy
import torch
from commands import error_of

from realformer_checkpoints import averaging


def fairseq_state(model, epoch=1):
    """What ``fairseq.trainer.Trainer.state_dict`` saves, with a best metric from numpy."""
    history = {
        "criterion_name": "LabelSmoothedCrossEntropyCriterion",
        "optimizer_name": "FairseqAdam",
        "lr_scheduler_state": {"best": None},
        "num_updates": 100 * epoch,
    }
    return {
        "args": None,
        "cfg": {"common": {"seed": 1}, "model": argparse.Namespace(arch="realformer_tiny")},
        "model": model,
        "criterion": None,
        "optimizer_history": [history],
        "task_state": {},
        "extra_state": {
            "train_iterator": {"epoch": epoch, "iterations_in_epoch": 0, "version": 2},
            "val_loss": numpy.float64(2.5),
            "best": numpy.float64(2.5),
        },
        "last_optimizer_state": {"state": {0: {"exp_avg": torch.ones(1000)}}},
    }


def random_model(seed, dtype=torch.float32):
    """Two layers whose embeddings are shared, as with ``--share-all-embeddings``."""
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(50, 8, generator=generator).to(dtype)
    return OrderedDict(
        [
            ("encoder.embed_tokens.weight", embedding),
            ("encoder.version", torch.tensor([3.0])),
            ("encoder.fc1.weight", torch.randn(16, 8, generator=generator).to(dtype)),
            ("decoder.embed_tokens.weight", embedding),
            ("decoder.output_projection.weight", embedding),
        ]
    )


def save(path, model, epoch=1, **kwargs):
    torch.save(fairseq_state(model, epoch), path, **kwargs)
    return str(path)


def average(*arguments):
    return error_of(averaging, *arguments)
