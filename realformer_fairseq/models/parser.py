"""The options of the models on the command line, and their names in YAML files."""

import argparse
import difflib
import functools
from typing import Callable, FrozenSet, Iterable, Type

from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models.transformer import TransformerConfig

from realformer_runtime.command_line import flag

from .config import RealFormerConfig, RefusedOption, choices_of, own_options

METAVARS = {int: "N", float: "X", str: "LIST"}


@functools.cache
def option_names(add_args: Callable, architecture: Callable) -> FrozenSet[str]:
    """Names of all options of a model, with underscores."""
    parser = argparse.ArgumentParser(add_help=False)
    add_args(parser)
    defaults = argparse.Namespace()
    architecture(defaults)  # sets a few options that have no flag
    return frozenset([*vars(defaults), *(action.dest for action in parser._actions)])


def check_names(names: Iterable[str], add_args: Callable, architecture: Callable) -> None:
    """Refuse unknown options in a YAML file, which no parser checks.

    Args:
        names: keys of ``model`` in the file
        add_args: of the model
        architecture: any of the model

    Raises:
        RefusedOption: naming the first unknown option and a similar one
    """
    known = option_names(add_args, architecture)
    for name in names:
        if name in known or name in ("_name", "arch"):
            continue
        close = difflib.get_close_matches(name, known, n=1)
        meant = f" (is model.{close[0]} meant?)" if close else ""
        raise RefusedOption(f"model.{name}: a realformer model has no such option{meant}")


def add_arguments(parser) -> None:
    """Add all options of the model, without defaults: the architectures have these."""
    gen_parser_from_dataclass(parser, TransformerConfig(), delete_default=True, with_prefix="")
    add_own_arguments(parser)


def add_own_arguments(parser, config: Type[RealFormerConfig] = RealFormerConfig) -> None:
    """Add the options that fairseq's model lacks; a model with one chain has none to choose."""
    for own in own_options(config):
        if own.name == "residual_chains" and config is not RealFormerConfig:
            continue
        choices = choices_of(own)
        metavar = None if choices else METAVARS[own.type]
        parser.add_argument(
            flag(own.name),
            choices=choices,
            type=own.metadata["check"],
            metavar=metavar,
            default=argparse.SUPPRESS,
            help=f"{own.metadata['help']} (default: {own.metadata['shown'] or own.default})",
        )
