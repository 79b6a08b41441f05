"""Draw loss, gradient norm or speed by update, from logs of fairseq-train."""

import re
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Tuple

from ..atomic_output import atomic_output
from ..command_line import ArgumentParser, UserError, run_main

PROGRAM = "plot_learning_curve.sh"
NUMBER = r"[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?(?![\w.])|nan\b|inf\b"
LONGEST_LINE = 10_000  # characters; fairseq's lines of figures are below 1,000
UPDATES = r"([0-9]{1,12})\b"
TRAINING_LINE = re.compile(rf"\bepoch [0-9]+: .*\bnum_updates={UPDATES}")
VALIDATION_LINE = re.compile(
    rf"valid on '(\w+)' subset .*\bnll_loss ({NUMBER}).*\bnum_updates {UPDATES}"
)

Curve = List[Tuple[int, float]]


class Quantity(NamedTuple):
    """Something that fairseq-train logs: its name there, how to label it and on which scale."""

    key: str
    label: str
    scale: str


QUANTITIES = {
    "loss": Quantity("nll_loss", "negative log-likelihood, bits per subword", "linear"),
    "gradient-norm": Quantity("gnorm", "norm of the gradient", "log"),
    "speed": Quantity("wps", "target tokens a second", "linear"),
}


def read_curves(lines: Iterable[str], quantity: str = "loss") -> Dict[str, Curve]:
    """A quantity by update, for training and (the loss) for each validation set.

    Of an update that was logged twice, as after resuming, the later line counts.

    Args:
        lines: of the log
        quantity: one of ``QUANTITIES``

    Returns:
        ``{"train": [(update, value)], "valid": [...]}``, sorted by update
    """
    value_in = re.compile(rf"\b{QUANTITIES[quantity].key}=({NUMBER})")
    found: Dict[str, Dict[int, float]] = {"train": {}}
    for line in lines:
        if len(line) > LONGEST_LINE:
            continue
        training, value = TRAINING_LINE.search(line), value_in.search(line)
        validation = VALIDATION_LINE.search(line)
        if training and value:
            found["train"][int(training.group(1))] = float(value.group(1))
        elif validation and quantity == "loss":
            subset = found.setdefault(validation.group(1), {})
            subset[int(validation.group(3))] = float(validation.group(2))
    return {name: sorted(curve.items()) for name, curve in found.items()}


def draw(logs: Dict[str, Dict[str, Curve]], quantity: str, title: str, output: Path) -> None:
    """A picture with the curves of one or several trainings, a colour each.

    A training's own loss is drawn thin beside its validation loss, if it has one.

    Args:
        logs: curves by the name of the training
        quantity: one of ``QUANTITIES``
        title: stands above it
        output: PNG file
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), dpi=120)
    for number, (name, curves) in enumerate(logs.items()):
        for subset, curve in curves.items():
            thin = dict(alpha=0.4, linewidth=1) if subset == "train" and len(curves) > 1 else {}
            marker = "" if subset == "train" else "o"
            label = f"{name} ({subset})" if len(logs) > 1 and len(curves) > 1 else name
            label = subset if len(logs) == 1 else label
            style = dict(color=f"C{number}", marker=marker, markersize=4, **thin)
            axes.plot(*zip(*curve), label=label, **style)
    _, label, scale = QUANTITIES[quantity]
    axes.set(xlabel="updates", ylabel=label, yscale=scale)
    axes.set_title(title, parse_math=False)
    axes.yaxis.set_major_formatter("{x:g}")
    if scale == "log":  # by default powers of ten, and nothing in between
        axes.yaxis.set_minor_formatter("{x:g}")
    axes.grid(alpha=0.3)
    for name in axes.legend().get_texts():
        name.set_parse_math(False)
    figure.tight_layout()
    figure.savefig(output, format="png")


def main() -> None:
    parser = ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    parser.add_argument("--logs", required=True, nargs="+", metavar="FILE", help="log files")
    parser.add_argument("--quantity", default="loss", choices=QUANTITIES, help="what to draw")
    parser.add_argument("--title", default="", help="above the picture")
    parser.add_argument("--output", required=True, metavar="FILE", help="PNG file")
    args = parser.parse_args()
    logs = {}
    for path in args.logs:
        name = Path(path).stem
        if name in logs:
            raise UserError(f"--logs: two files are called {name}, which names their curves")
        with open(path, encoding="utf-8", errors="replace") as file:
            curves = read_curves(file, args.quantity)
        curves = {name: curve for name, curve in curves.items() if curve}
        if not curves:
            raise UserError(
                f"--logs {path}: no {args.quantity} in it; is it a log of --log-format simple?"
            )
        logs[name] = curves
    with atomic_output(args.output) as temporary:
        draw(logs, args.quantity, args.title, temporary)


if __name__ == "__main__":
    run_main(main, PROGRAM)
