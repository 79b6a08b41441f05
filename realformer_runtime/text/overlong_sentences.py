"""Sentences that are longer than a model can read: split where it hurts least."""

from typing import Iterator, List, Sequence

from ..command_line import UserError

SPLIT, SKIP, ERROR = POLICIES = ("split", "skip", "error")
SENTENCE_ENDS = frozenset(". ! ? …".split())
CLAUSE_ENDS = frozenset("; : , ) – —".split())
CONTINUES = "@@"  # how subword-nmt marks a subword that is not the end of its word
LINES_NAMED = 10


def cut_position(subwords: Sequence[str], limit: int) -> int:
    """How many of more than ``limit`` subwords to take first.

    Up to the last end of a sentence in the second half of the limit, else of a clause there, else
    of a word; within a word only if it is longer than the limit.
    """
    half = limit // 2
    for ends in (SENTENCE_ENDS, CLAUSE_ENDS):
        for position in range(limit, half, -1):
            if subwords[position - 1] in ends:
                return position
    for position in range(limit, 0, -1):
        if not subwords[position - 1].endswith(CONTINUES):
            return position
    return limit


def split_overlong(subwords: Sequence[str], limit: int) -> Iterator[Sequence[str]]:
    """Parts of at most ``limit`` subwords, in order; an empty sentence has none."""
    while len(subwords) > limit:
        position = cut_position(subwords, limit)
        yield subwords[:position]
        subwords = subwords[position:]
    if subwords:
        yield subwords


def parts_of_sentences(
    sentences: Sequence[Sequence[str]], limit: int, policy: str = SPLIT
) -> List[List[Sequence[str]]]:
    """What to translate for each sentence: nothing, the sentence, or its parts.

    Args:
        sentences: lists of subwords, without ``</s>``
        limit: the largest number of subwords the model can read
        policy: for longer ones ``split``, ``skip`` (then there is nothing to translate) or
            ``error``

    Raises:
        UserError: naming the sentences that are too long, if the policy says so; or no subword at
            all fits
    """
    if limit < 1:
        raise UserError(
            "--max-tokens and --max-source-positions must be above 1: a sentence has a </s>, too"
        )
    overlong = {i for i, subwords in enumerate(sentences) if len(subwords) > limit}
    if overlong and policy == ERROR:
        raise UserError(overlong_message(sentences, limit, policy)[0])
    left_out = overlong if policy == SKIP else ()
    return [
        [] if i in left_out else list(split_overlong(subwords, limit))
        for i, subwords in enumerate(sentences)
    ]


def overlong_message(
    sentences: Sequence[Sequence[str]], limit: int, policy: str, first_line: int = 1
) -> List[str]:
    """A line that names the sentences that are too long, and what is done; none if none is.

    Args:
        first_line: number of the first sentence
    """
    overlong = [(i, len(s)) for i, s in enumerate(sentences, first_line) if len(s) > limit]
    if not overlong:
        return []
    named = ", ".join(f"line {i} ({length} subwords)" for i, length in overlong[:LINES_NAMED])
    if len(overlong) > LINES_NAMED:
        named += f" and {len(overlong) - LINES_NAMED} more"
    done = {SPLIT: "translated in parts", SKIP: "left empty", ERROR: "nothing translated"}[policy]
    return [f"longer than the limit of {limit} subwords, {done}: {named}"]
