"""Filters that keep a pair of sentences only if it looks like prose and its translation.

Each filter is a function of the English and the French `Side` that returns True to reject them.
"""

from __future__ import annotations

import re
from collections import Counter

from .text_normalisation import normalise

FEWEST_WORDS = 4
MOST_TOKENS = 100
TOKEN_COUNT_RATIO = 2.0
SHORTEST_LENGTH_RATIO, LONGEST_LENGTH_RATIO = 0.55, 2.2  # of characters, French to English
LENGTH_SMOOTHING = 8  # characters
LEAST_LETTER_SHARE = 0.75
MOST_SHARED_WORDS = 0.6
MOST_DIFFERENT_NUMBERS = 1

LIST_MARKER = re.compile(r"^(?:[•–—-]|\d{1,2}[.)]|[*o+])\s+")
TOKEN = re.compile(r"\w+['’]?|[^\w\s]")
WORD = re.compile(r"[^\W\d_]+'?")
NUMBER = re.compile(r"\d+")
MARKUP = re.compile(
    r"""[<>{}|\\^~@\#*_=\[\]$`]
    | %[sd(0-9l.-]                # printf formats
    | https?: | www\. | ://
    | \s--?\w | ^--?\w            # command-line options
    | \(\d[a-z]*\)                # manual page sections
    | /\w+/ | \.\w+\.\w+\.        # paths
    | \w\(\)                      # function calls
    | \.(?:html?|conf|png|txt|org|com|xml|py|so|cfg)\b
    | \w& | &\w                   # accelerators and character references
    """,
    re.VERBOSE,
)
ENGLISH_FUNCTION_WORDS = frozenset(
    "the a an of to in is are was be and or for with that this it you your on by as from not can if"
    " will which at have has may all when use used i he she they we but there do no so my me him"
    " his her what who how into than then also only any more one".split()
)
FRENCH_FUNCTION_WORDS = frozenset(
    "le la les un une de des du d' l' à au aux et ou est sont pour avec que qui ce cette il elle"
    " vous votre vos sur par dans en ne pas plus si se sa son ses on nous je tu mais comme être"
    " peut fait sans ces leur où a été même tous tout c' n' s' j' qu' y m' t' ils quand".split()
)
ONLY_ENGLISH = ENGLISH_FUNCTION_WORDS - FRENCH_FUNCTION_WORDS
ONLY_FRENCH = {w for w in FRENCH_FUNCTION_WORDS - ENGLISH_FUNCTION_WORDS if len(w) > 1}


class Side:
    """A sentence, its tokens, and its words: lower-case, with a straight apostrophe."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = TOKEN.findall(text)
        self.words = [word.lower() for word in WORD.findall(text.replace("’", "'"))]

    def count(self, words: frozenset[str]) -> int:
        return sum(word in words for word in self.words)


def has_markup(*sides: Side) -> bool:
    """Reject code, paths, addresses and markup on either side."""
    return any(MARKUP.search(side.text) for side in sides)


def is_too_short_or_long(*sides: Side) -> bool:
    """Reject fewer than FEWEST_WORDS words, or more than MOST_TOKENS tokens, on either side."""
    return any(len(side.words) < FEWEST_WORDS or len(side.tokens) > MOST_TOKENS for side in sides)


def lengths_differ(english: Side, french: Side) -> bool:
    """Reject sides whose lengths, in tokens or in characters, are no translation's."""
    fewer, more = sorted([len(english.tokens), len(french.tokens)])
    ratio = (len(french.text) + LENGTH_SMOOTHING) / (len(english.text) + LENGTH_SMOOTHING)
    is_likely = SHORTEST_LENGTH_RATIO < ratio < LONGEST_LENGTH_RATIO
    return more >= TOKEN_COUNT_RATIO * fewer or not is_likely


def is_mostly_symbols(*sides: Side) -> bool:
    """Reject a side whose visible characters are less than LEAST_LETTER_SHARE letters."""
    visible = ["".join(side.text.split()) for side in sides]
    return any(sum(map(str.isalpha, text)) < LEAST_LETTER_SHARE * len(text) for text in visible)


def is_untranslated(english: Side, french: Side) -> bool:
    """Reject equal sides, and sides that share more than MOST_SHARED_WORDS of their words."""
    fewest = min(len(set(english.words)), len(set(french.words)))
    shared = len(set(english.words) & set(french.words))
    return english.text.lower() == french.text.lower() or shared > MOST_SHARED_WORDS * fewest


def is_in_wrong_language(english: Side, french: Side) -> bool:
    """Reject a side without function words of its language, or with more of the other's.

    A function word of both languages, or a French one of a single letter, counts only for the
    side's own language.
    """
    english_in_english = english.count(ENGLISH_FUNCTION_WORDS)
    french_in_french = french.count(FRENCH_FUNCTION_WORDS)
    return (
        min(english_in_english, french_in_french) < 1
        or french.count(ONLY_ENGLISH) > french_in_french
        or english.count(ONLY_FRENCH) > english_in_english
    )


def numbers_differ(english: Side, french: Side) -> bool:
    """Reject more than MOST_DIFFERENT_NUMBERS numbers that are on one side only."""
    here, there = Counter(NUMBER.findall(english.text)), Counter(NUMBER.findall(french.text))
    return sum(((here - there) + (there - here)).values()) > MOST_DIFFERENT_NUMBERS


FILTERS = (
    has_markup,
    is_too_short_or_long,
    lengths_differ,
    is_mostly_symbols,
    is_untranslated,
    is_in_wrong_language,
    numbers_differ,
)


def clean_pair(english: str, french: str) -> tuple[str, str] | None:
    """Return the pair, normalised and without list markers, or None if a filter rejects it."""
    english, french = (LIST_MARKER.sub("", normalise(text)) for text in (english, french))
    sides = Side(english), Side(french)
    return None if any(rejects(*sides) for rejects in FILTERS) else (english, french)
