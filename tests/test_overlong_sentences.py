"""Where sentences that are too long for a model are split."""

import random

import pytest

from realformer_runtime.command_line import UserError
from realformer_runtime.text import overlong_sentences
from realformer_runtime.text.overlong_sentences import parts_of_sentences, split_overlong


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("a b . c d e", 6, ["a b . c d e"]),
        ("a b . c d e", 5, ["a b .", "c d e"]),  # at the end of a sentence
        ("a . b c d e", 4, ["a . b c", "d e"]),  # not too early
        ("a b , c d e", 5, ["a b ,", "c d e"]),  # else of a clause
        ("a b ! c , d e", 6, ["a b ! c ,", "d e"]),
        ("a b@@ c@@ d e", 3, ["a", "b@@ c@@ d", "e"]),  # else between words
        ("a@@ b@@ c@@ d", 2, ["a@@ b@@", "c@@ d"]),  # a word that is too long itself
        ("", 2, []),
    ],
)
def test_where_a_sentence_is_split(text, limit, expected):
    assert [" ".join(part) for part in split_overlong(text.split(), limit)] == expected


def test_parts_are_short_enough_and_the_whole_sentence():
    chance = random.Random(1)
    for _ in range(300):
        words = chance.choices(["a", "b@@", ".", ",", ";"], k=chance.randrange(60))
        limit = chance.randrange(1, 20)
        parts = list(split_overlong(words, limit))
        assert [word for part in parts for word in part] == words
        assert all(0 < len(part) <= limit for part in parts)


def test_what_becomes_of_a_long_sentence():
    sentences = [["a"], ["a", "b", "c"], []]
    assert parts_of_sentences(sentences, 2, "split") == [[["a"]], [["a", "b"], ["c"]], []]
    assert parts_of_sentences(sentences, 2, "skip") == [[["a"]], [], []]
    with pytest.raises(UserError, match=r"limit of 2 subwords, .*: line 2 \(3 subwords\)$"):
        parts_of_sentences(sentences, 2, "error")
    assert parts_of_sentences(sentences, 3, "error") == [[["a"]], [["a", "b", "c"]], []]


def test_many_long_sentences_are_named_in_one_line():
    (message,) = overlong_sentences.overlong_message([["a", "b"]] * 30, 1, "skip")
    assert message.startswith(
        "longer than the limit of 1 subwords, left empty: line 1 (2 subwords)"
    )
    assert message.endswith("line 10 (2 subwords) and 20 more")
    assert overlong_sentences.overlong_message([["a", "b"]], 2, "skip") == []
