"""Cached keys and values of incremental decoding: their shapes, and how beam search reorders them.

All beams of a sentence share the encoder's keys and values, so the cache holds them once a
sentence. The keys and values of self-attention are copied once a step. TorchScript compiles this.
The search enters at ``RealFormerDecoder.reorder_incremental_state_scripting`` (models/decoder.py)
and ``RealFormerEncoder.reorder_encoder_out`` (models/encoder.py).
"""

from typing import Dict, List, Optional

import torch
from torch import Tensor


def sentence_order(new_order: Tensor, beam: int) -> Optional[Tensor]:
    """The sentence that each new group of beams continues, or None if a group mixes sentences.

    Args:
        new_order: ``(new sentences * beam,)``, entry of the old batch that each entry continues
        beam: number of neighbours in the old batch that belong to one sentence

    Returns:
        ``(new sentences,)``
    """
    if new_order.size(0) % beam != 0:
        return None
    groups = new_order.div(beam, rounding_mode="floor").view(-1, beam)
    sentences = groups[:, 0]
    return sentences if bool((groups == groups[:, :1]).all()) else None


def is_unchanged(order: Tensor, size: int) -> bool:
    """Whether an order leaves a batch of this size as it is."""
    return torch.equal(order, torch.arange(size, device=order.device))


def beams_made(new_order: Tensor, sentences: int) -> int:
    """Number of beams into which an order copies each sentence in turn, or 1 for other orders.

    Args:
        new_order: ``(new B,)``, the sentence of each new entry
    """
    beam = new_order.size(0) // sentences
    if beam * sentences != new_order.size(0):
        return 1
    order = sentence_order(new_order * beam, beam)
    return beam if order is not None and is_unchanged(order, sentences) else 1


def order_of_cached_keys(new_order: Tensor, sentences: int, beam: int) -> Optional[Tensor]:
    """The new order of keys that are cached once a sentence, or None if it does not change.

    If a group of beams mixes sentences, the result has one entry for each beam. From then on the
    cache holds keys for every beam. (fairseq's forks assume that this does not happen.)

    Args:
        new_order: ``(new B,)``, where B counts every beam
        sentences: number of sentences in the cache
        beam: number of entries of the old batch that share the keys of a sentence
    """
    order = sentence_order(new_order, beam)
    if order is None:
        return new_order.div(beam, rounding_mode="floor")
    return None if is_unchanged(order, sentences) else order


def append_step(keys_values: Tensor, order: Optional[Tensor], step: Tensor) -> Tensor:
    """Keys and values of self-attention after one more step.

    This is one copy where fairseq makes two, ``index_select`` and ``cat``. Copying rows of C
    numbers takes half the time of copying slices of the tensor.

    Args:
        keys_values: ``(S, 2, old B, C)``
        order: ``(B,)``, entry of the old batch that each entry continues; None for no change
        step: ``(T, 2, B, C)``

    Returns:
        ``(S + T, 2, B, C)``
    """
    if order is None:
        return torch.cat([keys_values, step])
    if torch.is_grad_enabled():  # index_select(out=...) cannot be differentiated
        return torch.cat([keys_values.index_select(2, order), step])
    length, _, batch, channels = keys_values.size()
    first_rows = torch.arange(0, 2 * length * batch, batch, device=order.device)
    rows = (first_rows.unsqueeze(1) + order).view(-1)
    grown = keys_values.new_empty(length + step.size(0), 2, order.size(0), channels)
    kept = grown[:length].view(-1, channels)
    torch.index_select(keys_values.reshape(-1, channels), 0, rows, out=kept)
    grown[length:] = step
    return grown


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Reshape ``(T, B, C)`` to ``(B * heads, T, head_dim)``."""
    length, batch, channels = x.size()
    return x.reshape(length, batch * heads, channels // heads).transpose(0, 1)


def fold_beams(x: Tensor, heads: int, beam: int) -> Tensor:
    """Reshape ``(T, B, C)`` to ``(B / beam * heads, beam * T, head_dim)``."""
    if beam == 1:
        return split_heads(x, heads)
    length, batch, channels = x.size()
    x = x.reshape(length, batch // beam, beam, heads, channels // heads)
    return x.permute(1, 3, 2, 0, 4).reshape(-1, beam * length, channels // heads)


def unfold_beams(x: Tensor, heads: int, beam: int) -> Tensor:
    """Reshape ``(B / beam * heads, beam * T, any)`` to ``(B * heads, T, any)``."""
    if beam == 1:
        return x
    x = x.view(-1, heads, beam, x.size(1) // beam, x.size(2))
    return x.transpose(1, 2).flatten(0, 2)


def shared_by(encoder_out: Dict[str, List[Tensor]]) -> int:
    """Number of neighbours in the batch that are copies of one sentence, 1 if not recorded."""
    return int(encoder_out["beam"][0]) if "beam" in encoder_out else 1
