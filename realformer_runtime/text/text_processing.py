"""What becomes of text on its way to a model and back: tokenisation and subwords, or pieces."""

from functools import partial
from typing import Callable, NamedTuple, Optional, Sequence

from . import bpe_encoding, sentence_pieces
from .languages import CHINESE
from .tokenization import line_detokenizer, line_function

LineFunction = Callable[[str], str]


class TextProcessing(NamedTuple):
    """Four functions of a line.

    Args:
        tokenize: raw text to what is encoded
        encode: that to subwords
        decode: subwords to what is detokenised
        detokenize: that to raw text
        remark_on: a remark if the symbols of a source dictionary seem not to be such subwords
        separator: what joins the decoded parts of a long sentence
    """

    tokenize: LineFunction
    encode: LineFunction
    decode: LineFunction
    detokenize: LineFunction
    remark_on: Callable[[Sequence[str]], str]
    separator: str = " "


def with_codes(
    source: str, target: str, codes: Optional[str], moses: bool = False, flag: str = "--codes"
) -> TextProcessing:
    """Tokenisation and byte pair encoding.

    Args:
        source, target: codes of the languages
        codes: a file of subword-nmt; without one, words are the model's subwords
        moses: whether text is prepared as Moses' scripts do
        flag: what the user gives the file as
    """
    encode = bpe_encoding.line_encoder(codes, flag) if codes else str
    return TextProcessing(
        tokenize=line_function(source, moses, moses, moses),
        encode=encode,
        decode=bpe_encoding.remove_bpe,
        detokenize=line_detokenizer(target),
        remark_on=partial(bpe_encoding.codes_of_another_model, encode),
    )


def with_pieces(target: str, model: str, flag: str = "--model") -> TextProcessing:
    """SentencePiece, which needs no tokenisation.

    Args:
        target: code of the language
        model: the file
        flag: what the user gives it as
    """
    processor = sentence_pieces.read_model(model, flag)
    return TextProcessing(
        tokenize=str,
        encode=sentence_pieces.encoder_of(processor),
        decode=sentence_pieces.join_pieces,
        detokenize=str,
        remark_on=partial(sentence_pieces.pieces_of_another_model, processor),
        separator=separator(target),
    )


def separator(target: str) -> str:
    """What joins sentences in pieces; Moses' detokeniser removes spaces that a script has not."""
    return "" if target in CHINESE or target == "ja" else " "
