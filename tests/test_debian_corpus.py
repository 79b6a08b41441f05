"""data-prep/debian_corpus: text extraction, alignment, filters, the held-out split, its errors."""

from __future__ import annotations

import gettext
import hashlib
import io
import itertools
import json
import os
import pickle
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from commands import error_of
from conftest import PROJECT
from debian_corpus import __main__ as command
from debian_corpus import alignment, apt_archive, deb_members, held_out_split, pair_filters
from debian_corpus import host_requirements as host
from debian_corpus.corpus_files import write_corpus
from debian_corpus.gettext_catalogues import message_blocks, read_catalogue
from debian_corpus.held_out_split import CorpusPair
from debian_corpus.html_blocks import html_blocks
from debian_corpus.man_page_blocks import macro_arguments, man_page_blocks, plain_text
from debian_corpus.package_descriptions import (
    description_blocks,
    family_name,
    parse_descriptions,
    parse_packages,
)
from debian_corpus.sentence_splitting import split_sentences
from debian_corpus.sources import PACKAGES, SOURCES, UNSEEN_SOURCES
from debian_corpus.text_normalisation import comparison_key, normalise

from realformer_runtime.command_line import UserError

DATA_PREP = PROJECT / "data-prep"

# --- text ---


@pytest.mark.parametrize(
    "text, expected",
    [
        ("  two\n\twords\u00a0\u2028", "two words"),
        ("cafe\u0301", "café"),
        ("hy\u00adphen zero\u200bwidth \ufeffmark", "hyphen zerowidth mark"),
        ("semi\u2010detached\u2011house", "semi-detached-house"),
    ],
)
def test_normalise(text, expected):
    assert normalise(text) == expected


def test_comparison_key_ignores_case_digits_and_punctuation():
    assert comparison_key("L'Été_2 : 30 chats !") == "l été chats"


# --- HTML ---


@pytest.mark.parametrize(
    "markup, expected",
    [
        ("<p>One &amp; two</p><h2>Three&#233;</h2>", [("p", "One & two"), ("h2", "Threeé")]),
        ("<p>An <b>inline</b> word<br>and<br/>lines</p>", [("p", "An inline word and lines")]),
        ("<p>Not closed<p>Next</i></p>", [("p", "Not closed"), ("p", "Next")]),
        ("<ul><li>Out<ul><li>In</li></ul></li></ul>", [("li", "Out"), ("li", "In")]),
        ("<p>Kept<img src=x></p>tail", [("p", "Kept"), ("untagged", "tail")]),
        ("<head><title>No</title></head><script>no()</script><p>Yes</p>", [("p", "Yes")]),
        ("<p>Run <pre>a <b>b</b> c</pre> now</p>", [("p", "Run"), ("p", "now")]),
        ("<nav><p>No<div>No</nav><p>Yes</p>", [("p", "Yes")]),
        ("<db:para>Prefixed</db:para>", [("para", "Prefixed")]),
        ("<p> \n </p>", []),
    ],
)
def test_html_blocks(markup, expected):
    assert html_blocks(markup) == expected


def test_html_blocks_skip_a_class_or_id_with_all_it_holds():
    markup = '<div class="big toc"><p>No</p><div>No</div></div><p id="toc">No</p><p id="a">Yes</p>'
    assert html_blocks(markup, re.compile(r"\btoc\b")) == [("p", "Yes")]
    assert len(html_blocks(markup)) == 4


# --- manual pages ---

MAN_PAGE = r"""'\" t
.\" A comment
.TH LAMP 1
.SH NAME
lamp \- light a "room"
.SH THE OPTIONS
Give
.B \-\-bright
or
.BR lamp (1)
to see.\c
.PP
A line \
continued \fBbold\fP\(em\[lq]quoted\[rq].
.TP
.B \-v
Say more.
.IP "the end" 4
Stop now.
.nf
.B verbatim
text
.fi
.RS
Inside.
.RE
"""


def test_man_page_blocks():
    assert man_page_blocks(MAN_PAGE) == [
        ("heading", "NAME"),
        ("paragraph", 'lamp - light a "room"'),
        ("heading", "THE OPTIONS"),
        ("paragraph", r"Give --bright or lamp(1) to see.\c"),
        ("paragraph", "A line continued bold—“quoted”."),
        ("term", "-v"),
        ("definition", "Say more."),
        ("term", "the end"),
        ("definition", "Stop now."),
        ("paragraph", "Inside."),
    ]


@pytest.mark.parametrize(
    "roff, expected",
    [
        (r"\f[CB]a\f(CWb\fRc\s-1d\s0", "abcd"),
        (r"\(Fo\~oui\~\(Fc \(aqno\[aq] \(+-2\[+-]", "« oui » 'no' ±2±"),
        (r"a\&b\|c \e n", r"abc \ n"),
        (r"text \" comment", "text "),
    ],
)
def test_plain_text_of_roff(roff, expected):
    assert plain_text(roff) == expected


def test_macro_arguments():
    assert macro_arguments(r'one "two words" three\ words "say ""yes"""') == [
        "one",
        "two words",
        "three words",
        'say "yes"',
    ]


# --- gettext catalogues ---


def catalogue(messages: dict[str, str], byte_order: str = "<") -> bytes:
    """A .mo file as msgfmt writes it: header, two tables of (length, offset), strings."""
    messages = dict(sorted({"": "Content-Type: text/plain; charset=UTF-8\n", **messages}.items()))
    strings = [text.encode() for text in itertools.chain(messages, messages.values())]
    count, header_size = len(messages), 28
    offset = header_size + 16 * count
    table = b""
    for text in strings:
        table += struct.pack(byte_order + "2I", len(text), offset)
        offset += len(text) + 1
    header = (0x950412DE, 0, count, header_size, header_size + 8 * count, 0, 0)
    return struct.pack(byte_order + "7I", *header) + table + b"\0".join(strings) + b"\0"


MESSAGES = {
    "Good evening": "Bonsoir",
    "door\x04Open": "Ouverte",
    "one owl\0many owls": "un hibou\0des hiboux",
}


@pytest.mark.parametrize("byte_order", "<>")
def test_read_catalogue(byte_order):
    assert read_catalogue(catalogue(MESSAGES, byte_order)) == [
        ("Good evening", "Bonsoir"),
        ("Open", "Ouverte"),
        ("one owl", "un hibou"),
        ("many owls", "des hiboux"),
    ]


def test_read_catalogue_agrees_with_the_standard_library():
    content = catalogue(MESSAGES)
    translations = gettext.GNUTranslations(io.BytesIO(content))
    pairs = dict(read_catalogue(content))
    assert pairs["Good evening"] == translations.gettext("Good evening")
    assert pairs["Open"] == translations.pgettext("door", "Open")
    assert pairs["one owl"] == translations.ngettext("one owl", "many owls", 1)
    assert pairs["many owls"] == translations.ngettext("one owl", "many owls", 2)


@pytest.mark.parametrize("content", [b"", b"text file", catalogue(MESSAGES)[:40]])
def test_read_catalogue_refuses_other_files(content):
    with pytest.raises(ValueError, match="not a gettext catalogue"):
        read_catalogue(content)


def test_message_blocks():
    assert message_blocks("_Open the door", "&Ouvrir la porte") == [
        ("Open the door", "Ouvrir la porte")
    ]
    long_message = "snake_case words are left alone where a message is no label of a menu entry"
    assert message_blocks(long_message, "mots_avec tiret") == [(long_message, "mots_avec tiret")]
    assert message_blocks("A\n\nB", "C\n\nD") == [("A", "C"), ("B", "D")]
    assert message_blocks("A\n\nB", "C") == [("A\n\nB", "C")]


# --- package descriptions ---

PACKAGES_INDEX = """\
Package: libowl3
Source: owl-1.2 (1.2-3)
Version: 1:1.2-3
Architecture: amd64
Size: 42
Description: Owls
SHA256: abc

Package: owl-doc
Version: 1
Architecture: all
"""


def test_parse_packages():
    records = parse_packages(PACKAGES_INDEX)
    assert list(records) == ["libowl3", "owl-doc"]
    owl = records["libowl3"]
    assert owl.file_name == "libowl3_1%3a1.2-3_amd64.deb"
    assert (owl.source, owl.size, owl.sha256) == ("owl-1.2", 42, "abc")
    assert records["owl-doc"].source == "owl-doc"
    assert family_name("owl-1.2") == family_name("owl-11") == "owl-"


def test_parse_descriptions_and_their_blocks():
    index = (
        "Package: owl\nDescription-md5: 11\nDescription-fr: Un hibou\n Il dort\n le jour.\n .\n"
        " Il mange :\n  * des souris,\n  * des mouches.\n\n"
        "Package: owl2\nDescription-md5: 11\nDescription-fr: Autre\n\n"
        "Package: cat\nDescription-md5: 22\nDescription-fr: Un chat\n"
    )
    descriptions = parse_descriptions(index, "fr")
    assert {md5: package for md5, (package, _) in descriptions.items()} == {
        "11": "owl",
        "22": "cat",
    }
    assert description_blocks(descriptions["11"][1]) == [
        ("synopsis", "Un hibou"),
        ("paragraph", "Il dort le jour."),
        ("paragraph", "Il mange :"),
        ("paragraph", "* des souris,"),
        ("paragraph", "* des mouches."),
    ]


# --- sentences ---


@pytest.mark.parametrize(
    "paragraph, expected",
    [
        ("One cat. Two cats! Three?", ["One cat.", "Two cats!", "Three?"]),
        ("See Dr. Owl, e.g. On monday.", ["See Dr. Owl, e.g. On monday."]),
        ("Mr. J. Owl sat. He slept.", ["Mr. J. Owl sat.", "He slept."]),
        ("Built in the U.S. Army style.", ["Built in the U.S. Army style."]),
        ("3. Open it. 12. Close it.", ["3. Open it.", "12. Close it."]),
        ("It was 1998. Then it rained.", ["It was 1998.", "Then it rained."]),
        ("« Oui. » Il rit… Élise dort.", ["« Oui. »", "Il rit…", "Élise dort."]),
        ("He said (yes.) “Now?” She left.", ["He said (yes.)", "“Now?”", "She left."]),
        ("version 2.5 works. but small letters do not", None),
        ("", []),
    ],
)
def test_split_sentences(paragraph, expected):
    assert split_sentences(paragraph) == ([paragraph] if expected is None else expected)


# --- alignment ---


def test_length_cost():
    assert alignment.length_cost(100, 113) == pytest.approx(0)
    # 2.2 * ln((231 + 5) / (1.13 * 100 + 5)) = 2.2 ln 2
    assert alignment.length_cost(100, 231) == pytest.approx(1.52492, abs=1e-5)
    assert alignment.length_cost(0, 10) == alignment.length_cost(10, 0) == 4


def text(length: int, letter: str = "a") -> str:
    return letter * length


@pytest.mark.parametrize(
    "english, french, expected",
    [
        # 1-1: costs 0 for equal ratios; joining all would cost 0.9 and a deletion 3.
        ([100, 20], [113, 23], [(100, 113), (20, 23)]),
        # 1-2 costs 0.9 + 2.2 |ln(225 / 231)| = 0.96; 1-1 and an insertion cost at least 3.
        ([200], [110, 110], [(200, 221)]),
        ([100, 100], [226], [(201, 226)]),
        # The middle sentence has no counterpart: 3, against 0.9 + 2.2 ln(478 / 118) = 3.98 for
        # joining it to the first, and as much for the last.
        ([100, 100], [113, 360, 113], [(100, 113), (100, 113)]),
        ([100, 400, 100], [113, 113], [(100, 113), (100, 113)]),
        ([], [50], []),
    ],
)
def test_align_sentences_by_hand(english, french, expected):
    pairs = alignment.align_sentences([text(n) for n in english], [text(n) for n in french])
    assert [(len(en), len(fr)) for en, fr in pairs] == expected


def all_alignments(english: list[int], french: list[int]):
    """Every way to take both lists apart in moves, with its cost."""
    if not english and not french:
        yield 0.0, []
    for x, y, penalty in alignment.SENTENCE_MOVES:
        if x <= len(english) and y <= len(french):
            cost = penalty
            if x and y:
                cost += alignment.length_cost(sum(english[:x]), sum(french[:y]))
            for rest, moves in all_alignments(english[x:], french[y:]):
                yield cost + rest, [(x, y), *moves]


@pytest.mark.parametrize(
    "english, french",
    [
        ([30, 90, 45, 70], [80, 60, 100]),
        ([12, 150, 33], [40, 90, 85, 31, 10]),
        ([60, 61, 62, 63], [300]),
        ([5, 200, 7], [230, 6]),
    ],
)
def test_align_sentences_finds_the_cheapest_of_all_alignments(english, french):
    _, cheapest = min(all_alignments(english, french))
    # Letters tell the sentences apart, so that pairs can be traced back to moves.
    pairs = alignment.align_sentences(
        [text(n, chr(ord("a") + i)) for i, n in enumerate(english)], [text(n) for n in french]
    )
    expected = []
    i = 0
    for x, y in cheapest:
        if x and y:
            expected.append({chr(ord("a") + k) for k in range(i, i + x)})
        i += x
    assert [set(en) - {" "} for en, _ in pairs] == expected


def test_align_block_sentences():
    align = alignment.align_block_sentences
    assert align("No stop here", "Pas de point") == [("No stop here", "Pas de point")]
    assert align("The owl is asleep. It snores.", "Le hibou dort. Il ronfle.") == [
        ("The owl is asleep.", "Le hibou dort."),
        ("It snores.", "Il ronfle."),
    ]
    assert align("The owl is asleep, and it snores.", "Le hibou dort. Il ronfle fort.") == [
        ("The owl is asleep, and it snores.", "Le hibou dort. Il ronfle fort.")
    ]
    too_many = "Yes. " * (alignment.MOST_SENTENCES + 1)
    assert align(too_many, "Oui.") == []


def test_anchors():
    assert alignment.anchors("Run Owl_4, see /etc/owl. or it, v2.0") == {
        "Run",
        "Owl_4",
        "/etc/owl",
        "v2.0",
    }


ENGLISH_BLOCKS = [
    ("h1", "About the owl of Lyon"),
    ("p", "The owl of Lyon was born in 1987 and it lives in an old tower."),
    ("p", "Visit Marseille by the 15 train, which leaves every morning."),
]
FRENCH_BLOCKS = [
    ("h1", "À propos du hibou de Lyon"),
    ("p", "Le hibou de Lyon est né en 1987 et il vit dans une vieille tour."),
    ("p", "Allez à Marseille par le train 15, qui part tous les matins."),
]


def test_align_blocks_of_the_same_kinds_are_paired_in_order():
    pairs = alignment.align_blocks(ENGLISH_BLOCKS, FRENCH_BLOCKS)
    assert pairs == [(en, fr) for (_, en), (_, fr) in zip(ENGLISH_BLOCKS, FRENCH_BLOCKS)]


@pytest.mark.parametrize("added_to_english", [True, False])
def test_align_blocks_leaves_out_what_is_on_one_side_only(added_to_english):
    added = ("p", "Paris 2040")
    english, french = list(ENGLISH_BLOCKS), list(FRENCH_BLOCKS)
    (english if added_to_english else french).insert(1, added)
    pairs = alignment.align_blocks(english, french)
    assert pairs == [(en, fr) for (_, en), (_, fr) in zip(ENGLISH_BLOCKS, FRENCH_BLOCKS)]


def test_align_blocks_gives_only_clear_matches_of_the_same_kind():
    assert alignment.align_blocks(ENGLISH_BLOCKS, [("li", "Lyon 1987"), ("td", "x")]) == []
    other_anchors = [("h1", "Titre"), ("p", FRENCH_BLOCKS[1][1].replace("1987", "1988 à XYZ"))]
    pairs = alignment.align_blocks([ENGLISH_BLOCKS[1]], other_anchors)
    assert pairs == []  # of 5 anchors 1 is shared
    assert alignment.align_blocks([], FRENCH_BLOCKS) == []


def test_align_blocks_gives_up_on_very_long_documents():
    blocks = [("p", "word")] * 7000
    assert alignment.align_blocks(blocks, [*blocks, ("h1", "word")]) == []


# --- filters ---

ENGLISH = "The old owl of the village sleeps in the tower during the day."
FRENCH = "Le vieux hibou du village dort dans la tour pendant la journée."

REJECTED = [
    *(
        (pair_filters.has_markup, f"The old owl sees {code} in the tower.", FRENCH)
        for code in (
            *("<b>", "a_b", "%s", "100 %d", "owl&nbsp;", "http:owl", "www.owl", "owl://", "-v"),
            *("--fast", "owl(1)", "/usr/bin", "a.b.c.d", "run()", "owl.conf", "the &Window"),
        )
    ),
    (pair_filters.has_markup, ENGLISH, "Le hibou lit la page owl(1) dans la tour."),
    (pair_filters.is_too_long, "the " * 101, FRENCH),
    (pair_filters.has_too_few_words, "The old owl.", "Le vieux hibou dort."),
    (pair_filters.has_too_few_words, ENGLISH, "1 2 3 4 le hibou dort"),
    (pair_filters.token_counts_differ, "a b c d", "a b c d e f g h"),
    (pair_filters.lengths_differ, ENGLISH, "Le hibou dort dans la tour."),
    (pair_filters.is_mostly_symbols, "the owl, (1) ... 22, 33: 44", FRENCH),
    (pair_filters.is_untranslated, ENGLISH, ENGLISH.upper()),
    (pair_filters.is_untranslated, "the word owl de tower", "le word owl de tower"),
    (pair_filters.is_in_wrong_language, "Le hibou dort dans la tour.", FRENCH),
    (pair_filters.is_in_wrong_language, ENGLISH, "The owl sleeps in the big tower."),
    (pair_filters.is_in_wrong_language, "Old owls sleep late today", FRENCH),
    (pair_filters.is_in_wrong_language, "He says le hibou est dans la cuisine.", FRENCH),
    (pair_filters.is_in_wrong_language, ENGLISH, "Il dit that the owl is in the house."),
    (pair_filters.numbers_differ, "Owls eat 12 mice and 3 flies.", "Ils mangent souris et rats."),
]
KEPT = [
    (pair_filters.has_markup, "The owl sleeps; it is well-known (in town).", FRENCH),
    (pair_filters.is_too_long, "the " * 100, FRENCH),
    (pair_filters.has_too_few_words, "The old owl sleeps.", "Le vieux hibou dort."),
    (pair_filters.token_counts_differ, "a b c d", "a b c d e f g"),
    (pair_filters.lengths_differ, ENGLISH, FRENCH[:45]),
    (pair_filters.is_mostly_symbols, "owl.", "rat!"),
    (pair_filters.is_untranslated, "the owl menu de tower", "le hibou menu de tour"),
    (pair_filters.is_in_wrong_language, "This is on a tour of me", "Le plus on me dit, il a un"),
    (pair_filters.numbers_differ, "Owls eat 12 mice and 3 flies.", "Ils mangent 12 souris."),
]


@pytest.mark.parametrize("rejects, english, french", REJECTED)
def test_filter_rejects(rejects, english, french):
    assert rejects(pair_filters.sentence_pair(english, french))
    assert pair_filters.clean_pair(english, french) is None


@pytest.mark.parametrize("rejects, english, french", KEPT)
def test_filter_keeps(rejects, english, french):
    assert not rejects(pair_filters.sentence_pair(english, french))


def test_every_filter_is_tested_both_ways():
    for examples in (REJECTED, KEPT):
        assert {rejects for rejects, _, _ in examples} == set(pair_filters.FILTERS)


@pytest.mark.parametrize("marker", ["", "• ", "- ", "3. ", "12) ", "* "])
def test_clean_pair_removes_list_markers(marker):
    assert pair_filters.clean_pair(marker + ENGLISH, f" {marker}{FRENCH}\n") == (ENGLISH, FRENCH)


# --- held-out split ---


def invented_pairs(documents: int = 400, sentences: int = 3) -> list[CorpusPair]:
    """Documents of distinct invented sentences, and one sentence that all of them begin with."""
    pairs = []
    for number in range(documents):
        words = [hashlib.sha1(f"{number}/{k}".encode()).hexdigest() for k in range(sentences)]
        for word in words:
            letters = word.translate(str.maketrans("0123456789", "ghijklmnop"))
            chunks = " ".join(letters[k : k + 5] for k in range(0, 40, 5))
            english, french = f"{chunks} in english", f"{chunks[::-1]} en français"
            pairs.append(CorpusPair("owls:tales", f"tale {number}", english, french))
        shared = f"every tale of the old owl begins like this {letters[:4]}"
        pairs.append(CorpusPair("owls:tales", f"tale {number}", shared, f"{letters} début"))
    return pairs


def test_split_holds_out_whole_documents():
    pairs = invented_pairs()
    splits = held_out_split.split_held_out(pairs, lambda pair: pair.document == "tale 7")
    documents = {name: {pair.document for pair in kept} for name, kept in splits.items()}
    assert documents["unseen"] == {"tale 7"}
    for one, other in itertools.combinations(documents, 2):
        assert not documents[one] & documents[other]
    # 1.5 % and 2.5 % of 400 documents are 6 and 10.
    assert 2 <= len(documents["valid"]) <= 14 and 4 <= len(documents["test"]) <= 20


def named_for(split: str, source: str) -> str:
    """The name of a document of `source` that is in the set `split`."""
    names = (f"owl{a}{b}" for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefghijklmnopqrst")
    return next(
        name
        for name in names
        if held_out_split.split_name(CorpusPair(source, name, "", "")) == split
    )


@pytest.mark.parametrize("split, others", [("train", ("valid", "test")), ("valid", ("test",))])
def test_a_near_duplicate_is_dropped_from_the_larger_set(split, others):
    near = CorpusPair("owls", named_for(split, "owls"), "a b c d e f g", "t u v w x y z")
    for other in others:
        held_out = CorpusPair("owls", named_for(other, "owls"), "a b c d e f h", "not alike")
        splits = held_out_split.split_held_out([near, held_out], lambda _: False)
        assert splits[split] == [] and splits[other] == [held_out]
    splits = held_out_split.split_held_out(
        [near, near._replace(source="unseen")], lambda pair: pair.source == "unseen"
    )
    assert splits[split] == [] and len(splits["unseen"]) == 1


def four_grams(sentences: list[str]) -> list[set]:
    keys = [comparison_key(sentence).split() for sentence in sentences]
    return [{tuple(words[k : k + 4]) for k in range(max(1, len(words) - 3))} for words in keys]


def test_no_held_out_pair_resembles_a_training_pair():
    splits = held_out_split.split_held_out(
        invented_pairs(200), lambda pair: pair.document == "tale 7"
    )
    assert len(splits["train"]) > 450 and len(splits["test"]) > 5
    assert not any("every tale" in pair.english for pair in splits["train"])
    test = splits["test"] + splits["unseen"]
    for kept, held_out in ((splits["train"], splits["valid"] + test), (splits["valid"], test)):
        for side in ("english", "french"):
            sides = ([getattr(pair, side) for pair in pairs] for pairs in (kept, held_out))
            for one, other in itertools.product(*map(four_grams, sides)):
                assert len(one & other) <= 0.5 * min(len(one), len(other))


def test_near_duplicates_are_dropped_above_half_of_the_4_grams():
    def pair(english, french):
        return CorpusPair("s", "d", english, french)

    held_out = [pair("a b c d e f g", "t u v w x")]  # 4 and 2 4-grams
    half_shared = pair("a b c d e y z", "o p q r s")
    over_half_shared = pair("a b c d e f z", "o p q r s")
    french_shared = pair("h i j k l", "t u v w x y z")
    assert held_out_split.drop_near_duplicates(
        [half_shared, over_half_shared, french_shared], held_out
    ) == [half_shared]


def test_repeats_on_either_side_are_dropped():
    pairs = [
        CorpusPair("s", "d", "One owl.", "Un hibou."),
        CorpusPair("s", "d", "one OWL!", "Un autre."),
        CorpusPair("s", "d", "Another.", "un hibou ?"),
        CorpusPair("s", "d", "Two owls.", "Deux hiboux."),
    ]
    assert held_out_split.drop_repeats(pairs) == [pairs[0], pairs[3]]


def test_templates_are_capped_and_the_order_is_fixed():
    frequent = held_out_split.FREQUENT_WORD
    names = [f"{a}{b}" for a in "bcdfghjk" for b in "aeiouxyz"][:frequent]
    pairs = [CorpusPair("s", "d", f"modules for {name}", name) for name in names]
    single = CorpusPair("s", "d", "nothing like that", "rien")
    kept = held_out_split.cap_templates([*pairs, single])
    assert len(kept) == held_out_split.MOST_PER_TEMPLATE + 1 and single in kept
    assert kept == held_out_split.cap_templates([*pairs, single])


def test_split_name_does_not_depend_on_the_member_of_a_group():
    pair = CorpusPair("owls:one", "a tale", "x", "y")
    assert held_out_split.split_name(pair) == held_out_split.split_name(
        pair._replace(source="owls:two", english="z")
    )


def test_sources():
    assert {source.name for source in SOURCES}.issuperset(UNSEEN_SOURCES)
    assert len({source.name for source in SOURCES}) == len(SOURCES)
    assert len(set(PACKAGES)) == len(PACKAGES)


# --- output ---


def test_write_corpus_keeps_what_was_there_when_it_fails(tmp_path, monkeypatch):
    (tmp_path / "train.en").write_text("before\n")
    splits = {"train": [CorpusPair("s", "d", "english", "français")]}

    def full_disk(path, text):
        Path(path).write_text(text[:2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("debian_corpus.corpus_files._write", full_disk)
        with pytest.raises(OSError):
            write_corpus(str(tmp_path), splits, {})
    assert [path.name for path in tmp_path.iterdir()] == ["train.en"]
    assert (tmp_path / "train.en").read_text() == "before\n"

    write_corpus(str(tmp_path), splits, {"owls": 1})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["manifest.json", "train.en", "train.fr", "train.src"]
    assert (tmp_path / "train.fr").read_text(encoding="utf-8") == "français\n"
    assert (tmp_path / "train.src").read_text() == "s\td\n"


# --- the machine ---

FAKE_APT_GET = """#!/usr/bin/env python3
import os, pathlib, shutil, sys
archive = pathlib.Path("{archive}")
with open(archive / "calls", "a") as log:
    print(" ".join(sys.argv[1:]), file=log)
failure = os.environ.get("FAKE_APT_FAILURE", "")
if "indextargets" in sys.argv:
    print("http://others.invalid/repo main bookworm")
    print("http://archive.invalid/debian main stable bookworm")
    print("http://archive.invalid/debian main stable-updates bookworm-updates")
elif failure == "offline":
    print("W: ignored", file=sys.stderr)
    sys.exit("E: Failed to fetch http://archive.invalid  Temporary failure resolving")
elif "update" in sys.argv:
    for path in (archive / os.path.basename(os.getcwd())).iterdir():
        shutil.copy(path, "lists")
elif "download" in sys.argv:
    for name in sys.argv[sys.argv.index("download") + 1 :]:
        (path,) = (archive / "debs").glob(name + "_*.deb")
        shutil.copy(path, ".")
        if failure == "partial" and name == "debian-faq":
            os.truncate(path.name, 10)
"""


class FakeArchive:
    """A folder with package lists and packages, and an apt-get on PATH that reads it."""

    def __init__(self, folder: Path, packages=PACKAGES):
        self.folder = folder
        (folder / "debs").mkdir(parents=True)
        self.deb = {name: b"no package " + name.encode() for name in packages}
        self.english_descriptions, self.french_descriptions = "", ""

    def add_description(self, package: str, english: str, french: str) -> None:
        head = f"Package: {package}\nDescription-md5: {package}\nDescription-"
        self.english_descriptions += f"{head}en: {english}\n\n"
        self.french_descriptions += f"{head}fr: {french}\n\n"

    def write(self) -> None:
        index = ""
        for name, content in self.deb.items():
            (self.folder / "debs" / f"{name}_2%3a1_all.deb").write_bytes(content)
            index += (
                f"Package: {name}\nVersion: 2:1\nArchitecture: all\nSize: {len(content)}\n"
                f"SHA256: {hashlib.sha256(content).hexdigest()}\n\n"
            )
        for suite in ("bookworm", "trixie"):
            lists = self.folder / f"apt-{suite}"
            lists.mkdir(exist_ok=True)
            for name, content in (
                ("Packages", index),
                ("Translation-en", self.english_descriptions),
                ("Translation-fr", self.french_descriptions),
                ("InRelease", f"Suite: {suite}\nDate: Sat, 01 Jan 2000\n"),
            ):
                (lists / f"archive_{suite}_{name}").write_text(content, encoding="utf-8")

    def calls(self) -> list[str]:
        log = self.folder / "calls"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def fake_archive(tmp_path, monkeypatch):
    archive = FakeArchive(tmp_path / "archive")
    commands = tmp_path / "commands"
    commands.mkdir()
    apt_get = commands / "apt-get"
    apt_get.write_text(FAKE_APT_GET.format(archive=archive.folder))
    apt_get.chmod(0o755)
    if shutil.which("dpkg-deb") is None:
        (commands / "dpkg-deb").write_text("#!/bin/false\n")
        (commands / "dpkg-deb").chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr(host.check_keyring, "__defaults__", (str(keyring),))
    return archive


def run_main(tmp_path, capfd, *more: str) -> tuple[str | None, str]:
    """Run the command; return the error, if there is one, and what it wrote to stderr."""
    options = ["--out", tmp_path / "out", "--cache", tmp_path / "cache", "--jobs", 1]
    error = error_of(command, *options, *(more or ["--mirror", "http://archive.invalid/debian"]))
    return error, capfd.readouterr().err


def test_no_apt_is_one_line_without_traceback(tmp_path):
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(DATA_PREP)}
    result = subprocess.run(
        [sys.executable, "-m", "debian_corpus", "--out", "out", "--cache", "cache"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1 and result.stdout == ""
    assert re.fullmatch(
        r"prepare-debian-en2fr: .*no apt-get and no dpkg-deb.*Debian 12.*\n", result.stderr
    )
    assert list(tmp_path.iterdir()) == []


def test_a_process_of_a_pool_can_say_what_is_wrong():
    (error,) = pickle.loads(pickle.dumps(UserError("no such package"))).args
    assert error == "no such package"


def test_interrupting_says_what_is_kept(tmp_path, capfd, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "prepare", interrupted)
    code, err = run_main(tmp_path, capfd)
    assert code == 128 + signal.SIGINT
    assert (
        err
        == f"{command.PROGRAM}: interrupted; run it again to go on, what is downloaded is kept\n"
    )


def test_missing_package(fake_archive, tmp_path, capfd):
    del fake_archive.deb["debian-faq"], fake_archive.deb["eog"]
    fake_archive.write()
    line, _ = run_main(tmp_path, capfd)
    assert line.startswith("prepare-debian-en2fr: Debian bookworm at http://archive.invalid/debian")
    assert "has no package debian-faq, eog:" in line
    assert not any("download" in call for call in fake_archive.calls())


def test_no_network(fake_archive, tmp_path, capfd, monkeypatch):
    fake_archive.write()
    monkeypatch.setenv("FAKE_APT_FAILURE", "offline")
    line, err = run_main(tmp_path, capfd)
    assert "Traceback" not in err
    assert line.startswith("prepare-debian-en2fr: cannot read the lists of Debian bookworm")
    assert "Temporary failure resolving" in line and "check the network" in line


def test_partial_download_is_not_taken_for_a_package(fake_archive, tmp_path, capfd, monkeypatch):
    fake_archive.write()
    monkeypatch.setenv("FAKE_APT_FAILURE", "partial")
    line, _ = run_main(tmp_path, capfd)
    assert line.startswith("prepare-debian-en2fr: cannot download debian-faq (damaged")
    debs = {path.name.split("_")[0] for path in (tmp_path / "cache" / "debs").glob("*.deb")}
    assert debs == set(PACKAGES) - {"debian-faq"}

    monkeypatch.delenv("FAKE_APT_FAILURE")
    archive = apt_archive.open_archive(
        str(tmp_path / "cache"), "http://archive.invalid/debian", ("bookworm",), list(PACKAGES)
    )
    assert fake_archive.calls()[-1].endswith("download debian-faq")
    content = Path(archive.deb_paths["debian-faq"]).read_bytes()
    assert content == fake_archive.deb["debian-faq"]


def test_no_disk_space(fake_archive, tmp_path, capfd, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 5 * 10**6, 5 * 10**6))
    line, _ = run_main(tmp_path, capfd)
    assert "has 5 MB free" in line
    assert re.search(r"and [\d,]+ MB are needed", line)
    assert fake_archive.calls() == []


def test_missing_keyring(tmp_path):
    with pytest.raises(UserError, match="install the package debian-archive-keyring"):
        host.check_keyring(str(tmp_path / "none.gpg"))


def test_the_debian_archive_of_apt_is_found(fake_archive, tmp_path):
    os_release = tmp_path / "os-release"
    os_release.write_text('ID=debian\nVERSION_CODENAME="bookworm"\n')
    assert host.debian_archive(str(os_release)) == "http://archive.invalid/debian"


@pytest.mark.parametrize(
    "os_release, message",
    [
        ('PRETTY_NAME="Ubuntu 22.04"\nID=ubuntu\n', "this system is Ubuntu 22.04, .*Debian 12"),
        ("ID=debian\nVERSION_CODENAME=sid\n", "no archive for Debian sid main.*--mirror"),
        (None, "not known to be Debian"),
    ],
)
def test_other_systems_are_told_what_is_needed(fake_archive, tmp_path, os_release, message):
    path = tmp_path / "os-release"
    if os_release:
        path.write_text(os_release)
    with pytest.raises(UserError, match=message):
        host.debian_archive(str(path))


# --- all of it, on a small archive ---

needs_dpkg_deb = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")


def build_deb(folder: Path, files: dict[str, bytes]) -> bytes:
    root = folder / "root"
    control = "Package: owl\nVersion: 1\nArchitecture: all\nMaintainer: O <o@owl.invalid>\n"
    contents = {"DEBIAN/control": (control + "Description: owl\n").encode(), **files}
    for name, content in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    command = ["dpkg-deb", "-Zgzip", "--root-owner-group", "--build", str(root), f"{root}.deb"]
    subprocess.run(command, check=True, capture_output=True)
    shutil.rmtree(root)
    return Path(f"{root}.deb").read_bytes()


@needs_dpkg_deb
def test_deb_members(tmp_path):
    deb = tmp_path / "owl.deb"
    deb.write_bytes(build_deb(tmp_path, {"usr/a.txt": b"yes", "usr/b.bin": b"no"}))
    assert deb_members.read_members(str(deb), r"\.txt$") == {"/usr/a.txt": b"yes"}
    deb.write_bytes(deb.read_bytes()[:200])
    with pytest.raises(UserError, match="cannot read owl.deb"):
        deb_members.read_members(str(deb), r"\.txt$")


def test_a_deb_that_cannot_be_read_to_its_end_is_an_error(tmp_path, monkeypatch):
    command = tmp_path / "dpkg-deb"
    command.write_text("#!/bin/sh\nhead -c 10240 /dev/zero\nexit 2\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(UserError, match="cannot read owl.deb .dpkg-deb ended with 2"):
        deb_members.read_members("owl.deb", "owl")


@needs_dpkg_deb
def test_small_archive_from_end_to_end(fake_archive, tmp_path, capfd):
    empty = build_deb(tmp_path, {})
    fake_archive.deb.update(dict.fromkeys(fake_archive.deb, empty))
    faq = "usr/share/doc/debian/FAQ/"
    fake_archive.deb["debian-faq"] = build_deb(
        tmp_path, {faq + "a.en.html": b"<p>The white horse of my uncle eats all the carrots.</p>"}
    )
    page = "<p>Le cheval blanc de mon oncle mange toutes les carottes.</p>"
    fake_archive.deb["debian-faq-fr"] = build_deb(tmp_path, {faq + "fr/a.fr.html": page.encode()})
    quest = {"Who is at the door of the castle?": "Qui est à la porte du château ?"}
    fake_archive.deb["freeciv-data"] = build_deb(
        tmp_path, {"usr/share/locale/fr/LC_MESSAGES/game.mo": catalogue(quest)}
    )
    fake_archive.add_description(
        named_for("train", "ddtp"),
        "Lamp for the owl\n It gives a soft light to the birds of the night.",
        "Lampe pour le hibou\n Elle donne une lumière douce aux oiseaux de la nuit.",
    )
    fake_archive.add_description(named_for("test", "ddtp"), ENGLISH, FRENCH)
    fake_archive.write()

    error, err = run_main(tmp_path, capfd)
    assert error is None
    assert re.search(rf"^\[ 1/{len(SOURCES)}\] ddtp: 3 raw, 3 clean, \d+ s$", err, re.MULTILINE)
    out = tmp_path / "out"
    corpus = {path.name: path.read_text(encoding="utf-8") for path in out.iterdir()}
    assert set(corpus) == {"manifest.json"} | {
        f"{name}.{kind}"
        for name in ("train", "valid", "test", "unseen")
        for kind in ("en", "fr", "src")
    }
    assert sorted(corpus["train.en"].splitlines()) == [
        "It gives a soft light to the birds of the night.",
        "Lamp for the owl",
        "Who is at the door of the castle?",
    ]
    assert corpus["test.en"] == ENGLISH + "\n" and corpus["test.fr"] == FRENCH + "\n"
    assert corpus["unseen.en"] == "The white horse of my uncle eats all the carrots.\n"
    assert corpus["unseen.src"] == "faq\tFAQ/a.en.html\n"
    assert "freeciv\tfreeciv-data/game.mo#0" in corpus["train.src"].splitlines()
    manifest = json.loads(corpus["manifest.json"])
    assert manifest["train"]["pairs"] == 3 and manifest["valid"]["pairs"] == 0
    assert (
        manifest["train"]["sha256"]["fr"]
        == hashlib.sha256(corpus["train.fr"].encode("utf-8")).hexdigest()
    )

    calls = fake_archive.calls()
    assert run_main(tmp_path, capfd)[0] is None
    assert fake_archive.calls() == calls  # nothing was fetched again
    for name, text_before in corpus.items():
        if name != "manifest.json":
            assert (out / name).read_text(encoding="utf-8") == text_before
