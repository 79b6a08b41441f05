"""``--arch multilingual_realformer``: fairseq's ``multilingual_transformer`` with our layers.

It is for ``--task multilingual_translation``. Each language pair has a RealFormer, and they may
share embeddings, encoders or decoders. ``--task translation_multi_simple_epoch`` does not need it:
that task trains one model, such as ``realformer``.
"""

from fairseq.models import register_model, register_model_architecture
from fairseq.models.multilingual_transformer import (
    MultilingualTransformerModel,
    base_multilingual_architecture,
)

from ..modules.dropout import replace_dropout
from .architectures import realformer
from .config import RealFormerConfig, RefusedOption
from .layer_pruning import SIDES
from .model import RealFormerModel
from .parser import add_own_arguments
from .stacks import with_missing_omega

NAME = "multilingual_realformer"


@register_model(NAME)
class MultilingualRealFormerModel(MultilingualTransformerModel):
    """A RealFormer for each language pair. Parameters have fairseq's names."""

    @staticmethod
    def add_args(parser):
        MultilingualTransformerModel.add_args(parser)
        add_own_arguments(parser)

    @classmethod
    def build_model(cls, args, task):
        """Build from a flat namespace.

        Raises:
            RefusedOption: naming options that cannot work together
        """
        multilingual_realformer(args)  # checkpoints of older versions lack newer options
        cfg = RealFormerConfig.from_namespace(args)
        cfg.check()
        if str(cfg.sublayer_scaling) == "admin":
            raise RefusedOption(
                f"--sublayer-scaling admin cannot be used with --arch {NAME}: a shared stack would "
                "have a profile for each language pair; --sublayer-scaling admin-analytic can"
            )
        for side in SIDES:
            if getattr(args, f"{side}_layers_to_keep"):
                raise RefusedOption(
                    f"--{side}-layers-to-keep cannot be used with --arch {NAME}, whose checkpoints "
                    "hold a model for each language pair"
                )
        model = super().build_model(args, task)
        model.__class__ = cls  # fairseq's method builds its own class
        model.cfg = cfg
        replace_dropout(model)
        return model

    def load_state_dict(self, state_dict, strict=True, model_cfg=None):
        super().load_state_dict(with_missing_omega(self, state_dict), strict, model_cfg)

    @classmethod
    def _get_module_class(cls, is_encoder, args, lang_dict, embed_tokens, langs):
        """Build an encoder or a decoder. fairseq calls this method."""
        build = RealFormerModel.build_encoder if is_encoder else RealFormerModel.build_decoder
        return build(RealFormerConfig.from_namespace(args), lang_dict, embed_tokens)


@register_model_architecture(NAME, NAME)
def multilingual_realformer(args):
    """fairseq's ``multilingual_transformer`` with residual scores."""
    realformer(args)
    base_multilingual_architecture(args)
