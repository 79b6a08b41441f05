"""What a user can set: fairseq's Transformer configuration and our own options."""

import argparse
import difflib
import functools
import re
from dataclasses import dataclass, field
from typing import FrozenSet, Iterable

from fairseq.dataclass import ChoiceEnum
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models.transformer import TransformerConfig
from fairseq.models.transformer.transformer_legacy import base_architecture

from realformer_runtime.command_line import flag

from ..modules.residual_scores import RESIDUAL_ATTENTION_CHOICES
from ..modules.sublayer_scaling import SUBLAYER_SCALING_CHOICES

CHAINS = ("encoder", "decoder", "cross")

RESIDUAL_ATTENTION_HELP = (
    "carry attention scores from layer to layer: their running mean (the paper's choice for "
    "translation), their sum, or not at all"
)
RESIDUAL_CHAINS_HELP = (
    "comma-separated list of the attentions that carry scores: encoder and decoder "
    "self-attention, cross-attention"
)

SUBLAYER_SCALING_HELP = (
    "omega in LN(x * omega + f(x)): 1; ADMIN's, from a profile of the first training batches; "
    "ADMIN's from the depth alone; or DeepNorm, with its initial weights"
)
ADMIN_PROFILE_TOKENS_HELP = "tokens that --sublayer-scaling admin takes its profile from"


def whole_number_above_0(value) -> int:
    """Check a count.

    Raises:
        argparse.ArgumentTypeError: naming what is accepted
    """
    if not re.fullmatch("0*[1-9][0-9]*", str(value)):
        raise argparse.ArgumentTypeError(f"{value!r} is not a whole number above 0")
    return int(value)


def residual_chains(value: str) -> str:
    """Check a list of chains and bring it into the order encoder, decoder, cross.

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


@dataclass
class RealFormerConfig(TransformerConfig):
    """``TransformerConfig`` of fairseq plus the options of residual scores and of ADMIN."""

    residual_attention: ChoiceEnum(RESIDUAL_ATTENTION_CHOICES) = field(
        default="mean", metadata={"help": RESIDUAL_ATTENTION_HELP}
    )
    residual_chains: str = field(default=",".join(CHAINS), metadata={"help": RESIDUAL_CHAINS_HELP})
    sublayer_scaling: ChoiceEnum(SUBLAYER_SCALING_CHOICES) = field(
        default="none", metadata={"help": SUBLAYER_SCALING_HELP}
    )
    admin_profile_tokens: int = field(default=8192, metadata={"help": ADMIN_PROFILE_TOKENS_HELP})

    def residual_attention_of(self, chain: str) -> str:
        """``mean``, ``sum`` or ``none`` for one of ``encoder``, ``decoder``, ``cross``."""
        return str(self.residual_attention) if chain in self.residual_chains.split(",") else "none"

    def check(self) -> None:
        """Refuse what cannot work.

        Raises:
            ValueError: naming the flag and what is accepted
        """
        for name, choices in (
            ("residual_attention", RESIDUAL_ATTENTION_CHOICES),
            ("sublayer_scaling", SUBLAYER_SCALING_CHOICES),
        ):
            value = str(getattr(self, name))
            if value not in choices:
                raise ValueError(f"{flag(name)} {value}: choose one of {', '.join(choices)}")
        for name, check in (
            ("residual_chains", residual_chains),
            ("admin_profile_tokens", whole_number_above_0),
        ):
            try:
                setattr(self, name, check(getattr(self, name)))
            except argparse.ArgumentTypeError as error:
                raise ValueError(f"{flag(name)}: {error}") from None
        for stack in ("encoder", "decoder"):
            if str(self.sublayer_scaling) != "none" and getattr(self, stack).normalize_before:
                raise ValueError(
                    f"--sublayer-scaling {self.sublayer_scaling} cannot be used with "
                    f"--{stack}-normalize-before: it scales the input of a Post-LN sub-layer; "
                    "for a Pre-LN model choose --sublayer-scaling none"
                )
        if self.base_layers:
            raise ValueError(
                f"--base-layers {self.base_layers} cannot be used with a realformer model: "
                "a BASE layer has no attention scores to carry"
            )


@functools.cache
def option_names() -> FrozenSet[str]:
    """Every option of the model, with underscores."""
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    defaults = argparse.Namespace()
    base_architecture(defaults)  # has a few that no flag sets
    return frozenset([*vars(defaults), *(action.dest for action in parser._actions)])


def check_names(names: Iterable[str]) -> None:
    """Refuse options that the model does not have, where no parser has done so.

    Args:
        names: keys of ``model`` in a YAML file

    Raises:
        ValueError: naming the first of them, and what may have been meant
    """
    for name in names:
        if name in option_names() or name in ("_name", "arch"):
            continue
        close = difflib.get_close_matches(name, option_names(), n=1)
        meant = f" (is model.{close[0]} meant?)" if close else ""
        raise ValueError(f"model.{name}: a realformer model has no such option{meant}")


def add_arguments(parser) -> None:
    """Add every option of fairseq's Transformer and our own, without defaults.

    The architectures hold the defaults, as for fairseq's ``transformer``.
    """
    gen_parser_from_dataclass(parser, TransformerConfig(), delete_default=True, with_prefix="")
    add_own_arguments(parser)


def add_own_arguments(parser) -> None:
    """Add the options that fairseq's Transformer does not have."""
    parser.add_argument(
        "--residual-attention",
        choices=RESIDUAL_ATTENTION_CHOICES,
        default=argparse.SUPPRESS,
        help=RESIDUAL_ATTENTION_HELP + " (default: mean)",
    )
    parser.add_argument(
        "--residual-chains",
        type=residual_chains,
        metavar="LIST",
        default=argparse.SUPPRESS,
        help=RESIDUAL_CHAINS_HELP + f" (default: {','.join(CHAINS)})",
    )
    parser.add_argument(
        "--sublayer-scaling",
        choices=SUBLAYER_SCALING_CHOICES,
        default=argparse.SUPPRESS,
        help=SUBLAYER_SCALING_HELP + " (default: what --arch says)",
    )
    parser.add_argument(
        "--admin-profile-tokens",
        type=whole_number_above_0,
        metavar="N",
        default=argparse.SUPPRESS,
        help=ADMIN_PROFILE_TOKENS_HELP + " (default: 8192)",
    )
