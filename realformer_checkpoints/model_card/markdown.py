"""Put values from files into Markdown and YAML, so that nothing in them is taken for markup."""

import json
import os
import re
import shlex
from typing import Any, Iterable, Optional, Sequence

from realformer_runtime.command_line import printable

NOT_RECORDED = "not recorded"
LONGEST = 200  # characters of one value
LARGEST = 10**18
# Not the underscores inside a word, which are no markup: label_smoothed_cross_entropy.
MARKUP = re.compile(
    r"[\\`*\[\]<>|~&#!$@{}]|(?<![^\W_])_|_(?![^\W_])|(?<=https):|(?<=http):|(?<=www)\."
)


def scalar(value: Any) -> Optional[str]:
    """A text or a number on one line; None for anything else, and for what is empty."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return None
    if isinstance(value, float):
        value = f"{value:.10g}"
    if not isinstance(value, (str, int)):
        return None
    # What is not UTF-8 in a name or an argument is a lone surrogate here.
    line = printable(str(value)[: LONGEST + 1]).encode("utf-8", "replace").decode("utf-8").strip()
    return (line if len(line) <= LONGEST else line[:LONGEST] + "…") or None


def text(value: Any) -> str:
    """Markdown, on one line."""
    line = scalar(value)
    return NOT_RECORDED if line is None else MARKUP.sub(r"\\\g<0>", line)


def number(value: Any) -> str:
    """With commas: ``7,647,232``."""
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST
    return f"{value:,}" if whole else text(value)


def code(value: Any) -> str:
    """A code span."""
    line = scalar(value)
    return NOT_RECORDED if line is None else "`{}`".format(line.replace("`", "'"))


def base_name(path: Any) -> Optional[str]:
    """Of a file or folder; the rest of a path is about somebody's machine."""
    return os.path.basename(path.rstrip("/")) or None if isinstance(path, str) else None


def word(value: Any) -> str:
    """An argument in a command for a shell; a name that starts with a dash is no option."""
    line = scalar(value) or NOT_RECORDED
    return shlex.quote(f"./{line}" if line.startswith("-") else line)


def yaml_string(value: Any) -> str:
    """In double quotes: unquoted, Norwegian (``no``) would be false."""
    return json.dumps(scalar(value) or NOT_RECORDED, ensure_ascii=False)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Of cells that are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def listed(parts: Iterable[Optional[str]]) -> str:
    """What is known of several things, comma-separated."""
    return ", ".join(part for part in parts if part) or NOT_RECORDED
