"""Helpers of all pictures: figures without a display, PNG files, headings."""

import importlib.util
from pathlib import Path

from realformer_runtime.command_line import UserError

TITLES = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}


def check_matplotlib(besides: str = "") -> None:
    """Refuse to start work for a picture that cannot be drawn.

    Args:
        besides: other advice for the user

    Raises:
        UserError: matplotlib is not installed
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise UserError(f"pictures need matplotlib: pip install matplotlib{besides}")


def new_figure(**options):
    """A figure that needs no display.

    Args:
        options: of ``matplotlib.pyplot.figure``, sizes in inches

    Raises:
        UserError: matplotlib is not installed
    """
    check_matplotlib()
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.figure(**{"dpi": 100, **options})


def save(figure, output: Path) -> None:
    """Write a figure as a PNG file, and close it."""
    from matplotlib import pyplot

    figure.savefig(output, format="png")
    pyplot.close(figure)


def heading(title: str, attention: str) -> str:
    """``title: cross-attention``; the title may be empty."""
    return f"{plain(title)}: {TITLES[attention]}" if title else TITLES[attention]


def plain(text: str) -> str:
    """Escape dollar signs, which start a formula in matplotlib."""
    return text.replace("$", r"\$")
