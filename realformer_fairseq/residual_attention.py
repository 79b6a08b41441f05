"""Multi-head attention whose scores are carried from layer to layer.

RealFormer (He et al. 2020, arXiv 2012.11747, section 3): ``S_l = Q_l K_l^T / sqrt(d_k) + S_{l-1}``,
``P_l = softmax(S_l + mask)``. ``sum`` carries this sum. ``mean`` carries the running mean of the
fresh scores, which section 4.2 uses for all of machine translation. A mask never enters the chain.

This file holds the attention and the arithmetic of the chain. Threading scores through a stack of
layers is the business of ``encoder.py`` and ``decoder.py``.
"""

from typing import Dict, Optional, Tuple

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor

RESIDUAL_ATTENTION_CHOICES = ("mean", "sum", "none")


def chain_weights(residual_attention: str, layers_traversed: int) -> Tuple[float, float]:
    """Weights of the carried and of the fresh scores in one layer.

    Args:
        residual_attention: ``mean``, ``sum`` or ``none``
        layers_traversed: layers of this chain that were computed before this one

    Returns:
        ``(carry, fresh)`` such that ``scores = carry * previous + fresh * q k^T / sqrt(d_k)``
    """
    if layers_traversed == 0 or residual_attention == "none":
        return 0.0, 1.0
    if residual_attention == "sum":
        return 1.0, 1.0
    return layers_traversed / (layers_traversed + 1), 1.0 / (layers_traversed + 1)


def chained_scores(
    q: Tensor,
    k: Tensor,
    previous_scores: Optional[Tensor],
    scaling: float,
    residual_attention: str,
    layers_traversed: int,
) -> Tensor:
    """Attention scores before mask and softmax, with the scores of the layers below in them.

    Args:
        q: queries ``(B * heads, T, head_dim)``
        k: keys ``(B * heads, S, head_dim)``
        previous_scores: what this function returned in the layer below, ``(B * heads, T, S)``,
            or None in the first layer and outside a chain
        scaling: ``1 / sqrt(head_dim)``

    Returns:
        scores ``(B * heads, T, S)``, of the type of ``q``; a ``sum`` in half precision is float32,
        since its magnitude grows with depth past what a half can resolve
    """
    if previous_scores is None:
        layers_traversed = 0
    carry, fresh = chain_weights(residual_attention, layers_traversed)
    half = q.dtype == torch.float16 or q.dtype == torch.bfloat16
    in_float32 = half and residual_attention == "sum"
    if previous_scores is None or in_float32:
        scores = torch.bmm(q * (fresh * scaling), k.transpose(1, 2))
        if in_float32:
            scores = scores.float()
        return scores if previous_scores is None else scores + previous_scores
    return torch.baddbmm(previous_scores, q, k.transpose(1, 2), beta=carry, alpha=fresh * scaling)


def attention_probabilities(
    scores: Tensor,
    attn_mask: Optional[Tensor],
    key_padding_mask: Optional[Tensor],
    lowest: float = torch.finfo(torch.float32).min,
) -> Tensor:
    """Masked softmax over the keys, in float32.

    A masked score becomes the lowest finite number instead of minus infinity: the probabilities
    are the same, and a row with nothing left to attend to is uniform instead of NaN.

    Args:
        scores: ``(B * heads, T, S)``
        attn_mask: additive mask ``(T, S)``, for example the decoder's future mask
        key_padding_mask: ``(B, S)``, true (or non-zero) at padding
        lowest: what a masked score becomes; an argument because TorchScript knows no ``finfo``

    Returns:
        float32 probabilities ``(B * heads, T, S)``
    """
    scores = scores.float()
    if attn_mask is not None:
        scores = scores + attn_mask.float().clamp(min=lowest)
    if key_padding_mask is not None:
        batch, src_len = key_padding_mask.size()
        tgt_len = scores.size(1)
        scores = scores.view(batch, -1, tgt_len, src_len).masked_fill(
            key_padding_mask.to(torch.bool).unsqueeze(1).unsqueeze(2), lowest
        )
        scores = scores.view(-1, tgt_len, src_len)
    return torch.softmax(scores, dim=-1)


class ResidualMultiheadAttention(MultiheadAttention):
    """fairseq's ``MultiheadAttention`` with scores handed in and out.

    Parameters, initialisation and the layout of the incremental cache (K, V and the padding mask,
    nothing else) are fairseq's. Scores are an argument and a return value, never module state, so
    that activation checkpointing, DDP and beam reordering have nothing to know about them.

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
    ) -> Tuple[Tensor, Optional[Tensor], Optional[Tensor]]:
        """Attend.

        Args:
            query: ``(T, B, C)``
            key, value: ``(S, B, C)``
            key_padding_mask: ``(B, S)``, true at padding
            static_kv: keys and values do not change over the steps (attention to the encoder)
            attn_mask: additive ``(T, S)``
            need_head_weights: return the probabilities of each head instead of their mean
            previous_scores: of the layer below, ``(B * heads, T, S)``
            layers_traversed: layers of this stack computed before this one

        Returns:
            output ``(T, B, C)``; probabilities ``(B, T, S)``, or ``(heads, B, T, S)`` with
            ``need_head_weights``, or None; unmasked scores ``(B * heads, T, S)`` for the layer
            above, or None where no chain is carried
        """
        tgt_len, batch, _ = query.size()
        q = self._split_heads(self.q_proj(query))
        k, v, key_padding_mask = self._keys_and_values(
            key, value, key_padding_mask, incremental_state, static_kv
        )
        scores = chained_scores(
            q, k, previous_scores, self.scaling, self.residual_attention, layers_traversed
        )
        probabilities = attention_probabilities(scores, attn_mask, key_padding_mask)
        # (B * heads, T, S) x (B * heads, S, head_dim) -> (B * heads, T, head_dim) -> (T, B, C)
        attn = torch.bmm(self.dropout_module(probabilities.type_as(v)), v)
        attn = self.out_proj(attn.transpose(0, 1).reshape(tgt_len, batch, -1))

        weights: Optional[Tensor] = None
        if need_weights or need_head_weights:
            weights = probabilities.view(batch, self.num_heads, tgt_len, -1).transpose(0, 1)
            if not need_head_weights:
                weights = weights.mean(dim=0)
        carried: Optional[Tensor] = None
        if self.residual_attention != "none":
            carried = scores
        return attn, weights, carried

    def _split_heads(self, x: Tensor) -> Tensor:
        """``(T, B, C)`` to ``(B * heads, T, head_dim)``."""
        length, batch, _ = x.size()
        return x.reshape(length, batch * self.num_heads, self.head_dim).transpose(0, 1)

    def _keys_and_values(
        self,
        key: Optional[Tensor],
        value: Optional[Tensor],
        key_padding_mask: Optional[Tensor],
        incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]],
        static_kv: bool,
    ) -> Tuple[Tensor, Tensor, Optional[Tensor]]:
        """Project keys and values, or take them from the cache, and keep the cache up to date.

        The cache has fairseq's layout, ``(B, heads, S, head_dim)``.
        """
        saved_state: Dict[str, Optional[Tensor]] = {}
        if incremental_state is not None:
            saved_state = self._get_input_buffer(incremental_state)
        previous_key = saved_state.get("prev_key")
        previous_value = saved_state.get("prev_value")

        if static_kv and previous_key is not None and previous_value is not None:
            k, v = previous_key.flatten(0, 1), previous_value.flatten(0, 1)
            batch = previous_key.size(0)
        else:
            assert key is not None and value is not None
            k, v = self._split_heads(self.k_proj(key)), self._split_heads(self.v_proj(value))
            batch = key.size(1)
            if previous_key is not None and previous_value is not None:
                k = torch.cat([previous_key.flatten(0, 1), k], dim=1)
                v = torch.cat([previous_value.flatten(0, 1), v], dim=1)
        if incremental_state is None:
            return k, v, key_padding_mask

        previous_mask: Optional[Tensor] = None
        if "prev_key_padding_mask" in saved_state:
            previous_mask = saved_state["prev_key_padding_mask"]
        key_padding_mask = self._append_prev_key_padding_mask(
            key_padding_mask=key_padding_mask,
            prev_key_padding_mask=previous_mask,
            batch_size=batch,
            src_len=k.size(1),
            static_kv=static_kv,
        )
        saved_state["prev_key"] = k.view(batch, self.num_heads, -1, self.head_dim)
        saved_state["prev_value"] = v.view(batch, self.num_heads, -1, self.head_dim)
        saved_state["prev_key_padding_mask"] = key_padding_mask
        self._set_input_buffer(incremental_state, saved_state)
        return k, v, key_padding_mask

    @torch.jit.export
    def reorder_incremental_state(
        self,
        incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]],
        new_order: Tensor,
    ):
        """Bring the cache into a new order of the batch.

        Differs from fairseq-fixed, which leaves the keys of cross-attention where they are unless
        the size of the batch changes. That is right for the beams of one sentence only.

        Args:
            new_order: ``(new batch,)``, which entry of the old batch each new one continues
        """
        saved_state = self._get_input_buffer(incremental_state)
        for name, cached in saved_state.items():
            if cached is not None:
                saved_state[name] = cached.index_select(0, new_order)
        if len(saved_state) > 0:
            incremental_state = self._set_input_buffer(incremental_state, saved_state)
        return incremental_state
