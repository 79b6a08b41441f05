"""Byte pair encoding: the bytes of subword-nmt's own commands."""

import random
import subprocess
import sys
import time

import pytest
from conftest import PROJECT
from nasty_lines import nasty_lines
from subword_nmt.learn_bpe import learn_bpe

from realformer_runtime.text.bpe_encoding import (
    WORDS_IN_CACHE,
    LongWordEncoder,
    WordPieces,
    read_codes,
)
from realformer_runtime.text.bpe_learning import merge_symbols

# Sentences of the built-in corpus, and what a preparation may meet besides.
SPACES = ["  two   spaces ", "", "   ", "a\u00a0b c\u2003d", "\u00a0a \u00a0a\u00a0", "e\tf"]
SEPARATORS = ["a\u2028b c", "ab\rcd\r", "a\x0cb", "\x85", "x \x1cy\x1d", "\r", " a\u2029 "]
REPEATS = ["=" * 37, "ababababab abab", "aaaa aaaaa aaa", "hahaha haha", "-" * 300]


def bpe(*arguments, text=b"", code=0):
    command = [sys.executable, "-m", "realformer_runtime.text.byte_pair_encoding", *arguments]
    result = subprocess.run(command, input=text, capture_output=True, cwd=PROJECT)
    assert result.returncode == code, result.stderr.decode()
    return result.stderr.decode() if code else result.stdout


def subword_nmt(*arguments, text):
    command = ["subword-nmt", *arguments]
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def text(raw_corpus):
    sentences = "".join((raw_corpus / f"train.{lang}").read_text("utf-8") for lang in ("en", "fr"))
    odd = [*nasty_lines(300, seed=11), *SPACES, *SEPARATORS, *REPEATS]
    return (sentences + "".join(f"{line}\n" for line in odd)).encode()


@pytest.fixture(scope="module")
def codes(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("bpe") / "the codes"
    path.write_bytes(subword_nmt("learn-bpe", "--symbols", "400", text=text))
    return path


def test_learns_the_same_codes_from_text(text, codes):
    assert bpe("learn", "--merges", "400", text=text) == codes.read_bytes()


def test_learns_the_same_codes_from_word_counts(raw_corpus, tmp_path):
    texts, files = [], []
    for lang, separator in (("en", " "), ("fr", "\t")):
        texts.append((raw_corpus / f"train.{lang}").read_bytes())
        counts = subword_nmt("get-vocab", text=texts[-1]).replace(b" ", separator.encode())
        files.append(tmp_path / f"counts.{lang}")
        files[-1].write_bytes(counts)
    expected = subword_nmt("learn-bpe", "--symbols", "300", text=b"".join(texts))
    assert bpe("learn", "--merges", "300", "--word-counts", *files) == expected


@pytest.mark.parametrize("alphabet", ["ab", "aab=-", "abcdefgh"])
def test_learns_the_same_codes_from_random_words(alphabet, tmp_path):
    """Few letters make overlapping, repeated and rebuilt symbols, and rare pairs."""
    rng = random.Random(alphabet)
    words = ["".join(rng.choices(alphabet, k=rng.randint(1, 14))) for _ in range(400)]
    counts = tmp_path / "counts"
    counts.write_text("".join(f"{word} {rng.randint(1, 50)}\n" for word in words), "utf-8")
    peer = tmp_path / "codes"
    with open(counts, encoding="utf-8") as source, open(peer, "w", encoding="utf-8") as sink:
        learn_bpe(source, sink, 1200, is_dict=True)
    assert bpe("learn", "--merges", "1200", "--word-counts", counts) == peer.read_bytes()


def test_too_few_pairs_are_said():
    command = [sys.executable, "-m", "realformer_runtime.text.byte_pair_encoding", "learn"]
    options = {"input": b"abc abc", "capture_output": True, "cwd": PROJECT}
    result = subprocess.run([*command, "--merges", "9"], **options)
    assert result.stdout == b"#version: 0.2\nb c</w>\na bc</w>\n"
    assert b"2 merges, not 9" in result.stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_encodes_the_same(text, codes, jobs):
    text = text * 8 + b"no line feed at the end "  # more than a block
    expected = subword_nmt("apply-bpe", "--codes", codes, text=text)
    assert bpe("apply", "--codes", codes, "--jobs", jobs, text=text) == expected
    assert expected.count(b"\n") == text.count(b"\n")


def test_encodes_the_same_with_codes_of_version_1(text, tmp_path):
    codes = tmp_path / "codes"
    codes.write_text("t h\nth e\nthe </w>\ne </w>\na b\nab ab\n= =\n== ==\n== ==\n", "utf-8")
    expected = subword_nmt("apply-bpe", "--codes", codes, text=text)
    assert bpe("apply", "--codes", codes, text=text) == expected


def test_long_words_are_encoded_the_same(text, codes):
    rng = random.Random(1)
    encoder = read_codes(codes)
    encode_long = LongWordEncoder(encoder)
    parts = [*text.decode().split()[:500], *"a b = - ab aa ha ==".split()]
    for _ in range(1000):
        word = "".join(rng.choices(parts, k=rng.randint(1, 12)))
        encoder.cache.clear()
        assert "@@ ".join(encode_long(word)) == encoder.segment(word)


def test_an_absurdly_long_word_does_not_stop_the_rest(codes):
    word = b"absurd-ly=" * 30_000
    started = time.process_time()
    lines = bpe("apply", "--codes", codes, text=b"the\n" + word + b"\nthe\n").split(b"\n")
    assert lines[0] == lines[2] and lines[1].replace(b"@@ ", b"") == word
    assert time.process_time() - started < 20


def test_the_cache_of_words_is_bounded(codes):
    pieces = WordPieces(read_codes(codes))
    pieces.update((str(number), "") for number in range(WORDS_IN_CACHE))
    assert pieces["a"] == "a" and len(pieces) == 1 and not pieces.bpe.cache


@pytest.mark.parametrize(
    "word, pair, merged",
    [
        ("a b a b", "a b", "ab ab"),
        ("a a a", "a a", "aa a"),
        ("a a b a", "a b", "a ab a"),
        ("b a", "a b", "b a"),
        ("a a a a b", "a b", "a a a ab"),
        ("a", "a a", "a"),
    ],
)
def test_merging_a_pair(word, pair, merged):
    assert merge_symbols(tuple(word.split()), tuple(pair.split())) == tuple(merged.split())


@pytest.mark.parametrize(
    "arguments, text, words",
    [
        (["learn", "--merges", "0"], b"", ["--merges", "0"]),
        (["learn", "--merges", "many"], b"", ["--merges", "many"]),
        (["learn", "--merges", "5"], b"a b\n", ["no word has two characters"]),
        (["learn", "--merges", "5"], b"ab\ncaf\xe9\n", ["line 2", "not UTF-8"]),
        (["learn", "--merges", "5", "--word-counts", "BAD"], b"", ["--word-counts", "line 2"]),
        (["learn", "--merges", "5", "--word-counts", "/none"], b"", ["/none"]),
        (["apply", "--codes", "/none"], b"", ["/none"]),
        (["apply", "--codes", "BAD"], b"", ["--codes", "line 2"]),
        (["apply", "--codes", "BAD", "--jobs", "0"], b"", ["--jobs", "0"]),
        ([], b"", ["learn|apply"]),
    ],
)
def test_bad_input_is_one_line(arguments, text, words, tmp_path):
    bad = tmp_path / "bad"
    bad.write_text("ab 3\nab cd ef\n", "utf-8")
    arguments = [bad if argument == "BAD" else argument for argument in arguments]
    error = bpe(*arguments, text=text, code=1)
    assert len(error.splitlines()) == 1 and all(word in error for word in words)
