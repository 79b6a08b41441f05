"""Byte pair encoding: the bytes of subword-nmt's own commands."""

import random
import sys

import pytest
from commands import outcome
from conftest import PROJECT, run
from nasty_lines import nasty_lines

from realformer_runtime.text import bpe_encoding, byte_pair_encoding

# Sentences of the built-in corpus, and what a preparation may meet besides.
SPACES = ["  two   spaces ", "", "   ", "a\u00a0b c\u2003d", "\u00a0a \u00a0a\u00a0", "e\tf"]
SEPARATORS = ["a\u2028b c", "ab\rcd\r", "a\x0cb", "\x85", "x \x1cy\x1d", "\r", " a\u2029 "]
REPEATS = ["=" * 37, "ababababab abab", "aaaa aaaaa aaa", "hahaha haha", "-" * 300]


def bpe(*arguments, text=b""):
    error, encoded, _ = outcome(byte_pair_encoding, *arguments, text=text)
    assert error is None
    return encoded


def subword_nmt(*arguments, text):
    return run("subword-nmt", *arguments, text=None, input=text).stdout


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
    texts = [(raw_corpus / f"train.{lang}").read_bytes() for lang in ("en", "fr")]
    for number, (text, separator) in enumerate(zip(texts, " \t")):
        counts = subword_nmt("get-vocab", text=text).replace(b" ", separator.encode())
        (tmp_path / str(number)).write_bytes(counts)
    expected = subword_nmt("learn-bpe", "--symbols", "300", text=b"".join(texts))
    files = [tmp_path / "0", tmp_path / "1"]
    assert bpe("learn", "--merges", "300", "--word-counts", *files) == expected


def test_too_few_pairs_are_said():
    error, codes, said = outcome(byte_pair_encoding, "learn", "--merges", "9", text=b"abc abc")
    assert error is None and codes == b"#version: 0.2\nb c</w>\na bc</w>\n"
    assert "2 merges, not 9" in said


def test_codes_without_a_merge_are_an_error():
    error, _, _ = outcome(byte_pair_encoding, "learn", "--merges", "9", text=b"abc xyz")
    assert "no pair of characters occurs twice" in error


def test_encodes_the_same(text, codes):
    text = text * 8 + b"no line feed at the end "  # more than a block
    expected = subword_nmt("apply-bpe", "--codes", codes, text=text)
    for jobs in ("1", "2"):
        assert bpe("apply", "--codes", codes, "--jobs", jobs, text=text) == expected
    assert expected.count(b"\n") == text.count(b"\n")


def test_encodes_the_same_with_codes_of_version_1(text, tmp_path):
    codes = tmp_path / "codes"
    codes.write_text("t h\nth e\nthe </w>\ne </w>\na b\nab ab\n= =\n== ==\n== ==\n", "utf-8")
    expected = subword_nmt("apply-bpe", "--codes", codes, text=text)
    assert bpe("apply", "--codes", codes, text=text) == expected


def test_long_words_are_encoded_the_same(text, codes):
    rng, encoder = random.Random(1), bpe_encoding.read_codes(codes)
    encode_long = bpe_encoding.LongWordEncoder(encoder)
    parts = [*text.decode().split()[:500], *"a b = - ab aa ha ==".split()]
    for _ in range(1000):
        word = "".join(rng.choices(parts, k=rng.randint(1, 12)))
        encoder.cache.clear()
        assert "@@ ".join(encode_long(word)) == encoder.segment(word)


def test_an_absurdly_long_word_does_not_stop_the_rest(codes):
    word = "absurd-ly=" * 30_000
    command = [sys.executable, "-m", byte_pair_encoding.__name__, "apply", "--codes", codes]
    result = run(*command, input=f"the\n{word}\nthe\n", cwd=PROJECT, timeout=120)
    lines = result.stdout.split("\n")
    assert lines[0] == lines[2] and lines[1].replace("@@ ", "") == word


def test_the_cache_of_words_is_bounded(codes):
    pieces = bpe_encoding.WordPieces(bpe_encoding.read_codes(codes))
    pieces.update((str(number), "") for number in range(bpe_encoding.WORDS_IN_CACHE))
    assert pieces["a"] == "a" and len(pieces) == 1 and not pieces.bpe.cache


GPT2 = "#version: 0.2\nĠ t\nĠ a\nh e\ni n\nĠt he\n"
OTHER_FILES = {
    "empty": ("", "is empty"),
    "only a version": ("#version: 0.2\n", "line 2"),
    "a version unknown": ("#version: 0.3\na b\n", "version 0.3"),
    "a vocabulary": ("the 900\n, 33\na@@ 7\nb 5\n", "a vocabulary or a dictionary"),
    "a vocabulary of characters": ("e 9\na 5\nx 1\n", "a vocabulary or a dictionary"),
    "a dictionary": ("the 900\nof 20\nmadeupword0000 0 #fairseq:overwrite\n", "line 3"),
    "with a version, a vocabulary": ("#version: 0.2\nthe 900\nof 20\n", "'the 900'"),
    "text": ("Le chat dort .\nOui .\n", "line 1"),
    "two words a line": ("Oui .\nNon !\nPeut-être ?\n", "'Oui .'"),
    "fastBPE": ("e r</w> 900\nt h 800\n", "line 1"),
    "GPT-2": (GPT2, "GPT-2"),
    "GPT-2, without a version": (GPT2.partition("\n")[2], "GPT-2"),
    "merges of SentencePiece": ("▁ t\n▁t h\ne r\n", "SentencePiece"),
    "a tokenizer.json": ('{\n  "version": "1.0",\n  "merges": ["a b"]\n}\n', "line 1"),
    "a SentencePiece vocabulary": ("<unk>\t0\n▁the\t-3.5\n", "line 1"),
    "a SentencePiece model": (b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\xff", "not codes"),
    "zeros": (b"\0" * 99, "line 1"),
}


@pytest.mark.parametrize("name", OTHER_FILES)
def test_another_file_than_codes_is_refused(name, tmp_path):
    content, words = OTHER_FILES[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    error, encoded, said = outcome(byte_pair_encoding, "apply", "--codes", path, text=b"the cat\n")
    assert error.startswith(f"byte_pair_encoding: --codes {path}: ") and "\n" not in error
    assert words in error and "subword-nmt learn-bpe" in error and (encoded, said) == (b"", "")


@pytest.mark.parametrize(
    "content",
    [
        "1 2\n12 3\n123 </w>\na b\nab 4\n3 </w>\n5 </w>\n",  # numbers in version 0.1
        "#version: 0.2\n1 2\n12 3\n3 4\n",
        "#version: 0.2\nt h\nth e</w>\nth e</w>\nab c\n",  # a pair twice, one out of reach
        "#version: 0.2\nĠ g</w>\nĠ a\n",  # Maltese
        "#version: 0.1\nt h\nth e\nthe </w>\n",
        "e r</w>\nt h\nth e</w>",  # the version and the last line feed are lost
        "#version: 0.2\r\nt h\r\nth e</w>\r\n",
    ],
)
def test_real_codes_are_taken(content, tmp_path):
    """They are read as by subword-nmt."""
    codes = tmp_path / "codes"
    codes.write_bytes(content.encode())
    text = "the other 1234 123 Ġg Ġa abc\n".encode()
    assert bpe("apply", "--codes", codes, text=text) == subword_nmt(
        "apply-bpe", "--codes", codes, text=text
    )


@pytest.mark.parametrize(
    "arguments, text, words",
    [
        ("learn --merges 0", b"", ["--merges", "0"]),
        ("learn --merges 5", b"a b\n", ["no word has two characters"]),
        ("learn --merges 5", b"\xef\xbb\xbf", ["no word has two characters"]),
        ("learn --merges 5", b"ab\ncaf\xe9\n", ["line 2", "not UTF-8"]),
        ("learn --merges 5 --word-counts bad", b"", ["--word-counts", "bad", "line 2"]),
        ("apply --codes /none", b"", ["/none"]),
        ("apply --codes bad", b"", ["--codes", "bad", "line 2"]),
        ("apply --codes bad --jobs 0", b"", ["--jobs", "0"]),
        ("", b"", ["learn|apply"]),
    ],
)
def test_bad_input_is_one_line(arguments, text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").write_text("ab 3\nab cd ef\n", "utf-8")
    error, encoded, said = outcome(byte_pair_encoding, *arguments.split(), text=text)
    assert error.startswith("byte_pair_encoding: ") and "\n" not in error
    assert all(word in error for word in words) and (encoded, said) == (b"", "")
