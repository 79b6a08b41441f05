"""Moses tokenisation with sacremoses, line by line, and its inverse.

sacremoses does the work. This module adds the rules that machine translation of real text needs
around it, each a named function, and a command that works on several processes:

    python -m realformer_fairseq.tokenization --lang fr < raw > tokenised
    python -m realformer_fairseq.tokenization --lang fr --detokenize < tokenised > raw
"""

import itertools
import multiprocessing
import re
import sys
from typing import Callable, Iterable, Iterator

from sacremoses import MosesDetokenizer, MosesTokenizer

from .command_line import ArgumentParser, UserError, run_main

LINES_PER_TASK = 1000

# Languages whose elided words lean on the next one (l’ami, dell’arte), as in Moses' own rules.
ELIDING_LANGUAGES = ("fr", "it", "ga", "ca")


def single_spaces(line: str) -> str:
    """Every run of white space becomes one space, Unicode's line separators too.

    subword-nmt splits lines at U+2028 and U+0085, which would put the two sides of a corpus out
    of step; see subword-nmt issue 55.
    """
    return " ".join(line.split())


def attach_curly_apostrophe(tokenised: str, lang: str) -> str:
    """``l ’ ami`` becomes ``l’ ami``, ``don ’ t`` becomes ``don ’t``.

    Moses splits straight apostrophes like this, but treats a curly one as punctuation, after which
    no detokeniser can tell whether it belongs to the word before it, the word after it or neither.
    """
    joined = r"\1’ " if lang in ELIDING_LANGUAGES else r"\1 ’"
    return re.sub(r"(\w) ’ (?=\w)", joined, tokenised)


def join_curly_apostrophe(detokenised: str, lang: str) -> str:
    """Undo ``attach_curly_apostrophe``."""
    split = r"(?<=\w)’ (?=\w)" if lang in ELIDING_LANGUAGES else r"(?<=\w) ’(?=\w)"
    return re.sub(split, "’", detokenised)


def line_tokenizer(lang: str) -> Callable[[str], str]:
    """A function from a raw line to a tokenised one, with hyphens split (Moses' ``-a``)."""
    moses = MosesTokenizer(lang)

    def tokenize(line: str) -> str:
        tokens = moses.tokenize(single_spaces(line), aggressive_dash_splits=True, return_str=True)
        return attach_curly_apostrophe(tokens, lang)

    return tokenize


def line_detokenizer(lang: str) -> Callable[[str], str]:
    """A function from a tokenised line to a raw one."""
    moses = MosesDetokenizer(lang)

    def detokenize(line: str) -> str:
        return join_curly_apostrophe(moses.detokenize(line.split()), lang)

    return detokenize


def _start_worker(make: Callable[[str], Callable[[str], str]], lang: str) -> None:
    global convert_line
    convert_line = make(lang)


def _convert(lines):
    return [convert_line(line) for line in lines]


def _chunks(lines: Iterable[str]) -> Iterator[list]:
    iterator = iter(lines)
    while chunk := list(itertools.islice(iterator, LINES_PER_TASK)):
        yield chunk


def convert(
    lines: Iterable[str], make: Callable[[str], Callable[[str], str]], lang: str, jobs: int = 1
) -> Iterator[str]:
    """Apply a line function in order, one result a line.

    Args:
        lines: text without line ends
        make: ``line_tokenizer`` or ``line_detokenizer``
        lang: ISO 639-1 code
        jobs: worker processes; 1 works in this process
    """
    if jobs == 1:
        yield from map(make(lang), lines)
        return
    with multiprocessing.Pool(jobs, _start_worker, (make, lang)) as pool:
        for chunk in pool.imap(_convert, _chunks(lines)):
            yield from chunk


def standard_input() -> Iterator[str]:
    """Lines of UTF-8, ended by a line feed and by nothing else.

    Raises:
        UserError: naming the first line that is not UTF-8
    """
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8").rstrip("\n")
        except UnicodeDecodeError as error:
            raise UserError(f"standard input, line {number}: not UTF-8: {error.reason}") from None


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lang", required=True, help="ISO 639-1 code, for example fr")
    parser.add_argument("--detokenize", action="store_true", help="the other way round")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (default: 1)")
    args = parser.parse_args()

    if args.jobs < 1:
        raise UserError(f"--jobs: {args.jobs} is not a number of processes")
    make = line_detokenizer if args.detokenize else line_tokenizer
    for line in convert(standard_input(), make, args.lang, args.jobs):
        print(line)


if __name__ == "__main__":
    run_main(main, "tokenization")
