"""Multi-head attention that takes the scores of the layer below and returns its own.

RealFormer (He et al. 2020, arXiv 2012.11747, section 3). ``residual_scores.py`` has the arithmetic
of the scores, ``decoding_cache.py`` that of the cache. ``models/encoder.py`` and
``models/decoder.py`` pass scores from layer to layer.
"""

from typing import Dict, Optional, Tuple

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor, nn

from .decoding_cache import append_step, fold_beams, split_heads, unfold_beams
from .fused_attention import fused_attention, is_chosen
from .linear import pack
from .residual_scores import additive_mask, attention_probabilities, chained_scores


class ResidualMultiheadAttention(MultiheadAttention):
    """fairseq's ``MultiheadAttention`` that takes and returns scores.

    Parameters and initialisation are fairseq's. Scores are arguments and return values, never
    module state, so activation checkpointing, DDP and beam reordering work unchanged. The cache of
    incremental decoding is copied less often than fairseq's.

    Args:
        embed_dim: ``C``
        num_heads: divides ``embed_dim``
        residual_attention: ``mean``, ``sum``, or ``none`` (fairseq's attention)
        attention_kernel: ``auto``, ``eager`` or ``fused``; the last where it can be used, which no
            step of incremental decoding is
        kwargs: further arguments of ``fairseq/modules/multihead_attention.py``

    Raises:
        ValueError: for xFormers, which does not return scores, and for ``add_bias_kv`` and
            ``add_zero_attn``, which no option of the Transformer sets
    """

    def __init__(
        self, embed_dim, num_heads, residual_attention="mean", attention_kernel="auto", **kwargs
    ):
        if kwargs.get("xformers_att_config") is not None:
            raise ValueError(
                "--encoder-xformers-att-config and --decoder-xformers-att-config cannot be used "
                "with a realformer model: xFormers does not hand out attention scores"
            )
        if kwargs.get("add_bias_kv") or kwargs.get("add_zero_attn"):
            raise ValueError("add_bias_kv and add_zero_attn are not supported")
        super().__init__(embed_dim, num_heads, **kwargs)
        self.residual_attention = residual_attention
        self.is_fused = is_chosen(attention_kernel)
        self.packed: Optional[nn.Module] = None

    def pack_projections(self) -> None:
        """From now on, compute queries, keys and values of a decoding step in one product."""
        if self.self_attention and self.packed is None:
            self.packed = pack(self.q_proj, self.k_proj, self.v_proj)

    def forward(
        self,
        query: Tensor,
        key: Optional[Tensor],
        value: Optional[Tensor],
        key_padding_mask: Optional[Tensor] = None,
        incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]] = None,
        need_weights: bool = True,
        static_kv: bool = False,
        attn_mask: Optional[Tensor] = None,
        need_head_weights: bool = False,
        previous_scores: Optional[Tensor] = None,
        layers_traversed: int = 0,
        beam: int = 1,
        is_last: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor], Optional[Tensor]]:
        """Attention whose scores include those of the layers below.

        Args:
            query: ``(T, B, C)``
            key, value: ``(S, B, C)``
            key_padding_mask: ``(B, S)``, true at padding
            static_kv: keys and values do not change over the steps (attention to the encoder)
            attn_mask: additive ``(T, S)``
            need_head_weights: return the probabilities of each head instead of their mean
            previous_scores: of the layer below, with the shape of the returned scores
            layers_traversed: layers of this stack computed before this one
            beam: number of neighbours in the batch that have the same keys and values; with
                ``static_kv`` the cache holds these once for all of them
            is_last: no layer above takes the scores, so that a fused kernel need not write them

        Returns:
            output ``(T, B, C)``; probabilities ``(B, T, S)``, or ``(heads, B, T, S)`` with
            ``need_head_weights``, or None; unmasked scores ``(B * heads, T, S)`` for the layer
            above, or None without a chain, and from a fused kernel also with ``is_last``. If beams
            share cached keys, the scores are ``(B / beam * heads, beam * T, S)``
        """
        tgt_len, batch, _ = query.size()
        whole = incremental_state is None and not (need_weights or need_head_weights)
        if not torch.jit.is_scripting() and self.is_fused and whole:
            masks, below = (key_padding_mask, attn_mask), (previous_scores, layers_traversed)
            fused = fused_attention(self, query, key, value, *masks, *below, is_last)
            if fused is not None:
                return self.out_proj(fused[0]), None, fused[1]
        q, k, v, mask, beam = self._project(
            query, key, value, key_padding_mask, attn_mask, incremental_state, static_kv, beam
        )
        scores = chained_scores(
            q, k, previous_scores, self.scaling, self.residual_attention, layers_traversed
        )
        probabilities = attention_probabilities(scores, mask, self.num_heads)
        # (B * heads, T, S) x (B * heads, S, head_dim) -> (B * heads, T, head_dim) -> (T, B, C)
        attn = torch.bmm(self.dropout_module(probabilities.type_as(v)), v)
        attn = unfold_beams(attn, self.num_heads, beam)
        attn = self.out_proj(attn.transpose(0, 1).reshape(tgt_len, batch, -1))

        weights: Optional[Tensor] = None
        if need_weights or need_head_weights:
            probabilities = unfold_beams(probabilities, self.num_heads, beam)
            weights = probabilities.view(batch, self.num_heads, tgt_len, -1).transpose(0, 1)
            if not need_head_weights:
                weights = weights.mean(dim=0)
        carried: Optional[Tensor] = None
        if self.residual_attention != "none":
            carried = scores
        return attn, weights, carried

    def _project(
        self,
        query: Tensor,
        key: Optional[Tensor],
        value: Optional[Tensor],
        key_padding_mask: Optional[Tensor],
        attn_mask: Optional[Tensor],
        incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]],
        static_kv: bool,
        beam: int,
    ) -> Tuple[Tensor, Tensor, Tensor, Optional[Tensor], int]:
        """Queries, keys and values split into heads, with the cached ones of earlier steps.

        Returns:
            queries ``(B * heads, T, head_dim)``; keys and values ``(B * heads, S, head_dim)``;
            additive mask or None; number of neighbours that share keys. If it is above 1, B counts
            these neighbours once and T counts the queries of all of them
        """
        if incremental_state is not None and static_kv:
            k, v, mask = self._keys_of_encoder(
                key, value, key_padding_mask, incremental_state, beam
            )
            beam = query.size(1) * self.num_heads // k.size(0)
            return fold_beams(self.q_proj(query), self.num_heads, beam), k, v, mask, beam
        assert key is not None and value is not None
        if incremental_state is None:
            q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        else:
            q, keys_values, key_padding_mask = self._keys_so_far(
                query, key, value, key_padding_mask, incremental_state
            )
            k, v = keys_values[:, 0], keys_values[:, 1]
        q, k, v = (
            split_heads(q, self.num_heads),
            split_heads(k, self.num_heads),
            split_heads(v, self.num_heads),
        )
        return q, k, v, additive_mask(attn_mask, key_padding_mask), 1

    def _keys_so_far(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Optional[Tensor],
        incremental_state: Dict[str, Dict[str, Optional[Tensor]]],
    ) -> Tuple[Tensor, Tensor, Optional[Tensor]]:
        """Project one step, and append its keys and values to the cached ones.

        Returns:
            queries ``(T, B, C)``; keys and values ``(S, 2, B, C)``; padding mask ``(B, S)`` or None
        """
        q, keys_values = self._project_step(query, key, value)
        state = self._get_input_buffer(incremental_state)
        previous_mask: Optional[Tensor] = None
        if "prev_key_value" in state:
            cached = state["prev_key_value"]
            assert cached is not None
            keys_values = append_step(cached, state["order"], keys_values)
            previous_mask = state["prev_key_padding_mask"]
        key_padding_mask = self._append_prev_key_padding_mask(
            key_padding_mask=key_padding_mask,
            prev_key_padding_mask=previous_mask,
            batch_size=keys_values.size(2),
            src_len=keys_values.size(0),
            static_kv=False,
        )
        state["prev_key_value"] = keys_values
        state["order"] = None
        state["prev_key_padding_mask"] = key_padding_mask
        self._set_input_buffer(incremental_state, state)
        return q, keys_values, key_padding_mask

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
        """Keys and values of the encoder, projected and cached once for ``beam`` neighbours.

        Returns:
            keys and values ``(B / beam * heads, S, head_dim)``; additive mask
            ``(B / beam, 1, 1, S)`` or None
        """
        state = self._get_input_buffer(incremental_state)
        if "prev_key" not in state:
            assert key is not None and value is not None
            key, value = key[:, ::beam], value[:, ::beam]
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[::beam]
            kept = (key.size(1), self.num_heads, -1, self.head_dim)
            state["prev_key"] = split_heads(self.k_proj(key), self.num_heads).reshape(kept)
            state["prev_value"] = split_heads(self.v_proj(value), self.num_heads).reshape(kept)
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
        """Reorder the cache.

        Args:
            new_order: cached entry that each new entry continues. If the cache holds keys of the
                encoder once a sentence, its entries are sentences
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

    def cached_batch_size(
        self, incremental_state: Dict[str, Dict[str, Optional[Tensor]]]
    ) -> Optional[int]:
        """Batch size of the cached keys, or None before the first step."""
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
