"""The encoder stack: carries attention scores through its layers, reorders its output for beams."""

from typing import Dict, List, Optional

import torch
from fairseq.models.transformer import TransformerEncoderBase
from torch import Tensor

from ..modules.decoding_cache import beams_made, is_unchanged, sentence_order, shared_by
from ..modules.encoder_layer import RealFormerEncoderLayer
from .layer_wrapping import wrap_layer


class RealFormerEncoder(TransformerEncoderBase):
    """fairseq's Transformer encoder with one chain of self-attention scores."""

    def build_encoder_layer(self, cfg):
        return wrap_layer(RealFormerEncoderLayer(cfg), cfg)

    def forward_scriptable(
        self,
        src_tokens,
        src_lengths: Optional[Tensor] = None,
        return_all_hiddens: bool = False,
        token_embeddings: Optional[Tensor] = None,
    ) -> Dict[str, List[Tensor]]:
        """Encode: a copy of ``fairseq/models/transformer/transformer_encoder.py`` with scores.

        Args:
            src_tokens: ``(B, T)``
            src_lengths: ``(B,)``, unused as in fairseq
            return_all_hiddens: also return the input and output of each layer
            token_embeddings: ``(B, T, C)``, used in place of the embeddings of ``src_tokens``
        """
        encoder_padding_mask = src_tokens.eq(self.padding_idx)
        has_padding = bool(encoder_padding_mask.any())
        x, encoder_embedding = self.forward_embedding(src_tokens, token_embeddings)
        # Departs from fairseq: a batch without padding is not multiplied.
        if has_padding:
            x = x * (1 - encoder_padding_mask.unsqueeze(-1).type_as(x))
        x = x.transpose(0, 1)  # (B, T, C) -> (T, B, C)

        encoder_states: List[Tensor] = []
        if return_all_hiddens:
            encoder_states.append(x)
        scores: Optional[Tensor] = None
        # Departs from fairseq: scores pass from layer to layer. The iteration leaves out layers
        # that LayerDrop drops, so it counts the layers traversed.
        for layers_traversed, layer in enumerate(self.layers):
            x, scores = layer(
                x,
                encoder_padding_mask=encoder_padding_mask if has_padding else None,
                previous_scores=scores,
                layers_traversed=layers_traversed,
                is_last=layers_traversed + 1 == self.num_layers,
            )
            if return_all_hiddens and not torch.jit.is_scripting():
                encoder_states.append(x)
        if self.layer_norm is not None:
            x = self.layer_norm(x)

        lengths = src_tokens.ne(self.padding_idx).sum(dim=1, dtype=torch.int32)
        no_tensors: List[Tensor] = []
        return {
            "encoder_out": [x],  # T x B x C
            "encoder_padding_mask": [encoder_padding_mask],  # B x T
            "encoder_embedding": [encoder_embedding],  # B x T x C
            "encoder_states": encoder_states,  # List[T x B x C]
            "fc_results": no_tensors,  # departs from fairseq: always empty
            "src_tokens": no_tensors,
            "src_lengths": [lengths.reshape(-1, 1).contiguous()],  # B x 1
        }

    @torch.jit.export
    def reorder_encoder_out(self, encoder_out: Dict[str, List[Tensor]], new_order: Tensor):
        """Reorder the output of :meth:`forward`.

        Departs from fairseq, which copies the output at every step of a beam search. An order that
        copies each sentence for its beams adds their number as ``beam`` (:func:`shared_by`) and
        drops the embeddings, which no search reads. A later order that permutes beams within
        sentences copies nothing. Code that changes single beams of the output must remove ``beam``.

        Args:
            new_order: ``(new B,)``, entry of the old batch for each new entry
        """
        batch, beam = encoder_out["encoder_out"][0].size(1), shared_by(encoder_out)
        if beam == 1:
            beam = beams_made(new_order, batch)
        else:
            order = sentence_order(new_order, beam)
            if order is None:
                beam = 1
            elif is_unchanged(order, batch // beam):
                return encoder_out
        reordered: Dict[str, List[Tensor]] = {}
        for name, tensors in encoder_out.items():
            batch_dimension = 1 if name == "encoder_out" or name == "encoder_states" else 0
            if name != "beam" and not (beam > 1 and name == "encoder_embedding"):
                reordered[name] = [x.index_select(batch_dimension, new_order) for x in tensors]
        if beam > 1:
            reordered["encoder_embedding"] = []
            reordered["beam"] = [torch.tensor(beam)]
        return reordered
