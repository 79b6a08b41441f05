"""Sentences that are longer than a model can read: split where it hurts least."""

from typing import Callable, Dict, Iterator, List, Sequence

from ..command_line import UserError

SPLIT, SKIP, ERROR = POLICIES = ("split", "skip", "error")
SENTENCE_ENDS = frozenset(". ! ? … 。".split())
CLAUSE_ENDS = frozenset("; : , ) – — 、".split())
WITHOUT_SPACE = frozenset("。、")  # no space follows them
CONTINUES = "@@"  # how subword-nmt marks a subword that is not the end of its word
WORD_START = "\u2581"  # how SentencePiece marks a piece, also the first one of a sentence
LINES_NAMED = 10


def check_limit(limit: int) -> None:
    if limit < 1:
        raise UserError(
            "--max-tokens and --max-source-positions must be above 1: a sentence has a </s>, too"
        )


def cut_position(subwords: Sequence[str], limit: int, in_pieces: bool) -> int:
    """How many of more than ``limit`` subwords to take first.

    Up to the last end of a sentence in the second half of the limit, else of a clause there, else
    of a word; within a word only if it is longer than the limit.

    Args:
        in_pieces: whether the subwords are SentencePiece's
    """
    half = limit // 2
    for ends in (SENTENCE_ENDS, CLAUSE_ENDS):
        for position in range(limit, half, -1):
            last = subwords[position - 1].lstrip(WORD_START)
            if last in ends and (last in WITHOUT_SPACE or ends_word(subwords, position, in_pieces)):
                return position
    for position in range(limit, 0, -1):
        if ends_word(subwords, position, in_pieces):
            return position
    return limit


def ends_word(subwords: Sequence[str], position: int, in_pieces: bool) -> bool:
    """Whether a word ends before a position, after which the sentence goes on."""
    if in_pieces:
        return subwords[position].startswith(WORD_START)
    return not subwords[position - 1].endswith(CONTINUES)


def split_overlong(subwords: Sequence[str], limit: int) -> Iterator[Sequence[str]]:
    """Parts of at most ``limit`` subwords, in order; an empty sentence has none."""
    in_pieces = bool(subwords) and subwords[0].startswith(WORD_START)
    while len(subwords) > limit:
        position = cut_position(subwords, limit, in_pieces)
        yield subwords[:position]
        subwords = subwords[position:]
    if subwords:
        yield subwords


def parts_of_sentences(
    sentences: Sequence[Sequence[str]],
    limit: int,
    policy: str = SPLIT,
    first_line: int = 1,
    warn: Callable[[str], object] = str,
) -> List[List[Sequence[str]]]:
    """What to translate for each sentence: nothing, the sentence, or its parts.

    Args:
        sentences: lists of subwords, without ``</s>``
        limit: the largest number of subwords the model can read
        policy: for longer ones, one of ``POLICIES``; ``error`` raises UserError
        first_line: number of the first sentence, for the message
        warn: is given a line that names the sentences that are too long, if any is
    """
    check_limit(limit)
    if policy not in POLICIES:
        raise UserError(f"overlong: '{policy}' is not one of {', '.join(POLICIES)}")
    lengths = {i: len(s) for i, s in enumerate(sentences, first_line) if len(s) > limit}
    if lengths:
        message = overlong_message(lengths, limit, policy)
        if policy == ERROR:
            raise UserError(message)
        warn(message)
    left_out = lengths if policy == SKIP else ()
    return [
        [] if i in left_out else list(split_overlong(subwords, limit))
        for i, subwords in enumerate(sentences, first_line)
    ]


def overlong_message(lengths: Dict[int, int], limit: int, policy: str) -> str:
    """A line that names sentences by their lines and lengths, and says what is done with them."""
    named = ", ".join(
        f"line {line} ({length} subwords)" for line, length in [*lengths.items()][:LINES_NAMED]
    )
    if len(lengths) > LINES_NAMED:
        named += f" and {len(lengths) - LINES_NAMED} more"
    done = {SPLIT: "translated in parts", SKIP: "left empty", ERROR: "nothing translated"}[policy]
    return f"longer than the limit of {limit} subwords, {done}: {named}"
