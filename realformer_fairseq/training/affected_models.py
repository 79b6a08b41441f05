"""Which trainings the plugin changes, and whether one of them is at work.

fairseq's functions for saving and loading do not know which model they work for. Our trainer
therefore marks the calls that it makes.
"""

import contextlib
from contextvars import ContextVar
from typing import Any, Iterator

from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from fairseq.models.roberta import RobertaModel
from fairseq.models.transformer import TransformerModel
from fairseq.models.transformer_lm import TransformerLanguageModel
from torch import nn

from ..models.language_model import RealFormerLanguageModel
from ..models.masked_lm import RealFormerMaskedLM
from ..models.model import RealFormerModel
from ..models.multilingual import MultilingualRealFormerModel

OURS = (
    RealFormerModel,
    MultilingualRealFormerModel,
    RealFormerMaskedLM,
    RealFormerLanguageModel,
)
# The models of fairseq that ours are compared with. Others build on their classes.
BASELINES = (TransformerModel, RobertaModel, TransformerLanguageModel)

OUR_TRAINER_IS_AT_WORK: ContextVar[bool] = ContextVar("our trainer is at work", default=False)


def is_trained_by_us(name: Any) -> bool:
    """Whether an architecture or model is ours, or the baseline that ours are compared with."""
    model = ARCH_MODEL_REGISTRY.get(name) or MODEL_REGISTRY.get(name)
    return model is not None and is_affected(model)


def is_affected(model: type) -> bool:
    """Whether a class is of our models or one of the baselines."""
    return issubclass(model, OURS) or model in BASELINES


def is_one_of_ours(model: nn.Module) -> bool:
    """Whether a model is affected, also in FSDP's wrappers, of which there may be two."""
    while isinstance(getattr(model, "module", None), nn.Module):
        model = model.module
    return is_affected(type(model))


@contextlib.contextmanager
def our_trainer_at_work() -> Iterator[None]:
    """Mark a block as work of our trainer."""
    token = OUR_TRAINER_IS_AT_WORK.set(True)
    try:
        yield
    finally:
        OUR_TRAINER_IS_AT_WORK.reset(token)
