"""Translate raw text into raw text: tokenise, apply BPE, search, remove BPE, detokenise."""

import functools
import logging
import os
import shlex
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Callable, List, Sequence

from fairseq.data.data_utils import post_process

from realformer_runtime.atomic_output import atomic_output, check_output
from realformer_runtime.command_line import (
    ArgumentParser,
    UserError,
    run_main,
    whole_number_above_0,
)
from realformer_runtime.text.bpe_encoding import line_encoder
from realformer_runtime.text.overlong_sentences import POLICIES, SPLIT, parts_of_sentences
from realformer_runtime.text.tokenization import line_detokenizer, line_function
from realformer_runtime.text.utf8_lines import read_utf8_lines, shows_nothing

from ..models.hub_interface import BEAM, LENPEN, check_file, check_files
from .fairseq_interactive import (
    Ensemble,
    check_lenpen,
    interactive_command,
    load_ensemble,
    read_options,
)
from .int8 import quantize
from .languages import set_languages

PROGRAM = "translate.sh"
WORDS_TRIED = 1000
OTHER_CODES = 1 / 3  # other codes of the same language split half of the words, the right ones none


def load(args, command: Sequence[str]) -> Ensemble:
    """The models of a command of fairseq-interactive, with our tokenisation and BPE.

    Raises:
        UserError: naming what does not fit
    """
    logging.getLogger().setLevel(logging.ERROR)  # fairseq has a line for every batch
    warnings.simplefilter("ignore")  # torch's and hydra's, of their plans
    source, target = args.codes
    tokenize = line_function(source, args.moses, args.moses, args.moses)
    encode = line_encoder(args.bpe_codes, "--bpe-codes")
    cfg = read_options(command)
    print(shlex.join(command), file=sys.stderr, flush=True)
    ensemble = load_ensemble(cfg, options_in_words(args))
    warn_of_other_codes(args.bpe_codes, encode, ensemble.src_dict.symbols)
    ensemble.tokenizer = SimpleNamespace(encode=tokenize, decode=line_detokenizer(target))
    decode = functools.partial(post_process, symbol=cfg.common_eval.post_process)
    ensemble.bpe = SimpleNamespace(encode=encode, decode=decode)
    if args.int8:
        for model in ensemble.models:
            quantize(model)
    return ensemble


def options_in_words(args) -> str:
    """What fairseq may fail with."""
    extra = f" -- {shlex.join(args.extra)}" if args.extra else ""
    return f"--checkpoint '{args.checkpoint}' --data '{args.data}'{extra}"


def warn_of_other_codes(path: str, encode: Callable[[str], str], symbols: Sequence[str]) -> None:
    """Say so if the dictionary is not of these codes, which keep each word of it in one piece."""
    words = [symbol for symbol in symbols if symbol.isalpha() and len(symbol) > 1][:WORDS_TRIED]
    apart = sum(encode(word) != word for word in words)
    if apart > OTHER_CODES * len(words):
        message = f"{apart} of {len(words)} words of the dictionary would be more than one subword"
        print(f"{PROGRAM}: --bpe-codes {path}: of another model? {message}", file=sys.stderr)


def translate_lines(
    ensemble: Ensemble, lines: Sequence[str], overlong: str, first_line: int = 1
) -> List[str]:
    """The translation of each line; lines that are too long are named by their numbers."""

    def warn(message: str) -> None:
        print(f"{PROGRAM}: {message}", file=sys.stderr, flush=True)

    encoded = [ensemble.subwords(line) for line in lines]
    parts = parts_of_sentences(encoded, ensemble.subword_limit(), overlong, first_line, warn)
    return ensemble.translate_sentences(parts, ensemble.cfg.generation.beam)


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


def check_options(args) -> None:
    """Raises UserError for values that cannot work."""
    check_lenpen(args.lenpen)
    if args.interactive and (args.input or args.output):
        raise UserError("--interactive goes from standard input to standard output")
    given = [("--checkpoint", args.checkpoint), ("--data", args.data)]
    for name, word in [*given, *[("--", word) for word in args.extra]]:
        if "${" in word:
            raise UserError(f"{name} '{word}': fairseq takes ${{...}} for a variable of its own")
    for name, path in given:
        if os.pathsep in path and os.path.exists(path):
            raise UserError(f"{name} '{path}': a colon separates paths, and cannot be in one")


def check_paths(args) -> None:
    """Raises UserError for the first file or folder that is not there."""
    languages = {"source_lang": args.source_lang, "target_lang": args.target_lang}
    check_files("", args.checkpoint, args.data, names=("--checkpoint", "--data"), **languages)
    check_file("--bpe-codes", args.bpe_codes)
    if args.input and (not os.path.exists(args.input) or os.path.isdir(args.input)):
        raise UserError(f"--input: no such file: '{args.input}'")
    check_output("--output", args.output)


def parse_args(argv: Sequence[str]):
    """Options of ours; ``extra`` is what follows ``--``."""
    end = argv.index("--") if "--" in argv else len(argv)
    parser = ArgumentParser(prog=PROGRAM, description=__doc__)
    add, count = parser.add_argument, whole_number_above_0
    add("--checkpoint", required=True, metavar="FILE[:FILE...]", help="several are an ensemble")
    add("--data", required=True, metavar="DIR", help="folder with the dictionaries")
    add("--bpe-codes", metavar="FILE", help="default: code in --data")
    add("--input", metavar="FILE", help="default: standard input")
    add("--output", metavar="FILE", help="default: standard output")
    add("--source-lang", metavar="LANG", help="default: the checkpoint's")
    add("--target-lang", metavar="LANG", help="default: the checkpoint's")
    add("--beam", type=count, default=BEAM, metavar="N")
    add("--lenpen", type=float, default=LENPEN, metavar="X")
    add("--max-tokens", type=count, default=2000, metavar="N", help="source subwords in a batch")
    add("--overlong", choices=POLICIES, default=SPLIT, help="sentences too long for the model")
    add("--moses", action="store_true", help="tokenise as for WMT'14")
    add("--int8", action="store_true", help="on a CPU, with 8-bit integers")
    add("--interactive", action="store_true", help="line by line as it comes")
    add("--dry-run", action="store_true", help="only print fairseq's command")
    args = parser.parse_args(argv[:end])
    args.extra = list(argv[end + 1 :])
    check_options(args)
    # fairseq's parser would take such a path for an option.
    for name in ("checkpoint", "data"):
        path = getattr(args, name)
        setattr(args, name, f"./{path}" if path.startswith("-") else path)
    args.bpe_codes = args.bpe_codes or os.path.join(args.data, "code")
    return args


def main() -> None:
    args = parse_args(sys.argv[1:])
    set_languages(args, PROGRAM)
    command = interactive_command(args)
    if args.dry_run:
        print(shlex.join(command))
        return
    check_paths(args)
    if args.interactive:
        ensemble = load(args, command)
        for number, line in enumerate(read_utf8_lines(sys.stdin.buffer, "standard input"), 1):
            print(*translate_lines(ensemble, [line], args.overlong, number), flush=True)
        return
    with open(args.input, "rb") if args.input else nullcontext(sys.stdin.buffer) as file:
        lines = list(read_utf8_lines(file, args.input or "standard input"))
    translations = [""] * len(lines)
    if not all(map(shows_nothing, lines)):
        translations = translate_lines(load(args, command), lines, args.overlong)
    write_lines(translations, args.output)


if __name__ == "__main__":
    run_main(main, PROGRAM)
