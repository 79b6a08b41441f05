"""Where sentences that are too long for a model are split."""

import random

import pytest

from realformer_runtime.command_line import UserError
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
        ("▁a ▁b . ▁c ▁d ▁e", 5, ["▁a ▁b .", "▁c ▁d ▁e"]),  # the same in SentencePiece's pieces
        ("▁a ▁b ▁3 . 14 ▁c", 5, ["▁a ▁b ▁3 . 14", "▁c"]),
        ("▁a b c ▁d e", 4, ["▁a b c", "▁d e"]),
        ("▁a b c d e f . ▁gg h ▁ii j", 5, ["▁a b c d e", "f . ▁gg h", "▁ii j"]),
        ("▁我 们 。 他 们", 4, ["▁我 们 。", "他 们"]),
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
    sentences, named = [["a"], ["a", "b", "c"], []], []
    for policy, parts in (("split", [["a", "b"], ["c"]]), ("skip", [])):
        assert parts_of_sentences(sentences, 2, policy, warn=named.append) == [[["a"]], parts, []]
    with pytest.raises(UserError) as refused:
        parts_of_sentences(sentences, 2, "error", first_line=7)
    done = ("translated in parts: line 2", "left empty: line 2", "nothing translated: line 8")
    messages = [f"longer than the limit of 2 subwords, {words} (3 subwords)" for words in done]
    assert [*named, str(refused.value)] == messages
    whole = parts_of_sentences(sentences, 3, "error", warn=named.append)
    assert whole == [[["a"]], [["a", "b", "c"]], []] and len(named) == 2
    parts_of_sentences([["a", "b"]] * 30, 1, "skip", warn=named.append)
    assert len(named) == 3 and named[2].endswith("line 10 (2 subwords) and 20 more")
    with pytest.raises(UserError, match="--max-tokens and --max-source-positions"):
        parts_of_sentences(sentences, 0)
