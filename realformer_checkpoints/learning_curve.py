"""Draw loss, accuracy, gradient norm or speed by update, from logs of fairseq-train."""

import math
from pathlib import Path
from typing import Dict

from realformer_runtime.command_line import ArgumentParser, UserError, run_main

from .figures import check_matplotlib, new_figure, plain, save
from .training_log import Curve, log_lines, read_curves
from .writing import check_not_an_input

PROGRAM = "plot_learning_curve.sh"


# Label and scale of the axis.
QUANTITIES = {
    "loss": ("negative log-likelihood, bits per subword", "linear"),
    "accuracy": ("accuracy, percent", "linear"),
    "gradient-norm": ("norm of the gradient", "log"),
    "speed": ("tokens a second", "linear"),
}


def draw_curves(logs: Dict[str, Dict[str, Curve]], quantity: str, title: str, output: str) -> None:
    """Draw the curves of one or several trainings, each in one colour, as a PNG file.

    The training loss is a thin line if there is a validation loss.

    Args:
        logs: curves by the name of the training
    """
    figure = new_figure(7, 4.5, dpi=120)
    axes = figure.subplots()
    for number, (name, curves) in enumerate(logs.items()):
        for subset, curve in curves.items():
            line = axes.plot(*zip(*curve), color=f"C{number}", markersize=4)[0]
            line.set_marker("" if subset == "train" else "o")
            if subset == "train" and len(curves) > 1:
                line.set(alpha=0.4, linewidth=1)
            label = f"{name} ({subset})" if len(curves) > 1 else name
            line.set_label(plain(label if len(logs) > 1 else subset))
    label, scale = QUANTITIES[quantity]
    axes.set(xlabel="updates", ylabel=label, yscale=scale, title=plain(title))
    axes.yaxis.set_major_formatter("{x:g}")
    if scale == "log":  # the default labels only powers of ten
        axes.yaxis.set_minor_formatter("{x:g}")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    save(figure, output)


def curves_of(path: str, quantity: str) -> Dict[str, Curve]:
    """The curves of a log that have something to draw.

    Raises:
        UserError: there is none
    """
    curves = read_curves(log_lines(path), quantity)
    lowest = 0 if QUANTITIES[quantity][1] == "log" else -math.inf
    drawn = {
        subset: curve
        for subset, curve in curves.items()
        if any(lowest < value < math.inf for _, value in curve)
    }
    if any(curves.values()) and not drawn:
        raise UserError(f"--logs {path}: no {quantity} in it that can be drawn, only NaN and such")
    if not drawn:
        raise UserError(f"--logs {path}: no {quantity} in it; is it a log of --log-format simple?")
    return drawn


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--logs", required=True, nargs="+", metavar="FILE", help="log files")
    parser.add_argument("--quantity", default="loss", choices=QUANTITIES, help="what to draw")
    parser.add_argument("--title", default="", help="above the picture")
    parser.add_argument("--output", required=True, metavar="FILE", help="PNG file")
    args = parser.parse_args()
    check_matplotlib()
    check_not_an_input(args.output, args.logs)
    logs = {}
    for path in args.logs:
        name = Path(path).stem
        if name in logs:
            raise UserError(f"--logs: two files are called {name}, which names their curves")
        logs[name] = curves_of(path, args.quantity)
    draw_curves(logs, args.quantity, args.title, args.output)


if __name__ == "__main__":
    run_main(main, PROGRAM)
