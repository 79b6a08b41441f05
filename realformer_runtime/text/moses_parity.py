"""What Moses' perl scripts do and sacremoses does not: the corrections, one named rule each.

The scripts are normalize-punctuation.perl, remove-non-printing-char.perl and tokenizer.perl -a of
mosesdecoder, as WMT'14 preparation runs them. They are the reference: with the rules below,
sacremoses gives the same line.

Known to differ still:

* Characters newer than the reference's Perl (5.36 has Unicode 14): the ``regex`` package knows
  later ones, and takes them for letters where that Perl takes them for unassigned.
* A line of white space only, which tokenizer.perl passes on, becomes an empty line.
* The words DOTMULTI and DOTDOTMULTI in the text, which both use for dots.
* Languages in ``OTHER_RULES``: refused.
"""

import re
from typing import Callable, List, Tuple

import regex
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from ..command_line import UserError
from .wordwise_tokenizer import FastMosesTokenizer

# Languages for which tokenizer.perl has rules of its own that sacremoses lacks.
OTHER_RULES = frozenset("fi sv ca ga so tdt".split())

# sacremoses' lists of characters, and the properties that Perl looks up.
PERL_CLASSES = (
    (MosesTokenizer.IsAlnum, r"\p{Alnum}"),
    (MosesTokenizer.IsAlpha, r"\p{Alpha}"),
    (MosesTokenizer.IsN, r"\p{N}"),
)

# A string that a line must contain for sacremoses' pattern to change it. Other patterns that are
# not plain ASCII need each of their characters that are not.
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
    """tokenizer.perl splits a full stop from the last word whatever the word is.

    ``… , etc.`` becomes ``… , etc .`` and ``System V.`` becomes ``System V .``: an abbreviation is
    not looked up where a sentence is likely to end. sacremoses follows an older script.
    """
    if text.endswith(".") and len(text) > 1 and text[-2] != " ":
        return text[:-1] + " ."
    return text


class PerlMosesTokenizer(FastMosesTokenizer):
    """sacremoses, corrected to what tokenizer.perl does.

    Raises:
        UserError: Moses has rules for the language that are not here
    """

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

    def islower(self, text: str) -> bool:
        return regex.fullmatch(r"\p{Lower}*", text) is not None

    def isanyalpha(self, text: str) -> bool:
        return regex.search(r"\p{Alpha}", text) is not None

    def handles_nonbreaking_prefixes(self, text: str) -> str:
        return split_last_full_stop(super().handles_nonbreaking_prefixes(text))


def remove_control_characters(line: str) -> str:
    """tokenizer.perl makes white space one space, then drops what is left of U+0000 to U+001F.

    Perl does not count U+001C to U+001F as white space, Python does: in Moses they join words.
    """
    if line.isprintable():
        return line
    return re.sub(r"[\x00-\x08\x0e-\x1f]", "", line)


def remove_non_printing(line: str) -> str:
    """remove-non-printing-char.perl puts a space in the place of each character of Unicode's C.

    Those are control and format characters (the soft hyphen, U+200B), private ones and unassigned
    ones. sacremoses' ``remove_control_chars`` leaves no space, which joins words.
    """
    if line.isprintable():
        return line
    return regex.sub(r"\p{C}", " ", line)


def move_full_stops_out(line: str) -> str:
    """``."`` becomes ``".`` in German, Spanish and French, also at the end of a line.

    normalize-punctuation.perl means to leave those at the end of a sentence alone, but its pattern
    takes the line feed for a character that follows. Runs of dots are looked at once each, where
    sacremoses' pattern needs time quadratic in their length.
    """

    def move(match):
        dots, after = match.groups()
        return dots if after is None else f'"{dots}{after}'

    return re.sub(r'(\.+)(?:"(\s*[^<]))?', move, line + "\n", flags=re.ASCII)[:-1]


def _step(pattern: str, substitution: str) -> Tuple[List[str], Callable[[str], str]]:
    """The strings that a line must contain for a step to change it, and the step."""
    needed = [NEEDED[pattern]] if pattern in NEEDED else [c for c in pattern if not c.isascii()]
    if pattern == r'(\.+)"(\s*[^<])':
        return needed, move_full_stops_out
    # Perl reads the text as bytes here: only ASCII digits are digits.
    compiled = re.compile(pattern, re.ASCII)
    return needed, lambda line: compiled.sub(substitution, line)


def _substitutions(lang: str) -> List[Tuple[str, str]]:
    """Pattern and substitution of each step.

    Moses moves commas and full stops out of quotes as in French for every language but English and
    Czech, sacremoses for German, Spanish and French.
    """
    quotes = lang if lang in ("en", "cs", "cz") else "fr"
    moses = MosesPunctNormalizer(quotes, norm_numbers=False, perl_parity=True)
    comma_languages = ("de", "es", "cz", "cs", "fr")
    numbers = moses.DE_ES_CZ_CS_FR if lang in comma_languages else moses.OTHER
    return [*moses.substitutions, *numbers]


def punctuation_normalizer(lang: str) -> Callable[[str], str]:
    """A function that does what ``normalize-punctuation.perl -l lang`` does to a line.

    The substitutions are sacremoses', with its ``perl_parity``: without it a curly apostrophe that
    is not between two ASCII letters (``d’écoute``, ``l’« ami »``) becomes a straight one, in
    Moses a double quote, and a guillemet between two no-break spaces loses the space.
    """
    steps = [_step(*step) for step in _substitutions(lang)]
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
