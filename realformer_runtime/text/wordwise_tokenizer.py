"""Moses tokenisation of a line word by word, with a cache: the same result, much faster.

Every rule of Moses depends on a character and its two neighbours, with two exceptions. A full stop
at the end of a word also depends on the start of the next word. An apostrophe hides its neighbours
from the next apostrophe. So the tokens of a word are the same in every line, given the start of the
next word after a full stop, and unless two apostrophes share a space.
"""

import re
from typing import List

from sacremoses import MosesTokenizer

WORDS_IN_CACHE = 200_000
LONGEST_CACHED_WORD = 64
# The multi-dot rule replaces dots by words that contain this, while other rules run.
DOTS_MARKER = "MULTI"
CAPITAL = "A"
DIGITS = frozenset("0123456789")
RULED_CHARACTERS = re.compile(r"[-.,']")
TO_ESCAPE = re.compile(r"[&|<>'\"\[\]]")


class FastMosesTokenizer(MosesTokenizer):
    """sacremoses with the same result, without passes that cannot change a text.

    It also builds the sets of letters once, not for each full stop.
    """

    LOWERCASE = frozenset(MosesTokenizer.IsLower)
    LETTERS = frozenset(MosesTokenizer.IsAlpha)
    splits_hyphens = True  # Moses' -a

    def islower(self, text: str) -> bool:
        return self.LOWERCASE.issuperset(text)

    def isanyalpha(self, text: str) -> bool:
        return not self.LETTERS.isdisjoint(text)

    def is_plain(self, word: str) -> bool:
        """Whether a word has letters, digits and backticks only, so that no rule applies to it."""
        special, _ = self.PAD_NOT_ISALNUM
        return not (RULED_CHARACTERS.search(word) or special.search(word))

    def apostrophe_rules(self):
        if self.lang == "en":
            return self.ENGLISH_SPECIFIC_APOSTROPHE
        if self.lang in ("fr", "it"):
            return self.FR_IT_SPECIFIC_APOSTROPHE
        return [self.NON_SPECIFIC_APOSTROPHE]

    def tokenize_words(self, text: str) -> str:
        """Tokenise text, with hyphens split where ``splits_hyphens`` says so.

        Args:
            text: without control characters, words separated by one space
        """
        rules = [self.PAD_NOT_ISALNUM]
        if "-" in text and self.splits_hyphens:
            rules.append(self.AGGRESSIVE_HYPHEN_SPLIT)
        for pattern, substitution in rules:
            text = pattern.sub(substitution, text)
        if ".." in text:
            text = self.replace_multidots(text)
        rules = []
        if "," in text:
            rules += [self.COMMA_SEPARATE_1, self.COMMA_SEPARATE_2, self.COMMA_SEPARATE_3]
        if "'" in text:
            rules += self.apostrophe_rules()
        for pattern, substitution in rules:
            text = pattern.sub(substitution, text)
        if "." in text:
            text = self.handles_nonbreaking_prefixes(text)
        text = " ".join(text.split())
        if ".'" in text:
            pattern, substitution = self.TRAILING_DOT_APOSTROPHE
            text = pattern.sub(substitution, text)
        if DOTS_MARKER in text:
            text = self.restore_multidots(text)
        return self.escape_xml(text) if TO_ESCAPE.search(text) else text


class WordTokens(dict):
    """A cache of tokens by word and following word.

    A key is a word alone if a capital letter follows. Otherwise a space comes after the word, and
    then the result of ``kind_of_start`` for the next word, or nothing at the end of the line.
    """

    def __init__(self, moses: FastMosesTokenizer):
        super().__init__()
        self.moses = moses

    def __missing__(self, key: str) -> str:
        word, space, follower = key.partition(" ")
        if self.moses.is_plain(word):
            tokens = word
        elif space and not follower:
            tokens = self.moses.tokenize_words(f"A {word}")[2:]
        else:
            tokens = self.moses.tokenize_words(f"A {word} {follower or CAPITAL}")[2:-2]
        if len(word) <= LONGEST_CACHED_WORD:
            if len(self) >= WORDS_IN_CACHE:
                self.clear()
            self[key] = tokens
        return tokens


class WordwiseTokenizer:
    """A function that turns a line into its tokens, joined by spaces."""

    def __init__(self, moses: FastMosesTokenizer):
        self.moses = moses
        self.tokens = WordTokens(moses)

    def kind_of_start(self, word: str) -> str:
        """A one-character word with the same effect on a full stop before it as ``word``."""
        if word[0] in DIGITS:
            return "1"
        return "a" if self.moses.islower(word[0]) else CAPITAL

    def __call__(self, line: str) -> str:
        """Tokenise a line without control characters."""
        words = line.split()
        if not words:
            return ""
        line = " ".join(words)
        if line[0] in "'," or line[-1] == "'" or "' '" in line or DOTS_MARKER in line:
            return self.moses.tokenize_words(line)
        if ". " in line:
            self._add_kinds_of_start(words)
        if line[-1] == ".":
            words[-1] += " "
        return " ".join([self.tokens[word] for word in words])

    def _add_kinds_of_start(self, words: List[str]) -> None:
        """Add the kind of the next word to each word before the last that ends in a full stop."""
        for place, follower in enumerate(words[1:]):
            if words[place][-1] == ".":
                kind = self.kind_of_start(follower)
                if kind != CAPITAL:
                    words[place] += f" {kind}"
