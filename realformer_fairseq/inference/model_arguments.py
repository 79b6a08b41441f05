"""The options that say which model translates, of ``translate.sh`` and ``export_onnx.sh``."""

import os

from realformer_runtime.command_line import ArgumentParser, UserError
from realformer_runtime.text.subword_files import CODES, PIECES

SUBWORD_FILES = {"bpe_codes": CODES, "sentencepiece_model": PIECES}  # by option


def add_model_arguments(parser: ArgumentParser) -> None:
    """Add all but ``--checkpoint``, of which there may be several or one."""
    add = parser.add_argument
    add("--data", required=True, metavar="DIR", help="folder with the dictionaries")
    add("--bpe-codes", metavar="FILE", help="default: code in --data")
    add("--sentencepiece-model", metavar="FILE", help=f"default: {PIECES} in --data")
    add("--source-lang", metavar="LANG", help="default: the checkpoint's")
    add("--target-lang", metavar="LANG", help="default: the checkpoint's")
    add("--moses", action="store_true", help="tokenise as for WMT'14")


def check_model_arguments(args) -> None:
    """Refuse or change what fairseq would take for something else.

    Args:
        args: with ``checkpoint``, ``data`` and ``extra``, further options of fairseq

    Raises:
        UserError: naming the option
    """
    given = [("--checkpoint", args.checkpoint), ("--data", args.data)]
    for name, word in [*given, *[("--", word) for word in args.extra]]:
        if "${" in word:
            raise UserError(f"{name} '{word}': fairseq takes ${{...}} for a variable of its own")
    for name, path in given:
        if os.pathsep in path and os.path.exists(path):
            raise UserError(f"{name} '{path}': a colon separates paths, and cannot be in one")
    # fairseq's parser would take such a path for an option.
    for name in ("checkpoint", "data"):
        path = getattr(args, name)
        setattr(args, name, f"./{path}" if path.startswith("-") else path)


def find_subword_file(args) -> None:
    """Complete ``bpe_codes`` or ``sentencepiece_model`` by the file that is with the data, if any.

    Raises:
        UserError: there are two, or none where the user says, or an option has no use with it
    """
    given = [name for name in SUBWORD_FILES if getattr(args, name)]
    if not given:
        paths = {name: os.path.join(args.data, file) for name, file in SUBWORD_FILES.items()}
        given = [name for name, path in paths.items() if os.path.isfile(path)]
        vars(args).update((name, paths[name]) for name in given)
    if len(given) > 1:
        raise UserError(
            f"there are '{args.bpe_codes}' and '{args.sentencepiece_model}': name one of them, by "
            "--bpe-codes or by --sentencepiece-model"
        )
    if args.moses and args.sentencepiece_model:
        raise UserError("--moses has no use with SentencePiece, whose text is not tokenised")
