"""Draw the loss by update from what fairseq-train printed (``--log-format simple``)."""

import re
from pathlib import Path
from typing import Dict, Iterable, List, Tuple

from .atomic_output import atomic_output
from .command_line import ArgumentParser, UserError, run_main

PROGRAM = "plot_learning_curve.sh"
TRAINING_LINE = re.compile(r"train_inner .*\bnll_loss=([\d.]+).*\bnum_updates=(\d+)")
VALIDATION_LINE = re.compile(r"valid on '(\w+)' subset .*\bnll_loss ([\d.]+).*\bnum_updates (\d+)")

Curve = List[Tuple[int, float]]


def read_curves(lines: Iterable[str]) -> Dict[str, Curve]:
    """Negative log-likelihood by update, for training and for each validation set.

    Of an update that was logged twice, as after resuming, the later line counts.

    Returns:
        ``{"train": [(update, bits per subword)], "valid": [...]}``, sorted by update
    """
    found: Dict[str, Dict[int, float]] = {"train": {}}
    for line in lines:
        training, validation = TRAINING_LINE.search(line), VALIDATION_LINE.search(line)
        if training:
            found["train"][int(training.group(2))] = float(training.group(1))
        elif validation:
            subset = found.setdefault(validation.group(1), {})
            subset[int(validation.group(3))] = float(validation.group(2))
    return {name: sorted(curve.items()) for name, curve in found.items()}


def draw(logs: Dict[str, Dict[str, Curve]], title: str, output: Path) -> None:
    """A picture with the curves of one or several trainings, a colour each.

    Args:
        logs: curves by the name of the training
        output: PNG file
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), dpi=120)
    for number, (name, curves) in enumerate(logs.items()):
        for subset, curve in curves.items():
            thin = dict(alpha=0.4, linewidth=1) if subset == "train" else dict(marker="o")
            label = f"{name} ({subset})" if len(logs) > 1 else subset
            axes.plot(*zip(*curve), color=f"C{number}", label=label, markersize=4, **thin)
    axes.set(title=title, xlabel="updates", ylabel="negative log-likelihood, bits per subword")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(output, format="png")


def main() -> None:
    parser = ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    parser.add_argument("--logs", required=True, nargs="+", metavar="FILE", help="log files")
    parser.add_argument("--title", default="", help="above the picture")
    parser.add_argument("--output", required=True, metavar="FILE", help="PNG file")
    args = parser.parse_args()
    logs = {}
    for path in args.logs:
        with open(path, encoding="utf-8") as file:
            curves = {name: curve for name, curve in read_curves(file).items() if curve}
        if not curves:
            raise UserError(f"--logs {path}: no losses in it; is it a log of --log-format simple?")
        logs[Path(path).stem] = curves
    with atomic_output(args.output) as temporary:
        draw(logs, args.title, temporary)


if __name__ == "__main__":
    run_main(main, PROGRAM)
