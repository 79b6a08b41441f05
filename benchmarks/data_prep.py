"""Speed of text preparation against sacremoses and subword-nmt; see data_prep.sh.

Compared are whole commands, from start to exit, on files. Both learn and apply BPE on the text that
our tokenisation gives, so that codes and encoded text have to be the same bytes. The tokenised
texts differ where our corrections to sacremoses' Moses apply; how many lines agree is printed.
"""

import functools
import gzip
import itertools
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List

from benchmarks.options import PROJECT, new_parser
from benchmarks.rounds import in_turns, timed
from benchmarks.tables import Report, add_case, new_report
from realformer_runtime.command_line import UserError, run_main, whole_number_above_0

LANGUAGES = ("en", "fr")
# In a folder with raw.en and raw.fr. With {lang} once for each language.
STAGES = {
    "normalise, tokenise": {
        "ours": "{python} -m realformer_runtime.text.tokenization --jobs {jobs} --lang {lang}"
        " --moses --normalize-punctuation --remove-non-printing --word-counts counts.{lang}"
        " <raw.{lang} >ours.tok.{lang}",
        "peers": "sacremoses -q -j {jobs} -l {lang} normalize -c tokenize -a"
        " <raw.{lang} >peers.tok.{lang}",
    },
    "learn BPE": {
        "ours": "{python} -m realformer_runtime.text.byte_pair_encoding learn --merges {merges}"
        " --word-counts counts.en counts.fr </dev/null >ours.codes",
        "peers": "cat ours.tok.en ours.tok.fr >tok.both &&"
        " {python} -m subword_nmt.learn_bpe --symbols {merges} --num-workers {jobs}"
        " --input tok.both >peers.codes",
    },
    "apply BPE": {
        "ours": "{python} -m realformer_runtime.text.byte_pair_encoding apply --jobs {jobs}"
        " --codes ours.codes <ours.tok.{lang} >ours.bpe.{lang}",
        # The command subword-nmt has --num-workers, too, but does not look at it.
        "peers": "{python} -m subword_nmt.apply_bpe --num-workers {jobs} --codes peers.codes"
        " --input ours.tok.{lang} >peers.bpe.{lang}",
    },
}


def run(commands: List[str], work: Path) -> None:
    """Run shell commands one after the other."""
    path = os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])
    options = {"shell": True, "cwd": work, "env": {**os.environ, "PYTHONPATH": path}}
    for command in commands:
        result = subprocess.run(command, stderr=subprocess.PIPE, **options)
        if result.returncode != 0:
            last = (result.stderr.decode(errors="replace").splitlines() or ["no message"])[-1]
            raise UserError(f"{command}: {last}")


def write_raw(corpus: Path, work: Path, pairs: int) -> None:
    """The first ``pairs`` pairs of the corpus, which begins anew where it ends."""
    for lang in LANGUAGES:
        path = corpus / f"train.{lang}"
        path = path if path.is_file() else path.with_name(f"{path.name}.gz")
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            lines = [line.rstrip(b"\n") + b"\n" for line in file]
        if not lines:
            raise UserError(f"--corpus: {path} is empty")
        with open(work / f"raw.{lang}", "wb") as file:
            file.writelines(itertools.islice(itertools.cycle(lines), pairs))


def compare(report: Report, args, work: Path) -> None:
    """Run both, stage by stage."""
    write_raw(args.corpus, work, args.pairs)
    words = {"python": shlex.quote(sys.executable), "jobs": args.jobs, "merges": args.merges}
    lines = 2 * args.pairs / args.jobs
    total = {name: {"seconds": [0.0] * args.rounds} for name in ("peers", "ours")}
    for stage, templates in STAGES.items():
        contenders = {}
        for name in total:
            commands = [templates[name].format(lang=lang, **words) for lang in LANGUAGES]
            commands = list(dict.fromkeys(commands))
            contenders[name] = timed(functools.partial(run, commands, work))
        figures = in_turns(contenders, args.rounds)
        add_case(report, stage, figures, lines)
        for name, own in figures.items():
            total[name]["seconds"] = list(map(sum, zip(total[name]["seconds"], own["seconds"])))
    add_case(report, "end to end", total, lines)


def compared_texts(work: Path) -> Dict[str, object]:
    """Whether codes and encoded texts are the same, and how many tokenised lines are."""
    names = ["codes", *(f"bpe.{lang}" for lang in LANGUAGES)]
    same_bytes = all(
        (work / f"ours.{name}").read_bytes() == (work / f"peers.{name}").read_bytes()
        for name in names
    )
    found: Dict[str, object] = {"codes and encoded text are the same bytes": same_bytes}
    for lang in LANGUAGES:
        texts = [(work / f"{side}.tok.{lang}").read_bytes() for side in ("ours", "peers")]
        pairs = list(itertools.zip_longest(*(text.split(b"\n")[:-1] for text in texts)))
        same = sum(one == other for one, other in pairs)
        share = f"{same:,} of {len(pairs):,} ({100 * same / len(pairs):.2f} %)"
        found[f"tokenised lines that agree, {lang}"] = share
    return found


def parse_args():
    parser = new_parser("data_prep", __doc__, rounds=3)
    add = parser.add_argument
    add("--corpus", type=Path, required=True)
    cores = len(os.sched_getaffinity(0))
    for flag, default in (("pairs", 200_000), ("jobs", cores), ("merges", 8000)):
        add(f"--{flag}", type=whole_number_above_0, default=default)
    add("--work", type=Path)
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        with new_report("data_prep", args, "peers", "lines a second and core") as report:
            compare(report, args, work)
            report["checks"] = compared_texts(work)


if __name__ == "__main__":
    run_main(main, "data_prep.sh")
