"""Byte pair encoding (Sennrich et al. 2016) with subword-nmt's result, byte for byte.

    byte_pair_encoding learn --merges 40000 < text > codes
    byte_pair_encoding learn --merges 40000 --word-counts F F > codes
    byte_pair_encoding apply --codes codes < text > encoded

subword-nmt learns the codes, from word frequencies if there are any, with about 1 KB of memory for
each different word. Each word is encoded once, on several processes.
"""

import collections
import contextlib
import functools
import io
import re
import sys
from typing import Dict, Iterable, List

from subword_nmt.learn_bpe import learn_bpe

from ..command_line import ArgumentParser, UserError, run_main, whole_number_above_0
from .bpe_encoding import STRIPPED, line_encoder
from .parallel_lines import add_jobs, convert_stream
from .utf8_lines import read_utf8_lines, whole_lines

PROGRAM = "byte_pair_encoding"


def count_words(lines: Iterable[str]) -> Dict[str, int]:
    """Frequencies of words, which spaces separate, as subword-nmt counts them."""
    counts: Dict[str, int] = collections.Counter()
    for line in lines:
        for part in line.splitlines(keepends=True):
            counts.update(part.strip(STRIPPED).split(" "))
    counts.pop("", None)
    return counts


def read_word_counts(paths: Iterable[str]) -> Dict[str, int]:
    """The sum of files of a word, a tab or a space, and its frequency a line."""
    counts: Dict[str, int] = collections.Counter()
    for path in paths:
        with open(path, "rb") as file:
            for number, line in enumerate(whole_lines(file, f"--word-counts {path}"), 1):
                try:
                    word, count = line.rstrip("\n").replace("\t", " ").split(" ")
                    if not re.fullmatch("[0-9]{1,15}", count):
                        raise ValueError(count)
                    counts[word] += int(count)
                except ValueError:
                    raise UserError(
                        f"--word-counts {path}, line {number}: not a word, a space and a number"
                    ) from None
    return counts


class Codes:
    """The file that subword-nmt writes: standard output, each line as soon as it is known."""

    def __init__(self):
        self.merges = -1  # the first line names the version

    def write(self, line: str) -> None:
        print(line, end="", flush=True)
        self.merges += 1


def learn(merges: int, paths: List[str]) -> None:
    """Write codes to standard output."""
    if paths:
        counts = read_word_counts(paths)
    else:
        counts = count_words(read_utf8_lines(sys.stdin.buffer, "standard input"))
    if max(map(len, counts), default=0) < 2:
        raise UserError("no text to learn from: no word has two characters")
    lines = (f"{word} {count}" for word, count in counts.items() if word)
    codes = Codes()
    with contextlib.redirect_stderr(io.StringIO()):  # subword-nmt draws a bar
        learn_bpe(lines, codes, merges, is_dict=True)
    if codes.merges == 0:
        raise UserError("no text to learn from: no pair of characters occurs twice")
    if codes.merges < merges:
        message = f"{codes.merges} merges, not {merges}: no other pair occurs twice"
        print(f"{PROGRAM}: {message}", file=sys.stderr)


def parse_args():
    parser = ArgumentParser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="learn|apply")
    learning = commands.add_parser("learn", help="codes from text or from word frequencies")
    learning.add_argument("--merges", type=whole_number_above_0, required=True, help="how many")
    learning.add_argument(
        "--word-counts", nargs="+", default=[], metavar="FILE", help="instead of text"
    )
    applying = commands.add_parser("apply", help="words to subwords")
    applying.add_argument("--codes", required=True, metavar="FILE")
    add_jobs(applying)
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    if args.command == "learn":
        learn(args.merges, args.word_counts)
        return
    make = functools.partial(line_encoder, args.codes)
    convert_stream(sys.stdin.buffer, sys.stdout.buffer, make, args.jobs, end_last_line=False)


if __name__ == "__main__":
    run_main(main, PROGRAM)
