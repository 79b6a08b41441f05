"""What Moses' perl scripts do to a line, in ``moses_difficult_lines.json`` and rule by rule.

The expected lines of that file are what a run of the scripts' substitutions in Perl gave.
"""

import gzip
import json
import sys
from pathlib import Path

import pytest
from conftest import PROJECT, run
from nasty_lines import nasty_lines
from sacremoses import MosesPunctNormalizer

from realformer_runtime.command_line import UserError
from realformer_runtime.text import moses_parity
from realformer_runtime.text.tokenization import line_function, moses_line_tokenizer
from realformer_runtime.text.utf8_lines import shows_nothing

DIFFICULT = json.loads((Path(__file__).parent / "moses_difficult_lines.json").read_text("utf-8"))
CORPUS = PROJECT.parent / "shared/corpus"


@pytest.mark.parametrize("case", DIFFICULT, ids=lambda case: f"{case['lang']}: {case['raw']}")
def test_difficult_lines(case):
    assert moses_line_tokenizer(case["lang"])(case["raw"]) == case["tokenized"]
    prepare = line_function(case["lang"], True, True, True)
    assert prepare(case["raw"]) == case["prepared"]


def read_lines(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


@pytest.mark.skipif(not (CORPUS / "moses-parity").is_dir(), reason="no reference corpus")
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_real_lines(lang):
    raw = read_lines(CORPUS / f"debian-en-fr/valid.{lang}.gz")
    moses = read_lines(CORPUS / f"moses-parity/valid.moses.{lang}.gz")
    same = sum(map(str.__eq__, map(line_function(lang, True, True, True), raw), moses))
    assert len(raw) == len(moses) and same >= 0.999 * len(moses)


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_word_by_word_is_the_corrected_tokenizer(lang):
    perl, ours = moses_parity.PerlMosesTokenizer(lang), moses_line_tokenizer(lang)
    for line in nasty_lines(2000, seed=5):
        text = moses_parity.remove_control_characters(line)
        whole = perl.tokenize(text, aggressive_dash_splits=True, return_str=True)
        assert ours(line) == ("" if shows_nothing(line) else whole), ascii(line)


@pytest.mark.parametrize("lang", ["en", "fr", "de", "es", "cs"])
def test_punctuation_is_sacremoses_with_perl_parity(lang):
    moses, ours = MosesPunctNormalizer(lang, perl_parity=True), MARKS(lang)
    for line in nasty_lines(1000, seed=7):
        # Perl sees the line feed, and sacremoses strips.
        assert ours(line).strip() == moses.normalize(line + "\n"), ascii(line)


NOT_PRINTED = "\x00 \x1f \x7f \x85 \u00ad \u200b \ufeff \ue000 \U000e0001 \ufffe".split(" ")
LAST_STOPS = {
    "M. A. b.c. 1. d.": "M. A. b.c. 1. d .",
    "M.": "M .",
    "in the U.S.": "in the U.S .",
    "Wait...": "Wait ...",
}
TOKENS, MARKS = moses_line_tokenizer, moses_parity.punctuation_normalizer
PRINTED, STOPS = moses_parity.remove_non_printing, moses_parity.split_last_full_stop


@pytest.mark.parametrize(
    "make, lang, raw, expected",
    [
        # Letters are Perl's: Han, Hangul, a fraction, lowercase Cherokee, a circled letter.
        (TOKENS, "en", "漢字-한국어, ½,5 ᏼ ⓐ", "漢字 @-@ 한국어 , ½ , 5 ᏼ ⓐ"),
        (TOKENS, "en", "a\x1cb c\x07d \x01 e\tf\x0bg\x85h", "ab cd e f g h"),
        *((TOKENS, lang, *pair) for lang in ("en", "fr", "de") for pair in LAST_STOPS.items()),
        *((lambda _: STOPS, "", same, same) for same in ("", ".", "a .", "a DOTMULTI")),
        *((lambda _: PRINTED, "", f"a{character}b", "a b") for character in NOT_PRINTED),
        (lambda _: PRINTED, "", "a\u00a0b\u2028cé漢½", "a\u00a0b\u2028cé漢½"),
        (MARKS, "fr", "d’écoute et l’ami", "d\"écoute et l'ami"),
        (MARKS, "fr", "a\u00a0«\u00a0b\u00a0»\u00a0c", 'a "b" c'),
        (MARKS, "fr", 'Il dit "oui."', 'Il dit "oui".'),
        (MARKS, "fr", 'Il dit "oui,".', 'Il dit "oui",.'),
        (MARKS, "en", 'He says "yes".', 'He says "yes."'),
        (MARKS, "it", 'Dice "sì."', 'Dice "sì".'),
        (MARKS, "cs", 'Rika "ano." a "ne",', 'Rika "ano." a "ne",'),
        (MARKS, "fr", "10\u00a0000", "10,000"),
        (MARKS, "it", "10\u00a0000", "10.000"),
        (MARKS, "fr", "١\u00a0٢ et ٣ %", "١\u00a0٢ et ٣ %"),
        (MARKS, "en", "a ( b ) , c:( d )e", "a (b), c: (d) e"),
        (MARKS, "en", "a ``b'' – c—d…", 'a " b " - c - d...'),
        (MARKS, "de", "\u201eJa\u201c\u00a0? 5\u00a0% :", '"Ja"? 5%:'),
    ],
)
def test_rules(make, lang, raw, expected):
    assert make(lang)(raw) == expected


def test_full_stops_of_a_long_run_are_moved_in_linear_time():
    """A quadratic search takes minutes."""
    code = f"from {moses_parity.__name__} import move_full_stops_out as move; dots = '.' * 300_000"
    code += """\nassert move(dots + ' ."a') == dots + ' ".a'"""
    run(sys.executable, "-c", code, cwd=PROJECT, timeout=60)


@pytest.mark.parametrize("lang", ["zh", "ja", "ko"])
def test_letters_are_perls_in_every_language(lang):
    """sacremoses lists letters of these languages anew, without signs such as 々 and ー."""
    line = "人々の コーヒー 한국어 漢字-漢字 ½"
    assert moses_line_tokenizer(lang)(line) == moses_line_tokenizer("de")(line)


@pytest.mark.parametrize("lang", ["fi", "sv", "ca", "ga"])
def test_languages_with_other_rules_are_refused(lang):
    with pytest.raises(UserError, match=f"--lang: .*'{lang}'"):
        moses_line_tokenizer(lang)
