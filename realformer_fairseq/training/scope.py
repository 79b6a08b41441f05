"""Which trainings the plugin changes, and whether one of them is at work.

fairseq's functions for saving and loading are not told which model they work for: our trainers say
when it is one of theirs.
"""

import contextlib
from contextvars import ContextVar
from typing import Any, Iterator

from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from fairseq.models.transformer import TransformerModel
from torch import nn

from ..models.model import RealFormerModel
from ..models.multilingual import MultilingualRealFormerModel

# Ours, and the baseline that they are compared with.
MODELS = (RealFormerModel, MultilingualRealFormerModel, TransformerModel)

_at_work: ContextVar[bool] = ContextVar("our trainer is at work", default=False)


def is_trained_by_us(name: Any) -> bool:
    """Whether an architecture or a model, by its name, is one of ``MODELS``."""
    return (ARCH_MODEL_REGISTRY.get(name) or MODEL_REGISTRY.get(name)) in MODELS


def is_one_of_ours(model: nn.Module) -> bool:
    """Whether a model, which FSDP may have wrapped, is of ``MODELS``; heirs of these are not."""
    return type(getattr(model, "module", model)) in MODELS


def our_trainer_is_at_work() -> bool:
    return _at_work.get()


@contextlib.contextmanager
def our_trainer_at_work() -> Iterator[None]:
    """The block does the work of one of our trainers."""
    token = _at_work.set(True)
    try:
        yield
    finally:
        _at_work.reset(token)
