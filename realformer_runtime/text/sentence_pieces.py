"""SentencePiece (Kudo and Richardson 2018): pieces of raw text in any language.

    sentence_pieces learn --vocabulary 8000 --lang en ja < text > model
    sentence_pieces apply --model FILE < text > pieces

The library ``sentencepiece`` learns the pieces, by its unigram model, and applies them. It also
normalises text, by NFKC: ``…`` becomes ``...``. White space and what shows nothing are treated as
before Moses' tokenisation. No other tokenisation is needed.
"""

import functools
import io
import sys
from typing import Callable, Iterator, List, Sequence

from ..command_line import ArgumentParser, UserError, run_main, whole_number_above_0
from .languages import CHINESE, language_code
from .overlong_sentences import WORD_START
from .parallel_lines import add_jobs, convert_stream
from .tokenization import UNSEEN, single_spaces
from .utf8_lines import read_utf8_lines, shows_nothing

PROGRAM = "sentence_pieces"
# Characters that make up this share of the text are pieces. The library's documentation recommends
# 0.9995 for thousands of characters, as of Chinese, and 1 for alphabets.
COVERAGE, COVERAGE_OF_MANY_CHARACTERS = 1.0, 0.9995
MANY_CHARACTERS = CHINESE | {"ja", "ko"}
LONGEST_LINE = 4192  # bytes; the library's default, which skips longer lines without a word
PIECES_TRIED, OTHER_PIECES = 1000, 1 / 3  # of a dictionary; the share of them that is suspicious


def library():
    """The library ``sentencepiece``; UserError where it is not installed."""
    try:
        import sentencepiece
    except ImportError:
        raise UserError(
            "SentencePiece needs the library sentencepiece: pip install '.[sentencepiece]'"
        ) from None
    return sentencepiece


def read_model(path: str, flag: str = "--model"):
    """Read a model into the library's processor; UserError, with the flag, for another file."""
    sentencepiece = library()
    with open(path, "rb") as file:
        content = file.read()
    try:
        if not content:
            raise RuntimeError("an empty file, which the library takes for a model")
        return sentencepiece.SentencePieceProcessor(model_proto=content)
    except RuntimeError:
        raise UserError(f"{flag} {path}: not a model of SentencePiece") from None


def visible(line: str) -> str:
    """A raw line with single spaces, without what belongs to no word."""
    return "" if shows_nothing(line) else single_spaces(UNSEEN.sub("", line))


def encoder_of(processor) -> Callable[[str], str]:
    """A function from a raw line to one of pieces, with spaces between.

    Args:
        processor: of :func:`read_model`
    """
    encode = functools.partial(processor.encode, out_type=str)
    return lambda line: " ".join(encode(visible(line)))


def line_encoder(model: str) -> Callable[[str], str]:
    """The same of a file."""
    return encoder_of(read_model(model))


def join_pieces(line: str) -> str:
    """Join pieces: ``▁Bon jour .`` becomes ``Bonjour.``"""
    return line.replace(" ", "").replace(WORD_START, " ").strip()


def pieces_of_another_model(processor, symbols: Sequence[str]) -> str:
    """A remark if a dictionary is not of this model, whose pieces it should have, or an empty text.

    Args:
        processor: of :func:`read_model`
        symbols: of the source dictionary
    """
    tried = [symbol for symbol in symbols if len(symbol) > 1][:PIECES_TRIED]
    others = sum(processor.is_unknown(processor.piece_to_id(symbol)) for symbol in tried)
    if others <= OTHER_PIECES * len(tried):
        return ""
    return f"of another model? {others} of {len(tried)} words of the dictionary are no pieces of it"


class LearnableLines:
    """Lines that pieces are learnt from, and the number of those that are too long for it."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines, self.too_long = lines, 0

    def __iter__(self) -> Iterator[str]:
        for line in map(visible, self.lines):
            if len(line.encode()) > LONGEST_LINE:
                self.too_long += 1
            else:
                yield line


def learn(lines: Iterator[str], vocabulary: int, languages: List[str]) -> bytes:
    """Learn a model; fewer pieces than asked for, and lines that are not learnt from, are said.

    Args:
        vocabulary: number of pieces
        languages: of the text

    Raises:
        UserError: with the library's reason
    """
    sentencepiece = library()
    many = not MANY_CHARACTERS.isdisjoint(languages)
    learnable, model = LearnableLines(lines), io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(learnable),
            max_sentence_length=LONGEST_LINE,
            model_writer=model,
            vocab_size=vocabulary,
            hard_vocab_limit=False,
            character_coverage=COVERAGE_OF_MANY_CHARACTERS if many else COVERAGE,
            control_symbols=["<pad>"],  # fairseq's own, which must be no piece of a text
            minloglevel=2,
        )
    except RuntimeError as error:
        raise UserError(f"--vocabulary {vocabulary}: {_reason(error, learnable)}") from None
    _say_what_is_missing(model, vocabulary, learnable)
    return model.getvalue()


def _reason(error: RuntimeError, learnable: LearnableLines) -> str:
    """The library's reason; it has none where no line is left."""
    said = str(error).rpartition("] ")[2].strip()
    but = f" but lines of over {LONGEST_LINE} bytes: {learnable.too_long}"
    return said or "no text to learn from" + (but if learnable.too_long else "")


def _say_what_is_missing(model: io.BytesIO, vocabulary: int, learnable: LearnableLines) -> None:
    if learnable.too_long:
        print(
            f"{PROGRAM}: not learnt from {learnable.too_long} lines of over {LONGEST_LINE} bytes",
            file=sys.stderr,
        )
    size = library().SentencePieceProcessor(model_proto=model.getvalue()).vocab_size()
    if size < vocabulary:
        print(f"{PROGRAM}: {size} pieces, not {vocabulary}: the text has no more", file=sys.stderr)


def parse_args():
    parser = ArgumentParser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="learn|apply")
    learning = commands.add_parser("learn", help="a model from text")
    learning.add_argument("--vocabulary", type=whole_number_above_0, required=True, help="pieces")
    learning.add_argument("--lang", type=language_code, nargs="+", required=True, help="as en ja")
    applying = commands.add_parser("apply", help="raw text to pieces")
    applying.add_argument("--model", required=True, metavar="FILE")
    add_jobs(applying)
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    if args.command == "learn":
        lines = read_utf8_lines(sys.stdin.buffer, "standard input")
        sys.stdout.buffer.write(learn(lines, args.vocabulary, args.lang))
        return
    make = functools.partial(line_encoder, args.model)
    convert_stream(sys.stdin.buffer, sys.stdout.buffer, make, args.jobs)


if __name__ == "__main__":
    run_main(main, PROGRAM)
