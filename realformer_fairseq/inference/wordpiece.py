"""BERT's WordPiece for fairseq's own commands: ``--bpe realformer_wordpiece``.

The rules are those of the library ``tokenizers``. fairseq's own ``bert`` needs ``transformers``.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import List

from fairseq.data.encoders import register_bpe
from fairseq.dataclass import FairseqDataclass

from realformer_runtime.command_line import UserError
from realformer_runtime.text.wordpiece_vocabulary import UNKNOWN, read_vocabulary

NAME = "realformer_wordpiece"
CONTINUATION = "##"  # starts a piece that goes on with a word
LONGEST_WORD = 200  # characters; BERT's code takes a longer one for unknown


@dataclass
class WordPieceConfig(FairseqDataclass):
    wordpiece_vocab: str = field(
        default="vocab.txt", metadata={"help": "WordPiece: a word a line, as BERT's vocab.txt"}
    )
    wordpiece_cased: bool = field(
        default=False, metadata={"help": "WordPiece: keep upper case and accents"}
    )


@register_bpe(NAME, dataclass=WordPieceConfig)
class WordPiece:
    """Raw text to pieces of words, and back to words.

    The vocabulary and the library are loaded when they are first needed: a model computes without.
    """

    def __init__(self, cfg: WordPieceConfig):
        self.vocabulary, self.cased = cfg.wordpiece_vocab, bool(cfg.wordpiece_cased)

    @cached_property
    def tokenizer(self):
        """BERT's, of the library.

        Raises:
            UserError: the library is not installed, or the vocabulary has no ``[UNK]``
        """
        try:
            from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
        except ImportError:
            raise UserError(
                f"--bpe {NAME} needs the library tokenizers: pip install '.[wordpiece]'"
            ) from None
        tokenizer = Tokenizer(
            models.WordPiece(
                vocab={word: number for number, word in enumerate(self.words())},
                unk_token=UNKNOWN,
                max_input_chars_per_word=LONGEST_WORD,
            )
        )
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not self.cased)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return tokenizer

    def words(self) -> List[str]:
        try:
            words = read_vocabulary(self.vocabulary, "--wordpiece-vocab")
        except OSError as error:
            reason = error.strerror or str(error)
            raise UserError(f"--wordpiece-vocab '{self.vocabulary}': {reason}") from None
        if UNKNOWN not in words:
            raise UserError(f"--wordpiece-vocab '{self.vocabulary}': has no {UNKNOWN}")
        return words

    def encode(self, text: str) -> str:
        """Pieces with spaces between; an unknown word is fairseq's ``<unk>``."""
        pieces = self.tokenizer.encode(text, add_special_tokens=False).tokens
        return " ".join("<unk>" if piece == UNKNOWN else piece for piece in pieces)

    def decode(self, pieces: str) -> str:
        """Words with spaces between. What was between them in a text is not known any more."""
        return pieces.replace(f" {CONTINUATION}", "")

    def is_beginning_of_word(self, piece: str) -> bool:
        return not piece.startswith(CONTINUATION)
