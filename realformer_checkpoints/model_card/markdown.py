"""Escape values from files, so that Markdown takes nothing in them for markup."""

import os
import re
import shlex
from typing import Any, Iterable, Sequence

from realformer_runtime.command_line import printable

NOT_RECORDED = "not recorded"
LONGEST, LARGEST = 200, 10**18  # characters of a value; number
# Underscores inside a word are no markup: label_smoothed_cross_entropy.
MARKUP = re.compile(
    r"[\\`*\[\]<>|~&#!$@{}]|(?<![^\W_])_|_(?![^\W_])|(?<=https):|(?<=http):|(?<=www)\."
)


def one_line(value: Any) -> str:
    """A text or a number on one line; empty for anything else."""
    if isinstance(value, float):
        value = f"{value:.10g}"
    if not isinstance(value, (str, int)) or (isinstance(value, int) and abs(value) > LARGEST):
        return ""
    # Bytes that are not UTF-8 in a name or an argument are lone surrogates here.
    line = printable(str(value)[: LONGEST + 1]).encode("utf-8", "replace").decode("utf-8").strip()
    return line if len(line) <= LONGEST else line[:LONGEST] + "…"


def escape_markdown(value: Any) -> str:
    return MARKUP.sub(r"\\\g<0>", one_line(value)) or NOT_RECORDED


def number(value: Any) -> str:
    """A whole number with commas, ``7,647,232``; other values without change."""
    return f"{value:,}" if type(value) is int and one_line(value) else escape_markdown(value)


def code_span(value: Any) -> str:
    return "`{}`".format(one_line(value).replace("`", "'")) if one_line(value) else NOT_RECORDED


def shell_quote(value: Any) -> str:
    """A word of a command, in which a name that starts with a dash cannot be an option."""
    return shlex.quote(re.sub("^-", "./-", one_line(value) or NOT_RECORDED))


def base_name(path: Any) -> str:
    """The last part of a path. The rest would tell about a machine."""
    return os.path.basename(path.rstrip("/")) if isinstance(path, str) else ""


def listed(parts: Iterable[str]) -> str:
    """The parts that are known, separated by commas."""
    return ", ".join(filter(None, parts)) or NOT_RECORDED


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
