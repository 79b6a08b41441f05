"""Translate raw text into raw text: tokenise, apply BPE, search, remove BPE, detokenise."""

import logging
import os
import shlex
import sys
import warnings
from types import SimpleNamespace
from typing import Sequence

from realformer_runtime.command_line import (
    ArgumentParser,
    run_main,
)
from realformer_runtime.text.text_processing import TextProcessing, with_codes, with_pieces
from realformer_runtime.translation_command import (
    PROGRAM,
    add_arguments,
    check_arguments,
    check_files,
    translate,
)

from ..models.hub_files import check_file
from ..models.hub_files import check_files as check_checkpoint
from ..models.hub_interface import BEAM, LENPEN
from .fairseq_interactive import Ensemble, interactive_command, load_ensemble, read_options
from .int8 import quantize
from .languages import set_languages
from .model_arguments import add_model_arguments, check_model_arguments, find_subword_file


def load(args, command: Sequence[str]) -> Ensemble:
    """The models of a command of fairseq-interactive, with our preparation of text.

    Raises:
        UserError: naming what does not fit
    """
    logging.getLogger().setLevel(logging.ERROR)  # fairseq has a line for every batch
    warnings.simplefilter("ignore")  # torch's and hydra's, of their plans
    text = text_processing(args)
    cfg = read_options(command)
    print(shlex.join(command), file=sys.stderr, flush=True)
    ensemble = load_ensemble(cfg, options_in_words(args))
    say_what_does_not_fit(args, text, ensemble.src_dict.symbols)
    ensemble.tokenizer = SimpleNamespace(encode=text.tokenize, decode=text.detokenize)
    ensemble.bpe = SimpleNamespace(encode=text.encode, decode=text.decode)
    ensemble.separator = text.separator
    if args.int8:
        for model in ensemble.models:
            quantize(model)
    return ensemble


def text_processing(args) -> TextProcessing:
    if args.sentencepiece_model:
        return with_pieces(args.codes[1], args.sentencepiece_model, "--sentencepiece-model")
    return with_codes(*args.codes, args.bpe_codes, args.moses, "--bpe-codes")


def say_what_does_not_fit(args, text: TextProcessing, symbols: Sequence[str]) -> None:
    """Remark on subwords that the source dictionary seems not to be of."""
    remark = text.remark_on(symbols)
    if remark:
        pieces = args.sentencepiece_model
        file = f"--sentencepiece-model {pieces}" if pieces else f"--bpe-codes {args.bpe_codes}"
        print(f"{PROGRAM}: {file}: {remark}", file=sys.stderr)


def options_in_words(args) -> str:
    """What fairseq may fail with."""
    extra = f" -- {shlex.join(args.extra)}" if args.extra else ""
    return f"--checkpoint '{args.checkpoint}' --data '{args.data}'{extra}"


def check_paths(args) -> None:
    """Raises UserError for the first file or folder that is not there."""
    languages = {"source_lang": args.source_lang, "target_lang": args.target_lang}
    check_checkpoint("", args.checkpoint, args.data, names=("--checkpoint", "--data"), **languages)
    if args.sentencepiece_model:
        check_file("--sentencepiece-model", args.sentencepiece_model)
    else:
        check_file("--bpe-codes", args.bpe_codes or os.path.join(args.data, "code"))
    check_files(args)


def parse_args(argv: Sequence[str]):
    """Options of ours; ``extra`` is what follows ``--``."""
    end = argv.index("--") if "--" in argv else len(argv)
    parser = ArgumentParser(prog=PROGRAM, description=__doc__)
    checkpoint = dict(required=True, metavar="FILE[:FILE...]", help="several are an ensemble")
    parser.add_argument("--checkpoint", **checkpoint)
    add_model_arguments(parser)
    add_arguments(parser)
    parser.set_defaults(beam=BEAM, lenpen=LENPEN, max_tokens=2000)
    args = parser.parse_args(argv[:end])
    args.extra = list(argv[end + 1 :])
    check_arguments(args)
    check_model_arguments(args)
    find_subword_file(args)
    return args


def main() -> None:
    args = parse_args(sys.argv[1:])
    set_languages(args, PROGRAM)
    command = interactive_command(args)
    if args.dry_run:
        print(shlex.join(command))
        return
    check_paths(args)
    translate(args, lambda: load(args, command))


if __name__ == "__main__":
    run_main(main, PROGRAM)
