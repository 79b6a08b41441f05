"""data-prep/debian_corpus: text extraction, alignment, filters, the held-out split, its errors."""

import hashlib
import itertools
import json
import math
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import polib
import pytest
from commands import error_of
from conftest import run as run_command
from debian_corpus import __main__ as command
from debian_corpus import alignment, deb_members, held_out_split
from debian_corpus import gettext_catalogues as catalogues
from debian_corpus import host_requirements as host
from debian_corpus import package_descriptions as descriptions
from debian_corpus import pair_filters as filters
from debian_corpus.html_blocks import html_blocks
from debian_corpus.man_page_blocks import macro_arguments, man_page_blocks, plain_text
from debian_corpus.sentence_splitting import split_sentences
from debian_corpus.sources import PACKAGES, SOURCES, UNSEEN_SOURCES
from debian_corpus.text_normalisation import comparison_key, normalise
from hostile_files import hostile_tar

from realformer_runtime.command_line import UserError

# --- text and its blocks ---


def joined(blocks) -> str:
    return " | ".join(map(" ".join, blocks))


html, man, align = html_blocks, man_page_blocks, alignment.align_block_sentences
messages, sentences = catalogues.message_blocks, split_sentences
TOC = re.compile(r"\btoc\b")
LONG = "too_long to be the label of a menu entry, as its text has 60 letters"
TWO_PAIRS = "Owls sleep. Ils dorment. | They snore. Ils ronflent."
ONE_PAIR = "Owls sleep and they snore. Ils dorment. Ils ronflent."
ONE_SENTENCE = "See Dr. Owl, e.g. On monday in the U.S. Army’s version 2.5 or so. no capital"


@pytest.mark.parametrize(
    "function, given, expected",
    [
        (normalise, ["  two\n\twords\u00a0\u2028e\u0301t"], "two words ét"),
        (normalise, ["hy\u00adph\u200ben \ufeffso\u2010so\u2011so"], "hyphen so-so-so"),
        (comparison_key, ["L'Été_2 : 30 chats !"], "l été chats"),
        (html, ["<p>1 &amp; <b>i</b>n<br>2<br/>3</p><h2>&#233;</h2>"], "p 1 & in 2 3 | h2 é"),
        (html, ["<p>Open<p>Next</i></p><p>\n </p>tail"], "p Open | p Next | untagged tail"),
        (html, ["<ul><li>Out<ul><li>In<img x></li></ul></li></ul>"], "li Out | li In"),
        (html, ["<head><title>No</title></head><script>no()</script><p>Yes</p>"], "p Yes"),
        (html, ["<p>Run <pre>a <b>b</b> c</pre> now</p>"], "p Run | p now"),
        (html, ["<nav><p>No<div>No</nav><db:para>Prefixed</db:para>"], "para Prefixed"),
        (html, ['<a class="a toc"><p>No<p>No</a><p id=toc>N</p><p id=a>Y</p>', TOC], "p Y"),
        (html, ["<p id=toc>Yes</p>"], "p Yes"),
        (man, ['.TH X\n.SH THE H\n\'\\" t\n.\\" No\nA\n'], "heading THE H | paragraph A"),
        (man, ["A\n.B \\-b\nor\n.BR c (1)\nd \\\ne\\c"], r"paragraph A -b or c(1) d e\c"),
        (man, ["A\n.PP\nB\n\nC"], "paragraph A | paragraph B | paragraph C"),
        (man, [".TP\n.B \\-v\nSay\nmore."], "term -v | definition Say more."),
        (man, ['.IP "the end" 4\nStop.'], "term the end | definition Stop."),
        (man, ["A\n.nf\n.B no\nno\n.EX\n.fi\n.RS\nB\n.RE\n.TS\nno"], "paragraph A | paragraph B"),
        (plain_text, [r"\f[CB]a\f(CWb\fRc\s-1d\s0 \(Fo\~oui\~\(Fc"], "abcd « oui »"),
        (plain_text, [r"\(aqa\[aq] \(+-2\[+-]a\&b\|c \e n \" comment"], r"'a' ±2±abc \ n "),
        (macro_arguments, [r'1 "2 w" 3\ w "say ""4"""'], ["1", "2 w", "3 w", 'say "4"']),
        (sentences, ["One. Two! Three? Mr. J. Owl"], ["One.", "Two!", "Three?", "Mr. J. Owl"]),
        (sentences, [ONE_SENTENCE], [ONE_SENTENCE]),
        (sentences, ["3. Go. 12. Stop. In 1998. A"], ["3. Go.", "12. Stop.", "In 1998.", "A"]),
        (sentences, ["« A. » Il… É (y.) “B?” C"], ["« A. »", "Il…", "É (y.)", "“B?”", "C"]),
        (sentences, [""], []),
        (align, ["No  stop here", "Pas de point"], "No stop here Pas de point"),
        (align, ["Owls sleep. They snore.", "Ils dorment. Ils ronflent."], TWO_PAIRS),
        (align, ["Owls sleep and they snore.", "Ils dorment. Ils ronflent."], ONE_PAIR),
        (align, ["Yes. " * (alignment.MOST_SENTENCES + 1), "Oui."], []),
        (messages, ["_Open the door", "&Ouvrir la porte"], "Open the door Ouvrir la porte"),
        (messages, [LONG, "a_b"], LONG + " a_b"),
        (messages, ["A\n\nB", "C\n\nD"], "A C | B D"),
        (messages, ["A\n\nB", "C"], "A\n\nB C"),
        (alignment.length_cost, [100, 231], pytest.approx(2.2 * math.log(2))),  # (231 + 5) / 118
        (alignment.length_cost, [0, 10], 4),
        (alignment.length_cost, [10, 0], 4),
        (alignment.anchors, ["Run O_4, see /e/o. or v2.0"], {"Run", "O_4", "/e/o", "v2.0"}),
        (descriptions.family_name, ["owl-1.2"], "owl-"),
    ],
)
def test_text(function, given, expected):
    found = function(*given)
    assert (joined(found) if isinstance(expected, str) and found != expected else found) == expected


# --- gettext catalogues and package indexes ---


def catalogue(*entries: dict, charset: str = "UTF-8") -> bytes:
    catalogue = polib.MOFile(encoding=charset)
    catalogue.metadata = {"Content-Type": f"text/plain; charset={charset}"}
    catalogue.extend(polib.MOEntry(**entry) for entry in entries)
    return catalogue.to_binary()


OWLS = {0: "un hibou", 1: "des hiboux"}
MESSAGES = catalogue(
    {"msgid": "Good evening", "msgstr": "Bonne soirée"},
    {"msgctxt": "door", "msgid": "Open", "msgstr": "Ouverte"},
    {"msgid": "one owl", "msgid_plural": "many owls", "msgstr_plural": OWLS},
)


def test_read_catalogue():
    pairs = sorted(catalogues.read_catalogue(MESSAGES))
    assert pairs[:2] == [("Good evening", "Bonne soirée"), ("Open", "Ouverte")]
    assert pairs[2:] == [("many owls", "des hiboux"), ("one owl", "un hibou")]
    latin = catalogue({"msgid": "summer", "msgstr": "été"}, charset="ISO-8859-1")
    assert catalogues.read_catalogue(latin) == [("summer", "été")]


def test_read_catalogue_refuses_other_files(tmp_path):
    """The name of a catalogue is none."""
    (tmp_path / "fr.mo").write_bytes(MESSAGES)
    odd_charset = MESSAGES.replace(b"charset=UTF-8", b"charset=hex  ")
    for content in (b"", b"text", MESSAGES[:40], odd_charset, os.fsencode(tmp_path / "fr.mo")):
        with pytest.raises(ValueError, match="not a gettext catalogue"):
            catalogues.read_catalogue(content)


def test_package_indexes():
    owl, document = descriptions.parse_packages(
        "Package: libowl3\nSource: owl-1.2 (1.2-3)\nVersion: 1:1.2-3\nArchitecture: amd64\n"
        "Size: 42\nDescription: Owls\nSHA256: abc\n\nPackage: owl-doc\nVersion: 1\n"
    ).values()
    assert owl == ("libowl3", "owl-1.2", "libowl3_1%3a1.2-3_amd64.deb", 42, "abc")
    assert document == ("owl-doc", "owl-doc", "owl-doc_1_.deb", 0, "")
    index = (
        "Package: owl\nDescription-md5: 11\nDescription-fr: Un hibou\n Il dort\n le jour.\n .\n .\n"
        " Il mange :\n  * des souris,\n  * des rats\n -\n gris.\n\n"
        "Package: owl2\nDescription-md5: 11\nDescription-fr: Autre\n\n"
        "Package: cat\nDescription-md5: 22\nDescription-fr: Un chat\n"
    )
    (owl, text), cat = descriptions.parse_descriptions(index, "fr").values()
    assert (owl, cat) == ("owl", ("cat", "Un chat\n"))
    assert joined(descriptions.description_blocks(text)) == (
        "synopsis Un hibou | paragraph Il dort le jour. | paragraph Il mange :"
        " | paragraph * des souris, | paragraph * des rats - gris."
    )


# --- alignment ---


def all_alignments(english: list[int], french: list[int]):
    """Every way to take both lists apart in moves, with its cost."""
    if not english and not french:
        yield 0.0, []
    for x, y, cost in alignment.SENTENCE_MOVES:
        if x <= len(english) and y <= len(french):
            if x and y:
                cost += alignment.length_cost(sum(english[:x]), sum(french[:y]))
            for rest, moves in all_alignments(english[x:], french[y:]):
                yield cost + rest, [(x, y), *moves]


@pytest.mark.parametrize(
    "english, french, expected",
    [
        ([100, 20], [113, 23], ["a-a", "b-b"]),  # costs 0; joining all 0.9, a deletion 3
        ([200], [110, 110], ["a-a b"]),  # 0.9 + 2.2 |ln(225 / 231)| = 0.96; an insertion 3
        ([100, 100], [226], ["a b-a"]),
        # The middle sentence has no counterpart: 3, against 0.9 + 2.2 ln(478 / 118) = 3.98 for
        # joining it to the first, and as much for the last.
        ([100, 100], [113, 360, 113], ["a-a", "b-c"]),
        ([100, 400, 100], [113, 113], ["a-a", "c-b"]),
        ([], [50], []),
        ([30, 90, 45, 70], [80, 60, 100], None),
        ([60, 61, 62, 63], [300], None),
    ],
)
def test_align_sentences_finds_the_cheapest_of_all_alignments(english, french, expected):
    sides = ([letter * n for letter, n in zip("abcde", side)] for side in (english, french))
    found = ["-".join(pair) for pair in alignment.align_sentences(*sides)]
    found = [re.sub(r"(\w)\1*", r"\1", pair) for pair in found]
    _, cheapest = min(all_alignments(english, french))
    letters = iter("abcde"), iter("abcde")
    moves = [[" ".join(itertools.islice(*side)) for side in zip(letters, m)] for m in cheapest]
    assert found == ["-".join(move) for move in moves if all(move)]
    assert expected in (None, found)


BLOCKS = [
    ("h1", "About the owl of Lyon", "À propos du hibou de Lyon"),
    ("p", "The owl of Lyon was born in 1987 in a tower.", "Le hibou de Lyon est né en 1987 ici."),
    ("p", "Visit Marseille by the 15 train today.", "Allez à Marseille par le train 15 ce jour."),
]
ENGLISH_BLOCKS = [(kind, english) for kind, english, _ in BLOCKS]
FRENCH_BLOCKS = [(kind, french) for kind, _, french in BLOCKS]
ADDED = ("p", "Paris 2040")
OTHER_ANCHORS = ("p", BLOCKS[1][2].replace("1987", "1988 à XYZ"))  # of 5, 1 is shared
LONG_DOCUMENT = [("p", "word")] * 7000


@pytest.mark.parametrize(
    "english, french, matches",
    [
        (ENGLISH_BLOCKS, FRENCH_BLOCKS, 3),
        ([ENGLISH_BLOCKS[0], ADDED, *ENGLISH_BLOCKS[1:]], FRENCH_BLOCKS, 3),
        (ENGLISH_BLOCKS, [FRENCH_BLOCKS[0], ADDED, *FRENCH_BLOCKS[1:]], 3),
        (ENGLISH_BLOCKS, [("li", "Lyon 1987"), ("td", "x")], 0),
        (ENGLISH_BLOCKS[1:2], [("h1", "Titre"), OTHER_ANCHORS], 0),
        ([], FRENCH_BLOCKS, 0),
        (LONG_DOCUMENT, [*LONG_DOCUMENT, ("h1", "word")], 0),
    ],
)
def test_align_blocks_gives_only_clear_matches_of_the_same_kind(english, french, matches):
    expected = [(english_text, french_text) for _, english_text, french_text in BLOCKS[:matches]]
    assert alignment.align_blocks(english, french) == expected


# --- filters ---

ENGLISH = "The old owl of the village sleeps in the tower during the day."
FRENCH = "Le vieux hibou du village dort dans la tour pendant la journée."
CODE = (
    "<b> a_b %s %d owl&nbsp; http:owl www.owl owl:// -v --fast owl(1) /usr/bin a.b.c.d run()"
    " owl.conf &Window"
).split()
REJECTED = [
    *((filters.has_markup, f"The old owl sees {code} in the tower.", FRENCH) for code in CODE),
    (filters.has_markup, ENGLISH, "Le hibou lit la page owl(1) dans la tour."),
    (filters.is_too_short_or_long, "the " * 101, FRENCH),
    (filters.is_too_short_or_long, "The old owl.", "Le vieux hibou dort."),
    (filters.is_too_short_or_long, ENGLISH, "1 2 3 4 le hibou dort"),
    (filters.lengths_differ, "aaa bbb ccc ddd", "a b c d e f g h"),
    (filters.lengths_differ, ENGLISH, "Le hibou dort dans la tour."),
    (filters.is_mostly_symbols, "the owl, (1) ... 22, 33: 44", FRENCH),
    (filters.is_untranslated, ENGLISH, ENGLISH.upper()),
    (filters.is_untranslated, "the word owl de tower", "le word owl de tower"),
    (filters.is_in_wrong_language, "Old owls sleep late today", FRENCH),
    (filters.is_in_wrong_language, ENGLISH, "The owl sleeps in the big tower."),
    (filters.is_in_wrong_language, "He says le hibou est dans la cuisine.", FRENCH),
    (filters.is_in_wrong_language, ENGLISH, "Il dit that the owl is in the house."),
    (filters.numbers_differ, "Owls eat 12 mice and 3 flies.", "Ils mangent souris et rats."),
]
KEPT = [
    (filters.has_markup, "The owl sleeps; it is well-known (in town).", FRENCH),
    (filters.is_too_short_or_long, "the " * 100, FRENCH),
    (filters.is_too_short_or_long, "The old owl sleeps.", "Le vieux hibou dort."),
    (filters.lengths_differ, "aaa bbb ccc ddd", "a b c d e f g"),
    (filters.lengths_differ, ENGLISH, FRENCH[:45]),
    (filters.is_mostly_symbols, "owl.", "rat!"),
    (filters.is_untranslated, "the owl menu de tower", "le hibou menu de tour"),
    (filters.is_in_wrong_language, "This is on a tour of me", "Le plus on me dit, il a un"),
    (filters.is_in_wrong_language, "The sum of y, y and y, y, y", FRENCH),
    (filters.numbers_differ, "Owls eat 12 mice and 3 flies.", "Ils mangent 12 souris."),
]


@pytest.mark.parametrize("examples", [REJECTED, KEPT])
def test_filters(examples):
    assert {rejects for rejects, *_ in examples} == set(filters.FILTERS)
    for rejects, english, french in examples:
        rejected = rejects(filters.Side(english), filters.Side(french))
        assert rejected == (examples is REJECTED), (english, french)
        assert not rejected or filters.clean_pair(english, french) is None


@pytest.mark.parametrize("marker", ["", "• ", "- ", "3. ", "12) ", "* "])
def test_clean_pair_removes_list_markers(marker):
    assert filters.clean_pair(marker + ENGLISH, f" {marker}{FRENCH}\n") == (ENGLISH, FRENCH)


# --- held-out split ---


def pair_of(english: str, french: str, document: str = "d", source: str = "owls"):
    return held_out_split.CorpusPair(source, document, english, french)


def invented_pairs(documents: int = 400, sentences: int = 3):
    """Documents of distinct invented sentences, and one sentence that all of them begin with."""
    letters = random.Random(1)
    for number in range(documents):
        words = ["".join(letters.choices("abcdefghij", k=5)) for _ in range(8 * sentences)]
        for english in (" ".join(words[k::sentences]) for k in range(sentences)):
            yield pair_of(f"{english} in english", f"{english[::-1]} fr", f"tale {number}")
        shared = f"every tale of the old owl begins like this {words[0]}"
        yield pair_of(shared, f"{words[0]} {words[1]}", f"tale {number}")


def four_grams(sentence: str) -> set:
    words = comparison_key(sentence).split()
    return {tuple(words[k : k + 4]) for k in range(max(1, len(words) - 3))}


def test_whole_documents_are_held_out_and_resemble_no_training_pair():
    splits = held_out_split.split_held_out(invented_pairs(), lambda pair: pair.document == "tale 7")
    documents = {name: {pair.document for pair in kept} for name, kept in splits.items()}
    assert documents["unseen"] == {"tale 7"}
    assert not any(one & other for one, other in itertools.combinations(documents.values(), 2))
    # 1.5 % and 2.5 % of 400 documents are 6 and 10.
    assert 2 <= len(documents["valid"]) <= 14 and 4 <= len(documents["test"]) <= 20
    assert len(splits["train"]) > 900
    assert not any("every tale" in pair.english for pair in splits["train"])
    test = splits["test"] + splits["unseen"]
    for kept, held_out in ((splits["train"], splits["valid"] + test), (splits["valid"], test)):
        for side in ("english", "french"):
            grams = ([four_grams(getattr(p, side)) for p in pairs] for pairs in (kept, held_out))
            for one, other in itertools.product(*grams):
                assert len(one & other) <= 0.5 * min(len(one), len(other))


def named_for(split: str, source: str = "owls") -> str:
    """The name of a document of `source` that is in the set `split`."""
    names = map("".join, itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=3))
    pairs = (pair_of("", "", name, source) for name in names)
    return next(pair.document for pair in pairs if held_out_split.split_name(pair) == split)


def test_a_near_duplicate_is_dropped_from_the_larger_set():
    sets = {**{name: named_for(name) for name in ("train", "valid", "test")}, "unseen": "unseen"}
    for larger, smaller in list(itertools.combinations(sets, 2))[:-1]:
        near = pair_of("a b c d e f g", "t u v w x y z", sets[larger])
        held_out = pair_of("a b c d e f h", "not alike", sets[smaller])
        splits = held_out_split.split_held_out([near, held_out], lambda p: p.document == "unseen")
        assert splits[larger] == [] and splits[smaller] == [held_out]


def test_near_duplicates_are_dropped_above_half_of_the_4_grams():
    held_out = [pair_of("a b c d e f g", "h i j k l")]  # 4 and 2 4-grams
    half_shared = pair_of("a b c d e y z", "o p q r s")
    over_half_shared = pair_of("a b c d e f z", "o p q r s")
    french_shared = pair_of("o p q r s", "h i j k l m n")
    pairs = [half_shared, over_half_shared, french_shared]
    assert held_out_split.drop_near_duplicates(pairs, held_out) == [half_shared]


def test_repeats_on_either_side_are_dropped():
    kept = [pair_of("One owl.", "Un hibou."), pair_of("Two owls.", "Deux hiboux.")]
    repeats = [pair_of("one OWL!", "Un autre."), pair_of("Another.", "un hibou ?")]
    assert held_out_split.drop_repeats([kept[0], *repeats, kept[1]]) == kept


def test_templates_are_capped_and_the_order_is_fixed():
    names = map("".join, itertools.product("bcdfghjk", "aeiouxyz"))
    names = itertools.islice(names, held_out_split.FREQUENT_WORD)
    single = pair_of("nothing like that", "rien")
    pairs = [*(pair_of(f"modules for {name}", name) for name in names), single]
    kept = held_out_split.cap_templates(pairs)
    assert len(kept) == held_out_split.MOST_PER_TEMPLATE + 1 and single in kept
    assert kept == held_out_split.cap_templates(pairs)


def test_sources_and_their_groups():
    names = [source.name for source in SOURCES]
    assert UNSEEN_SOURCES.issubset(names)
    assert len(set(names)) == len(names) and len(set(PACKAGES)) == len(PACKAGES)
    one, other = (pair_of("x", "y", "a tale", f"owls:{member}") for member in "ab")
    assert held_out_split.split_name(one) == held_out_split.split_name(other)


# --- the machine, and all of it on a small archive ---

MIRROR = "http://archive.invalid/debian"
FAKE_APT_GET = """#!/bin/sh
echo "$@" >>"{archive}/calls"
case "$FAKE_APT_FAILURE $*" in
  *indextargets*) printf '%s main stable bookworm\\n' http://others.invalid/repo {mirror} ;;
  offline*) printf 'W: no\\nE: Failed to fetch x  Temporary failure resolving\\n' >&2; exit 100 ;;
  "killed update"*) cp "{archive}/lists/x_Packages" lists; kill -9 $PPID ;;
  *" update") cp "{archive}/lists/"* lists ;;
  *)
    until [ "$1" = download ]; do shift; done
    for name; do
      [ "$name" = download ] || {{ echo "Get:1 $name"; cp "{archive}/debs/$name"_* .; }}
    done
    [ "$FAKE_APT_FAILURE" = "" ] || printf x >"$(echo debian-faq_*)"
    [ "$FAKE_APT_FAILURE" != "killed download" ] || kill -9 $PPID ;;
esac
"""
FAQ = "usr/share/doc/debian/FAQ/"
FILES = {
    "debian-faq": (f"{FAQ}a.en.html", b"<p>The horse of my uncle eats the carrots.</p>"),
    "debian-faq-fr": (f"{FAQ}fr/a.fr.html", b"<p>Le cheval de mon oncle mange les carottes.</p>"),
    "freeciv-data": (
        "usr/share/locale/fr/LC_MESSAGES/game.mo",
        catalogue(
            {"msgid": "Who is at the door?", "msgstr": "Qui est à la porte ?"},
            {"msgid": "Who is at the door??", "msgstr": "Mais qui est à la porte ?"},  # a repeat
        ),
    ),
}
DESCRIPTIONS = (
    ("en", "Lamp for the owl\n It gives a soft light to the birds of the night.", ENGLISH),
    ("fr", "Lampe pour le hibou\n Elle donne une lumière douce aux oiseaux de la nuit.", FRENCH),
)


def write_archive(folder: Path) -> None:
    (folder / "debs").mkdir(parents=True)
    lists = defaultdict(str, InRelease="Date: Sat, 01 Jan 2000\n")
    for package in PACKAGES:
        path, content = FILES.get(package, ("usr/empty", b""))
        deb = hostile_tar(f"./{path}", content)
        (folder / f"debs/{package}_2%3a1_all.deb").write_bytes(deb)
        fields = f"Version: 2:1\nArchitecture: all\nSize: {len(deb)}"
        fields += f"\nSHA256: {hashlib.sha256(deb).hexdigest()}"
        lists["Packages"] += f"Package: {package}\n{fields}\n\n"
    for language, *texts in DESCRIPTIONS:
        for name, text in zip((named_for("train", "ddtp"), named_for("test", "ddtp")), texts):
            fields = f"Description-md5: {name}\nDescription-{language}: {text}"
            lists[f"Translation-{language}"] += f"Package: {name}\n{fields}\n\n"
    (folder / "lists").mkdir()
    for name, text in lists.items():
        (folder / f"lists/x_{name}").write_text(text, encoding="utf-8")


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """An archive, a machine with all that is needed to read it, and a dpkg-deb for any tar."""
    write_archive(tmp_path / "archive")
    apt_get = FAKE_APT_GET.format(archive=tmp_path / "archive", mirror=MIRROR)
    commands = {"apt-get": apt_get, "dpkg-deb": '#!/bin/sh\nexec cat "$2"\n'}
    (tmp_path / "bin").mkdir()
    for name, script in commands.items():
        (tmp_path / "bin" / name).write_text(script)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    Path("debian").write_text('ID=debian\nVERSION_CODENAME="bookworm"\n')
    Path("sid").write_text("ID=debian\nVERSION_CODENAME=sid\n")
    Path("ubuntu").write_text('PRETTY_NAME="Ubuntu 22.04"\nID=ubuntu\n')
    monkeypatch.setattr(host, "OS_RELEASE", "debian")
    monkeypatch.setattr(host, "KEYRING", "debian")
    return tmp_path / "archive"


def run(*options: str, out: str = "out"):
    """Run the command; return its error, if there is one."""
    return error_of(command, "--out", out, "--cache", "cache", "--jobs", 1, *options)


def downloads(archive: Path) -> list[str]:
    calls = (archive / "calls").read_text().splitlines() if (archive / "calls").exists() else []
    return [call.split(" download ")[1] for call in calls if " download " in call]


@pytest.mark.parametrize(
    "target, name, value, message",
    [
        (os.environ, "PATH", "/none", "no apt-get and no dpkg-deb.*Debian 12"),
        (host, "KEYRING", "/none", "package debian-archive-keyring"),
        (sys.modules, "polib", None, r"polib.* python3 -m pip install -e '/.*\[debian-corpus\]'$"),
        (host, "OS_RELEASE", "/none", "not known to be Debian"),
        (host, "OS_RELEASE", "ubuntu", "this system is Ubuntu 22.04, .*Debian 12.*--mirror"),
        (host, "OS_RELEASE", "sid", "no archive for Debian sid main.*--mirror"),
        (shutil, "disk_usage", lambda _: SimpleNamespace(free=5e6), "has 5 MB free and [0-9,]+ MB"),
        (os.environ, "FAKE_APT_FAILURE", "offline", "lists of .*Temporary.*check the network"),
        (command, "PACKAGES", ["eog", "owl", "cat"], f"at {MIRROR} has no package owl, cat:"),
    ],
)
def test_what_is_missing_is_said_at_once(archive, monkeypatch, target, name, value, message):
    (monkeypatch.setattr if hasattr(target, name) else monkeypatch.setitem)(target, name, value)
    assert re.match(f"prepare-debian-en2fr: .*{message}", run())
    assert downloads(archive) == [] and not list(Path().glob("out/*"))


@pytest.mark.parametrize("jobs", ["0", "two", "1e3", "99999"])
def test_jobs_are_a_number_of_processes(jobs):
    error = error_of(command, "--out", "out", "--cache", "cache", "--jobs", jobs)
    assert re.match(
        f"prepare-debian-en2fr: argument --jobs: '{jobs}' is (not a whole|above)", error
    )


def failing(function, word: str, error):
    """The same function, but where its arguments have `word` it raises, or kills the process."""

    def fails(*arguments):
        if word not in str(arguments):
            return function(*arguments)
        if error:
            raise error
        os.kill(os.getpid(), signal.SIGKILL)

    return fails


def test_interrupting_says_what_is_kept(archive, capfd, monkeypatch):
    monkeypatch.setattr(command, "extract_all", failing(None, "", KeyboardInterrupt()))
    assert run() == 128 + signal.SIGINT
    advice = "interrupted; run it again to go on, what is downloaded is kept"
    assert capfd.readouterr().err.endswith(f"{command.PROGRAM}: {advice}\n")


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_deb_members(tmp_path):
    (tmp_path / "root/DEBIAN").mkdir(parents=True)
    fields = "Package: owl\nVersion: 1\nArchitecture: all\nMaintainer: O <o@owl.invalid>"
    (tmp_path / "root/DEBIAN/control").write_text(f"{fields}\nDescription: owl\n")
    for name in ("a.txt", "b.bin"):
        (tmp_path / "root" / name).write_text(name)
    deb = tmp_path / "owl.deb"
    run_command("dpkg-deb", "-Zgzip", "--root-owner-group", "-b", tmp_path / "root", deb)
    assert deb_members.read_members(str(deb), r"\.txt$") == {"/a.txt": b"a.txt"}
    deb.write_bytes(deb.read_bytes()[:200])
    with pytest.raises(UserError, match="cannot read owl.deb "):
        deb_members.read_members(str(deb), r"\.txt$")


def test_a_deb_that_cannot_be_read_to_its_end_is_an_error(archive):
    Path("bin/dpkg-deb").write_text("#!/bin/sh\nhead -c 10240 /dev/zero\nexit 2\n")
    with pytest.raises(UserError, match="cannot read owl.deb .dpkg-deb ended with 2"):
        deb_members.read_members("owl.deb", "owl")


def corpus(folder: str = "out") -> dict[str, str]:
    paths = [path for path in Path(folder).iterdir() if path.name[0] != "."]
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def test_small_archive_from_end_to_end(archive, capfd):
    assert run("--mirror", MIRROR) is None
    err = capfd.readouterr().err
    assert err.count("Get:1") == len(PACKAGES)
    assert re.search(rf"^\[ 1/{len(SOURCES)}\] ddtp: 3 raw, 3 clean, \d+ s$", err, re.MULTILINE)
    parts = itertools.product(("train", "valid", "test", "unseen"), ("en", "fr", "src"))
    assert set(os.listdir("out")) == {"manifest.json", *map(".".join, parts)}
    text = corpus()
    described = ["It gives a soft light to the birds of the night.", "Lamp for the owl"]
    assert sorted(text["train.en"].splitlines()) == [*described, "Who is at the door?"]
    assert text["test.en"] == ENGLISH + "\n" and text["test.fr"] == FRENCH + "\n"
    assert text["unseen.en"] == "The horse of my uncle eats the carrots.\n"
    assert text["unseen.src"] == "faq\tFAQ/a.en.html\n"
    assert "freeciv\tfreeciv-data/game.mo#0" in text["train.src"].splitlines()
    manifest = json.loads(text["manifest.json"])
    assert manifest["train"]["pairs"] == 3 and manifest["valid"]["pairs"] == 0
    french = hashlib.sha256(text["train.fr"].encode("utf-8")).hexdigest()
    assert manifest["train"]["sha256"]["fr"] == french
    assert "has the lists of another archive than http://b/" in run("--mirror", "http://b/")


FULL = OSError(28, "No space left on device")
EVERYTHING = " ".join(PACKAGES)


@pytest.mark.parametrize(
    "apt, target, name, word, error, fetched",
    [
        ("partial", None, "", "", FULL, [EVERYTHING, "debian-faq"]),
        ("killed update", None, "", "", None, [EVERYTHING]),
        ("killed download", None, "", "", None, [EVERYTHING, EVERYTHING]),
        ("", command, "extract_all", "", None, [EVERYTHING]),
        ("", command, "write_corpus", "", None, [EVERYTHING]),
        ("", Path, "write_bytes", "valid.fr", None, [EVERYTHING]),
        ("", Path, "write_bytes", "valid.fr", FULL, [EVERYTHING]),
        ("", os, "replace", "valid.fr", None, [EVERYTHING]),
    ],
)
def test_a_second_run_goes_on(archive, monkeypatch, capfd, apt, target, name, word, error, fetched):
    """It fetches only what is missing, and makes the corpus of a run that nothing stopped."""
    before = {"train.en": "before\n", "manifest.json": "{}"}
    Path("out").mkdir()
    for file, text in before.items():
        Path("out", file).write_text(text)
    with monkeypatch.context() as patch:
        patch.setenv("FAKE_APT_FAILURE", apt)
        if target:
            patch.setattr(target, name, failing(getattr(target, name), word, error))
        process = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(run()))
        process.start()
        process.join(60)
        process.kill()
    assert process.exitcode == (1 if error else -signal.SIGKILL)
    message = "cannot download debian-faq (damaged" if apt else "No space left on device"
    assert error is None or message in capfd.readouterr().err
    assert corpus() == before if name != "replace" else "manifest.json" not in corpus()
    assert error is None or sorted(os.listdir("out")) == sorted(before)
    assert run() is None and run(out="again") is None
    assert downloads(archive) == fetched
    first, again = corpus(), corpus("again")
    assert first.keys() == again.keys() and first["train.en"].count("\n") == 3
    assert all(first[name] == again[name] for name in first if name != "manifest.json")
