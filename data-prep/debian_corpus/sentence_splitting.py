"""Sentences of a paragraph, in English or French."""

from __future__ import annotations

import re

ABBREVIATIONS = frozenset(
    "e.g i.e etc cf vs mr mrs ms dr st no vol fig ex p pp env c.-à-d m mme mlle resp al approx inc"
    " ltd jr sr prof gen col capt sec chap art ed eds dept univ".split()
)
SENTENCE_END = re.compile(r'([.!?…]+["”’»\)\]]*|[.!?…]+\s»)\s+(?=["“«\(\[‘—–-]?\s?[A-ZÀ-ÖØ-ÞŒ0-9])')
INITIALS = re.compile(r"[a-zà-ÿ]|(\w\.)+\w")
OPENING_PUNCTUATION = '("«“['
LONGEST_ITEM_NUMBER = 2  # digits: "3. Reboot" is one sentence, "in 1998. Later" is two


def split_sentences(paragraph: str) -> list[str]:
    """Return the sentences of `paragraph`, stripped; none is empty.

    A full stop after an abbreviation, an initial or a small number does not end a sentence.
    """
    sentences = []
    start = 0
    for match in SENTENCE_END.finditer(paragraph):
        last_word = paragraph[start : match.start()].split(" ")[-1].lstrip(OPENING_PUNCTUATION)
        if match.group(1) == "." and _takes_a_full_stop(last_word.lower()):
            continue
        sentences.append(paragraph[start : match.end()].strip())
        start = match.end()
    rest = paragraph[start:].strip()
    return sentences + [rest] if rest else sentences


def _takes_a_full_stop(word: str) -> bool:
    return (
        word in ABBREVIATIONS
        or INITIALS.fullmatch(word) is not None
        or (word.isdigit() and len(word) <= LONGEST_ITEM_NUMBER)
    )
