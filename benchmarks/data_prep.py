"""Speed of text preparation against sacremoses and subword-nmt; see data_prep.sh.

Compared are whole commands, from start to exit, on files. Both learn and apply BPE on the text that
our tokenisation gives, so that codes and encoded text have to be the same bytes. The tokenised
texts differ where our corrections to sacremoses' Moses apply; how many lines agree is printed.
"""

import gzip
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, run_main

LANGUAGES = ("en", "fr")
STAGES = ("normalise, tokenise", "learn BPE", "apply BPE")
PYTHON = sys.executable


def run(command: List[object], source: Path, target: Path) -> None:
    """Run a command from a file to a file.

    Raises:
        UserError: it failed
    """
    with open(source, "rb") as standard_input, open(target, "wb") as output:
        result = subprocess.run(
            list(map(str, command)), stdin=standard_input, stdout=output, stderr=subprocess.PIPE
        )
    if result.returncode != 0:
        last = (result.stderr.decode(errors="replace").splitlines() or ["no message"])[-1]
        raise UserError(f"{' '.join(map(str, command))}: {last}")


def concatenate(work: Path, name: str) -> Path:
    target = work / name
    with open(target, "wb") as out:
        for lang in LANGUAGES:
            with open(work / f"ours.tok.{lang}", "rb") as file:
                shutil.copyfileobj(file, out)
    return target


class Ours:
    """Our commands."""

    def __init__(self, work: Path, jobs: int, merges: int):
        self.work, self.jobs, self.merges = work, jobs, merges

    def tokenize(self) -> None:
        command = [
            PYTHON,
            "-m",
            "realformer_runtime.text.tokenization",
            "--jobs",
            self.jobs,
            "--moses",
        ]
        command += ["--normalize-punctuation", "--remove-non-printing"]
        for lang in LANGUAGES:
            counts = self.work / f"counts.{lang}"
            options = ["--lang", lang, "--word-counts", counts]
            run(command + options, self.work / f"raw.{lang}", self.work / f"ours.tok.{lang}")

    def learn(self) -> None:
        command = [PYTHON, "-m", "realformer_runtime.text.byte_pair_encoding", "learn"]
        counts = [self.work / f"counts.{lang}" for lang in LANGUAGES]
        command += ["--merges", self.merges, "--word-counts", *counts]
        run(command, Path(os.devnull), self.work / "ours.codes")

    def encode(self) -> None:
        command = [PYTHON, "-m", "realformer_runtime.text.byte_pair_encoding", "apply"]
        command += ["--jobs", self.jobs, "--codes", self.work / "ours.codes"]
        for lang in LANGUAGES:
            run(command, self.work / f"ours.tok.{lang}", self.work / f"ours.bpe.{lang}")


class Peers:
    """sacremoses and subword-nmt, in the forms that use several processes."""

    def __init__(self, work: Path, jobs: int, merges: int):
        self.work, self.jobs, self.merges = work, jobs, merges

    def tokenize(self) -> None:
        for lang in LANGUAGES:
            command = ["sacremoses", "-q", "-j", self.jobs, "-l", lang]
            command += ["normalize", "-c", "tokenize", "-a"]
            run(command, self.work / f"raw.{lang}", self.work / f"peers.tok.{lang}")

    def learn(self) -> None:
        command = [PYTHON, "-m", "subword_nmt.learn_bpe", "--symbols", self.merges]
        text = concatenate(self.work, "tok.both")
        command += ["--num-workers", self.jobs, "--input", text]
        run(command, Path(os.devnull), self.work / "peers.codes")

    def encode(self) -> None:
        # The command subword-nmt has --num-workers, too, but does not look at it.
        command = [PYTHON, "-m", "subword_nmt.apply_bpe", "--num-workers", self.jobs]
        command += ["--codes", self.work / "peers.codes", "--input"]
        for lang in LANGUAGES:
            text = self.work / f"ours.tok.{lang}"
            run([*command, text], Path(os.devnull), self.work / f"peers.bpe.{lang}")


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


def seconds(stage: Callable[[], None]) -> float:
    started = time.perf_counter()
    stage()
    return time.perf_counter() - started


def measure(sides: Dict[str, object], rounds: int) -> Dict[str, List[List[float]]]:
    """Seconds by side, round and stage. Who begins changes from round to round."""
    times: Dict[str, List[List[float]]] = {name: [] for name in sides}
    for number in range(rounds):
        order = list(sides) if number % 2 == 0 else list(reversed(sides))
        taken: Dict[str, List[float]] = {name: [] for name in sides}
        for stage in ("tokenize", "learn", "encode"):
            # The peers learn on our text, so ours begin.
            for name in sides if number == 0 else order:
                taken[name].append(seconds(getattr(sides[name], stage)))
                print(
                    f"round {number + 1}: {name}, {stage}: {taken[name][-1]:.1f} s", file=sys.stderr
                )
        for name in sides:
            times[name].append([*taken[name], sum(taken[name])])
    return times


def table(times: Dict[str, List[List[float]]], lines: int, jobs: int) -> List[str]:
    """Markdown: lines per second and core, median and spread, and the ratio of the medians."""
    rows = ["| stage | peers | ours | ours/peers |", "|---|---|---|---|"]
    for place, stage in enumerate([*STAGES, "end to end"]):
        cells, medians = [], []
        for name in ("peers", "ours"):
            rates = [lines / taken[place] / jobs for taken in times[name]]
            medians.append(statistics.median(rates))
            cells.append(f"{medians[-1]:,.0f} ({min(rates):,.0f} to {max(rates):,.0f})")
        rows.append(f"| {stage} | {' | '.join(cells)} | {medians[1] / medians[0]:.1f} |")
    return rows


def agreement(work: Path) -> List[str]:
    """How many tokenised lines of each language are the same, in words."""
    found = []
    for lang in LANGUAGES:
        ours, peers = (
            (work / f"{side}.tok.{lang}").read_bytes().split(b"\n")[:-1]
            for side in ("ours", "peers")
        )
        pairs = list(itertools.zip_longest(ours, peers))
        same = sum(one == other for one, other in pairs)
        found.append(f"{lang} {same:,} of {len(pairs):,} ({100 * same / len(pairs):.2f} %)")
    return found


def same_bytes(work: Path) -> bool:
    names = ["codes", *(f"bpe.{lang}" for lang in LANGUAGES)]
    return all(
        (work / f"ours.{name}").read_bytes() == (work / f"peers.{name}").read_bytes()
        for name in names
    )


def report(args, work: Path) -> List[str]:
    write_raw(args.corpus, work, args.pairs)
    sides = {side.__name__.lower(): side(work, args.jobs, args.merges) for side in (Ours, Peers)}
    load = os.getloadavg()[0]
    times = measure(sides, args.rounds)
    same = same_bytes(work)
    return [
        f"{args.pairs:,} pairs, {args.jobs} processes, {args.merges:,} merges, {args.rounds}"
        f" rounds; {os.cpu_count()} cores, load {load:.1f} before, {os.getloadavg()[0]:.1f} after.",
        "Lines per second and core, median (spread):",
        "",
        *table(times, 2 * args.pairs, args.jobs),
        "",
        f"Tokenised lines that agree: {', '.join(agreement(work))}.",
        f"Codes and encoded text are {'' if same else 'NOT '}the same bytes.",
    ]


def parse_args():
    parser = ArgumentParser(prog="data_prep.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    for flag, default in (("pairs", 200_000), ("rounds", 3), ("jobs", 1), ("merges", 8000)):
        parser.add_argument(f"--{flag}", type=int, default=default)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    for flag in ("pairs", "rounds", "jobs", "merges"):
        if getattr(args, flag) < 1:
            raise UserError(f"--{flag}: {getattr(args, flag)} is not a whole number above 0")
    return args


def main() -> None:
    args = parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        lines = report(args, work)
    text = "".join(f"{line}\n" for line in lines)
    print(text, end="")
    if args.out:
        with atomic_output(args.out) as path:
            path.write_text(text, "utf-8")
    if "NOT the same" in text:
        raise UserError("ours and the peers' BPE differ")


if __name__ == "__main__":
    run_main(main, "data_prep.sh")
