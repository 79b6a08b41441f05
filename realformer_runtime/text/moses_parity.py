"""Corrections that make sacremoses give the same lines as Moses' perl scripts.

The scripts are normalize-punctuation.perl, remove-non-printing-char.perl and tokenizer.perl -a of
mosesdecoder, as WMT'14 preparation runs them.

Known differences:

* Characters newer than the reference's Perl (5.36 has Unicode 14): the ``regex`` package knows
  some of them as letters, Perl as unassigned.
* A line that shows nothing becomes empty: tokenizer.perl does not change white space, and makes a
  word of a filler (U+3164) or a variation selector.
* The words DOTMULTI and DOTDOTMULTI in the text, which both tools use for dots.
* Languages in ``OTHER_RULES`` are refused.
"""

import re
from typing import Callable, List, Tuple

import regex
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from ..command_line import UserError
from .languages import language_code
from .wordwise_tokenizer import FastMosesTokenizer

# Languages for which tokenizer.perl has rules of its own that sacremoses lacks.
OTHER_RULES = frozenset("fi sv ca ga so tdt".split())

# sacremoses' lists of characters, and the Unicode properties that Perl uses.
PERL_CLASSES = (
    (MosesTokenizer.IsAlnum, r"\p{Alnum}"),
    (MosesTokenizer.IsAlpha, r"\p{Alpha}"),
    (MosesTokenizer.IsN, r"\p{N}"),
)

# For each of sacremoses' patterns, a string without which it cannot change a line. For patterns
# that are not listed, the strings are their characters outside ASCII.
NEEDED = {
    r"\r": "\r",
    r"\(": "(",
    r"\)": ")",
    r" +": "  ",
    r"\) ([.!:?;,])": ") ",
    r"\( ": "( ",
    r" \)": " )",
    r"(\d) %": " %",
    r" :": " :",
    r" ;": " ;",
    r"`": "`",
    r"''": "''",
    r'"([,.]+)': '"',
    r',"': ',"',
    r'(\.+)"(\s*[^<])': '."',
}

Rule = Tuple["re.Pattern[str]", str]


def with_perl_classes(rule: Rule) -> Rule:
    """A rule of sacremoses with Perl's character classes.

    sacremoses lists 10,717 letters and digits and 713 numbers; Perl knows 134,056 and 1,791
    (Unicode 14). The rest, Han characters among them, would be split one by one as symbols.
    sacremoses also adds signs of Indic scripts that Perl does not count as letters.
    """
    pattern, substitution = rule
    text = pattern.pattern
    for characters, perl_class in PERL_CLASSES:
        text = text.replace(characters, perl_class)
    return regex.compile(text), substitution


def split_last_full_stop(text: str) -> str:
    """Split a full stop from the last word, even from an abbreviation, as tokenizer.perl does.

    ``… , etc.`` becomes ``… , etc .`` and ``System V.`` becomes ``System V .``. sacremoses follows
    an older script.
    """
    if text.endswith(".") and len(text) > 1 and text[-2] != " ":
        return text[:-1] + " ."
    return text


class PerlMosesTokenizer(FastMosesTokenizer):
    """sacremoses, corrected to do as tokenizer.perl."""

    PAD_NOT_ISALNUM = with_perl_classes(MosesTokenizer.PAD_NOT_ISALNUM)
    AGGRESSIVE_HYPHEN_SPLIT = with_perl_classes(MosesTokenizer.AGGRESSIVE_HYPHEN_SPLIT)
    COMMA_SEPARATE_1 = with_perl_classes(MosesTokenizer.COMMA_SEPARATE_1)
    COMMA_SEPARATE_2 = with_perl_classes(MosesTokenizer.COMMA_SEPARATE_2)
    COMMA_SEPARATE_3 = with_perl_classes(MosesTokenizer.COMMA_SEPARATE_3)
    ENGLISH_SPECIFIC_APOSTROPHE = list(
        map(with_perl_classes, MosesTokenizer.ENGLISH_SPECIFIC_APOSTROPHE)
    )
    FR_IT_SPECIFIC_APOSTROPHE = list(
        map(with_perl_classes, MosesTokenizer.FR_IT_SPECIFIC_APOSTROPHE)
    )

    def __init__(self, lang: str):
        if lang in OTHER_RULES:
            raise UserError(f"--lang: Moses has rules for '{lang}' that --moses does not know")
        super().__init__(lang)
        # For Chinese, Japanese and Korean, sacremoses lists characters anew.
        for name in self.__dict__.keys() & vars(PerlMosesTokenizer).keys():
            delattr(self, name)

    def islower(self, text: str) -> bool:
        return regex.fullmatch(r"\p{Lower}*", text) is not None

    def isanyalpha(self, text: str) -> bool:
        return regex.search(r"\p{Alpha}", text) is not None

    def handles_nonbreaking_prefixes(self, text: str) -> str:
        return split_last_full_stop(super().handles_nonbreaking_prefixes(text))


def remove_control_characters(line: str) -> str:
    """Drop control characters that are not white space, as tokenizer.perl does.

    U+001C to U+001F are white space in Python but not in Perl, where dropping them joins words.
    """
    if line.isprintable():
        return line
    return re.sub(r"[\x00-\x08\x0e-\x1f]", "", line)


def remove_non_printing(line: str) -> str:
    """Replace each character of Unicode's category C by a space: remove-non-printing-char.perl.

    These are control, format (soft hyphen, U+200B), private and unassigned characters. sacremoses'
    ``remove_control_chars`` leaves no space, which joins words.
    """
    if line.isprintable():
        return line
    return regex.sub(r"\p{C}", " ", line)


def move_full_stops_out(line: str) -> str:
    """Turn ``."`` into ``".`` in German, Spanish and French, also at the end of a line.

    normalize-punctuation.perl excludes the end of a sentence, but its pattern takes the line feed
    for a following character. This function visits each run of dots once; the time of sacremoses'
    pattern is quadratic in the length of a run.
    """

    def move(match):
        dots, after = match.groups()
        return dots if after is None else f'"{dots}{after}'

    return re.sub(r'(\.+)(?:"(\s*[^<]))?', move, line + "\n", flags=re.ASCII)[:-1]


def _step(pattern: str, substitution: str) -> Tuple[List[str], Callable[[str], str]]:
    """The strings without which a step cannot change a line, and the step."""
    needed = [NEEDED[pattern]] if pattern in NEEDED else [c for c in pattern if not c.isascii()]
    if pattern == r'(\.+)"(\s*[^<])':
        return needed, move_full_stops_out
    # The script reads the text as bytes, so only ASCII digits are digits.
    compiled = re.compile(pattern, re.ASCII)
    return needed, lambda line: compiled.sub(substitution, line)


def _substitutions(lang: str) -> List[Tuple[str, str]]:
    """Pattern and substitution of each step.

    For every language but English and Czech, Moses moves commas and full stops out of quotes as in
    French. sacremoses does so only for German, Spanish and French.
    """
    quotes = lang if lang in ("en", "cs") else "fr"
    moses = MosesPunctNormalizer(quotes, norm_numbers=False, perl_parity=True)
    comma_languages = ("de", "es", "cs", "fr")
    numbers = moses.DE_ES_CZ_CS_FR if lang in comma_languages else moses.OTHER
    return [*moses.substitutions, *numbers]


def punctuation_normalizer(lang: str) -> Callable[[str], str]:
    """A function that normalises a line as ``normalize-punctuation.perl -l lang`` does.

    The substitutions are sacremoses' with ``perl_parity``. Without it a curly apostrophe that is
    not between two ASCII letters (``d’écoute``, ``l’« ami »``) becomes a straight one instead of
    Moses' double quote, and a guillemet between two no-break spaces loses the space.
    """
    steps = [_step(*step) for step in _substitutions(language_code(lang))]
    ascii_steps = [step for step in steps if all(text.isascii() for text in step[0])]

    def normalize(line: str) -> str:
        for needed, substitute in ascii_steps if line.isascii() else steps:
            for text in needed:
                if text not in line:
                    break
            else:
                line = substitute(line)
        return line

    return normalize
