"""What a user can set: fairseq's Transformer configuration and the two residual options."""

import argparse
from dataclasses import dataclass, field

from fairseq.dataclass import ChoiceEnum
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models.transformer import TransformerConfig

from .residual_attention import RESIDUAL_ATTENTION_CHOICES

CHAINS = ("encoder", "decoder", "cross")

RESIDUAL_ATTENTION_HELP = (
    "carry attention scores from layer to layer: their running mean (the paper's choice for "
    "translation), their sum, or not at all"
)
RESIDUAL_CHAINS_HELP = (
    "comma-separated list of the attentions that carry scores: encoder and decoder "
    "self-attention, cross-attention"
)


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
    """``TransformerConfig`` of fairseq plus ``--residual-attention`` and ``--residual-chains``."""

    residual_attention: ChoiceEnum(RESIDUAL_ATTENTION_CHOICES) = field(
        default="mean", metadata={"help": RESIDUAL_ATTENTION_HELP}
    )
    residual_chains: str = field(default=",".join(CHAINS), metadata={"help": RESIDUAL_CHAINS_HELP})

    def residual_attention_of(self, chain: str) -> str:
        """``mean``, ``sum`` or ``none`` for one of ``encoder``, ``decoder``, ``cross``."""
        return str(self.residual_attention) if chain in self.residual_chains.split(",") else "none"

    def check(self) -> None:
        """Refuse what cannot work.

        Raises:
            ValueError: naming the flag and what is accepted
        """
        if str(self.residual_attention) not in RESIDUAL_ATTENTION_CHOICES:
            raise ValueError(
                f"--residual-attention {self.residual_attention}: "
                f"choose one of {', '.join(RESIDUAL_ATTENTION_CHOICES)}"
            )
        try:
            self.residual_chains = residual_chains(self.residual_chains)
        except argparse.ArgumentTypeError as error:
            raise ValueError(f"--residual-chains: {error}") from None
        if self.base_layers:
            raise ValueError(
                f"--base-layers {self.base_layers} cannot be used with a realformer model: "
                "a BASE layer has no attention scores to carry"
            )


def add_arguments(parser) -> None:
    """Add every option of fairseq's Transformer and our own, without defaults.

    The architectures hold the defaults, as for fairseq's ``transformer``.
    """
    gen_parser_from_dataclass(parser, TransformerConfig(), delete_default=True, with_prefix="")
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
