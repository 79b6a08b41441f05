"""Options that fairseq runs as Python are read as literals, since a checkpoint may hold any text.

Such as the cutoffs of an adaptive softmax. torch refuses code in a file, and would not see this.
"""

import ast
from typing import Any

from fairseq import utils
from fairseq.models import transformer_lm

from realformer_runtime.command_line import UserError


def literal(text: Any) -> Any:
    """What ``eval`` makes of the text of a literal.

    Raises:
        TypeError: not a text, as ``eval`` does
        UserError: something else than a literal
    """
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text")
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UserError(
            f"'{text[:60]}' is the value of an option: fairseq would run it as code; accepted are "
            "numbers, text, lists and dictionaries"
        ) from None


def read_options_as_literals() -> None:
    """Give the modules of fairseq that build models another ``eval``."""
    for module in (utils, transformer_lm):
        module.eval = literal
