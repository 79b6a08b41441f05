"""Helpers of all pictures: figures without a display, PNG files, headings."""

import importlib.util
import warnings

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import UserError

TITLES = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}


def check_matplotlib(besides: str = "") -> None:
    """Refuse to start work for a picture that cannot be drawn, with further advice ``besides``.

    Raises:
        UserError: matplotlib is not installed
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise UserError(f"pictures need matplotlib: pip install matplotlib{besides}")


def new_figure(width: float, height: float, dpi: int = 100):
    """A figure that needs no display, of a size in inches."""
    check_matplotlib()
    # A letter that no font has is a box in the picture; each would also be two lines of warnings.
    warnings.filterwarnings("ignore", "Glyph .* missing from")
    from matplotlib.figure import Figure

    return Figure((width, height), dpi)


def save(figure, output) -> None:
    """Write a figure as a PNG file, completely or not at all."""
    with atomic_output(output) as temporary:
        figure.savefig(temporary, format="png")


def heading(title: str, attention: str) -> str:
    """``title: cross-attention``; the title may be empty."""
    return f"{plain(title)}: {TITLES[attention]}" if title else TITLES[attention]


def plain(text: str) -> str:
    """Escape dollar signs, which start a formula in matplotlib."""
    return text.replace("$", r"\$")
