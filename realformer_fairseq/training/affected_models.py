"""Which trainings the plugin changes, and whether one of them is at work.

fairseq's functions for saving and loading do not know which model they work for. Our trainer
therefore marks the calls that it makes.
"""

import contextlib
from contextvars import ContextVar
from typing import Any, Iterator

from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from fairseq.models.transformer import TransformerModel
from torch import nn

from ..models.model import RealFormerModel
from ..models.multilingual import MultilingualRealFormerModel

# Our models, and the baseline that they are compared with.
MODELS = (RealFormerModel, MultilingualRealFormerModel, TransformerModel)

_at_work: ContextVar[bool] = ContextVar("our trainer is at work", default=False)


def is_trained_by_us(name: Any) -> bool:
    """Whether the architecture or model of a name is one of ``MODELS``."""
    return (ARCH_MODEL_REGISTRY.get(name) or MODEL_REGISTRY.get(name)) in MODELS


def is_one_of_ours(model: nn.Module) -> bool:
    """Whether a model is one of ``MODELS``, also wrapped by FSDP. Subclasses do not count."""
    return type(getattr(model, "module", model)) in MODELS


def our_trainer_is_at_work() -> bool:
    return _at_work.get()


@contextlib.contextmanager
def our_trainer_at_work() -> Iterator[None]:
    """Mark a block as work of our trainer."""
    token = _at_work.set(True)
    try:
        yield
    finally:
        _at_work.reset(token)
