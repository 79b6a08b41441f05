"""Filters that keep a pair of sentences only if it looks like prose and its translation.

Each filter is a function of a `SentencePair` that returns True to reject it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Callable, NamedTuple

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
WORD = re.compile(r"[^\W\d_]+['’]?")
NUMBER = re.compile(r"\d+")
MARKUP = re.compile(
    "|".join(
        (
            r"[<>{}|\\^~@#*_=\[\]$`]",
            r"%[sd(0-9l.-]",  # printf formats
            r"https?:|www\.|://",
            r"\s--?\w|^--?\w",  # command-line options
            r"\(\d[a-z]*\)",  # manual page sections
            r"/\w+/|\.\w+\.\w+\.",  # paths
            r"\w\(\)",  # function calls
            r"\.(?:html?|conf|png|txt|org|com|xml|py|so|cfg)\b",
            r"\w&|&\w",  # accelerators and character references
        )
    )
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
ONLY_FRENCH = FRENCH_FUNCTION_WORDS - ENGLISH_FUNCTION_WORDS


class SentencePair(NamedTuple):
    """A pair of sentences and its tokens; the words are lower-case, without numbers."""

    english: str
    french: str
    english_tokens: list[str]
    french_tokens: list[str]
    english_words: list[str]
    french_words: list[str]


def sentence_pair(english: str, french: str) -> SentencePair:
    """Return the pair with its tokens and words."""
    return SentencePair(
        english,
        french,
        TOKEN.findall(english),
        TOKEN.findall(french),
        [word.lower() for word in WORD.findall(english)],
        [word.lower().replace("’", "'") for word in WORD.findall(french)],
    )


def has_markup(pair: SentencePair) -> bool:
    """Reject code, paths, addresses and markup on either side."""
    return bool(MARKUP.search(pair.english) or MARKUP.search(pair.french))


def is_too_long(pair: SentencePair) -> bool:
    """Reject more than MOST_TOKENS tokens on either side."""
    return max(len(pair.english_tokens), len(pair.french_tokens)) > MOST_TOKENS


def has_too_few_words(pair: SentencePair) -> bool:
    """Reject fewer than FEWEST_WORDS words on either side."""
    return min(len(pair.english_words), len(pair.french_words)) < FEWEST_WORDS


def token_counts_differ(pair: SentencePair) -> bool:
    """Reject one side with TOKEN_COUNT_RATIO times the tokens of the other, or more."""
    counts = len(pair.english_tokens), len(pair.french_tokens)
    return max(counts) >= TOKEN_COUNT_RATIO * min(counts)


def lengths_differ(pair: SentencePair) -> bool:
    """Reject French that is too short or too long for the English, in characters."""
    ratio = (len(pair.french) + LENGTH_SMOOTHING) / (len(pair.english) + LENGTH_SMOOTHING)
    return not SHORTEST_LENGTH_RATIO < ratio < LONGEST_LENGTH_RATIO


def is_mostly_symbols(pair: SentencePair) -> bool:
    """Reject a side whose visible characters are less than LEAST_LETTER_SHARE letters."""
    return any(
        sum(map(str.isalpha, text)) < LEAST_LETTER_SHARE * sum(not c.isspace() for c in text)
        for text in (pair.english, pair.french)
    )


def is_untranslated(pair: SentencePair) -> bool:
    """Reject equal sides, and sides that share more than MOST_SHARED_WORDS of their words."""
    if pair.english.lower() == pair.french.lower():
        return True
    english, french = set(pair.english_words), set(pair.french_words)
    return len(english & french) > MOST_SHARED_WORDS * min(len(english), len(french))


def is_in_wrong_language(pair: SentencePair) -> bool:
    """Reject a side without function words of its language, or with more of the other's.

    A function word of both languages, or a French one of a single letter, counts only for the
    side's own language.
    """
    english_in_english = sum(w in ENGLISH_FUNCTION_WORDS for w in pair.english_words)
    french_in_french = sum(w in FRENCH_FUNCTION_WORDS for w in pair.french_words)
    french_in_english = sum(w in ONLY_FRENCH and len(w) > 1 for w in pair.english_words)
    english_in_french = sum(w in ONLY_ENGLISH for w in pair.french_words)
    return (
        min(english_in_english, french_in_french) < 1
        or english_in_french > french_in_french
        or french_in_english > english_in_english
    )


def numbers_differ(pair: SentencePair) -> bool:
    """Reject more than MOST_DIFFERENT_NUMBERS numbers that are on one side only."""
    english = Counter(NUMBER.findall(pair.english))
    french = Counter(NUMBER.findall(pair.french))
    different = sum((english - french).values()) + sum((french - english).values())
    return different > MOST_DIFFERENT_NUMBERS


FILTERS: tuple[Callable[[SentencePair], bool], ...] = (
    has_markup,
    is_too_long,
    has_too_few_words,
    token_counts_differ,
    lengths_differ,
    is_mostly_symbols,
    is_untranslated,
    is_in_wrong_language,
    numbers_differ,
)


def clean_pair(english: str, french: str) -> tuple[str, str] | None:
    """Return the pair, normalised and without list markers, or None if a filter rejects it."""
    english = LIST_MARKER.sub("", normalise(english))
    french = LIST_MARKER.sub("", normalise(french))
    pair = sentence_pair(english, french)
    if any(rejects(pair) for rejects in FILTERS):
        return None
    return english, french
