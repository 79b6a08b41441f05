"""What Moses' perl scripts do to a line, in ``moses_difficult_lines.json`` and rule by rule.

The expected lines of that file are what a run of the scripts' substitutions in Perl gave.
"""

import gzip
import json
import time
from pathlib import Path

import pytest
from conftest import PROJECT
from nasty_lines import nasty_lines
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from realformer_runtime.command_line import UserError
from realformer_runtime.text.moses_parity import (
    PerlMosesTokenizer,
    move_full_stops_out,
    punctuation_normalizer,
    remove_control_characters,
    remove_non_printing,
    split_last_full_stop,
)
from realformer_runtime.text.tokenization import line_function, line_tokenizer, moses_line_tokenizer

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
    perl, ours = PerlMosesTokenizer(lang), moses_line_tokenizer(lang)
    for line in nasty_lines(2000, seed=5):
        text = remove_control_characters(line)
        whole = perl.tokenize(text, aggressive_dash_splits=True, return_str=True)
        assert ours(line) == whole, ascii(line)


def test_letters_are_perls():
    line = "漢字-한국어, ½,5 ᏼ ⓐ"  # Han, Hangul, a fraction, lowercase Cherokee, a circled letter
    assert moses_line_tokenizer("en")(line) == "漢字 @-@ 한국어 , ½ , 5 ᏼ ⓐ"
    assert MosesTokenizer("en").tokenize("漢字") == ["漢", "字"]


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_the_last_full_stop_is_split(lang):
    moses, default = moses_line_tokenizer(lang), line_tokenizer(lang)
    assert moses("M. A. b.c. 1. d.") == "M. A. b.c. 1. d ."
    for line, split in [("etc. M.", "M ."), ("in the U.S.", "U.S ."), ("Wait...", "Wait ...")]:
        assert moses(line).endswith(split)
    assert default("Le plan V.") == "Le plan V."  # sacremoses', with which models were trained


@pytest.mark.parametrize("text", ["", ".", "a .", "a", "a DOTMULTI"])
def test_other_ends_stay(text):
    assert split_last_full_stop(text) == text


def test_control_characters_join_words():
    assert moses_line_tokenizer("en")("a\x1cb c\x07d \x01 e\tf\x0bg\x85h") == "ab cd e f g h"


def test_non_printing_characters_become_spaces():
    characters = "\x00 \x1f \x7f \x85 \u00ad \u200b \ufeff \ue000 \U000e0001 \ufffe".split(" ")
    for character in characters:
        assert remove_non_printing(f"a{character}b") == "a b"
    assert remove_non_printing("a\u00a0b\u2028cé漢½") == "a\u00a0b\u2028cé漢½"


@pytest.mark.parametrize("lang", ["en", "fr", "de", "es", "cs"])
def test_punctuation_is_sacremoses_with_perl_parity(lang):
    moses, ours = MosesPunctNormalizer(lang, perl_parity=True), punctuation_normalizer(lang)
    for line in nasty_lines(1000, seed=7):
        # Perl sees the line feed, and sacremoses strips.
        assert ours(line).strip() == moses.normalize(line + "\n"), ascii(line)


@pytest.mark.parametrize(
    "lang, raw, normalised",
    [
        ("fr", "d’écoute et l’ami", "d\"écoute et l'ami"),
        ("fr", "a\u00a0«\u00a0b\u00a0»\u00a0c", 'a "b" c'),
        ("fr", 'Il dit "oui."', 'Il dit "oui".'),
        ("fr", 'Il dit "oui,".', 'Il dit "oui",.'),
        ("en", 'He says "yes".', 'He says "yes."'),
        ("it", 'Dice "sì".', 'Dice "sì".'),
        ("it", 'Dice "sì."', 'Dice "sì".'),
        ("cs", 'Rika "ano." a "ne",', 'Rika "ano." a "ne",'),
        ("fr", "10\u00a0000", "10,000"),
        ("it", "10\u00a0000", "10.000"),
        ("fr", "١\u00a0٢ et ٣ %", "١\u00a0٢ et ٣ %"),
        ("en", "a ( b ) , c:( d )e", "a (b), c: (d) e"),
        ("en", "a ``b'' – c—d…", 'a " b " - c - d...'),
        ("de", "\u201eJa\u201c\u00a0? 5\u00a0% :", '"Ja"? 5%:'),
    ],
)
def test_punctuation(lang, raw, normalised):
    assert punctuation_normalizer(lang)(raw) == normalised


def test_full_stops_of_a_long_run_are_moved_in_linear_time():
    started = time.process_time()
    dots = "." * 300_000
    assert move_full_stops_out(f'{dots} ."a') == f'{dots} ".a'
    assert time.process_time() - started < 2  # a quadratic search takes minutes


@pytest.mark.parametrize("lang", ["fi", "sv", "ca", "ga"])
def test_languages_with_other_rules_are_refused(lang):
    with pytest.raises(UserError, match=f"--lang: .*'{lang}'"):
        moses_line_tokenizer(lang)
