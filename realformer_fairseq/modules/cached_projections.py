"""Queries, keys and values of attention, and what is kept of them in incremental decoding.

No scores are computed here: see ``residual_attention.py``.
"""

from typing import Dict, Optional, Tuple

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor, nn
from torch.nn.utils import skip_init

from .decoding_cache import append_step
from .linear import Linear
from .residual_scores import additive_mask


class CachedProjections(MultiheadAttention):
    """fairseq's ``MultiheadAttention`` with a cache that is copied less often.

    Parameters and initialisation are fairseq's.

    Args:
        args, kwargs: fairseq's, see ``fairseq/modules/multihead_attention.py``
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.packed: Optional[nn.Module] = None

    def pack_projections(self) -> None:
        """Have one product make queries, keys and values in incremental decoding, from now on.

        The three weights become parts of one, so that what is written to them reaches it.
        """
        projections = (self.q_proj, self.k_proj, self.v_proj)
        if not self.self_attention or self.packed is not None:
            return
        if any(type(p) not in (nn.Linear, Linear) for p in projections) or any(
            p._forward_hooks or p._forward_pre_hooks for p in projections
        ):
            return  # something wants to be asked at every call
        bias = self.q_proj.bias is not None
        # Without drawing initial weights: sampling with a seed stays what it is without packing.
        packed = skip_init(Linear, self.embed_dim, 3 * self.embed_dim, bias=bias)
        for name, parameter in list(packed.named_parameters()):
            parts = [getattr(p, name) for p in projections]
            parameter.data = torch.cat([part.data for part in parts])
            for part, share in zip(parts, parameter.data.chunk(3)):
                part.data = share
            parameter.requires_grad_(False)
        self.packed = packed

    def _split_heads(self, x: Tensor) -> Tensor:
        """``(T, B, C)`` to ``(B * heads, T, head_dim)``."""
        length, batch, _ = x.size()
        return x.reshape(length, batch * self.num_heads, self.head_dim).transpose(0, 1)

    def _keys_so_far(
        self,
        query: Tensor,
        key: Optional[Tensor],
        value: Optional[Tensor],
        key_padding_mask: Optional[Tensor],
        incremental_state: Dict[str, Dict[str, Optional[Tensor]]],
    ) -> Tuple[Tensor, Tensor, Tensor, Optional[Tensor]]:
        """Project, and put this step's keys and values behind those of the steps before.

        Returns:
            queries ``(B * heads, T, head_dim)``; keys and values ``(B * heads, S, head_dim)``;
            padding mask ``(B, S)`` or None
        """
        assert key is not None and value is not None
        q, keys_values = self._project_step(query, key, value)
        state = self._get_input_buffer(incremental_state)
        previous_mask: Optional[Tensor] = None
        if "prev_key_value" in state:
            cached = state["prev_key_value"]
            assert cached is not None
            keys_values = append_step(cached, state["order"], keys_values)
            previous_mask = state["prev_key_padding_mask"]
        length, _, batch, _ = keys_values.size()
        key_padding_mask = self._append_prev_key_padding_mask(
            key_padding_mask=key_padding_mask,
            prev_key_padding_mask=previous_mask,
            batch_size=batch,
            src_len=length,
            static_kv=False,
        )
        state["prev_key_value"] = keys_values
        state["order"] = None
        state["prev_key_padding_mask"] = key_padding_mask
        self._set_input_buffer(incremental_state, state)
        k, v = self._split_heads(keys_values[:, 0]), self._split_heads(keys_values[:, 1])
        return self._split_heads(q), k, v, key_padding_mask

    def _project_step(self, query: Tensor, key: Tensor, value: Tensor) -> Tuple[Tensor, Tensor]:
        """Queries ``(T, B, C)``, and keys and values ``(S, 2, B, C)``, of one step."""
        if not torch.jit.is_scripting() and self.packed is not None:
            q, k, v = self._packed_projection(query).chunk(3, dim=-1)
        else:
            q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        return q, torch.stack([k, v], dim=1)

    @torch.jit.unused
    def _packed_projection(self, x: Tensor) -> Tensor:
        """Queries, keys and values ``(T, B, 3 C)``."""
        return self.packed(x)

    def _keys_of_encoder(
        self,
        key: Optional[Tensor],
        value: Optional[Tensor],
        key_padding_mask: Optional[Tensor],
        incremental_state: Dict[str, Dict[str, Optional[Tensor]]],
        beam: int,
    ) -> Tuple[Tensor, Tensor, Optional[Tensor]]:
        """Project keys and values at the first step, and keep them, once for ``beam`` neighbours.

        Returns:
            keys and values ``(kept * heads, S, head_dim)``; additive mask ``(kept, 1, 1, S)`` or
            None
        """
        state = self._get_input_buffer(incremental_state)
        if "prev_key" not in state:
            assert key is not None and value is not None
            key, value = key[:, ::beam], value[:, ::beam]
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[::beam]
            kept = (key.size(1), self.num_heads, -1, self.head_dim)
            state["prev_key"] = self._split_heads(self.k_proj(key)).reshape(kept)
            state["prev_value"] = self._split_heads(self.v_proj(value)).reshape(kept)
            state["mask"] = additive_mask(None, key_padding_mask)
            self._set_input_buffer(incremental_state, state)
        k, v = state["prev_key"], state["prev_value"]
        assert k is not None and v is not None
        return k.flatten(0, 1), v.flatten(0, 1), state["mask"]

    @torch.jit.export
    def reorder_incremental_state(
        self,
        incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]],
        new_order: Tensor,
    ):
        """Bring what is kept into a new order.

        Args:
            new_order: which entry of what is kept each new one continues. That is the batch, or,
                where the encoder's keys are kept once a sentence, the sentences
        """
        state = self._get_input_buffer(incremental_state)
        for name, cached in state.items():
            if cached is not None and name != "prev_key_value":
                state[name] = cached.index_select(0, new_order)
        if "prev_key_value" in state and state["order"] is None:
            state["order"] = new_order  # the next step applies it, when it copies anyway
        if incremental_state is not None and len(state) > 0:
            incremental_state = self._set_input_buffer(incremental_state, state)
        return incremental_state

    def kept_batch(
        self, incremental_state: Dict[str, Dict[str, Optional[Tensor]]]
    ) -> Optional[int]:
        """How many entries of a batch keys are kept of; None before the first step."""
        state = self._get_input_buffer(incremental_state)
        keys: Optional[Tensor] = None
        dimension = 0
        if "prev_key" in state:  # of the encoder
            keys = state["prev_key"]
        elif "prev_key_value" in state:
            keys = state["order"]
            if keys is None:
                keys = state["prev_key_value"]
                dimension = 2
        return None if keys is None else keys.size(dimension)
