"""Moses tokenisation word by word, each word once: the result of the whole line, much sooner.

Every rule of Moses looks at a character and its two neighbours, with two exceptions: a full stop at
the end of a word also depends on how the next word begins, and an apostrophe takes its neighbours
out of the reach of the next one. So a word has the same tokens in every line, if it is known what
follows a full stop, and if no two apostrophes share a space.
"""

import re
from typing import List

from sacremoses import MosesTokenizer

WORDS_IN_CACHE = 200_000
LONGEST_CACHED_WORD = 64
# What the multi-dot rule writes in place of dots, before other rules run.
DOTS_MARKER = "MULTI"
CAPITAL = "A"
DIGITS = frozenset("0123456789")
RULED_CHARACTERS = re.compile(r"[-.,']")
TO_ESCAPE = re.compile(r"[&|<>'\"\[\]]")


class FastMosesTokenizer(MosesTokenizer):
    """sacremoses with the same result sooner: no pass over a text that it could not change.

    Also its sets of letters are not made anew for each full stop.
    """

    LOWERCASE = frozenset(MosesTokenizer.IsLower)
    LETTERS = frozenset(MosesTokenizer.IsAlpha)

    def islower(self, text: str) -> bool:
        return self.LOWERCASE.issuperset(text)

    def isanyalpha(self, text: str) -> bool:
        return not self.LETTERS.isdisjoint(text)

    def is_plain(self, word: str) -> bool:
        """Whether no rule can apply to a word: it has letters, digits and backticks only."""
        special, _ = self.PAD_NOT_ISALNUM
        return not (RULED_CHARACTERS.search(word) or special.search(word))

    def apostrophe_rules(self):
        if self.lang == "en":
            return self.ENGLISH_SPECIFIC_APOSTROPHE
        if self.lang in ("fr", "it"):
            return self.FR_IT_SPECIFIC_APOSTROPHE
        return [self.NON_SPECIFIC_APOSTROPHE]

    def tokenize_words(self, text: str) -> str:
        """``tokenize`` with hyphens split, to a string.

        Args:
            text: without control characters, words separated by one space
        """
        rules = [self.PAD_NOT_ISALNUM]
        if "-" in text:
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
    """Tokens by word, made when they are missing.

    A key is a word as it is before a capital letter, or a word, a space and what follows it:
    nothing at the end of the line, else a word of the kind that ``kind_of_start`` names.
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
    """A function from the words of a line to its tokens, joined by spaces.

    Args:
        moses: with or without corrections
    """

    def __init__(self, moses: FastMosesTokenizer):
        self.moses = moses
        self.tokens = WordTokens(moses)

    def kind_of_start(self, word: str) -> str:
        """A word that begins like ``word``, as far as a full stop before it is concerned."""
        if word[0] in DIGITS:
            return "1"
        return "a" if self.moses.islower(word[0]) else CAPITAL

    def __call__(self, line: str) -> str:
        """Tokenise a line whose words have no control characters and any white space between."""
        words = line.split()
        if not words:
            return ""
        line = " ".join(words)
        if line[0] in "'," or line[-1] == "'" or "' '" in line or DOTS_MARKER in line:
            return self.moses.tokenize_words(line)
        if ". " in line:
            self._tell_what_follows(words)
        if line[-1] == ".":
            words[-1] += " "
        return " ".join([self.tokens[word] for word in words])

    def _tell_what_follows(self, words: List[str]) -> None:
        """Make the words before the last that end in a full stop the keys of their tokens."""
        for place, follower in enumerate(words[1:]):
            if words[place][-1] == ".":
                kind = self.kind_of_start(follower)
                if kind != CAPITAL:
                    words[place] += f" {kind}"
