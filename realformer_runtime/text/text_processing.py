"""What becomes of text on its way to a model and back: tokenisation and subwords, or pieces."""

from typing import Callable, NamedTuple, Optional

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
        separator: what joins the decoded parts of a long sentence
    """

    tokenize: LineFunction
    encode: LineFunction
    decode: LineFunction
    detokenize: LineFunction
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
    return TextProcessing(
        tokenize=line_function(source, moses, moses, moses),
        encode=bpe_encoding.line_encoder(codes, flag) if codes else str,
        decode=bpe_encoding.remove_bpe,
        detokenize=line_detokenizer(target),
    )


def with_pieces(target: str, model: str, flag: str = "--model") -> TextProcessing:
    """SentencePiece, which needs no tokenisation.

    Args:
        target: code of the language
        model: the file
        flag: what the user gives it as
    """
    encode = sentence_pieces.line_encoder(model, flag)
    return TextProcessing(str, encode, sentence_pieces.join_pieces, str, separator(target))


def separator(target: str) -> str:
    """What joins sentences in pieces; Moses' detokeniser removes spaces that a script has not."""
    return "" if target in CHINESE or target == "ja" else " "
