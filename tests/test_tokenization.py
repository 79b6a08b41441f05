"""Tokenisation: reference lines, line counts, and the way back."""

import subprocess
import sys

import pytest
from conftest import PROJECT

from realformer_fairseq.tokenization import (
    attach_curly_apostrophe,
    convert,
    join_curly_apostrophe,
    line_detokenizer,
    line_tokenizer,
    single_spaces,
)

# Raw, tokenised. The tokenised side of lines without ’ is what Moses' tokenizer.perl -a gives.
REFERENCE = {
    "en": [
        ("Don't stop, Mr. Smith!", "Don &apos;t stop , Mr. Smith !"),
        ("a well-known example", "a well @-@ known example"),
        ("It’s Anna’s car.", "It ’s Anna ’s car ."),
        ("It costs $3.50 (or more).", "It costs $ 3.50 ( or more ) ."),
    ],
    "fr": [
        ("L'ami n'est pas là.", "L&apos; ami n&apos; est pas là ."),
        ("L’ami qu’elle attend", "L’ ami qu’ elle attend"),
        ("Aujourd'hui, c'est dimanche.", "Aujourd&apos; hui , c&apos; est dimanche ."),
        ("« Oui », dit-elle.", "« Oui » , dit @-@ elle ."),
    ],
}
PAIRS = [(lang, *pair) for lang, pairs in REFERENCE.items() for pair in pairs]


@pytest.mark.parametrize("lang, raw, tokenised", PAIRS)
def test_tokenizes_as_moses(lang, raw, tokenised):
    assert line_tokenizer(lang)(raw) == tokenised


@pytest.mark.parametrize("lang, raw, tokenised", PAIRS)
def test_detokenizing_gives_the_raw_line(lang, raw, tokenised):
    assert line_detokenizer(lang)(tokenised) == raw


@pytest.mark.parametrize(
    "lang, apart, together",
    [
        ("fr", "l ’ ami", "l’ ami"),
        ("fr", "l ’ ami d ’ Anna", "l’ ami d’ Anna"),
        ("it", "dell ’ arte", "dell’ arte"),
        ("en", "don ’ t", "don ’t"),
        ("en", "rock ’ n ’ roll", "rock ’n ’roll"),
        ("en", "the boys ’ ( old ) car", "the boys ’ ( old ) car"),
        ("de", "geht ’ s", "geht ’s"),
    ],
)
def test_curly_apostrophes(lang, apart, together):
    assert attach_curly_apostrophe(apart, lang) == together
    if together != apart:
        assert join_curly_apostrophe(together, lang) == apart.replace(" ’ ", "’")


@pytest.mark.parametrize(
    "space", ["\u00a0", "\u202f", "\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r", "\t"]
)
def test_every_kind_of_white_space_is_one_space(space):
    assert single_spaces(f" a{space}{space} b{space}") == "a b"
    tokenised = line_tokenizer("fr")(f"un{space}deux")
    assert tokenised == "un deux" and len(tokenised.splitlines()) == 1


def test_empty_lines_stay():
    lines = ["a", "", "  ", "\u2028", "b"]
    assert list(convert(lines, line_tokenizer, "en")) == ["a", "", "", "", "b"]
    assert list(convert(["", "a"], line_detokenizer, "en")) == ["", "a"]


@pytest.mark.parametrize(
    "arguments, text, words",
    [
        ([], b"caf\xc3\xa9\ncaf\xe9\n", ["line 2", "not UTF-8"]),
        (["--jobs", "0"], b"", ["--jobs", "0"]),
        (["--job", "2"], b"", ["--job"]),
    ],
)
def test_bad_input_is_one_line(arguments, text, words):
    command = [sys.executable, "-m", "realformer_fairseq.tokenization", "--lang", "fr"]
    result = subprocess.run(command + arguments, input=text, capture_output=True, cwd=PROJECT)
    error = result.stderr.decode()
    assert result.returncode == 1 and len(error.splitlines()) == 1
    assert all(word in error for word in words)


def test_several_processes_keep_the_order():
    lines = [f"Line number {number}, isn't it?" for number in range(2500)]
    one, two = (list(convert(lines, line_tokenizer, "en", jobs=jobs)) for jobs in (1, 2))
    assert one == two and len(two) == len(lines)
