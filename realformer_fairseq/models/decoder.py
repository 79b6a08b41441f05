"""The decoder stack: carries attention scores through its layers and reorders their caches."""

from typing import Dict, List, Optional

from fairseq.models.transformer import TransformerDecoderBase
from torch import Tensor

from ..modules.decoder_layer import RealFormerDecoderLayer
from ..modules.decoding_cache import shared_by
from ..modules.linear import replace_linear
from .layer_wrapping import wrap_layer


class RealFormerDecoder(TransformerDecoderBase):
    """fairseq's Transformer decoder with a chain of self-attention and one of cross-attention."""

    def build_decoder_layer(self, cfg, no_encoder_attn=False):
        return wrap_layer(RealFormerDecoderLayer(cfg, no_encoder_attn), cfg)

    def extract_features_scriptable(
        self,
        prev_output_tokens,
        encoder_out: Optional[Dict[str, List[Tensor]]],
        incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]] = None,
        full_context_alignment: bool = False,
        alignment_layer: Optional[int] = None,
        alignment_heads: Optional[int] = None,
    ):
        """Decode up to the output projection.

        A copy of ``fairseq/models/transformer/transformer_decoder.py`` that carries scores. In
        incremental decoding the scores are those of the step's only query, ``(B * heads, 1, keys
        so far)``, so no later step needs them.

        Args:
            prev_output_tokens: ``(B, T)``
            encoder_out: output of the encoder
            full_context_alignment: leave the future mask out
            alignment_layer: layer whose cross-attention is returned, default the last
            alignment_heads: average over this many heads, default all

        Returns:
            features ``(B, T, C)`` and a dictionary: ``attn`` is ``[(B, T, S)]`` or ``[None]``,
            ``inner_states`` is a list of ``(T, B, C)``
        """
        if alignment_layer is None:
            alignment_layer = self.num_layers - 1
        enc: Optional[Tensor] = None
        padding_mask: Optional[Tensor] = None
        if encoder_out is not None and len(encoder_out["encoder_out"]) > 0:
            enc = encoder_out["encoder_out"][0]
        if encoder_out is not None and len(encoder_out["encoder_padding_mask"]) > 0:
            padding_mask = encoder_out["encoder_padding_mask"][0]

        # Departs from fairseq: beams may share the encoder's keys.
        beam = 1 if encoder_out is None else shared_by(encoder_out)

        positions: Optional[Tensor] = None
        if self.embed_positions is not None:
            positions = self.embed_positions(
                prev_output_tokens, incremental_state=incremental_state
            )
        if incremental_state is not None:
            prev_output_tokens = prev_output_tokens[:, -1:]
            if positions is not None:
                positions = positions[:, -1:]
        x = self._embed(prev_output_tokens.contiguous(), positions)
        x = x.transpose(0, 1)  # (B, T, C) -> (T, B, C)

        self_attn_padding_mask: Optional[Tensor] = None
        if self.cross_self_attention or prev_output_tokens.eq(self.padding_idx).any():
            self_attn_padding_mask = prev_output_tokens.eq(self.padding_idx)
        # Departs from fairseq: one mask for all layers.
        self_attn_mask: Optional[Tensor] = None
        if incremental_state is None and not full_context_alignment:
            self_attn_mask = self.buffered_future_mask(x)

        attn: Optional[Tensor] = None
        self_attn_scores: Optional[Tensor] = None
        encoder_attn_scores: Optional[Tensor] = None
        inner_states: List[Optional[Tensor]] = [x]
        # Departs from fairseq: scores pass from layer to layer. The iteration leaves out layers
        # that LayerDrop drops, so it counts the layers traversed.
        for layers_traversed, layer in enumerate(self.layers):
            at_alignment_layer = bool(layers_traversed == alignment_layer)
            x, layer_attn, self_attn_scores, encoder_attn_scores = layer(
                x,
                enc,
                padding_mask,
                incremental_state,
                self_attn_mask=self_attn_mask,
                self_attn_padding_mask=self_attn_padding_mask,
                need_attn=at_alignment_layer,
                need_head_weights=at_alignment_layer,
                previous_self_attn_scores=self_attn_scores,
                previous_encoder_attn_scores=encoder_attn_scores,
                layers_traversed=layers_traversed,
                beam=beam,
                is_last=layers_traversed + 1 == self.num_layers,
            )
            inner_states.append(x)
            if layer_attn is not None and at_alignment_layer:
                attn = layer_attn.float().to(x)  # (heads, B, T, S)

        if attn is not None:
            if alignment_heads is not None:
                attn = attn[:alignment_heads]
            attn = attn.mean(dim=0)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        x = x.transpose(0, 1)  # (T, B, C) -> (B, T, C)
        if self.project_out_dim is not None:
            x = self.project_out_dim(x)
        return x, {"attn": [attn], "inner_states": inner_states}

    def reorder_incremental_state_scripting(
        self,
        incremental_state: Dict[str, Dict[str, Optional[Tensor]]],
        new_order: Tensor,
    ):
        """Reorder the caches of all layers.

        Departs from fairseq, which looks for a cache in every module of the model at every step.

        Args:
            new_order: ``(new B,)``, entry of the old batch that each new entry continues
        """
        order_of_keys: Optional[Tensor] = None
        known = False  # order_of_keys is the same for all layers
        # Iterating over self.layers would apply LayerDrop.
        for layer in self.layers.children():
            if layer.encoder_attn is not None:
                if not known:
                    order_of_keys = layer.order_of_encoder_keys(incremental_state, new_order)
                    known = layer.encoder_attn.cached_batch_size(incremental_state) is not None
                if order_of_keys is not None:
                    layer.encoder_attn.reorder_incremental_state(incremental_state, order_of_keys)
            layer.self_attn.reorder_incremental_state(incremental_state, new_order)

    def make_generation_fast_(self, **_) -> None:
        """Prepare for inference. fairseq calls this on a model that is not trained again."""
        for layer in self.layers.children():
            layer.self_attn.pack_projections()
        replace_linear(self)

    def _embed(self, tokens: Tensor, positions: Optional[Tensor]) -> Tensor:
        """Input of the first layer, ``(B, T, C)``. Departs from fairseq: no in-place addition."""
        x = self.embed_scale * self.embed_tokens(tokens)
        if self.quant_noise is not None:
            x = self.quant_noise(x)
        if self.project_in_dim is not None:
            x = self.project_in_dim(x)
        if positions is not None:
            x = x + positions
        if self.layernorm_embedding is not None:
            x = self.layernorm_embedding(x)
        return self.dropout_module(x)
