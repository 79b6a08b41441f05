"""The shapes of what is kept between the steps of incremental decoding, and how it is reordered.

The encoder's keys and values are the same for all beams of a sentence and are kept once for them:
functions here tell from an order what becomes of the sentences. Those of self-attention are copied
once a step. TorchScript can compile all of it.
"""

from typing import Dict, List, Optional

import torch
from torch import Tensor


def sentence_order(new_order: Tensor, beam: int) -> Optional[Tensor]:
    """Which sentences go on, if every new group of beams continues one sentence; else None.

    Args:
        new_order: ``(new sentences * beam,)``, which entry of the old batch each entry continues
        beam: neighbours in the old batch that belong to one sentence

    Returns:
        ``(new sentences,)``
    """
    if new_order.size(0) % beam != 0:
        return None
    groups = new_order.div(beam, rounding_mode="floor").view(-1, beam)
    sentences = groups[:, 0]
    return sentences if bool((groups == groups[:, :1]).all()) else None


def is_unchanged(order: Tensor, size: int) -> bool:
    """Whether an order leaves a batch of that size as it is."""
    return torch.equal(order, torch.arange(size, device=order.device))


def beams_made(new_order: Tensor, sentences: int) -> int:
    """Into how many beams an order copies each sentence of a batch, one after the other; else 1.

    Args:
        new_order: ``(new B,)``, which sentence each entry of the new batch is
    """
    beam = new_order.size(0) // sentences
    if beam * sentences != new_order.size(0):
        return 1
    order = sentence_order(new_order * beam, beam)
    return beam if order is not None and is_unchanged(order, sentences) else 1


def order_of_kept_keys(new_order: Tensor, sentences: int, beam: int) -> Optional[Tensor]:
    """Which of the keys that are kept once a sentence to keep; None to leave them as they are.

    If beams of different sentences become neighbours, there is one entry for each beam in the
    result: from then on keys are kept for every beam. (fairseq's forks take for granted that this
    does not happen.)

    Args:
        new_order: ``(new B,)``, with B counting every beam
        sentences: how many there are keys of
        beam: how many entries of the old batch share the keys of a sentence
    """
    order = sentence_order(new_order, beam)
    if order is None:
        return new_order.div(beam, rounding_mode="floor")
    return None if is_unchanged(order, sentences) else order


def append_step(keys_values: Tensor, order: Optional[Tensor], step: Tensor) -> Tensor:
    """Keys and values of self-attention after one more step.

    One copy does where fairseq has two, ``index_select`` and ``cat``. It copies rows of C numbers,
    which takes half the time of copying slices of the whole.

    Args:
        keys_values: ``(S, 2, old B, C)``
        order: ``(B,)``, which entry of the old batch each entry continues; None for the same
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
    """``(T, B, C)`` to ``(B * heads, T, head_dim)``."""
    length, batch, channels = x.size()
    return x.reshape(length, batch * heads, channels // heads).transpose(0, 1)


def fold_beams(x: Tensor, heads: int, beam: int) -> Tensor:
    """``(T, B, C)`` to ``(B / beam * heads, beam * T, head_dim)``."""
    if beam == 1:
        return split_heads(x, heads)
    length, batch, channels = x.size()
    x = x.reshape(length, batch // beam, beam, heads, channels // heads)
    return x.permute(1, 3, 2, 0, 4).reshape(-1, beam * length, channels // heads)


def unfold_beams(x: Tensor, heads: int, beam: int) -> Tensor:
    """``(B / beam * heads, beam * T, any)`` to ``(B * heads, T, any)``."""
    if beam == 1:
        return x
    x = x.view(-1, heads, beam, x.size(1) // beam, x.size(2))
    return x.transpose(1, 2).flatten(0, 2)


def shared_by(encoder_out: Dict[str, List[Tensor]]) -> int:
    """How many neighbours in the batch are copies of the same sentence, as far as is known."""
    return int(encoder_out["beam"][0]) if "beam" in encoder_out else 1
