"""One decoder layer that takes the attention scores of the layer below and returns its own."""

from typing import Dict, Optional, Tuple

import torch
from fairseq.modules.transformer_layer import TransformerDecoderLayerBase
from torch import Tensor

from .decoding_cache import order_of_cached_keys
from .residual_attention import ResidualMultiheadAttention
from .sublayer_scaling import build_residual, initialize_deepnorm


class RealFormerDecoderLayer(TransformerDecoderLayerBase):
    """fairseq's decoder layer with residual scores in self-attention and cross-attention.

    Args:
        cfg: ``RealFormerConfig``
        no_encoder_attn: leave cross-attention out (``--no-cross-attention``)
    """

    def __init__(self, cfg, no_encoder_attn=False):
        super().__init__(cfg, no_encoder_attn)
        self.self_attn_residual = build_residual(cfg, "decoder")
        if not no_encoder_attn:
            self.encoder_attn_residual = build_residual(cfg, "decoder")
        self.ffn_residual = build_residual(cfg, "decoder")
        if str(cfg.sublayer_scaling) == "deepnorm":
            initialize_deepnorm(self, cfg, "decoder")

    def build_self_attention(self, embed_dim, cfg, add_bias_kv=False, add_zero_attn=False):
        return ResidualMultiheadAttention(
            embed_dim,
            cfg.decoder.attention_heads,
            residual_attention=cfg.residual_attention_of("decoder"),
            attention_kernel=str(cfg.attention_kernel),
            dropout=cfg.attention_dropout,
            add_bias_kv=add_bias_kv,
            add_zero_attn=add_zero_attn,
            self_attention=not cfg.cross_self_attention,
            q_noise=self.quant_noise,
            qn_block_size=self.quant_noise_block_size,
            xformers_att_config=cfg.decoder.xformers_att_config,
        )

    def build_encoder_attention(self, embed_dim, cfg):
        return ResidualMultiheadAttention(
            embed_dim,
            cfg.decoder.attention_heads,
            residual_attention=cfg.residual_attention_of("cross"),
            attention_kernel=str(cfg.attention_kernel),
            kdim=cfg.encoder.embed_dim,
            vdim=cfg.encoder.embed_dim,
            dropout=cfg.attention_dropout,
            encoder_decoder_attention=True,
            q_noise=self.quant_noise,
            qn_block_size=self.quant_noise_block_size,
            xformers_att_config=cfg.encoder.xformers_att_config,
        )

    def forward(
        self,
        x: Tensor,
        encoder_out: Optional[Tensor] = None,
        encoder_padding_mask: Optional[Tensor] = None,
        incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]] = None,
        self_attn_mask: Optional[Tensor] = None,
        self_attn_padding_mask: Optional[Tensor] = None,
        need_attn: bool = False,
        need_head_weights: bool = False,
        previous_self_attn_scores: Optional[Tensor] = None,
        previous_encoder_attn_scores: Optional[Tensor] = None,
        layers_traversed: int = 0,
        beam: int = 1,
        is_last: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
        """One layer: the forward of ``fairseq/modules/transformer_layer.py`` with scores.

        Args:
            x: ``(T, B, C)``; T is 1 with an ``incremental_state``
            encoder_out: ``(S, B, C)``
            encoder_padding_mask: ``(B, S)``, true at padding
            self_attn_mask: additive future mask ``(T, T)``
            self_attn_padding_mask: ``(B, T)``, true at padding
            need_attn: return the probabilities of cross-attention
            need_head_weights: return them for each head
            previous_self_attn_scores: of the layer below, ``(B * heads, T, T so far)``
            previous_encoder_attn_scores: of the layer below, ``(B * heads, T, S)``; of beams that
                share ``encoder_out``, as ``ResidualMultiheadAttention.forward`` returns them
            layers_traversed: decoder layers computed before this one
            beam: number of neighbours in the batch that have the same ``encoder_out``
            is_last: no layer above takes the scores

        Returns:
            output ``(T, B, C)``; cross-attention probabilities ``(heads, B, T, S)``,
            ``(B, T, S)`` or None; scores of self-attention and of cross-attention, each None
            as of the attention
        """
        # Departs from fairseq: no prev_self_attn_state, prev_attn_state or ONNX trace.
        attn: Optional[Tensor] = None
        encoder_attn_scores: Optional[Tensor] = None

        residual = x
        if self.normalize_before:
            x = self.self_attn_layer_norm(x)
        y = x
        # Departs from fairseq: the cache has a layout of its own.
        if self.cross_self_attention and not self._has_cached_keys(incremental_state):
            assert encoder_out is not None
            y = torch.cat((encoder_out, x), dim=0)
            self_attn_mask, self_attn_padding_mask = self._masks_with_encoder(
                encoder_out, encoder_padding_mask, self_attn_mask, self_attn_padding_mask
            )
        # Departs from fairseq: attention takes and returns scores.
        x, _, self_attn_scores = self.self_attn(
            query=x,
            key=y,
            value=y,
            key_padding_mask=self_attn_padding_mask,
            incremental_state=incremental_state,
            need_weights=False,
            attn_mask=self_attn_mask,
            previous_scores=previous_self_attn_scores,
            layers_traversed=layers_traversed,
            is_last=is_last,
        )
        if self.c_attn is not None:
            tgt_len, batch = x.size(0), x.size(1)
            x = x.view(tgt_len, batch, self.nh, self.head_dim)
            x = torch.einsum("tbhd,h->tbhd", x, self.c_attn).reshape(tgt_len, batch, -1)
        if self.attn_ln is not None:
            x = self.attn_ln(x)
        # Departs from fairseq: omega scales the residual, here and below.
        x = self.self_attn_residual(self.dropout_module(x), residual)
        if not self.normalize_before:
            x = self.self_attn_layer_norm(x)

        if self.encoder_attn is not None and encoder_out is not None:
            residual = x
            if self.normalize_before:
                x = self.encoder_attn_layer_norm(x)
            # Departs from fairseq: scores, keys shared by beams, probabilities only on request.
            x, attn, encoder_attn_scores = self.encoder_attn(
                query=x,
                key=encoder_out,
                value=encoder_out,
                key_padding_mask=encoder_padding_mask,
                incremental_state=incremental_state,
                static_kv=True,
                need_weights=need_attn,
                need_head_weights=need_head_weights,
                previous_scores=previous_encoder_attn_scores,
                layers_traversed=layers_traversed,
                beam=beam,
                is_last=is_last,
            )
            x = self.encoder_attn_residual(self.dropout_module(x), residual)
            if not self.normalize_before:
                x = self.encoder_attn_layer_norm(x)

        residual = x
        if self.normalize_before:
            x = self.final_layer_norm(x)
        x = self.activation_dropout_module(self.activation_fn(self.fc1(x)))
        if self.ffn_layernorm is not None:
            x = self.ffn_layernorm(x)
        x = self.dropout_module(self.fc2(x))
        if self.w_resid is not None:
            residual = torch.mul(self.w_resid, residual)
        x = self.ffn_residual(x, residual)
        if not self.normalize_before:
            x = self.final_layer_norm(x)
        return x, attn, self_attn_scores, encoder_attn_scores

    def order_of_encoder_keys(
        self, incremental_state: Dict[str, Dict[str, Optional[Tensor]]], new_order: Tensor
    ) -> Optional[Tensor]:
        """The new order of the encoder's cached keys, or None if it does not change.

        Args:
            new_order: ``(new B,)``, entry of the old batch that each new entry continues
        """
        if self.encoder_attn is None:
            return None
        sentences = self.encoder_attn.cached_batch_size(incremental_state)
        batch = self.self_attn.cached_batch_size(incremental_state)
        if sentences is None or batch is None:
            return None
        return order_of_cached_keys(new_order, sentences, batch // sentences)

    def _has_cached_keys(
        self, incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]]
    ) -> bool:
        if incremental_state is None:
            return False
        return self.self_attn.cached_batch_size(incremental_state) is not None

    def _masks_with_encoder(
        self,
        encoder_out: Tensor,
        encoder_padding_mask: Optional[Tensor],
        self_attn_mask: Optional[Tensor],
        self_attn_padding_mask: Optional[Tensor],
    ) -> Tuple[Optional[Tensor], Optional[Tensor]]:
        """Masks over encoder and decoder positions, for ``--cross-self-attention``.

        Returns:
            additive ``(T, S + T)`` and padding ``(B, S + T)``
        """
        if self_attn_mask is not None:
            visible = self_attn_mask.new_zeros(self_attn_mask.size(0), encoder_out.size(0))
            self_attn_mask = torch.cat((visible, self_attn_mask), dim=1)
        if self_attn_padding_mask is not None:
            if encoder_padding_mask is None:
                encoder_padding_mask = self_attn_padding_mask.new_zeros(
                    encoder_out.size(1), encoder_out.size(0)
                )
            self_attn_padding_mask = torch.cat(
                (encoder_padding_mask, self_attn_padding_mask), dim=1
            )
        return self_attn_mask, self_attn_padding_mask
