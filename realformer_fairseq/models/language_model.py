"""The model ``realformer_lm``: fairseq's ``transformer_lm`` with our decoder.

It is for ``--task language_modeling``. As fairseq's larger language models it is Pre-LN, unless the
sub-layers are scaled, which needs Post-LN, or ``--decoder-normalize-after`` asks for that.
"""

import argparse
from dataclasses import fields
from typing import Callable, Dict

from fairseq.hub_utils import GeneratorHubInterface
from fairseq.models import FairseqLanguageModel, register_model, register_model_architecture
from fairseq.models.transformer_lm import (
    DEFAULT_MAX_TARGET_POSITIONS,
    TransformerLanguageModel,
    TransformerLanguageModelConfig,
    base_lm_architecture,
    transformer_lm_baevski_wiki103,
)
from omegaconf import OmegaConf

from .architectures import set_defaults
from .config import LanguageModelConfig, own_options, refusals_of_fairseq
from .decoder import RealFormerDecoder
from .hub_files import check_files
from .hub_interface import check_model, without_ids
from .input_embeddings import build_input_embeddings
from .parser import add_own_arguments, check_names
from .stacks import ModelOfStacks, finish, take_layers_to_keep
from .tasks import check_own_task

NAME = "realformer_lm"
DICTIONARY = "dict.txt"
# Options of fairseq's model whose value is that of an option of the task.
TAKEN_FROM_THE_TASK = {
    option.name
    for option in fields(TransformerLanguageModelConfig)
    if str(option.default).startswith("${")
}


@register_model(NAME)
class RealFormerLanguageModel(ModelOfStacks, TransformerLanguageModel):
    """A language model with residual scores. Parameters have the names of fairseq's."""

    stacks: Dict[str, str] = {"decoder": "decoder"}
    plain: str = "transformer_lm"

    @classmethod
    def hub_models(cls):
        return {}

    @staticmethod
    def add_args(parser):
        TransformerLanguageModel.add_args(parser)
        add_own_arguments(parser, LanguageModelConfig)
        parser.add_argument(
            "--decoder-normalize-after",
            dest="decoder_normalize_before",
            action="store_false",
            default=argparse.SUPPRESS,
            help="Post-LN, as in the paper, which --sublayer-scaling implies (default: Pre-LN)",
        )

    @classmethod
    def build_model(cls, args, task):
        """Build from a flat namespace, as ``fairseq/models/transformer_lm.py``.

        Raises:
            RefusedOption: naming options that cannot work together
        """
        check_own_task(task, NAME)
        if OmegaConf.is_config(args):  # hydra
            check_names(sorted(set(args) - TAKEN_FROM_THE_TASK), cls.add_args, realformer_lm)
            OmegaConf.set_struct(args, False)
        realformer_lm(args)
        args.max_target_positions = longest_input(args, task)
        kept = take_layers_to_keep(args, cls)
        cfg = LanguageModelConfig.from_namespace(args)
        cfg.check()
        with refusals_of_fairseq():
            embed_tokens = build_input_embeddings(args, task.source_dictionary, cls.build_embedding)
            decoder = RealFormerDecoder(
                cfg, task.target_dictionary, embed_tokens, no_encoder_attn=True
            )
        if OmegaConf.is_config(args):
            OmegaConf.set_struct(args, True)
        return finish(cls(decoder), cfg, kept)

    @classmethod
    def from_pretrained(
        cls,
        model_name_or_path,
        checkpoint_file="model.pt",
        data_name_or_path=".",
        **kwargs,
    ) -> GeneratorHubInterface:
        """Load a trained model, with the arguments that any model of fairseq takes.

        Raises:
            UserError: naming a file that is missing or not a checkpoint, or another model
        """
        paths = [str(path) for path in (model_name_or_path, checkpoint_file, data_name_or_path)]
        check_files(*paths, dictionary=DICTIONARY, **kwargs)
        hub = super().from_pretrained(*paths, **kwargs)
        for model in hub.models:
            check_model(model, FairseqLanguageModel, "language model")
        return without_ids(hub)


def longest_input(args, task) -> int:
    """The number of positions: the model's own or, as in fairseq, that of the task's samples.

    Args:
        args: of the model, with the task's from a command line, without them from a YAML file
    """
    for group in (args, getattr(task, "args", None)):
        for name in ("max_target_positions", "tokens_per_sample"):
            if getattr(group, name, None) is not None:
                return getattr(group, name)
    return DEFAULT_MAX_TARGET_POSITIONS


def set_options(args, architecture: Callable) -> None:
    """Set each option that the command line did not set.

    Args:
        architecture: of fairseq's language model, for the sizes; it would make any model Pre-LN
    """
    set_defaults(args, **{own.name: own.default for own in own_options(LanguageModelConfig)})
    set_defaults(args, decoder_normalize_before=str(args.sublayer_scaling) == "none")
    normalize_before = args.decoder_normalize_before
    architecture(args)
    args.decoder_normalize_before = normalize_before
    for option in fields(TransformerLanguageModelConfig):
        if option.name not in {"_name", *TAKEN_FROM_THE_TASK}:
            set_defaults(args, **{option.name: option.default})


@register_model_architecture(NAME, NAME)
def realformer_lm(args):
    """Sizes of fairseq's ``transformer_lm``: d 512, FFN 2048, 8 heads, 6 layers."""
    set_options(args, base_lm_architecture)


@register_model_architecture(NAME, "realformer_lm_wiki103")
def realformer_lm_wiki103(args):
    """Sizes, adaptive input and softmax of fairseq's ``transformer_lm_wiki103``, for WikiText."""
    set_options(args, transformer_lm_baevski_wiki103)


@register_model_architecture(NAME, "realformer_lm_tiny")
def realformer_lm_tiny(args):
    """For experiments on a CPU: 6 layers of d 128, FFN 512, 4 heads. Our own choice."""
    set_defaults(
        args,
        decoder_embed_dim=128,
        decoder_ffn_embed_dim=512,
        decoder_attention_heads=4,
    )
    realformer_lm(args)
