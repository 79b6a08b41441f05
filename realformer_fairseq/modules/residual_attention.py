"""Multi-head attention that takes the scores of the layer below and returns its own.

RealFormer (He et al. 2020, arXiv 2012.11747, section 3). The arithmetic of the scores is in
``residual_scores.py``, the projections and the cache of incremental decoding in
``cached_projections.py``. Threading scores through a stack of layers is the business of
``encoder.py`` and ``decoder.py``.
"""

from typing import Dict, Optional, Tuple

import torch
from torch import Tensor

from .cached_projections import CachedProjections
from .residual_scores import additive_mask, attention_probabilities, chained_scores


class ResidualMultiheadAttention(CachedProjections):
    """fairseq's ``MultiheadAttention`` with scores handed in and out.

    Parameters and initialisation are fairseq's. Scores are an argument and a return value, never
    module state, so that activation checkpointing, DDP and beam reordering have nothing to know
    about them.

    Args:
        embed_dim: ``C``
        num_heads: number of heads; divides ``embed_dim``
        residual_attention: ``mean``, ``sum``, or ``none`` (then this is fairseq's attention)
        kwargs: fairseq's further arguments, see ``fairseq/modules/multihead_attention.py``

    Raises:
        ValueError: for an xFormers configuration, which computes its scores out of reach, and for
            ``add_bias_kv`` and ``add_zero_attn``, which no option of the Transformer sets
    """

    def __init__(self, embed_dim, num_heads, residual_attention="mean", **kwargs):
        if kwargs.get("xformers_att_config") is not None:
            raise ValueError(
                "--encoder-xformers-att-config and --decoder-xformers-att-config cannot be used "
                "with a realformer model: xFormers does not hand out attention scores"
            )
        if kwargs.get("add_bias_kv") or kwargs.get("add_zero_attn"):
            raise ValueError("add_bias_kv and add_zero_attn are not supported")
        super().__init__(embed_dim, num_heads, **kwargs)
        self.residual_attention = residual_attention

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
    ) -> Tuple[Tensor, Optional[Tensor], Optional[Tensor]]:
        """Attend.

        Args:
            query: ``(T, B, C)``
            key, value: ``(S, B, C)``
            key_padding_mask: ``(B, S)``, true at padding
            static_kv: keys and values do not change over the steps (attention to the encoder)
            attn_mask: additive ``(T, S)``
            need_head_weights: return the probabilities of each head instead of their mean
            previous_scores: of the layer below, of the shape of the scores returned
            layers_traversed: layers of this stack computed before this one
            beam: so many neighbours in the batch have the same keys and values. With
                ``static_kv`` they are kept and read once for all of them

        Returns:
            output ``(T, B, C)``; probabilities ``(B, T, S)``, or ``(heads, B, T, S)`` with
            ``need_head_weights``, or None; unmasked scores ``(B * heads, T, S)`` for the layer
            above, or None where no chain is carried. Where the encoder's keys are kept once for
            the beams of a sentence, these are queries of one sentence:
            ``(B / beam * heads, beam * T, S)``
        """
        tgt_len, batch, _ = query.size()
        if incremental_state is None:
            assert key is not None and value is not None
            q = self._split_heads(self.q_proj(query))
            k, v = self._split_heads(self.k_proj(key)), self._split_heads(self.v_proj(value))
            mask = additive_mask(attn_mask, key_padding_mask)
            beam = 1
        elif static_kv:
            k, v, mask = self._keys_of_encoder(
                key, value, key_padding_mask, incremental_state, beam
            )
            beam = batch * self.num_heads // k.size(0)
            q = self._fold_beams(self.q_proj(query), beam)
        else:
            q, k, v, key_padding_mask = self._keys_so_far(
                query, key, value, key_padding_mask, incremental_state
            )
            mask = additive_mask(attn_mask, key_padding_mask)
            beam = 1
        scores = chained_scores(
            q, k, previous_scores, self.scaling, self.residual_attention, layers_traversed
        )
        probabilities = attention_probabilities(scores, mask, self.num_heads)
        # (B * heads, T, S) x (B * heads, S, head_dim) -> (B * heads, T, head_dim) -> (T, B, C)
        attn = torch.bmm(self.dropout_module(probabilities.type_as(v)), v)
        if beam > 1:
            attn = self._unfold_beams(attn, beam)
        attn = self.out_proj(attn.transpose(0, 1).reshape(tgt_len, batch, -1))

        weights: Optional[Tensor] = None
        if need_weights or need_head_weights:
            if beam > 1:
                probabilities = self._unfold_beams(probabilities, beam)
            weights = probabilities.view(batch, self.num_heads, tgt_len, -1).transpose(0, 1)
            if not need_head_weights:
                weights = weights.mean(dim=0)
        carried: Optional[Tensor] = None
        if self.residual_attention != "none":
            carried = scores
        return attn, weights, carried

    def _fold_beams(self, x: Tensor, beam: int) -> Tensor:
        """``(T, B, C)`` to ``(B / beam * heads, beam * T, head_dim)``."""
        if beam == 1:
            return self._split_heads(x)
        length, batch, _ = x.size()
        x = x.reshape(length, batch // beam, beam, self.num_heads, self.head_dim)
        return x.permute(1, 3, 2, 0, 4).reshape(-1, beam * length, self.head_dim)

    def _unfold_beams(self, x: Tensor, beam: int) -> Tensor:
        """``(B / beam * heads, beam * T, any)`` to ``(B * heads, T, any)``."""
        x = x.view(-1, self.num_heads, beam, x.size(1) // beam, x.size(2))
        return x.transpose(1, 2).flatten(0, 2)
