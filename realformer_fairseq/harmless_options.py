"""Options that fairseq evaluates as Python are kept from calling anything.

A checkpoint may hold any text there, such as in the cutoffs of an adaptive softmax. torch refuses
code in a file, but does not see this.
"""

import ast
import sys
from typing import Any

import fairseq.criterions  # noqa: F401
import fairseq.models  # noqa: F401  which imports every model

from realformer_runtime.command_line import UserError

REFUSED = (ast.Name, ast.Attribute, ast.Call)


def evaluate(text: Any) -> Any:
    """What ``eval`` makes of constants, such as ``[(512, 3)] * 20``.

    Raises:
        TypeError: not a text, as ``eval`` does
        UserError: no expression, or one with names
    """
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None or any(isinstance(node, REFUSED) for node in ast.walk(tree)):
        raise UserError(
            f"'{text[:60]}' is the value of an option: fairseq would run it as code; accepted are "
            "numbers, text, lists and dictionaries"
        )
    return eval(compile(tree, "option", "eval"))


def run_no_options() -> None:
    """Give fairseq's modules another ``eval``: those that build models, criteria and the like."""
    for name, module in list(sys.modules.items()):
        if name.startswith("fairseq."):
            module.eval = evaluate
