"""The command that scores: logs of fairseq-generate, domains, clear errors."""

import gzip
import json
import os

import pytest
import sacrebleu
from conftest import PROJECT, run
from translations import HYPOTHESES, REFERENCES, score_bleu, write

from realformer_runtime.scores import hypothesis_files, scoring
from realformer_runtime.scores.measures import sacrebleu_measure

# Sentence 1 comes first, as fairseq sorts by length; sentence 0 has two hypotheses (--nbest 2).
LOG = """\
INFO | fairseq_cli.generate | loading model(s) from checkpoints/average.pt
S-1\tyes .
T-1\t<unk> .
H-1\t-0.25\tou@@ i .
D-1\t-0.25\t{yes}
P-1\t-0.2 -0.3 -0.1
S-0\tthe friend 's house
T-0\tla maison de l&apos; <unk>
H-0\t-1.5e-01\tla maison de l&apos; am@@ i .
D-0\t-1.5e-01\t{house}
P-0\t-0.1 -0.2
H-0\t-inf\tmauvais
D-0\t-inf\tmauvais
Generate test with beam=5: BLEU4 = 12.3
"""


def log_file(path, yes="oui.", house="la maison de l'ami.", without=()):
    lines = LOG.format(yes=yes, house=house).splitlines()
    return write(path, [line for line in lines if not line.startswith(without)])


@pytest.mark.parametrize(
    ("how", "detokenised"),
    [
        ({}, True),
        ({"without": "D-"}, False),
        # What --post-process and --bpe without --tokenizer leave in the D- lines.
        ({"yes": "oui .", "house": "la maison de l&apos; ami ."}, False),
        # What --tokenizer without --remove-bpe leaves there.
        ({"yes": "ou@@ i.", "house": "la maison de l'am@@ i."}, False),
    ],
)
def test_a_generate_log_gives_its_raw_lines_in_order(tmp_path, capsys, how, detokenised):
    log = log_file(tmp_path / "log", **how)
    assert hypothesis_files.read_hypotheses(log, "fr", 2) == ["la maison de l'ami.", "oui."]
    assert ("not detokenised" in capsys.readouterr().err) != detokenised


def test_a_curly_apostrophe_that_fairseq_left_apart_is_joined(tmp_path):
    lines = ["H-0\t-1\tl ’ ami d ’ Anna dort .", "D-0\t-1\tl ’ ami d ’ Anna dort."]
    hypotheses = hypothesis_files.read_hypotheses(write(tmp_path / "log", lines), "fr", 1)
    assert hypotheses == ["l’ami d’Anna dort."]


@pytest.mark.parametrize(
    ("lang", "words", "detokenised", "raw"),
    [
        # What --remove-bpe sentencepiece leaves, with and without --bpe sentencepiece.
        ("en", ["50 % of ‘us’."], ["50%of‘us’."], ["50 % of ‘us’."]),
        ("en", ["To 50 %, sir.", "Yes.", "A , b"], [], ["To 50 %, sir.", "Yes.", "A , b"]),
        # What --bpe sentencepiece leaves.
        ("en", ["▁squ ash ▁’ em ."], ["squash ’em."], ["squash ’em."]),
        # What Moses' tokens become, which have no point of their own here.
        ("en", ["e.g. the &quot; x &quot;"], ['e.g. the "x"'], ['e.g. the "x"']),
        ("zh", ["我 喜欢 。"], ["我喜欢。"], ["我喜欢。"]),
    ],
)
def test_joined_pieces_are_raw_text(tmp_path, capsys, lang, words, detokenised, raw):
    lines = [f"H-{number}\t-1\t{text}" for number, text in enumerate(words)]
    lines += [f"D-{number}\t-1\t{text}" for number, text in enumerate(detokenised or words)]
    log = write(tmp_path / "log", lines)
    assert hypothesis_files.read_hypotheses(log, lang, len(words)) == raw
    assert capsys.readouterr().err == ""


def test_only_a_line_feed_ends_a_line(tmp_path):
    lines = ["un\u2028deux", "trois\u0085quatre", "", "cinq\x0csix"]
    assert hypothesis_files.read_lines(write(tmp_path / "plain", lines)) == lines
    windows = write(tmp_path / "windows", ["un\r", "deux\r"])
    assert hypothesis_files.read_lines(windows) == ["un", "deux"]


def test_domains_are_sorted_by_size_and_scored_apart():
    labels = ["man:ls.1", "ddtp\tunclutter", "ddtp", "lohelp\t01/06050500.html"]
    hypotheses = [*HYPOTHESES, "bonjour le monde entier", "a b c d e"]
    references = [*REFERENCES, "bonjour le monde entier", "a b c d f"]
    domains = scoring.scores_by_domain(hypotheses, [references], labels, sacrebleu_measure("fr"))
    lines = [(name, row["lines"]) for name, row in domains.items()]
    assert lines == [("ddtp", 2), ("lohelp", 1), ("man", 1)]
    expected = sacrebleu.corpus_bleu(hypotheses[1:3], [references[1:3]])
    assert domains["ddtp"]["sacreBLEU"]["score"] == expected.score


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--hyp one --ref two", ["one has 1 lines, but two has 2"]),
        ("--hyp two --ref two --domains one", ["one has 1 lines, but two has 2"]),
        ("--hyp two two --ref two", ["--hyp", "two", "twice"]),
        ("--hyp two --hyp ./two --ref two", ["--hyp", "two and ./two", "same file"]),
        ("--hyp two --ref two link", ["--ref", "two and link", "same file"]),
        ("--hyp two --ref two --ref two", ["--ref", "two", "twice"]),
        ("--hyp two --ref two one", ["one has 1 lines, but two has 2"]),
        ("--hyp two --ref two log", ["log: is the log of fairseq-generate", "<unk>"]),
        ("--hyp bpe --ref two", ["bpe", "subwords", "--remove-bpe"]),
        ("--hyp two --ref bpe", ["bpe", "subwords", "--remove-bpe"]),
        ("--hyp two --ref packed", ["packed: packed by gzip"]),
        ("--hyp two --ref three two --json ./two", ["--json: ./two is what is to be scored"]),
        ("--hyp two --ref two --domains three --json link3", ["--json: link3 is what"]),
        ("--hyp two --ref utf16", ["utf16", "UTF-16"]),
        ("--hyp two --ref two --lang french", ["--lang", "'french'"]),
        (
            "--hyp two --ref two --bootstrap-samples 0",
            ["--bootstrap-samples", "'0' is not a whole"],
        ),
        ("--hyp two --ref two --bootstrap-samples 1e3", ["--bootstrap-samples", "'1e3'"]),
        ("--hyp none --ref two", ["none: No such file"]),
        ("--hyp two --ref empty", ["empty", "file is empty"]),
        ("--hyp latin1 --ref two", ["latin1, line 1: not UTF-8"]),
        ("--hyp plain.gz --ref two", ["plain.gz", "Not a gzipped file"]),
        ("--hyp two --ref two --language fr", ["--language fr"]),
        ("--hyp two --ref two --json none/scores.json", ["none/scores.json", "no such folder"]),
        ("--hyp two --ref two --json -", ["--json", "'-' is no file"]),
        ("--hyp two --ref two --json .", ["--json", "'.' is a folder"]),
        # A log: fairseq-generate leaves out the last batch if its size is not a multiple of 8.
        ("--hyp 0,2 --ref three", ["0,2: ", "1 of 3", "the first: 1", "--required-batch-size-m"]),
        ("--hyp 0,1,3 --ref three", ["0,1,3: ", "1 of 3", "the first: 2"]),
        ("--hyp 0,1,3 --ref two", ["0,1,3 has 3 lines, but two has 2"]),
        ("--hyp two --ref log", ["log: is the log of fairseq-generate", "<unk>"]),
    ],
)
def test_mistakes_are_named_in_one_line(tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    for name in ("0,2", "0,1,3"):
        write(tmp_path / name, [f"D-{number}\t-1\ta" for number in name.split(",")])
    for name, lines in (("one", ["un"]), ("two", REFERENCES), ("three", ["a"] * 3)):
        write(tmp_path / name, lines)
    for name, content in (("empty", b""), ("plain.gz", b"plain\n"), ("latin1", b"caf\xe9")):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "utf16").write_text("café\n", "utf-16")
    (tmp_path / "link").symlink_to("two")
    (tmp_path / "link3").symlink_to("three")
    (tmp_path / "packed").write_bytes(gzip.compress(b"oui\n"))
    write(tmp_path / "bpe", ["l&apos; am@@ i .", "ou@@ i ."])
    log_file(tmp_path / "log")
    arguments = options.split() if "--lang " in options else ["--lang", "fr", *options.split()]
    error = score_bleu(*arguments)
    assert error.startswith("score_bleu.sh: ") and "\n" not in error
    assert all(word in error for word in words), error


def test_decomposed_characters_are_said(tmp_path, capsys):
    path = write(tmp_path / "composed", ["où ?"])
    other = write(tmp_path / "decomposed", ["ou\u0300 ?"])
    for pair, said in (([path, other], True), ([path, path], False), ([other, other], False)):
        assert score_bleu("--hyp", pair[0], "--ref", pair[1], "--lang", "fr") is None
        assert (f"{other}: has decomposed characters" in capsys.readouterr().err) == said


def test_the_language_has_to_be_given():
    assert "--lang" in score_bleu("--hyp", "a", "--ref", "b")


def test_the_script_from_another_folder(tmp_path):
    """Paths with spaces, a log, a compressed reference, and a locale that is not UTF-8."""
    folder = tmp_path / "my scores"
    folder.mkdir()
    log_file(folder / "generate log", house="la maison de l’été.", yes="Oui.")
    with gzip.open(folder / "the ref.fr.gz", "wt", encoding="utf-8") as file:
        file.write("la maison de l’été.\nOui.\n")
    write(folder / "labels", ["aptitude:é", "débref"])
    before = {*os.listdir(folder)}
    options = ["--hyp", "generate log", "--ref", "the ref.fr.gz", "--lang", "fr"]
    options += ["--domains", "labels", "--json", "all scores.json"]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    script = PROJECT / "scripts/score_bleu.sh"
    result = run(script, *options, cwd=folder, env=environment, encoding="utf-8")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("sacreBLEU  100.0  nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|")
    assert lines[1].startswith("chrF2  100.0  nrefs:1|")
    assert lines[2].startswith("tokenised BLEU (Moses -a, not comparable with sacreBLEU)  100.00  ")
    assert [line.split()[0::2] for line in lines[-2:]] == [["1", "aptitude"], ["1", "débref"]]
    figures = json.loads((folder / "all scores.json").read_text(encoding="utf-8"))
    assert figures["lines"] == 2 and figures["lang"] == "fr"
    assert figures["sacreBLEU"]["score"] == pytest.approx(100)
    assert "tok:13a" in figures["domains"]["débref"]["sacreBLEU"]["signature"]
    assert {*os.listdir(folder)} == before | {"all scores.json"}
