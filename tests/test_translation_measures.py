"""Scores: values worked out by hand, and sacrebleu itself."""

import importlib
import itertools
import json
import math
import random
import re
import sys

import pytest
import sacrebleu
from conftest import run
from sacrebleu.significance import PairedTest
from sacremoses import MosesTokenizer
from translations import HYPOTHESES, REFERENCES, score_bleu, scores, write

from realformer_runtime.scores import measures as translation_measures

GERMAN = ["Jean-Luc ruft er an.", "Jean-Paul ruft er an."]


@pytest.mark.parametrize(
    ("lang", "hypotheses", "references", "tokens", "precisions", "brevity"),
    [
        # ``l' ami de Jean @-@ Luc dort .`` and ``oui .``, 10 tokens against 12 in the reference.
        ("fr", HYPOTHESES, REFERENCES, 10, [9 / 10, 5 / 8, 3 / 6, 2 / 5], math.exp(1 - 12 / 10)),
        ("fr", ["LE CHAT DORT LÀ."], ["Le chat dort là."], 5, [1 / 5, 0, 0, 0], 1),
        # Not smoothed: without a quadruple that matches there is no score.
        ("fr", ["Le chat dort, oui."], ["Le chat dort là."], 6, [4 / 6, 2 / 5, 1 / 4, 0], 1),
        # Moses splits a curly apostrophe off, where our own tokens would be ``l’ ami dort .``
        ("fr", ["l’ami dort."], ["l’amie dort."], 5, [4 / 5, 2 / 4, 0, 0], 1),
        # ``Jean ##AT##-##AT## Luc ruft er an .``, where Moses alone leaves ``Jean-Luc``.
        ("de", GERMAN[:1], GERMAN[1:], 7, [6 / 7, 4 / 6, 2 / 5, 1 / 4], 1),
    ],
)
def test_bleu_in_closed_form(lang, hypotheses, references, tokens, precisions, brevity):
    name = "tokenised BLEU" if lang == "fr" else "compound-split BLEU"
    figures = scores(hypotheses, references, lang)[name]
    assert figures["hypothesis_tokens"] == tokens
    assert figures["precisions"] == pytest.approx([100 * value for value in precisions])
    expected = 100 * brevity * math.prod(precisions) ** (1 / 4)
    assert figures["score"] == pytest.approx(expected, abs=1e-9)


@pytest.fixture(scope="module")
def two_systems():
    """Raw English and two worsened copies, one of them much worse, with hyphens and clitics."""
    from sample_corpus.generate import pairs

    chance = random.Random(1)
    references = [pair.fr + " Un porte-clés-là." for pair in itertools.islice(pairs(), 60)]

    def worsened(word, rate):
        return chance.choice(["chat", "l'eau", "demi-tour"]) if chance.random() < rate else word

    systems = [
        [" ".join(worsened(word, rate) for word in line.split()) for line in references]
        for rate in (0.1, 0.4)
    ]
    return systems, references


def test_tokenised_bleu_is_that_of_the_tokens_of_moses(two_systems):
    def tokens(line):
        return moses.tokenize(line, aggressive_dash_splits=True, return_str=True)

    systems, references = two_systems
    moses = MosesTokenizer("fr")
    for system in systems:
        lines = list(map(tokens, system)), [list(map(tokens, references))]
        expected = sacrebleu.corpus_bleu(*lines, tokenize="none", smooth_method="none").score
        score = scores(system, references, "fr")["tokenised BLEU"]["score"]
        assert 10 < expected < 90 and score == pytest.approx(expected, abs=1e-9)


def test_compounds_are_split_as_the_scripts_split_them():
    """Matches of the scripts' pattern do not overlap."""
    for line, expected in (
        ("Straße -- 10-20 - ja", "Straße -- 10 ##AT##-##AT## 20 - ja"),
        (
            "Jean-Luc-Straße a-b-c",
            "Jean ##AT##-##AT## Luc ##AT##-##AT## Straße a ##AT##-##AT## b-c",
        ),
    ):
        assert translation_measures.split_compounds(line) == expected


def test_compound_split_bleu_is_for_german_only():
    german, french = (scores(["a"], ["a"], lang) for lang in ("de", "fr"))
    assert german["compound-split BLEU"]["signature"].endswith("|compounds:split")
    assert german["tokenised BLEU"]["signature"].split("|")[-2] == "moses:-a,-l,de"
    assert "compound-split BLEU" not in french


CHINESE = ["我们昨天去了北京。", "他很高兴地回家了。"], ["我们昨天去北京了。", "他很高兴地回家了。"]


@pytest.mark.parametrize(
    "lang, options",
    [
        ("zh_CN", {"tokenize": "zh"}),
        ("yue", {"tokenize": "zh"}),
        ("th", {"tokenize": "char"}),
        ("km_KH", {"tokenize": "char"}),
        ("tr", {"tokenize": "13a"}),
    ],
)
def test_other_scripts_are_scored_as_sacrebleu_does(lang, options, tmp_path, capsys):
    """No word of Chinese is found without its tokeniser: 0.0."""
    texts = [write(tmp_path / name, lines) for name, lines in zip("hr", CHINESE)]
    arguments = ["--lang", lang, "--ter", "--json", tmp_path / "json"]
    assert score_bleu("--hyp", texts[0], "--ref", texts[1], *arguments) is None
    figures = json.loads((tmp_path / "json").read_text("utf-8"))
    metric = sacrebleu.BLEU(**options)
    assert figures["sacreBLEU"]["score"] == metric.corpus_score(CHINESE[0], CHINESE[1:]).score
    assert figures["sacreBLEU"]["signature"] == str(metric.get_signature())
    assert "chrF2" in figures and "tokenised BLEU" not in figures
    said = capsys.readouterr().err
    assert "no tokenised BLEU" in said and f"'{lang[:2]}'" in said or lang == "yue"
    if "zh" in options.values():
        metric = sacrebleu.TER(normalized=True, asian_support=True)
        assert figures["TER"]["score"] == metric.corpus_score(CHINESE[0], CHINESE[1:]).score
        assert "asian:yes" in figures["TER"]["signature"]
    assert ("TER" in figures) == ("char" not in options.values()) == ("no TER" not in said)


@pytest.mark.parametrize("lang", ["ja", "kor"])
def test_a_tokeniser_that_is_not_installed_is_named(lang, tmp_path, monkeypatch):
    module = f"sacrebleu.tokenizers.tokenizer_{lang[:2]}_mecab"
    monkeypatch.setattr(importlib.import_module(module), "MeCab", None)
    text = write(tmp_path / "text", CHINESE[0])
    error = score_bleu("--hyp", text, "--ref", text, "--lang", lang)
    assert f"--lang {lang[:2]}" in error and f"sacrebleu[{lang[:2]}]" in error


def test_several_references_are_those_of_sacrebleus_command(tmp_path):
    """Also an empty line in one of them, which counts as an empty translation."""
    hypotheses = ["the cat sat on a mat today", "a dog barks loudly", "yes ."]
    first = ["the cat sat on the mat today", "a dog barks", "yes , sir"]
    second = ["a cat sat on the mat", "", "yes, indeed"]
    files = [
        write(tmp_path / name, lines) for name, lines in zip("hab", (hypotheses, first, second))
    ]
    labels = write(tmp_path / "labels", ["all"] * 3)
    arguments = ["--lang", "en", "--ter", "--json", tmp_path / "json", "--domains", labels]
    found = []
    for given in (["--ref", *files[1:]], ["--ref", files[1], "--ref", files[2]]):
        assert score_bleu("--hyp", files[0], *given, *arguments) is None
        found.append(json.loads((tmp_path / "json").read_text("utf-8")))
    assert found[0] == found[1]
    command = [sys.executable, "-m", "sacrebleu", *files[1:], "-i", files[0], "-w", "9"]
    theirs = json.loads(run(*command, "-m", "bleu", "chrf", "ter", "-f", "json").stdout)
    for name, metric in zip(("sacreBLEU", "chrF2", "TER"), theirs):
        assert found[0][name]["score"] == pytest.approx(metric["score"], abs=1e-8)
        assert found[0][name]["signature"] == metric["signature"]
    assert found[0]["domains"]["all"]["sacreBLEU"] == found[0]["sacreBLEU"]
    tokens = found[0]["tokenised BLEU"]
    assert tokens["signature"].startswith("nrefs:2|")
    assert tokens["score"] == pytest.approx(found[0]["sacreBLEU"]["score"])  # no smoothing needed


def test_ter_is_there_if_asked_for():
    """One of five words replaced, one shifted to another place: 2 edits on 5 words."""
    lines = ["dort le chat un peu"], ["le chat dort un moment"]
    found = scores(*lines, "fr", with_ter=True)["TER"]
    assert found["score"] == pytest.approx(100 * 2 / 5)
    assert "tok:tercom" in found["signature"]
    assert "TER" not in scores(*lines, "fr")


def test_several_systems_are_compared_with_the_first(two_systems, tmp_path, capsys):
    (good, bad), references = two_systems
    texts = {"good": good, "same": good, "bad": bad, "ref": references, "labels": ["a", "b"] * 30}
    files = {name: write(tmp_path / name, lines) for name, lines in texts.items()}
    systems = [files["good"], files["same"], files["bad"]]
    options = ["--ref", files["ref"], "--lang", "fr", "--bootstrap-samples", 200]
    options += ["--json", tmp_path / "json", "--domains", files["labels"]]
    assert score_bleu("--hyp", *systems, *options) is None
    figures = json.loads((tmp_path / "json").read_text())
    assert figures["baseline"] == files["good"] and list(figures["systems"]) == systems
    report = capsys.readouterr().out
    for name in ("sacreBLEU", "chrF2", "tokenised BLEU"):
        test = figures["paired_bootstrap"][name]
        assert "bs:200|seed:12345" in test["signature"] and test["signature"] in report
        first, same, worse = (test["systems"][path] for path in systems)
        assert "p_value" not in first and same["p_value"] == 1.0 and worse["p_value"] < 0.05
        assert worse["score"] == figures["systems"][files["bad"]][name]["score"]
        assert abs(worse["mean"] - worse["score"]) < worse["ci"]
    bleu = figures["systems"][files["good"]]["sacreBLEU"]["score"]
    assert re.search(rf"^ +{bleu:.1f}  \(.* ± .*baseline +{files['good']}$", report, re.M)
    assert len(re.findall(rf"p = 0\.00\d\d\*  {files['bad']}", report)) == 3
    assert len(re.findall(rf"p = 1\.0000 +{files['same']}", report)) == 3
    assert report.count("  sacreBLEU  domain") == 3


@pytest.mark.parametrize("count", [1, 2])
def test_paired_bootstrap_is_that_of_sacrebleu(two_systems, count):
    (good, bad), references = two_systems
    systems = [("good", good), ("bad", bad)]
    references = [references, references[::-1]][:count]
    measure = translation_measures.sacrebleu_measure("fr")
    ours = translation_measures.paired_bootstrap(measure, systems, references, 100)
    test = PairedTest(systems, {"x": sacrebleu.BLEU()}, references, "bs", n_samples=100)
    signatures, columns = test()
    assert ours["signature"] == str(signatures["BLEU"])
    for name, result in zip(("good", "bad"), columns["BLEU"]):
        row = ours["systems"][name]
        assert (row["score"], row["ci"]) == (result.score, result.ci)
        assert row.get("p_value") == result.p_value


def test_scores_and_signatures_are_those_of_sacrebleu():
    found = scores(HYPOTHESES, REFERENCES, "fr")
    for name, metric in (("sacreBLEU", sacrebleu.BLEU()), ("chrF2", sacrebleu.CHRF())):
        assert found[name]["score"] == metric.corpus_score(HYPOTHESES, [REFERENCES]).score
        assert found[name]["signature"] == str(metric.get_signature())
    for part in ("tok:none", "smooth:none", "version:", "moses:-a,-l,fr", "sacremoses:"):
        assert part in found["tokenised BLEU"]["signature"]
