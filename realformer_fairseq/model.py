"""The model ``realformer``: fairseq's Transformer with our encoder and decoder in it."""

from fairseq.models import register_model
from fairseq.models.transformer import TransformerModelBase
from fairseq.models.transformer.transformer_config import (
    DEFAULT_MAX_SOURCE_POSITIONS,
    DEFAULT_MAX_TARGET_POSITIONS,
)

from .architectures import realformer
from .decoder import RealFormerDecoder
from .encoder import RealFormerEncoder
from .hub_interface import TranslationHub
from .model_config import RealFormerConfig, add_arguments


@register_model("realformer")
class RealFormerModel(TransformerModelBase):
    """RealFormer encoder-decoder (He et al. 2020, arXiv 2012.11747).

    Parameters have the names of fairseq's Transformer, so a checkpoint of one can be loaded into
    the other. The model name differs, so that converters that know only ``transformer`` refuse
    the checkpoint instead of dropping the residual scores.
    """

    @classmethod
    def add_args(cls, parser):
        add_arguments(parser)

    @classmethod
    def build_model(cls, args, task):
        """Build from a flat namespace, as ``fairseq/models/transformer/transformer_legacy.py``.

        Raises:
            ValueError: for options that cannot work together, naming them
        """
        realformer(args)  # checkpoints of older versions lack newer options
        for side, default in (
            ("source", DEFAULT_MAX_SOURCE_POSITIONS),
            ("target", DEFAULT_MAX_TARGET_POSITIONS),
        ):
            if getattr(args, f"max_{side}_positions", None) is None:
                setattr(args, f"max_{side}_positions", default)
        # The checkpoint keeps args: they must tell the number of layers that are left.
        for side in ("encoder", "decoder"):
            kept = getattr(args, f"{side}_layers_to_keep")
            if kept:
                setattr(args, f"{side}_layers", len(kept.split(",")))
        cfg = RealFormerConfig.from_namespace(args)
        cfg.check()
        return super().build_model(cfg, task)

    @classmethod
    def from_pretrained(cls, *args, **kwargs) -> TranslationHub:
        """Load a trained model; arguments as for any model of fairseq."""
        return TranslationHub.of(super().from_pretrained(*args, **kwargs))

    @classmethod
    def build_encoder(cls, cfg, src_dict, embed_tokens):
        return RealFormerEncoder(cfg, src_dict, embed_tokens)

    @classmethod
    def build_decoder(cls, cfg, tgt_dict, embed_tokens):
        return RealFormerDecoder(
            cfg, tgt_dict, embed_tokens, no_encoder_attn=cfg.no_cross_attention
        )
