"""Scores: values worked out by hand, an independent multi-bleu, and sacrebleu itself."""

import collections
import itertools
import json
import math
import random
import re

import pytest
import sacrebleu
from sacrebleu.significance import PairedTest
from sacremoses import MosesTokenizer
from translations import HYPOTHESES, REFERENCES, score_bleu, write

from realformer_runtime.scores import measures as translation_measures
from realformer_runtime.scores import scoring


def tokenised_bleu(hypotheses, references, lang):
    return translation_measures.tokenised_bleu(lang).score(hypotheses, references)


def test_tokenised_bleu_in_closed_form():
    """Tokens: ``l' ami de Jean @-@ Luc dort .`` and ``oui .``, 10 against 12 in the reference.

    Matches: words 7/8 + 2/2, pairs 5/7 + 0/1, triples 3/6, quadruples 2/5. The brevity penalty is
    exp(1 - 12/10).
    """
    expected = 100 * (9 / 10 * 5 / 8 * 3 / 6 * 2 / 5) ** (1 / 4) * math.exp(1 - 12 / 10)
    figures = tokenised_bleu(HYPOTHESES, REFERENCES, "fr")
    assert figures["score"] == pytest.approx(expected, abs=1e-9)
    assert (figures["hypothesis_tokens"], figures["reference_tokens"]) == (10, 12)


def test_tokenised_bleu_is_case_sensitive_and_not_smoothed():
    references = ["Le chat dort sur le tapis."]
    assert tokenised_bleu(references, references, "fr")["score"] == pytest.approx(100)
    upper = [references[0].upper()]
    assert tokenised_bleu(upper, references, "fr")["score"] == 0
    without_quadruple = ["Le chat dort, oui."]
    assert tokenised_bleu(without_quadruple, references, "fr")["score"] == 0


def test_tokenised_bleu_sees_the_tokens_of_moses():
    """Moses splits a curly apostrophe off: ``l ’ ami dort .`` against ``l ’ amie dort .``, where
    our own tokens would be ``l’ ami dort .``. Words 4/5, pairs 2/4."""
    figures = tokenised_bleu(["l’ami dort."], ["l’amie dort."], "fr")
    assert figures["hypothesis_tokens"] == 5
    assert figures["precisions"][:2] == [80.0, 50.0]


def multi_bleu(hypotheses, references):
    """What Moses' multi-bleu computes from tokenised lines, case-sensitive, one reference."""
    matches, possible = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references):
        for n in range(1, 5):
            counted, allowed = (
                collections.Counter(zip(*(line.split()[i:] for i in range(n))))
                for line in (hypothesis, reference)
            )
            possible[n - 1] += sum(counted.values())
            matches[n - 1] += sum(min(count, allowed[gram]) for gram, count in counted.items())
    if 0 in matches:
        return 0.0
    lengths = [sum(len(line.split()) for line in lines) for lines in (hypotheses, references)]
    brevity = min(0.0, 1 - lengths[1] / lengths[0])
    return 100 * math.exp(brevity + sum(math.log(m / p) for m, p in zip(matches, possible)) / 4)


@pytest.fixture(scope="module")
def two_systems():
    """Raw English and two worsened copies, one of them much worse, with hyphens and clitics."""
    from sample_corpus.generate import pairs

    chance = random.Random(1)
    references = [pair.fr + " Un porte-clés-là." for pair in itertools.islice(pairs(), 60)]

    def worsened(line, rate):
        words = [chance.choice("chat l'eau demi-tour".split()) if chance.random() < rate else word
                 for word in line.split()]  # fmt: skip
        return " ".join(words)

    return [[worsened(line, rate) for line in references] for rate in (0.1, 0.4)], references


def test_tokenised_bleu_is_multi_bleu_of_the_tokenised_text(two_systems):
    systems, references = two_systems
    for lang, aggressive in (("fr", True), ("de", False)):
        moses = MosesTokenizer(lang)
        tokenised = [
            [moses.tokenize(line, aggressive_dash_splits=aggressive, return_str=True) for line in n]
            for n in (*systems, references)
        ]
        if lang == "fr":
            measure = translation_measures.tokenised_bleu(lang)
        else:
            measure = translation_measures.compound_split_bleu(lang)
            tokenised = [list(map(split_as_perl, lines)) for lines in tokenised]
        for system, lines in zip(systems, tokenised):
            expected = multi_bleu(lines, tokenised[-1])
            assert 10 < expected < 90
            assert measure.score(system, references)["score"] == pytest.approx(expected, abs=1e-9)


def split_as_perl(line):
    """``s{(\\S)-(\\S)}{$1 ##AT##-##AT## $2}g`` by hand: matches do not overlap."""
    out, position = "", 0
    while position < len(line):
        around = line[position : position + 3]
        if len(around) == 3 and around[1] == "-" and " " not in around:
            out += f"{around[0]} ##AT##-##AT## {around[2]}"
            position += 3
        else:
            out += line[position]
            position += 1
    return out


def test_compounds_are_split_as_the_scripts_split_them():
    for line, expected in {
        "eine Jean-Luc-Straße -- 10-20 - ja": (
            "eine Jean ##AT##-##AT## Luc ##AT##-##AT## Straße -- 10 ##AT##-##AT## 20 - ja"
        ),
        "a-b-c": "a ##AT##-##AT## b-c",
    }.items():
        assert translation_measures.split_compounds(line) == expected == split_as_perl(line)


def test_compound_split_bleu_is_for_german_only():
    """``Jean ##AT##-##AT## Luc ruft .`` against ``… Paul ruft .``: 4 of 5 words, 2 of 4 pairs."""
    lines = ["Jean-Luc ruft."], ["Jean-Paul ruft."]
    scores = scoring.all_scores(*lines, "de")
    assert scores["compound-split BLEU"]["precisions"][:2] == [80.0, 50.0]
    assert scores["compound-split BLEU"]["signature"].endswith("|compounds:split")
    assert scores["tokenised BLEU"]["signature"].split("|")[-2] == "moses:-a,-l,de"
    assert "compound-split BLEU" not in scoring.all_scores(*lines, "fr")


def test_ter_is_there_if_asked_for():
    """One of five words replaced, one shifted to another place: 2 edits on 5 words."""
    lines = ["dort le chat un peu"], ["le chat dort un moment"]
    scores = scoring.all_scores(*lines, "fr", with_ter=True)
    assert scores["TER"]["score"] == pytest.approx(100 * 2 / 5)
    assert "tok:tercom" in scores["TER"]["signature"]
    assert "TER" not in scoring.all_scores(*lines, "fr")


def test_several_systems_are_compared_with_the_first(two_systems, tmp_path, capsys):
    (good, bad), references = two_systems
    files = [
        write(tmp_path / name, lines)
        for name, lines in (("good", good), ("same", good), ("bad", bad), ("ref", references))
    ]
    options = ["--ref", files[3], "--lang", "fr", "--bootstrap-samples", 200]
    labels = write(tmp_path / "labels", ["a", "b"] * 30)
    options += ["--json", tmp_path / "json", "--domains", labels]
    assert score_bleu("--hyp", *files[:3], *options) is None
    figures = json.loads((tmp_path / "json").read_text())
    assert figures["baseline"] == files[0] and list(figures["systems"]) == files[:3]
    for name in ("sacreBLEU", "chrF2", "tokenised BLEU"):
        test = figures["paired_bootstrap"][name]
        assert "bs:200|seed:12345" in test["signature"]
        same, worse = (test["systems"][files[n]] for n in (1, 2))
        assert "p_value" not in test["systems"][files[0]]
        assert same["p_value"] == 1.0 and worse["p_value"] < 0.05
        assert worse["score"] == figures["systems"][files[2]][name]["score"]
        assert abs(worse["mean"] - worse["score"]) < worse["ci"]
    report = capsys.readouterr().out
    bleu = figures["systems"][files[0]]["sacreBLEU"]["score"]
    assert re.search(
        rf"^sacreBLEU  nrefs.*\n +{bleu:.1f}  \(.* ± .*baseline +{files[0]}$", report, re.M
    )
    assert len(re.findall(rf"p = 0\.00\d\d\*  {files[2]}", report)) == 3
    assert len(re.findall(rf"p = 1\.0000 +{files[1]}", report)) == 3
    assert report.count("  sacreBLEU  domain") == 3


def test_paired_bootstrap_is_that_of_sacrebleu(two_systems):
    (good, bad), references = two_systems
    systems = [("good", good), ("bad", bad)]
    ours = translation_measures.paired_bootstrap(
        translation_measures.SACREBLEU, systems, references, 100
    )
    test = PairedTest(systems, {"x": sacrebleu.BLEU()}, [references], "bs", n_samples=100)
    signatures, columns = test()
    assert ours["signature"] == str(signatures["BLEU"])
    for name, result in zip(("good", "bad"), columns["BLEU"]):
        row = ours["systems"][name]
        assert (row["score"], row["ci"]) == (result.score, result.ci)
        assert row.get("p_value") == result.p_value


def test_scores_and_signatures_are_those_of_sacrebleu():
    scores = scoring.all_scores(HYPOTHESES, REFERENCES, "fr")
    bleu = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES])
    chrf = sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES])
    assert scores["sacreBLEU"]["score"] == bleu.score
    assert scores["chrF2"]["score"] == chrf.score
    version = f"version:{sacrebleu.__version__}"
    signature = f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|{version}"
    assert scores["sacreBLEU"]["signature"] == signature
    assert (
        scores["chrF2"]["signature"] == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|{version}"
    )
    for part in ("tok:none", "smooth:none", version, "moses:-a,-l,fr", "sacremoses:"):
        assert part in scores["tokenised BLEU"]["signature"]
