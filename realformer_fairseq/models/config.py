"""The options of the model: those of fairseq's Transformer and our own."""

import argparse
import contextlib
from dataclasses import Field, dataclass, field, fields
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Type

from fairseq.dataclass import ChoiceEnum
from fairseq.dataclass.utils import eval_str_list  # unlike that of fairseq.utils, it runs no code
from fairseq.models.transformer import TransformerConfig
from omegaconf import OmegaConf

from realformer_runtime.command_line import (
    UserError,
    flag,
    whole_number_above_0,
    whole_number_from_0,
)

from ..modules.fused_attention import ATTENTION_KERNEL_CHOICES
from ..modules.residual_scores import RESIDUAL_ATTENTION_CHOICES
from ..modules.sublayer_scaling import SUBLAYER_SCALING_CHOICES

CHAINS = ("encoder", "decoder", "cross")


class RefusedOption(UserError, ValueError):
    """An option of the model that cannot work; the message names it and what is accepted."""


@contextlib.contextmanager
def refusals_of_fairseq() -> Iterator[None]:
    """Turn what fairseq raises over options while it builds a model into a RefusedOption."""
    try:
        yield
    except (AssertionError, ValueError) as error:
        raise RefusedOption(str(error) or repr(error)) from error


def as_text(value: Any) -> str:
    """An option as the command line has it, also where a YAML file or an override has a list."""
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return ",".join(map(str, value)) if is_list else str(value)


def residual_chains(value: str) -> str:
    """Check a list of chains and sort it: encoder, decoder, cross.

    Raises:
        argparse.ArgumentTypeError: naming the accepted values
    """
    chains = [chain.strip() for chain in value.split(",")]
    unknown = [chain for chain in chains if chain not in CHAINS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"{value!r} is not a comma-separated list of {', '.join(CHAINS)} "
            "(for no chain at all: --residual-attention none)"
        )
    return ",".join(chain for chain in CHAINS if chain in chains)


def positive_number(value: str) -> float:
    """Check a number. Raises argparse.ArgumentTypeError unless it is above 0 and finite."""
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{value!r} is not a number above 0")
    return number


def cutoffs(args, name: str) -> Optional[List[int]]:
    """The numbers of words that an adaptive softmax or input is cut at, or None.

    Raises:
        RefusedOption: naming the flag
    """
    value = getattr(args, name)
    try:
        numbers = None if value is None else eval_str_list(as_text(value), int)
    except (SyntaxError, TypeError, ValueError):
        raise RefusedOption(
            f"{flag(name)} {value}: is not a comma-separated list of numbers, such as 20000,60000"
        ) from None
    if numbers and [0, *numbers] != sorted({0, *numbers}):
        raise RefusedOption(f"{flag(name)} {as_text(value)}: numbers above 0 must rise")
    return numbers


def option(default: Any, help: str, check=None, shown: str = "", transformer: str = "") -> Any:
    """Declaration of an option, read by the parser, architectures, checks and comparisons.

    Args:
        default: the value if no architecture sets one
        check: converts the user's text, or raises ``argparse.ArgumentTypeError``; None if the type
            lists the choices
        shown: replaces the default in the help
        transformer: the value that describes fairseq's Transformer
    """
    metadata = {"help": help, "check": check, "shown": shown, "transformer": transformer}
    return field(default=default, metadata=metadata)


@dataclass
class RealFormerConfig(TransformerConfig):
    """``TransformerConfig`` of fairseq plus the options of residual scores and of ADMIN."""

    residual_attention: ChoiceEnum(RESIDUAL_ATTENTION_CHOICES) = option(
        "mean",
        "carry attention scores from layer to layer: their running mean (the paper's choice for "
        "translation), their sum, or not at all",
        transformer="none",
    )
    residual_chains: str = option(
        ",".join(CHAINS),
        "comma-separated list of the attentions that carry scores: encoder and decoder "
        "self-attention, cross-attention",
        residual_chains,
    )
    sublayer_scaling: ChoiceEnum(SUBLAYER_SCALING_CHOICES) = option(
        "none",
        "omega in LN(x * omega + f(x)): 1; ADMIN's, from a profile of the first training batches; "
        "ADMIN's from the depth alone; or DeepNorm, with its initial weights",
        shown="what --arch says",
        transformer="none",
    )
    admin_profile_tokens: int = option(
        8192,
        "tokens that --sublayer-scaling admin takes its profile from",
        whole_number_above_0,
    )
    missing_omega: ChoiceEnum(("one", "initial")) = option(
        "one",
        "omega of a training that starts from a checkpoint without: 1, so that the model computes "
        "what it did, or the initial one of --sublayer-scaling",
    )

    attention_kernel: ChoiceEnum(ATTENTION_KERNEL_CHOICES) = option(
        "auto",
        "attention in training and scoring: operation by operation, or in one kernel, which needs "
        "a GPU and Triton; auto is eager, until somebody has measured that the kernel is faster",
    )

    def residual_attention_of(self, chain: str) -> str:
        """The residual attention of one chain: ``mean``, ``sum`` or ``none``."""
        return str(self.residual_attention) if chain in self.residual_chains.split(",") else "none"

    def check(self) -> None:
        """Refuse options that cannot work.

        Raises:
            RefusedOption: naming the flag and the accepted values
        """
        for own in own_options(type(self)):
            value, choices = getattr(self, own.name), choices_of(own)
            if choices and str(value) not in choices:
                raise RefusedOption(f"{flag(own.name)} {value}: choose one of {', '.join(choices)}")
            try:
                if own.metadata["check"]:
                    setattr(self, own.name, own.metadata["check"](as_text(value)))
            except argparse.ArgumentTypeError as error:
                raise RefusedOption(f"{flag(own.name)}: {error}") from None
        for stack in ("encoder", "decoder"):
            if str(self.sublayer_scaling) != "none" and getattr(self, stack).normalize_before:
                raise RefusedOption(
                    f"--sublayer-scaling {self.sublayer_scaling} cannot be used with "
                    f"--{stack}-normalize-before: it scales the input of a Post-LN sub-layer; "
                    "for a Pre-LN model choose --sublayer-scaling none"
                )
            stack_cfg = getattr(self, stack)
            if stack_cfg.embed_dim % stack_cfg.attention_heads:
                raise RefusedOption(
                    f"--{stack}-attention-heads {stack_cfg.attention_heads}: does not divide "
                    f"--{stack}-embed-dim {stack_cfg.embed_dim}"
                )
        self.check_shared_embeddings("embed_dim")
        self.adaptive_softmax_cutoff = cutoffs(self, "adaptive_softmax_cutoff")
        if self.base_layers:
            raise RefusedOption(
                f"--base-layers {self.base_layers} cannot be used with a realformer model: "
                "a BASE layer has no attention scores to carry"
            )

    def check_shared_embeddings(self, size: str) -> None:
        """Refuse an output of another size than the embeddings that it shares, ``decoder.size``."""
        shared = self.share_decoder_input_output_embed or self.share_all_embeddings
        output, embeddings = self.decoder.output_dim, getattr(self.decoder, size)
        if shared and output != embeddings:
            raise RefusedOption(
                f"--decoder-output-dim {output}: embeddings that are shared with the output have "
                f"{flag(f'decoder_{size}')} {embeddings}"
            )


@dataclass
class OneStackConfig(RealFormerConfig):
    """The options of a model with one chain: it cannot be chosen, not even in a YAML file."""

    def check(self) -> None:
        super().check()
        if self.residual_chains != RealFormerConfig.residual_chains:
            raise RefusedOption(
                f"--residual-chains {self.residual_chains}: this model has one chain "
                "(for none: --residual-attention none)"
            )


@dataclass
class MaskedLMConfig(OneStackConfig):
    """The options of the masked language model, whose only stack is the encoder."""

    token_types: int = option(
        0,
        "segment embeddings, as BERT's; 0 for none, as RoBERTa",
        whole_number_from_0,
    )
    layer_norm_eps: float = option(1e-5, "of every layer norm; BERT's is 1e-12", positive_number)

    @classmethod
    def from_namespace(cls, args):
        """From the flat options of fairseq's RoBERTa."""
        cfg = super().from_namespace(args)
        cfg.decoder.layers = 0
        return cfg


@dataclass
class LanguageModelConfig(OneStackConfig):
    """The options of the language model, whose only stack is the decoder."""

    @classmethod
    def from_namespace(cls, args):
        """From the flat options of fairseq's language model."""
        # fairseq takes options that it has not declared, such as scale_heads, from vars().
        args = argparse.Namespace(**args) if OmegaConf.is_config(args) else args
        cfg = super().from_namespace(args)
        cfg.encoder.layers = 0
        cfg.no_cross_attention = True
        return cfg

    def check_shared_embeddings(self, size: str) -> None:
        """As of translation models, but a projection may lie between embeddings and layers."""
        super().check_shared_embeddings("input_dim")


def own_options(config: Type[RealFormerConfig] = RealFormerConfig) -> List[Field]:
    """The options that fairseq's model lacks, those declared by :func:`option`."""
    return [own for own in fields(config) if "check" in own.metadata]


def choices_of(own: Field) -> Optional[Sequence[str]]:
    """The accepted values of an option, or None if they are not a list."""
    return None if own.metadata["check"] else [str(choice.value) for choice in own.type]
