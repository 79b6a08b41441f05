"""Translate raw text into raw text: tokenise, apply BPE, search, remove BPE, detokenise."""

import math
import os
import shlex
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Sequence

from tqdm import tqdm

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import ArgumentParser, UserError, flag, run_main
from realformer_runtime.text.overlong_sentences import (
    POLICIES,
    SPLIT,
    overlong_message,
    parts_of_sentences,
)
from realformer_runtime.text.tokenization import line_detokenizer
from realformer_runtime.text.utf8_lines import read_utf8_lines

from .interactive_search import Search, search_command
from .source_sentences import subword_encoder, subword_limit

PROGRAM = "translate.sh"
BEAM, LENPEN = 5, 0.8  # of the recipes for WMT'14 English-French
LONG_FILE = 100  # sentences, from which on there is a progress bar


def translate_lines(lines: Sequence[str], args, command: Sequence[str]) -> List[str]:
    """The translation of each line, with a bar on a long text; an empty line stays empty."""
    encode = subword_encoder(args.source_lang, args.bpe_codes, args.moses)
    sentences = [encode(line) for line in lines]
    if not any(sentences):
        return [""] * len(lines)
    with start_search(args, command) as search:
        limit = subword_limit(args.checkpoint.split(os.pathsep), args.max_tokens, args.extra)
        parts = parts_of_sentences(sentences, limit, args.overlong)
        warn(overlong_message(sentences, limit, args.overlong))
        # The longest first: if memory is short, that is seen at once.
        places = [(line, part) for line, found in enumerate(parts) for part in range(len(found))]
        places.sort(key=lambda place: -len(parts[place[0]][place[1]]))
        found: Dict[tuple, str] = {}
        bar_off = True if len(places) < LONG_FILE else None  # None: off unless on a terminal
        with tqdm(total=len(places), unit="sentence", disable=bar_off) as bar:
            encoded = [" ".join(parts[line][part]) for line, part in places]
            for number, text in search.translate_all(encoded):
                found[places[number]] = text
                bar.update()
    detokenize = line_detokenizer(args.target_lang)
    return [
        detokenize(" ".join(found[line, part] for part in range(len(parts[line]))))
        for line in range(len(lines))
    ]


def translate_as_it_comes(lines: Iterator[str], args, command: Sequence[str]) -> None:
    """Print the translation of each line of standard input before the next one is read."""
    encode = subword_encoder(args.source_lang, args.bpe_codes, args.moses)
    detokenize = line_detokenizer(args.target_lang)
    with start_search(args, command) as search:
        limit = subword_limit(args.checkpoint.split(os.pathsep), args.max_tokens, args.extra)
        for number, line in enumerate(lines, 1):
            sentence = [encode(line)]
            warn(overlong_message(sentence, limit, args.overlong, number))
            (parts,) = parts_of_sentences(sentence, limit, args.overlong)
            print(
                detokenize(" ".join(search.translate_one(" ".join(p)) for p in parts)), flush=True
            )


def start_search(args, command: Sequence[str]) -> Search:
    print(shlex.join(command), file=sys.stderr, flush=True)
    return Search(command, f"--checkpoint '{args.checkpoint}'")


def warn(messages: Sequence[str]) -> None:
    for message in messages:
        print(f"{PROGRAM}: {message}", file=sys.stderr, flush=True)


def write_lines(lines: Sequence[str], output: str) -> None:
    """To a file, which is replaced as a whole, or to a device, a pipe or standard output."""
    text = "".join(f"{line}\n" for line in lines)
    if not output:
        sys.stdout.write(text)
    elif os.path.exists(output) and not os.path.isfile(output):
        Path(output).write_text(text, "utf-8")
    else:
        with atomic_output(output) as temporary:
            temporary.write_text(text, "utf-8")


def check_files(args) -> None:
    """Raises UserError for the first file or folder that is not there."""
    files = [("--checkpoint", path) for path in args.checkpoint.split(os.pathsep)]
    for lang in (args.source_lang, args.target_lang):
        files.append(("--data", os.path.join(args.data, f"dict.{lang}.txt")))
    files.append(("--bpe-codes", args.bpe_codes))
    for name, path in files:
        if not os.path.isfile(path):
            raise UserError(f"{name}: no such file: '{path}'")
    if args.input and (not os.path.exists(args.input) or os.path.isdir(args.input)):
        raise UserError(f"--input: no such file: '{args.input}'")
    if args.output and not os.path.isdir(os.path.dirname(args.output) or "."):
        raise UserError(f"--output: no such folder: '{os.path.dirname(args.output)}'")


def parse_args(argv: Sequence[str]):
    """Options of ours; ``extra`` is what follows ``--``."""
    end = argv.index("--") if "--" in argv else len(argv)
    parser = ArgumentParser(prog=PROGRAM, description=__doc__)
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="FILE[:FILE...]", help="several are an ensemble")
    add("--data", required=True, metavar="DIR", help="folder with the dictionaries")
    add("--bpe-codes", metavar="FILE", help="default: code in --data")
    add("--input", metavar="FILE", help="default: standard input")
    add("--output", metavar="FILE", help="default: standard output")
    add("--source-lang", default="en", metavar="LANG")
    add("--target-lang", default="fr", metavar="LANG")
    add("--beam", type=int, default=BEAM, metavar="N")
    add("--lenpen", type=float, default=LENPEN, metavar="X")
    add("--max-tokens", type=int, default=2000, metavar="N", help="source subwords in a batch")
    add("--overlong", choices=POLICIES, default=SPLIT, help="sentences too long for the model")
    add("--moses", action="store_true", help="tokenise as for WMT'14")
    add("--int8", action="store_true", help="on a CPU, with 8-bit integers")
    add("--interactive", action="store_true", help="line by line as it comes")
    add("--dry-run", action="store_true", help="only print fairseq's command")
    args = parser.parse_args(argv[:end])
    args.extra = list(argv[end + 1 :])
    for name in ("beam", "max_tokens"):
        if getattr(args, name) < 1:
            raise UserError(f"{flag(name)}: '{getattr(args, name)}' is not a whole number above 0")
    if not math.isfinite(args.lenpen):
        raise UserError(f"--lenpen: '{args.lenpen}' is not a finite number")
    if args.interactive and (args.input or args.output):
        raise UserError("--interactive goes from standard input to standard output")
    args.bpe_codes = args.bpe_codes or os.path.join(args.data, "code")
    return args


def main() -> None:
    args = parse_args(sys.argv[1:])
    command = search_command(args, str(Path(__file__).resolve().parents[1]), args.extra)
    if args.dry_run:
        print(shlex.join(command))
        return
    check_files(args)
    if args.interactive:
        translate_as_it_comes(read_utf8_lines(sys.stdin.buffer, "standard input"), args, command)
        return
    if args.input:
        with open(args.input, "rb") as file:
            lines = list(read_utf8_lines(file, args.input))
    else:
        lines = list(read_utf8_lines(sys.stdin.buffer, "standard input"))
    write_lines(translate_lines(lines, args, command), args.output)


if __name__ == "__main__":
    run_main(main, PROGRAM)
