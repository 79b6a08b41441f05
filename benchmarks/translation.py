"""Raw text to raw text: what scripts/translate.sh takes with a checkpoint and with its export.

    python -m benchmarks.translation --checkpoint FILE --data DIR --input FILE --reference FILE

The checkpoint is exported first. Each way translates the whole input in a process of its own, in
turns; its start is included. Measured are the time on the clock, the processor time, the peak of
memory without mapped files, and the sacreBLEU of what comes out.
"""

import functools
import tempfile
from pathlib import Path
from typing import Dict, List

from benchmarks.options import PROJECT, listed, new_parser
from benchmarks.processes import called, run_measured
from benchmarks.rounds import in_turns
from benchmarks.tables import Report, add_case, new_report
from realformer_runtime.command_line import UserError, run_main
from realformer_runtime.scores.hypothesis_files import read_lines
from realformer_runtime.scores.measures import sacrebleu_measure

BASELINE = "--checkpoint"
CONTENDERS = (BASELINE, "--checkpoint --int8", "--onnx", "--onnx --int8")


def commands(args, folder: Path) -> Dict[str, List[str]]:
    """Each way to translate, as a command that writes into a folder; the export is made."""
    files = ["--checkpoint", str(args.checkpoint), "--data", str(args.data)]
    exported = str(folder / "onnx")
    if any("--onnx" in name for name in args.contenders):
        export = [f"{PROJECT}/scripts/export_onnx.sh", *files, "--output", exported, "--int8"]
        called(*export)
    made = {}
    for number, name in enumerate(args.contenders):
        source, *int8 = name.split()
        own = files if source == "--checkpoint" else ["--onnx", exported]
        made[name] = [f"{PROJECT}/scripts/translate.sh", *own, *int8]
        made[name] += ["--input", str(args.input), "--output", str(folder / f"{number}")]
        if source == "--checkpoint":
            made[name] += ["--", "--cpu"]
    return made


def compare(report: Report, args, folder: Path) -> None:
    runs = commands(args, folder)
    measured = {name: functools.partial(seconds, command) for name, command in runs.items()}
    number, reference = len(read_lines(str(args.input))), read_lines(str(args.reference))
    add_case(report, f"{number:,} lines", in_turns(measured, args.rounds))
    measure, first = sacrebleu_measure(args.lang), read_lines(str(folder / "0"))
    for place, name in enumerate(runs):
        found = read_lines(str(folder / f"{place}"))
        score = measure.score(found, [reference])["score"]
        equal = sum(map(str.__eq__, first, found))
        report["checks"][name] = f"{score:.2f} sacreBLEU, {equal:,} lines as with {BASELINE}"


def seconds(command: List[str]) -> Dict[str, float]:
    return run_measured(command)[0]


def parse_args():
    parser = new_parser("translation", __doc__, rounds=3)
    add = parser.add_argument
    files = ("checkpoint", "input", "reference")
    for name in files:
        add(f"--{name}", type=Path, required=True, metavar="FILE")
    add("--data", type=Path, required=True, metavar="DIR", help="with dictionaries and BPE codes")
    add("--lang", default="fr", help="of --reference")
    ways = ",".join(CONTENDERS)
    add("--contenders", type=listed(CONTENDERS), default=ways, help=f"of {ways}")
    args = parser.parse_args()
    for name in files:
        path = getattr(args, name).absolute()
        if not path.is_file():
            raise UserError(f"--{name}: no such file: '{path}'")
        setattr(args, name, path)
    args.data = args.data.absolute()
    if args.contenders[0] != BASELINE:
        raise UserError(f"--contenders: the first is '{args.contenders[0]}', not {BASELINE}")
    return args


def main() -> None:
    args = parse_args()
    temporary = tempfile.TemporaryDirectory(prefix="translation-")
    with temporary as folder, new_report("translation", args, BASELINE) as report:
        compare(report, args, Path(folder))


if __name__ == "__main__":
    run_main(main)
