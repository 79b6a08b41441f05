"""Sentences of a paragraph, in English or French."""

import re

ABBREVIATIONS = (
    "e.g i.e etc cf vs mr mrs ms dr st no vol fig ex p pp env c.-à-d m mme mlle resp al approx inc"
    " ltd jr sr prof gen col capt sec chap art ed eds dept univ"
)
SENTENCE_END = re.compile(r'([.!?…]+["”’»\)\]]*|[.!?…]+\s»)\s+(?=["“«\(\[‘—–-]?\s?[A-ZÀ-ÖØ-ÞŒ0-9])')
# Also initials, and small numbers: "3. Reboot" is one sentence, "in 1998. Later" is two.
TAKES_A_FULL_STOP = re.compile(
    "|".join(["[a-zà-ÿ]", r"(\w\.)+\w", r"\d\d?", *map(re.escape, ABBREVIATIONS.split())])
)


def split_sentences(paragraph: str) -> list[str]:
    """Return the sentences of `paragraph`, stripped; none is empty.

    A full stop after an abbreviation, an initial or a small number does not end a sentence.
    """
    sentences = []
    start = 0
    for match in SENTENCE_END.finditer(paragraph):
        last_word = paragraph[start : match.start()].split(" ")[-1].lstrip('("«“[')
        if match[1] == "." and TAKES_A_FULL_STOP.fullmatch(last_word.lower()):
            continue
        sentences.append(paragraph[start : match.end()].strip())
        start = match.end()
    rest = paragraph[start:].strip()
    return sentences + [rest] if rest else sentences
