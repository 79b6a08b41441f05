"""The named architectures: sizes and dropout, with their sources.

An option on the command line overrides the architecture. No architecture ties the embeddings, as in
fairseq: ``--share-all-embeddings`` needs a joined dictionary.
"""

from fairseq.models.transformer import DEFAULT_MAX_SOURCE_POSITIONS, DEFAULT_MAX_TARGET_POSITIONS
from fairseq.models.transformer.transformer_legacy import base_architecture

from .config import own_options


def set_defaults(args, **defaults) -> None:
    """Set each option that the command line did not set."""
    for name, value in defaults.items():
        setattr(args, name, getattr(args, name, value))


def realformer(args):
    """fairseq's ``transformer`` (d 512, FFN 2048, 8 heads, 6-6) with residual scores."""
    set_defaults(args, **{own.name: own.default for own in own_options()})
    base_architecture(args)


def realformer_wmt_en_de(args):
    """En-De 6-6 of RealFormer's Table 7: sizes from section 4.2, dropout from ADMIN's recipe."""
    set_defaults(args, dropout=0.1, attention_dropout=0.1, activation_dropout=0.1)
    realformer(args)


def realformer_wmt_en_de_12_12(args):
    """En-De 12-12 of RealFormer's Table 7, on ADMIN."""
    set_defaults(args, encoder_layers=12, decoder_layers=12, sublayer_scaling="admin")
    realformer_wmt_en_de(args)


def realformer_wmt_en_de_18_18(args):
    """En-De 18-18 of RealFormer's Table 7, on ADMIN."""
    set_defaults(args, encoder_layers=18, decoder_layers=18, sublayer_scaling="admin")
    realformer_wmt_en_de(args)


def realformer_wmt_en_fr(args):
    """En-Fr 6-6 of RealFormer's Table 7: sizes from section 4.2, dropout from ADMIN's recipe."""
    realformer_wmt_en_de(args)


def realformer_wmt_en_fr_60_12(args):
    """En-Fr 60-12 of RealFormer's Table 7, on ADMIN; the depth of Liu et al. 2020 (2008.07772)."""
    set_defaults(args, encoder_layers=60, decoder_layers=12, sublayer_scaling="admin")
    realformer_wmt_en_fr(args)


def realformer_iwslt_de_en(args):
    """Sizes of fairseq's ``transformer_iwslt_de_en``: d 512, FFN 1024, 4 heads, 6-6."""
    set_defaults(
        args,
        encoder_ffn_embed_dim=1024,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
    )
    realformer(args)


def realformer_tiny(args):
    """Small sizes for experiments on a CPU: d 128, FFN 256, 4 heads, 3-3. Our own choice."""
    set_defaults(
        args,
        encoder_embed_dim=128,
        encoder_ffn_embed_dim=256,
        encoder_layers=3,
        encoder_attention_heads=4,
        decoder_layers=3,
        decoder_attention_heads=4,
    )
    realformer(args)


def complete_options(args):
    """Fill in what checkpoints of older versions lack, and the positions, which no --arch sets."""
    realformer(args)
    defaults = {"source": DEFAULT_MAX_SOURCE_POSITIONS, "target": DEFAULT_MAX_TARGET_POSITIONS}
    for side, default in defaults.items():
        if getattr(args, f"max_{side}_positions", None) is None:
            setattr(args, f"max_{side}_positions", default)


ARCHITECTURES = (
    realformer,
    realformer_wmt_en_de,
    realformer_wmt_en_de_12_12,
    realformer_wmt_en_de_18_18,
    realformer_wmt_en_fr,
    realformer_wmt_en_fr_60_12,
    realformer_iwslt_de_en,
    realformer_tiny,
)
