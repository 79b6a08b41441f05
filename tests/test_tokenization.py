"""Tokenisation: reference lines, line counts, and the way back."""

import collections
import re

import pytest
from commands import outcome
from nasty_lines import nasty_lines
from sacremoses import MosesTokenizer

from realformer_runtime.text import tokenization, wordwise_tokenizer
from realformer_runtime.text.tokenization import (
    attach_curly_apostrophe,
    join_curly_apostrophe,
    line_detokenizer,
    line_tokenizer,
)
from realformer_runtime.text.utf8_lines import shows_nothing


# The tokenised side of lines without ’ is what Moses' tokenizer.perl -a gives.
@pytest.mark.parametrize(
    "lang, raw, tokenised",
    [
        ("en", "Don't stop, Mr. Smith!", "Don &apos;t stop , Mr. Smith !"),
        ("en", "a well-known example", "a well @-@ known example"),
        ("en", "It’s Anna’s car.", "It ’s Anna ’s car ."),
        ("en", "The boys’ toys, singin’ loud.", "The boys ’toys , singin ’loud ."),
        ("en", "Ross’s, O’Brien’s, the ’90s.", "Ross ’s , O ’Brien ’s , the ’90s ."),
        ("en", "It costs $3.50 (or more).", "It costs $ 3.50 ( or more ) ."),
        ("fr", "L'ami n'est pas là.", "L&apos; ami n&apos; est pas là ."),
        ("fr", "L’ami qu’elle attend", "L’ ami qu’ elle attend"),
        ("fr", "Aujourd'hui, c'est dimanche.", "Aujourd&apos; hui , c&apos; est dimanche ."),
        ("fr", "« Oui », dit-elle.", "« Oui » , dit @-@ elle ."),
    ],
)
def test_tokens_are_those_of_moses_and_lead_back_to_the_raw_line(lang, raw, tokenised):
    assert line_tokenizer(lang)(raw) == tokenised
    assert line_detokenizer(lang)(tokenised) == raw


@pytest.mark.parametrize(
    "lang, apart, together",
    [
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
    "lang, raw, back",
    [
        ("en", "Say ‘it’s old’ twice.", "Say ‘ it’s old ’ twice."),
        ("en", "‘It is five o’clock’, he said.", "‘ It is five o’clock ’, he said."),
        ("nl", "‘Ik heb foto’s gezien’, zei hij.", "‘ Ik heb foto’s gezien ’, zei hij."),
        ("uk", "‘Сім’я’.", "‘ Сім’я ’."),
    ],
)
def test_a_quotation_glues_no_words_together_and_tears_none_apart(lang, raw, back):
    assert line_detokenizer(lang)(line_tokenizer(lang)(raw)) == back


MOSES = "--moses --normalize-punctuation --remove-non-printing"


def tokenized(options, text):
    error, out, _ = outcome(tokenization, "--lang", "fr", *options.split(), text=text.encode())
    assert error is None
    return out.decode()


@pytest.mark.parametrize("options", ["", "--moses", MOSES, "--detokenize"])
def test_every_line_stays_a_line(options):
    spaces = "\u00a0\u202f\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e\x1f\r\t\u3000"
    lines = ["a", "", "  ", *spaces, *(f"un{space * 2} deux{space}" for space in spaces), "\r", "b"]
    out = tokenized(options, "\n".join(lines) + "\n")
    assert out.count("\n") == len(lines) == len(out.splitlines())
    empty = [not line.strip() for line in lines]
    assert [not line for line in out.split("\n")[:-1]] == empty
    if not options:
        assert out.split("\n").count("un deux") == len(spaces)


def test_word_counts_are_those_of_the_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "Le chat dort.\nLe chien n'est pas là, le chat est là.\n\n"
    out = tokenized(f"{MOSES} --word-counts counts --jobs 2", text)
    lines = [line.split(" ") for line in (tmp_path / "counts").read_text("utf-8").splitlines()]
    assert {word: int(count) for word, count in lines} == collections.Counter(out.split())
    assert lines == sorted(lines, key=lambda line: (-int(line[1]), line[0]))


@pytest.mark.parametrize("unseen", ["\xad", "\u200b", "\u2060", "\ufeff", "\0", "\x1b"])
def test_what_belongs_to_no_word_changes_none(unseen):
    """A hyphen that is not shown, or a byte order mark inside a file that was put together."""
    tokenize = line_tokenizer("fr")
    for words in (("L’é", "té ici."), ("l’été", " ici."), ("", "L’été"), ("a ", " b"), ("fin", "")):
        assert tokenize(unseen.join(words)) == tokenize("".join(words))
    assert line_tokenizer("th")("กา\u200bนก") == "กา \u200b นก"
    assert line_tokenizer("fa")("می\u200cخواهم") != line_tokenizer("fa")("میخواهم")


@pytest.mark.parametrize(
    "options, text, words",
    [
        ("--word-counts counts", b"bon\ncaf\xe9\n", ["line 2", "not UTF-8"]),
        ("--jobs 0", b"", ["--jobs", "0"]),
        ("--job 2", b"", ["--job"]),
        ("--word-counts no/folder/counts", b"", ["no/folder"]),
        ("--detokenize --moses", b"", ["--detokenize"]),
        ("--moses --lang fi", b"", ["--lang", "'fi'"]),
    ],
)
def test_bad_input_is_one_line(options, text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = options.split() if "--lang" in options else ["--lang", "fr", *options.split()]
    error, _, _ = outcome(tokenization, *arguments, text=text)
    assert error.startswith("tokenization: ") and "\n" not in error
    assert all(word in error for word in words) and list(tmp_path.iterdir()) == []


def sacremoses_tokenizer(lang, patched=True):
    """Plain sacremoses; ``patched`` saves the milliseconds that it takes for each full stop."""
    moses = MosesTokenizer(lang)
    if patched:
        lower, alpha = frozenset(moses.IsLower), frozenset(moses.IsAlpha)
        moses.islower = lambda text: all(char in lower for char in text)
        moses.isanyalpha = lambda text: any(char in alpha for char in text)
    return lambda line: moses.tokenize(line, aggressive_dash_splits=True, return_str=True)


# What a word has to know of the line around it.
NEIGHBOURS = """
    'a | a' | a' 'b | 5' '6 | ,5 | 5, | , ,5 , | x, 'y, 'z' | '' '' | .' | a.' b | No. 5 | No. five
    | No. V | Mr. a | Mr. 5 | etc. | a.b. C | a.b. c | . . | a. ... | a ' ' b | a '' b | -a- -b
    | a - b | 5- | ``a'' , | Mr. | 5 . | a .b | A. B. C.
"""


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
@pytest.mark.parametrize("patched, count", [(True, 2000), (False, 60)])
def test_word_by_word_is_sacremoses(lang, patched, count):
    plain, ours = sacremoses_tokenizer(lang, patched), line_tokenizer(lang)
    for line in [*map(str.strip, NEIGHBOURS.split("|")), *nasty_lines(count, seed=count)]:
        seen = "" if shows_nothing(line) else re.sub("[\xad\u200b\u2060\ufeff]", "", line)
        assert ours(line) == attach_curly_apostrophe(plain(seen), lang), ascii(line)


def test_the_cache_of_words_is_bounded():
    tokens = wordwise_tokenizer.WordTokens(wordwise_tokenizer.FastMosesTokenizer("en"))
    for number in range(wordwise_tokenizer.WORDS_IN_CACHE + 10):
        assert tokens[f"w{number}"] == f"w{number}"
    assert tokens["x" * 100] == "x" * 100 and "x" * 100 not in tokens
    assert len(tokens) == 10
