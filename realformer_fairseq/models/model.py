"""The model ``realformer``: fairseq's Transformer with our encoder and decoder."""

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModelBase
from omegaconf import OmegaConf

from . import layer_pruning
from .architectures import ARCHITECTURES, complete_options, realformer
from .config import RealFormerConfig, refusals_of_fairseq
from .decoder import RealFormerDecoder
from .encoder import RealFormerEncoder
from .hub_files import check_files, complete_languages, find_sentencepiece_model
from .hub_interface import TranslationHub
from .parser import add_arguments, check_names
from .stacks import ModelOfStacks, finish, take_layers_to_keep
from .tasks import check_translation_task


@register_model("realformer")
class RealFormerModel(ModelOfStacks, TransformerModelBase):
    """RealFormer encoder-decoder (He et al. 2020, arXiv 2012.11747).

    Parameters have the names of fairseq's Transformer, so each can load a checkpoint of the other.
    The model has another name, so that a converter for ``transformer`` refuses its checkpoints
    instead of dropping the residual scores.
    """

    @classmethod
    def add_args(cls, parser):
        layer_pruning.add_arguments(parser)
        add_arguments(parser)

    @classmethod
    def build_model(cls, args, task):
        """Build from a flat namespace, as ``fairseq/models/transformer/transformer_legacy.py``.

        Raises:
            RefusedOption: naming options that cannot work together
        """
        check_translation_task(task)
        if OmegaConf.is_config(args):  # hydra
            check_names(args, cls.add_args, realformer)
        complete_options(args)
        kept = take_layers_to_keep(args, cls)
        cfg = RealFormerConfig.from_namespace(args)
        cfg.check()
        with refusals_of_fairseq():
            model = super().build_model(cfg, task)
        return finish(model, cfg, kept)

    @classmethod
    def from_pretrained(
        cls,
        model_name_or_path,
        checkpoint_file="model.pt",
        data_name_or_path=".",
        **kwargs,
    ) -> TranslationHub:
        """Load a trained model, with the arguments that any model of fairseq takes.

        Raises:
            UserError: naming a file that is missing or not a checkpoint
        """
        paths = model_name_or_path, checkpoint_file, data_name_or_path
        model_name_or_path, checkpoint_file, data_name_or_path = map(str, paths)
        check_files(model_name_or_path, checkpoint_file, data_name_or_path, **kwargs)
        find_sentencepiece_model(model_name_or_path, data_name_or_path, kwargs)
        complete_languages(model_name_or_path, checkpoint_file, kwargs)
        return TranslationHub.of(
            super().from_pretrained(
                model_name_or_path, checkpoint_file, data_name_or_path, **kwargs
            )
        )

    @classmethod
    def build_encoder(cls, cfg, src_dict, embed_tokens):
        return RealFormerEncoder(cfg, src_dict, embed_tokens)

    @classmethod
    def build_decoder(cls, cfg, tgt_dict, embed_tokens):
        return RealFormerDecoder(
            cfg, tgt_dict, embed_tokens, no_encoder_attn=cfg.no_cross_attention
        )


for architecture in ARCHITECTURES:
    register_model_architecture("realformer", architecture.__name__)(architecture)
