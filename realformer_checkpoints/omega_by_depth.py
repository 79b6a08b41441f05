"""Draw omega of each sub-layer of trained models, and where it started.

The start is ADMIN's profile in the log of fairseq-train, or 1 for parameters without one.
"""

import re
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Sequence

import numpy
from torch import Tensor

from realformer_runtime.command_line import ArgumentParser, UserError, run_main

from .figures import check_matplotlib, new_figure, plain, save
from .reading import load_checkpoint
from .safe_types import allow_fairseq_checkpoints
from .training_log import log_lines
from .writing import check_not_an_input

PROGRAM = "plot_omega.sh"
ORDER = ("self_attn", "encoder_attn", "ffn")
SUBLAYER = rf"layers\.([0-9]{{1,6}})\.({'|'.join(ORDER)})"
# A masked language model has its layers in encoder.sentence_encoder.
OMEGA = re.compile(rf"(encoder|decoder)\.(?:sentence_encoder\.)?{SUBLAYER}_residual\.omega")
PROFILE_LINE = re.compile(rf"ADMIN profile: ({OMEGA.pattern}) = ([0-9]+(?:\.[0-9]*)?)(?![\w.])")


class OmegasOfModel(NamedTuple):
    """The omegas of one trained model and its profile, both by name of the parameter."""

    name: str
    trained: Dict[str, Tensor]
    profile: Dict[str, float]


def of_stack(names: Iterable[str], stack: str) -> List[str]:
    """The parameters of a stack, from the bottom to the top."""
    found = [match for match in map(OMEGA.fullmatch, names) if match[1] == stack]
    found.sort(key=lambda match: (int(match[2]), ORDER.index(match[3])))
    return [match[0] for match in found]


def read_omegas(checkpoint: str, log: str) -> OmegasOfModel:
    """Read the omegas and the profile of a training, named after its log."""
    model = load_checkpoint(checkpoint)["model"]
    trained = {name: value.float() for name, value in model.items() if OMEGA.fullmatch(name)}
    if not trained:
        raise UserError(f"--run {checkpoint}: there is no omega in it")
    lines = list(log_lines(log))
    found = map(PROFILE_LINE.search, lines)
    profile = {match[1]: float(match[5]) for match in found if match}
    if not profile and not any("num_updates" in line for line in lines):
        raise UserError(f"--run {log}: no log of fairseq-train")
    return OmegasOfModel(Path(log).stem, trained, profile)


def draw_omegas(runs: Sequence[OmegasOfModel], title: str, output: str) -> None:
    """Draw for each stack the start (dashed), the trained mean and its spread over dimensions."""
    stacks = [
        stack
        for stack in ("encoder", "decoder")
        if any(of_stack(run.trained, stack) for run in runs)
    ]
    figure = new_figure(5 * len(stacks), 4.5, dpi=120)
    (panels,) = figure.subplots(1, len(stacks), squeeze=False)
    for stack, axes in zip(stacks, panels):
        for number, run in enumerate(runs):
            names, colour = of_stack(run.trained, stack), f"C{number}"
            positions = range(1, len(names) + 1)
            mean = numpy.array([run.trained[name].mean().item() for name in names])
            spread = numpy.array([run.trained[name].std(correction=0).item() for name in names])
            axes.fill_between(
                positions, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0
            )
            axes.plot(positions, mean, color=colour, label=plain(run.name))
            if run.profile:
                start = [run.profile.get(name, 1.0) for name in names]
                axes.plot(positions, start, color=colour, linestyle="--", linewidth=1)
        axes.set(title=stack, xlabel="sub-layer, from the bottom", ylabel="omega")
        axes.grid(alpha=0.3)
    panels[0].legend(title="after training (dashed: at its start)")
    figure.suptitle(plain(title))
    figure.tight_layout()
    save(figure, output)


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add, pair = parser.add_argument, ("CHECKPOINT", "LOG")
    what = "a training; the name of the log is the name of the curve"
    add("--run", required=True, nargs=2, action="append", metavar=pair, help=what)
    add("--title", default="", help="above the picture")
    add("--output", required=True, metavar="FILE", help="PNG file")
    args = parser.parse_args()
    check_matplotlib()
    allow_fairseq_checkpoints()
    check_not_an_input(args.output, (path for run in args.run for path in run))
    names = [Path(log).stem for _, log in args.run]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"--run: two logs are called {name}, which names their curves")
    runs = [read_omegas(checkpoint, log) for checkpoint, log in args.run]
    draw_omegas(runs, args.title, args.output)


if __name__ == "__main__":
    run_main(main, PROGRAM)
