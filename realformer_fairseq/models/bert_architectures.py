"""The named architectures of the masked language model, with their sources."""

from fairseq.models.roberta.model import base_architecture

from .architectures import set_defaults
from .config import MaskedLMConfig, own_options


def realformer_masked_lm(args):
    """fairseq's ``roberta`` (BERT-Base's sizes) with the sum of scores, as in the paper."""
    options = {own.name: own.default for own in own_options(MaskedLMConfig)}
    set_defaults(args, **{**options, "residual_attention": "sum"})
    set_defaults(args, checkpoint_activations=False, offload_activations=False)
    base_architecture(args)


def realformer_bert_small(args):
    """BERT-Small of Google's RealFormer README: 4 layers of d 512, 8 heads."""
    set_defaults(
        args,
        encoder_layers=4,
        encoder_embed_dim=512,
        encoder_ffn_embed_dim=2048,
        encoder_attention_heads=8,
    )
    realformer_bert_base(args)


def realformer_bert_base(args):
    """BERT-Base: 12 layers of d 768, 12 heads; gelu by its tanh formula, as in BERT's code."""
    set_defaults(args, activation_fn="gelu_accurate")
    realformer_masked_lm(args)


def realformer_bert_large(args):
    """BERT-Large: 24 layers of d 1024, 16 heads."""
    set_defaults(
        args,
        encoder_layers=24,
        encoder_embed_dim=1024,
        encoder_ffn_embed_dim=4096,
        encoder_attention_heads=16,
    )
    realformer_bert_base(args)


def realformer_bert_xlarge(args):
    """BERT-xLarge: 36 layers of d 1536, 24 heads, and the mean of scores, as in the paper."""
    set_defaults(
        args,
        encoder_layers=36,
        encoder_embed_dim=1536,
        encoder_ffn_embed_dim=6144,
        encoder_attention_heads=24,
        residual_attention="mean",
    )
    realformer_bert_base(args)


def realformer_bert_tiny(args):
    """For experiments on a CPU: 12 layers of d 64, 4 heads. Our own choice."""
    set_defaults(
        args,
        encoder_embed_dim=64,
        encoder_ffn_embed_dim=256,
        encoder_attention_heads=4,
    )
    realformer_bert_base(args)


BERT_ARCHITECTURES = (
    realformer_masked_lm,
    realformer_bert_small,
    realformer_bert_base,
    realformer_bert_large,
    realformer_bert_xlarge,
    realformer_bert_tiny,
)
