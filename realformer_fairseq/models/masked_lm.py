"""The model ``realformer_masked_lm``: fairseq's RoBERTa with our encoder.

This is the first system of the paper (He et al. 2020, arXiv 2012.11747, section 4.1), which builds
on BERT: Post-LN, learned positions, layer norm on the embeddings. It is for the tasks
``masked_lm``, ``sentence_prediction`` and ``sentence_ranking``.
"""

import re
from typing import Dict, Optional

from fairseq.models import register_model, register_model_architecture
from fairseq.models.roberta import RobertaEncoder, RobertaModel
from fairseq.modules.transformer_sentence_encoder import init_bert_params
from omegaconf import OmegaConf
from torch import Tensor, nn

from ..modules.sublayer_scaling import initialize_deepnorm
from .bert_architectures import BERT_ARCHITECTURES, realformer_masked_lm
from .config import MaskedLMConfig, refusals_of_fairseq
from .encoder import RealFormerEncoder
from .masked_lm_hub import MaskedLMHub, load_hub
from .parser import add_own_arguments, check_names
from .stacks import ModelOfStacks, finish, take_layers_to_keep
from .tasks import check_own_task

NAME = "realformer_masked_lm"
# What tasks add to the options, and what a model stores among them.
NO_FLAGS = {"tokens_per_sample", "max_source_positions"}


class RealFormerMaskedLMEncoder(RobertaEncoder):
    """fairseq's RoBERTa encoder with residual scores and, on request, segment embeddings.

    Args:
        cfg: ``MaskedLMConfig`` of ``args``
        args: the model's options in a flat namespace
    """

    def __init__(self, cfg: MaskedLMConfig, args, dictionary):
        self._cfg = cfg  # not a module, so it may be set before nn.Module's __init__
        super().__init__(args, dictionary)
        self.embed_token_types: Optional[nn.Embedding] = None
        if cfg.token_types:
            self.embed_token_types = nn.Embedding(cfg.token_types, args.encoder_embed_dim)

    def build_encoder(self, args, dictionary, embed_tokens):
        encoder = RealFormerEncoder(self._cfg, dictionary, embed_tokens)
        encoder.apply(init_bert_params)
        return encoder

    def forward(
        self,
        src_tokens: Tensor,
        features_only: bool = False,
        return_all_hiddens: bool = False,
        masked_tokens: Optional[Tensor] = None,
        token_types: Optional[Tensor] = None,
        **unused,
    ):
        """Encode, and predict the words.

        Args:
            src_tokens: ``(B, T)``
            features_only: leave the prediction out
            return_all_hiddens: also return the input and the output of each layer
            masked_tokens: ``(B, T)``, true where words are predicted; default everywhere
            token_types: ``(B, T)``, the segment of each token; see :meth:`segments`

        Returns:
            logits ``(B, T, V)``, or ``(N, V)`` of N masked tokens, or features ``(B, T, C)``; and a
            dictionary, whose ``inner_states`` are None or a list of ``(T, B, C)``

        Raises:
            ValueError: token types for a model without
        """
        x, extra = self.extract_features(src_tokens, return_all_hiddens, token_types=token_types)
        if not features_only:
            x = self.output_layer(x, masked_tokens=masked_tokens)
        return x, extra

    def extract_features(
        self,
        src_tokens: Tensor,
        return_all_hiddens: bool = False,
        token_types: Optional[Tensor] = None,
        **kwargs,
    ):
        """Features ``(B, T, C)`` and a dictionary, as :meth:`forward`."""
        if self.embed_token_types is None:
            if token_types is not None:
                raise ValueError("token_types: the model has no segments (--token-types 0)")
        else:
            if token_types is None:
                token_types = self.segments(src_tokens)
            words = self.sentence_encoder.embed_tokens(src_tokens)
            kwargs["token_embeddings"] = words + self.embed_token_types(token_types)
        return super().extract_features(src_tokens, return_all_hiddens, **kwargs)

    def segments(self, src_tokens: Tensor) -> Tensor:
        """The segment of each token ``(B, T)``, as BERT counts them: each ``</s>`` ends one.

        What comes after the last segment embedding shares that one.
        """
        ends = src_tokens.eq(self.dictionary.eos()).long()
        return (ends.cumsum(dim=1) - ends).clamp(max=self.embed_token_types.num_embeddings - 1)


@register_model(NAME)
class RealFormerMaskedLM(ModelOfStacks, RobertaModel):
    """BERT with residual scores. Parameters have the names of fairseq's RoBERTa."""

    stacks: Dict[str, str] = {"encoder": "encoder.sentence_encoder"}
    plain: str = "roberta"

    @classmethod
    def hub_models(cls):
        return {}

    @staticmethod
    def add_args(parser):
        RobertaModel.add_args(parser)
        add_own_arguments(parser, MaskedLMConfig)

    @classmethod
    def build_model(cls, args, task):
        """Build from a flat namespace, as ``fairseq/models/roberta/model.py``.

        Raises:
            RefusedOption: naming options that cannot work together
        """
        check_own_task(task, NAME)
        if OmegaConf.is_config(args):  # hydra
            check_names(sorted(set(args) - NO_FLAGS), cls.add_args, realformer_masked_lm)
            OmegaConf.set_struct(args, False)
        realformer_masked_lm(args)
        if getattr(args, "max_positions", None) is None:
            args.max_positions = getattr(args, "tokens_per_sample", task.max_positions())
        args.max_source_positions = args.max_positions
        kept = take_layers_to_keep(args, cls)
        cfg = MaskedLMConfig.from_namespace(args)
        cfg.check()
        with refusals_of_fairseq():
            encoder = RealFormerMaskedLMEncoder(cfg, args, task.source_dictionary)
        model = finish(cls(args, encoder), cfg, kept)
        if str(cfg.sublayer_scaling) == "deepnorm":  # fairseq has initialised all weights as BERT
            for layer in model.stack("encoder").layers.children():
                initialize_deepnorm(layer, cfg, "encoder")
        for module in model.modules():
            if hasattr(module, "normalized_shape"):  # torch's layer norm or apex's
                module.eps = cfg.layer_norm_eps
        if OmegaConf.is_config(args):
            OmegaConf.set_struct(args, True)
        return model

    def without_pruned_layers(self, state_dict: Dict[str, Tensor]) -> Dict[str, Tensor]:
        """As of any model; the first RoBERTas, such as ``roberta.base``, had a decoder."""
        renamed = {re.sub(r"^decoder\b", "encoder", name): x for name, x in state_dict.items()}
        return super().without_pruned_layers(renamed)

    @classmethod
    def from_pretrained(
        cls,
        model_name_or_path,
        checkpoint_file="model.pt",
        data_name_or_path=".",
        **kwargs,
    ) -> MaskedLMHub:
        """Load a trained model and its classification heads, as :func:`load_hub`."""
        paths = model_name_or_path, checkpoint_file, data_name_or_path
        return load_hub(*map(str, paths), **kwargs)


for architecture in BERT_ARCHITECTURES:
    register_model_architecture(NAME, architecture.__name__)(architecture)
