"""x-transformers' RealFormer encoder-decoder, called as fairseq calls its models.

Its sizes, Post-LN, tied embeddings and dropout of attention, feed-forward layers and embeddings are
those of the other contenders. It differs in that its attention has no biases, its positions are
learned, it carries sums, and the outputs of its sub-layers are not dropped.
"""

from torch import nn
from x_transformers import XTransformer


class XTransformersPeer(nn.Module):
    """
    Args:
        shape: ``benchmarks.options.Shape``
        types: size of the joint dictionary
        dropout: of attention, feed-forward layers and their outputs
    """

    PAD = 1

    def __init__(self, shape, types: int, dropout: float):
        super().__init__()
        both = {
            "num_tokens": types,
            "max_seq_len": 1024,
            "heads": shape.heads,
            "attn_dim_head": shape.width // shape.heads,
            "emb_dropout": dropout,
            "residual_attn": True,
            "pre_norm": False,
            "ff_mult": shape.ffn / shape.width,
            "attn_dropout": dropout,
            "ff_dropout": dropout,
            "layer_dropout": 0.0,
        }
        self.net = XTransformer(
            dim=shape.width,
            enc_depth=shape.encoder_layers,
            dec_depth=shape.decoder_layers,
            dec_cross_residual_attn=True,
            tie_token_emb=True,
            **{f"{side}_{name}": value for side in ("enc", "dec") for name, value in both.items()},
        )

    def forward(self, source, lengths, previous):
        """Logits ``(B, T, types)`` in a tuple, as fairseq's models return them."""
        mask = source.ne(self.PAD)
        encoded = self.net.encoder(source, mask=mask, return_embeddings=True)
        return (self.net.decoder.net(previous, context=encoded, context_mask=mask),)
