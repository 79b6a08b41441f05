"""What ``scripts/translate.sh`` does with text, whatever translates it."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Callable, List, Protocol, Sequence

from .atomic_output import atomic_output, check_output
from .command_line import ArgumentParser, UserError, whole_number_above_0
from .engine.search_options import check_range
from .text.overlong_sentences import POLICIES, SPLIT, parts_of_sentences
from .text.utf8_lines import read_utf8_lines, shows_nothing

PROGRAM = "translate.sh"


class LineTranslator(Protocol):
    """A model with its preparation of text."""

    def subwords(self, line: str) -> List[str]:
        """The subwords of a raw line."""

    def subword_limit(self) -> int:
        """The largest number of subwords that can be translated at once."""

    def translate_sentences(self, sentences: Sequence[Sequence[Sequence[str]]]) -> List[str]:
        """The raw translation of each sentence, which is a list of its parts in subwords."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options that do not depend on what translates."""
    add, count = parser.add_argument, whole_number_above_0
    add("--input", metavar="FILE", help="default: standard input")
    add("--output", metavar="FILE", help="default: standard output")
    add("--beam", type=count, metavar="N")
    add("--lenpen", type=float, metavar="X")
    add("--max-tokens", type=count, metavar="N", help="source subwords in a batch")
    add("--overlong", choices=POLICIES, default=SPLIT, help="sentences too long for the model")
    add("--int8", action="store_true", help="on a CPU, with 8-bit integers")
    add("--interactive", action="store_true", help="line by line as it comes")
    add("--dry-run", action="store_true", help="only print how it is searched")


def check_arguments(args) -> None:
    """Raises UserError for values that cannot work."""
    if args.lenpen is not None:
        check_range("lenpen", args.lenpen, "--lenpen")
    if args.interactive and (args.input or args.output):
        raise UserError("--interactive goes from standard input to standard output")


def check_files(args) -> None:
    """Raises UserError for an input that is not there, or an output that cannot be."""
    if args.input and (not os.path.exists(args.input) or os.path.isdir(args.input)):
        raise UserError(f"--input: no such file: '{args.input}'")
    check_output("--output", args.output)


def translate_lines(
    model: LineTranslator, lines: Sequence[str], overlong: str, first_line: int = 1
) -> List[str]:
    """The translation of each line; lines that are too long are named by their numbers."""

    def warn(message: str) -> None:
        print(f"{PROGRAM}: {message}", file=sys.stderr, flush=True)

    encoded = [model.subwords(line) for line in lines]
    parts = parts_of_sentences(encoded, model.subword_limit(), overlong, first_line, warn)
    return model.translate_sentences(parts)


def write_lines(lines: Sequence[str], output: str) -> None:
    """To a file, which is replaced as a whole, or to a device, a pipe or standard output."""
    text = "".join(f"{line}\n" for line in lines)
    if not output:
        sys.stdout.write(text)
    elif os.path.exists(output) and not os.path.isfile(output):
        try:
            Path(output).write_text(text, "utf-8")
        except OSError as error:
            error.filename = output
            raise
    else:
        with atomic_output(output) as temporary:
            temporary.write_text(text, "utf-8")


def translate(args, load: Callable[[], LineTranslator]) -> None:
    """Translate a file, a stream, or line by line as it comes.

    Args:
        load: makes what translates, if there is anything to translate
    """
    if args.interactive:
        model = load()
        for number, line in enumerate(read_utf8_lines(sys.stdin.buffer, "standard input"), 1):
            print(*translate_lines(model, [line], args.overlong, number), flush=True)
        return
    with open(args.input, "rb") if args.input else nullcontext(sys.stdin.buffer) as file:
        lines = list(read_utf8_lines(file, args.input or "standard input"))
    translations = [""] * len(lines)
    if not all(map(shows_nothing, lines)):
        translations = translate_lines(load(), lines, args.overlong)
    write_lines(translations, args.output)
