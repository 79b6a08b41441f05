"""What all pictures share: a figure without a display, its file, and text that is no formula."""

import importlib.util
from pathlib import Path

from realformer_runtime.command_line import UserError

TITLES = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}


def check_matplotlib(besides: str = "") -> None:
    """Before the work that a picture would be lost for.

    Args:
        besides: what else the user can do

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
    """As a PNG file."""
    from matplotlib import pyplot

    figure.savefig(output, format="png")
    pyplot.close(figure)


def heading(title: str, attention: str) -> str:
    """``title: cross-attention``; the title may be empty."""
    return f"{plain(title)}: {TITLES[attention]}" if title else TITLES[attention]


def plain(text: str) -> str:
    """For matplotlib, to which a dollar sign starts a formula."""
    return text.replace("$", r"\$")
