"""Translate raw text into raw text with exported models: ``scripts/translate.sh --onnx``."""

import argparse
import dataclasses
import os
import re
import sys
from typing import List, Sequence

import numpy as np

from ..command_line import ArgumentParser, UserError, flag, run_main
from ..translation_command import (
    PROGRAM,
    add_arguments,
    check_arguments,
    check_files,
    translate,
)
from .search_options import SearchOptions
from .translator import Translator

IN_PARSER = ("beam", "lenpen", "max_tokens")
NOT_OF_LINES = (*IN_PARSER, "nbest")  # a line becomes a line


class Search:
    """A translator with the options of one search."""

    def __init__(self, translator: Translator, **options):
        self.translator = translator
        self.options = options
        seed = translator.options.changed(options).seed
        self.random = np.random.default_rng(seed)  # one for all calls
        self.subwords = translator.subwords

    def subword_limit(self) -> int:
        return self.translator.subword_limit(**self.options)

    def translate_sentences(self, sentences: Sequence[Sequence[Sequence[str]]]) -> List[str]:
        return self.translator.translate_sentences(
            sentences, progress=True, random=self.random, **self.options
        )


def search_arguments(words: Sequence[str]) -> dict:
    """The options of a search that stand after ``--``, which are fairseq-interactive's."""
    parser = ArgumentParser(prog=PROGRAM, add_help=False, argument_default=argparse.SUPPRESS)
    for field in dataclasses.fields(SearchOptions):
        if field.name in NOT_OF_LINES:
            continue
        if field.type is bool:
            parser.add_argument(flag(field.name), action="store_true")
        else:
            parser.add_argument(flag(field.name), type=field.type)
    try:
        return vars(parser.parse_args(words))
    except UserError as error:
        raise UserError(f"after --: {error}") from None


def parse_args(argv: Sequence[str]):
    end = argv.index("--") if "--" in argv else len(argv)
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--onnx", required=True, metavar="FOLDER[:FOLDER...]")
    add_arguments(parser)
    args = parser.parse_args(argv[:end])
    given = {name: getattr(args, name) for name in IN_PARSER if getattr(args, name) is not None}
    args.search = {**given, **search_arguments(argv[end + 1 :])}
    check_arguments(args)
    return args


def load(args) -> Search:
    threads = re.match("[0-9]{1,4}", os.environ.get("OMP_NUM_THREADS", ""))  # may be a list
    translator = Translator(args.onnx, int(threads[0]) if threads else None, int8=args.int8)
    return Search(translator, **args.search)


def main() -> None:
    args = parse_args(sys.argv[1:])
    if args.dry_run:
        print(load(args).translator.options.changed(args.search))
        return
    check_files(args)
    translate(args, lambda: load(args))


if __name__ == "__main__":
    run_main(main, PROGRAM)
