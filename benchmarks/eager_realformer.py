"""RealFormer attention written the obvious way, to compare with and to test against."""

import torch
from fairseq.modules import FairseqDropout

from realformer_fairseq.modules.residual_attention import ResidualMultiheadAttention


class EagerAttention(ResidualMultiheadAttention):
    """One operation after the other as the formula has it; training and teacher forcing only."""

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        attn_mask=None,
        previous_scores=None,
        layers_traversed=0,
        **_,
    ):
        """Returns the output ``(T, B, C)``, None, and the scores ``(B, heads, T, S)``."""
        q, k, v = (
            projection(x).unflatten(-1, (self.num_heads, self.head_dim)).permute(1, 2, 0, 3)
            for projection, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        scores = q @ k.transpose(-1, -2) / self.head_dim**0.5
        if previous_scores is not None and self.residual_attention == "mean":
            scores = (layers_traversed * previous_scores + scores) / (layers_traversed + 1)
        elif previous_scores is not None and self.residual_attention == "sum":
            scores = previous_scores + scores
        masked = scores
        if attn_mask is not None:
            masked = masked + attn_mask
        if key_padding_mask is not None:
            masked = masked.masked_fill(key_padding_mask[:, None, None], float("-inf"))
        attn = self.dropout_module(torch.softmax(masked, dim=-1)) @ v
        return self.out_proj(attn.permute(2, 0, 1, 3).flatten(2)), None, scores


def make_eager(model):
    """Turn a realformer model into one with attention, dropout and products written that way."""
    for module in model.modules():
        if isinstance(module, ResidualMultiheadAttention):
            module.__class__ = EagerAttention
        elif isinstance(module, FairseqDropout):
            module.__class__ = FairseqDropout
    return model
