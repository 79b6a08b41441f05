"""Read the attention probabilities of a model while it runs, without changing what it computes.

It works for our models and for fairseq's ``transformer``, ``roberta`` and ``transformer_lm``:
``self_attn`` and ``encoder_attn`` of a layer must have the call signature of fairseq's
``MultiheadAttention``.
"""

import inspect
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Callable, Iterable, Iterator, NamedTuple, Optional

import torch
from fairseq.models.roberta import RobertaModel
from torch import Tensor, nn

from realformer_runtime.command_line import UserError

from ..models.masked_lm import RealFormerMaskedLM
from ..models.stacks import ModelOfStacks

# For each kind of attention, its stack and its name in a layer.
PLACES = {
    "encoder": ("encoder", "self_attn"),
    "decoder": ("decoder", "self_attn"),
    "cross": ("decoder", "encoder_attn"),
}
MASKED = -1e4  # largest value of a mask: fairseq's in half precision, else -1e8 or minus infinity

Receiver = Callable[[str, int, Tensor, Tensor], None]


class Place(NamedTuple):
    """One attention of a model; layers count from 0 at the bottom, as in parameter names."""

    attention: str
    layer: int
    module: nn.Module


def layers_of(model: nn.Module, side: str) -> Iterable[nn.Module]:
    """The layers of the encoder or the decoder of a model, none if it has no such stack."""
    if not hasattr(model, side):
        return ()
    theirs = RealFormerMaskedLM if isinstance(model, RobertaModel) else ModelOfStacks
    return model.get_submodule(getattr(model, "stacks", theirs.stacks)[side]).layers


def attention_modules(model: nn.Module) -> Iterator[Place]:
    """Each attention of a model."""
    for attention, (side, name) in PLACES.items():
        for layer, block in enumerate(layers_of(model, side)):
            module = getattr(block, name, None)
            if module is not None:
                yield Place(attention, layer, module)


def attendable_keys(
    probabilities: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor]
) -> Tensor:
    """Whether each query may attend to each key, ``(B, T, S)``.

    Args:
        probabilities: ``(heads, B, T, S)``
        attn_mask: ``(T, S)``, additive, or true where attention is not allowed
        key_padding_mask: ``(B, S)``, true (or non-zero) at padding
    """
    attendable = torch.ones_like(probabilities[0], dtype=torch.bool)
    if attn_mask is not None:
        masked = attn_mask if attn_mask.dtype == torch.bool else attn_mask <= MASKED
        attendable &= ~masked.to(attendable.device)
    if key_padding_mask is not None:
        attendable &= ~key_padding_mask.to(torch.bool).unsqueeze(1)
    return attendable


def ask_for_heads(module, args, kwargs):
    """Forward pre-hook that requests the probabilities of each head."""
    return args, {**kwargs, "need_weights": True, "need_head_weights": True}


@contextmanager
def hooked(places: Iterable[Place], hook: Callable[..., None]) -> Iterator[None]:
    """A context in which attentions return the probabilities of each head.

    Args:
        hook: called after each attention with its place, arguments by position and by name, output
    """
    with ExitStack() as stack:
        for place in places:
            module = place.module
            # With this check fairseq's attention may call torch's, which returns only the mean over
            # the heads. Without the check it computes the same result itself.
            stack.callback(setattr, module, "skip_embed_dim_check", module.skip_embed_dim_check)
            module.skip_embed_dim_check = True

            def call(module, args, kwargs, output, place=place) -> None:
                hook(place, args, kwargs, output)

            stack.enter_context(module.register_forward_pre_hook(ask_for_heads, with_kwargs=True))
            stack.enter_context(module.register_forward_hook(call, with_kwargs=True))
        yield


def recorded_attention(model: nn.Module, receive: Receiver) -> AbstractContextManager:
    """A context in which a function receives each attention that a model computes.

    Args:
        receive: called with kind of attention, layer, probabilities ``(heads, B, T, S)`` and the
            attendable keys ``(B, T, S)``; in each stack from the bottom to the top

    Raises:
        UserError: an attention does not return its probabilities
    """
    places = list(attention_modules(model))
    if any(getattr(place.module, "use_xformers", False) for place in places):
        raise UserError("the model has xFormers attention, which hands no probabilities out")

    def hook(place, args, kwargs, output) -> None:
        given = inspect.signature(place.module.forward).bind(*args, **kwargs).arguments
        masks = given.get("attn_mask"), given.get("key_padding_mask")
        receive(place.attention, place.layer, output[1], attendable_keys(output[1], *masks))

    return hooked(places, hook)
