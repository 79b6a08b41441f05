"""Read translations and references: plain text, or the log of fairseq-generate."""

import re
import sys
from typing import Collection, Dict, List, Sequence

from ..command_line import UserError
from ..text.bpe_encoding import remove_bpe
from ..text.languages import WITHOUT_SPACES, language_code
from ..text.sentence_pieces import WORD_START, join_pieces
from ..text.tokenization import attach_curly_apostrophe, join_curly_apostrophe, line_detokenizer
from ..text.utf8_lines import open_text, read_utf8_lines

LOG_LINE = re.compile(r"([HD])-([0-9]{1,18})\t[^\t]*\t(.*)")
SUBWORD = re.compile(r"\w@@ \w|\u2581\w")
# Of Moses' tokens, and of raw text; not French ? and !, which stand apart in both.
POINT_APART = re.compile(r"(?:^| )[.,](?: |$)")
POINT_AT_A_WORD = re.compile(r"\w[.,](?: |$)")
OF_MOSES = re.compile(r"&(?:apos|quot|amp|lt|gt|#\d+);| @-@ ")
SUBWORDS_ARE_TEXT = 10  # the marks may be text in fewer than one of so many lines
TARGET_LINE = re.compile(r"T-[0-9]+\t.*")


def read_lines(path: str) -> List[str]:
    """Lines of a UTF-8 file, decompressed if its name ends in ``.gz``.

    Raises:
        UserError: empty, not UTF-8 or not gzip
    """
    with open_text(path) as file:
        lines = list(read_utf8_lines(file, path))
    if not lines:
        raise UserError(f"{path}: the file is empty")
    return lines


def read_references(path: str) -> List[str]:
    """Lines of a plain file; scores against the T- lines of a log would be too high."""
    lines = read_lines(path)
    if any(map(TARGET_LINE.fullmatch, lines)):
        raise UserError(
            f"{path}: is the log of fairseq-generate; the reference must be the raw text, as the "
            "T- lines of a log have <unk> for rare words"
        )
    check_words(lines, path)
    return lines


def check_words(lines: Sequence[str], path: str) -> None:
    """Raise UserError for text of subwords: their BLEU is another measure, and mostly higher."""
    if SUBWORDS_ARE_TEXT * sum(map(bool, map(SUBWORD.search, lines))) > len(lines):
        raise UserError(
            f"{path}: has subwords (as in 'B@@ on@@ jour' or '\u2581Bon jour'), not words: "
            "fairseq-generate joins them with --remove-bpe, or with --bpe sentencepiece "
            "--sentencepiece-model FILE"
        )


def log_hypotheses(lines: Sequence[str], path: str, lang: str, count: int) -> List[str]:
    """Raw hypotheses in the log of fairseq-generate, in the order of the test set.

    They are the D- lines if fairseq detokenised these, else the H- lines, detokenised here. The
    space that fairseq's ``--tokenizer moses`` leaves in ``l’ ami`` is removed. Pieces of
    SentencePiece are joined, and are raw text then; so are H- lines in which fairseq has joined
    them. Of several hypotheses for a sentence (``--nbest``) the first is the best.

    Raises:
        UserError: one of ``count`` sentences is missing. fairseq leaves out the last batch if its
            size is not a multiple of ``--required-batch-size-multiple``, 8 by default, see its
            issue 5036
    """
    found: Dict[str, Dict[int, str]] = {"H": {}, "D": {}}
    for match in filter(None, map(LOG_LINE.fullmatch, lines)):
        found[match[1]].setdefault(int(match[2]), match[3])
    # Without --remove-bpe, fairseq detokenises subwords.
    subwords = any(map(SUBWORD.search, found["D"].values())) and found["H"]
    texts = found["H"] if subwords else found["D"] or found["H"]
    missing = [number for number in range(count) if number not in texts]
    if missing:
        raise UserError(
            f"{path}: no hypothesis for {len(missing)} of {count} sentences (the first: "
            f"{missing[0]}); fairseq-generate --required-batch-size-multiple 1 translates all"
        )
    if 2 * sum(text.startswith(WORD_START) for text in texts.values()) > len(texts):
        return [join_pieces(texts[number]) for number in sorted(texts)]
    if pieces_are_joined(found["H"].values(), found["D"].values(), lang):
        return [found["H"][number] for number in sorted(found["H"])]
    joined = {number: remove_bpe(text) for number, text in found["H"].items()}
    if subwords or not found["D"] or found["D"] == joined:
        print(f"{path}: not detokenised by fairseq-generate, done here", file=sys.stderr)
        detokenize = line_detokenizer(lang)
        return [detokenize(remove_bpe(texts[number])) for number in sorted(texts)]
    return [join_apart(texts[number], lang) for number in sorted(texts)]


def pieces_are_joined(words: Collection[str], detokenised: Collection[str], lang: str) -> bool:
    """Whether H- lines are raw text, in which ``--remove-bpe sentencepiece`` has joined pieces.

    With ``--bpe sentencepiece``, too, fairseq joins twice, and D- lines have no spaces.
    """
    joined_twice = [text.replace(" ", "") for text in words] == list(detokenised)
    if joined_twice and any(" " in text for text in words):
        return language_code(lang) not in WITHOUT_SPACES
    apart, at_a_word = (
        sum(map(bool, map(pattern.search, words))) for pattern in (POINT_APART, POINT_AT_A_WORD)
    )
    return apart < at_a_word and not any(map(OF_MOSES.search, words))


def join_apart(text: str, lang: str) -> str:
    """A detokenised line with its curly apostrophes joined, where these stand apart."""
    attached = attach_curly_apostrophe(text, lang)
    return text if attached == text else join_curly_apostrophe(attached, lang)


def read_hypotheses(path: str, lang: str, count: int) -> List[str]:
    """Raw hypotheses of a plain file, or of fairseq-generate's log for ``count`` sentences."""
    lines = read_lines(path)
    if any(map(LOG_LINE.fullmatch, lines)):
        return log_hypotheses(lines, path, lang, count)
    check_words(lines, path)
    return lines
