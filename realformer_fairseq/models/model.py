"""The model ``realformer``: fairseq's Transformer with our encoder and decoder."""

from typing import Dict, Optional

from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModelBase
from fairseq.tasks.language_modeling import LanguageModelingTask
from fairseq.tasks.multilingual_translation import MultilingualTranslationTask
from omegaconf import OmegaConf

from ..modules.dropout import replace_dropout
from . import layer_pruning
from .architectures import ARCHITECTURES, complete_options
from .config import RealFormerConfig, RefusedOption, add_arguments, check_names
from .decoder import RealFormerDecoder
from .encoder import RealFormerEncoder
from .hub_interface import TranslationHub, check_files


def check_task(task) -> None:
    """Refuse tasks that would fail later with an unclear error.

    Raises:
        RefusedOption: naming the task
    """
    if isinstance(task, LanguageModelingTask):
        raise RefusedOption(
            "--task language_modeling: a realformer model translates, it is no language model"
        )
    if isinstance(task, MultilingualTranslationTask):
        raise RefusedOption(
            "--task multilingual_translation needs --arch multilingual_realformer "
            "(--task translation_multi_simple_epoch takes any realformer)"
        )


@register_model("realformer")
class RealFormerModel(TransformerModelBase):
    """RealFormer encoder-decoder (He et al. 2020, arXiv 2012.11747).

    Parameters have the names of fairseq's Transformer, so each can load a checkpoint of the other.
    The model has another name, so that a converter for ``transformer`` refuses its checkpoints
    instead of dropping the residual scores.
    """

    layers_to_keep: Dict[str, Optional[str]] = {}

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
        check_task(task)
        if OmegaConf.is_config(args):  # hydra
            check_names(args)
        complete_options(args)
        # The checkpoint stores args, so they must describe the model without the layers that go.
        kept = {side: layer_pruning.layers_to_keep(args, side) for side in layer_pruning.SIDES}
        for side, numbers in kept.items():
            setattr(args, f"{side}_layers_to_keep", None)
            if numbers:
                setattr(args, f"{side}_layers", len(numbers.split(",")))
        cfg = RealFormerConfig.from_namespace(args)
        cfg.check()
        try:
            model = super().build_model(cfg, task)
        except (AssertionError, ValueError) as error:
            raise RefusedOption(str(error) or repr(error)) from error
        model.layers_to_keep = kept
        replace_dropout(model)
        return model

    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """Load parameters, of a checkpoint with more layers those of ``layers_to_keep``.

        ``--missing-omega initial`` leaves each omega that the checkpoint lacks as it is.
        """
        state_dict = self.without_pruned_layers(state_dict)
        if str(self.cfg.missing_omega) == "initial":
            omegas = {n: value for n, value in self.state_dict().items() if n.endswith(".omega")}
            state_dict = {**omegas, **state_dict}
        return super().load_state_dict(state_dict, strict)

    def without_pruned_layers(self, state_dict):
        """The parameters of a checkpoint that ``layers_to_keep`` leaves, or left before."""
        for side, numbers in self.layers_to_keep.items():
            left = len(getattr(self, side).layers)
            if numbers and layer_pruning.count_layers(state_dict, side) > left:
                state_dict = layer_pruning.pruned(state_dict, side, numbers)
        return state_dict

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
