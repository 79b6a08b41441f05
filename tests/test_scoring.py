"""The command that scores: logs of fairseq-generate, domains, clear errors."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
from translations import HYPOTHESES, REFERENCES, score_bleu, write

from realformer_runtime.scores import hypothesis_files, scoring

SCRIPT = Path(__file__).parents[1] / "scripts" / "score_bleu.sh"


def test_a_generate_log_is_no_reference(tmp_path):
    log = log_file(tmp_path / "log")
    hypotheses = write(tmp_path / "hyp", ["a"] * len(Path(log).read_text().splitlines()))
    error = score_bleu("--hyp", hypotheses, "--ref", log, "--lang", "fr")
    assert error.startswith(f"score_bleu.sh: {log}: is the log of fairseq-generate")
    assert "<unk>" in error and "\n" not in error


def test_curly_apostrophe_that_fairseq_left_apart_is_joined(tmp_path):
    lines = ["H-0\t-1\tl ’ ami d ’ Anna dort .", "D-0\t-1\tl ’ ami d ’ Anna dort."]
    hypotheses = hypothesis_files.read_hypotheses(write(tmp_path / "log", lines), "fr", 1)
    assert hypotheses == ["l’ami d’Anna dort."]


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


def log_file(path, yes="oui.", house="la maison de l'ami.", without=None):
    lines = LOG.format(yes=yes, house=house).splitlines()
    return write(path, [line for line in lines if without is None or not line.startswith(without)])


def test_a_generate_log_gives_its_detokenised_lines_in_order(tmp_path, capsys):
    log = log_file(tmp_path / "log", yes="Oui.", house="La maison de l'ami.")
    assert hypothesis_files.read_hypotheses(log, "fr", 2) == ["La maison de l'ami.", "Oui."]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "how",
    [
        {"without": "D-"},
        # What --post-process and --bpe without --tokenizer leave in the D- lines.
        {"yes": "oui .", "house": "la maison de l&apos; ami ."},
    ],
)
def test_what_fairseq_left_tokenised_is_detokenised_as_french(tmp_path, capsys, how):
    log = log_file(tmp_path / "log", **how)
    if "yes" in how:  # the second hypothesis of sentence 0 is the same in both lines anyway
        assert "D-1\t-0.25\toui ." in Path(log).read_text()
    assert hypothesis_files.read_hypotheses(log, "fr", 2) == ["la maison de l'ami.", "oui."]
    assert "not detokenised by fairseq-generate" in capsys.readouterr().err


@pytest.mark.parametrize(("present", "first_missing"), [((0, 2), 1), ((1, 0), 2), ((0, 1, 3), 2)])
def test_a_log_that_lacks_a_sentence_is_refused(tmp_path, present, first_missing):
    """fairseq-generate leaves out the last batch if its size is not a multiple of 8."""
    log = write(tmp_path / "log", [f"D-{number}\t-1\ta" for number in present])
    reference = write(tmp_path / "ref", ["a"] * 3)
    error = score_bleu("--hyp", log, "--ref", reference, "--lang", "fr")
    assert error.startswith(f"score_bleu.sh: {log}: no hypothesis for 1 of 3 sentences")
    assert f"(the first: {first_missing}); fairseq-generate --required-batch-size" in error


def test_a_log_with_more_sentences_than_the_reference_is_refused(tmp_path):
    log = write(tmp_path / "log", [f"D-{number}\t-1\ta" for number in (0, 1, 3)])
    reference = write(tmp_path / "ref", ["a"] * 2)
    error = score_bleu("--hyp", log, "--ref", reference, "--lang", "fr")
    assert error == f"score_bleu.sh: {log} has 3 lines, but {reference} has 2"


def test_only_a_line_feed_ends_a_line(tmp_path):
    lines = ["un\u2028deux", "trois\u0085quatre", "", "cinq\x0csix"]
    plain = write(tmp_path / "plain", lines)
    assert hypothesis_files.read_lines(plain) == lines
    (tmp_path / "windows").write_bytes(b"un\r\ndeux\r\n")
    assert hypothesis_files.read_lines(str(tmp_path / "windows")) == ["un", "deux"]


def test_domains_are_sorted_by_size_and_scored_apart():
    labels = ["man:ls.1", "ddtp\tunclutter", "ddtp", "lohelp\t01/06050500.html"]
    hypotheses = [*HYPOTHESES, "bonjour le monde entier", "a b c d e"]
    references = [*REFERENCES, "bonjour le monde entier", "a b c d f"]
    domains = scoring.scores_by_domain(hypotheses, references, labels)
    assert list(domains) == ["ddtp", "lohelp", "man"]
    assert [row["lines"] for row in domains.values()] == [2, 1, 1]
    expected = sacrebleu.corpus_bleu(hypotheses[1:3], [references[1:3]])
    assert domains["ddtp"]["sacreBLEU"]["score"] == expected.score


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--hyp {short} --ref {ref} --lang fr", "{short} has 1 lines, but {ref} has 2"),
        (
            "--hyp {ref} --ref {ref} --lang fr --domains {short}",
            "{short} has 1 lines, but {ref} has 2",
        ),
        (
            "--hyp {ref} {short} --ref {ref} --lang fr",
            "{short} has 1 lines, but {ref} has 2",
        ),
        ("--hyp {ref} {ref} --ref {ref} --lang fr", "--hyp: {ref} is given twice"),
        (
            "--hyp {ref} --ref {ref} --lang fr --bootstrap-samples 0",
            "--bootstrap-samples: 0 is not above 0",
        ),
        ("--hyp {none} --ref {ref} --lang fr", "{none}: No such file or directory"),
        ("--hyp {ref} --ref {empty} --lang fr", "{empty}: the file is empty"),
        (
            "--hyp {latin1} --ref {ref} --lang fr",
            "{latin1}, line 1: not UTF-8: unexpected end of data",
        ),
        ("--hyp {zip} --ref {ref} --lang fr", "{zip}: Not a gzipped file (b'pl')"),
        ("--hyp {ref} --ref {ref}", "the following arguments are required: --lang (-h for help)"),
        (
            "--hyp {ref} --ref {ref} --lang fr --language fr",
            "unrecognized arguments: --language fr (-h for help)",
        ),
        (
            "--hyp {ref} --ref {ref} --lang fr --json {none}/scores.json",
            "{none}/scores.json: no such folder: {none}",
        ),
    ],
)
def test_mistakes_are_named_in_one_line(tmp_path, options, message):
    files = {name: str(tmp_path / name) for name in "short ref none empty latin1".split()}
    files["zip"] = str(tmp_path / "plain.gz")
    write(tmp_path / "short", ["un"])
    write(tmp_path / "ref", REFERENCES)
    write(tmp_path / "plain.gz", ["plain"])
    (tmp_path / "empty").touch()
    (tmp_path / "latin1").write_bytes("café".encode("latin-1"))
    error = score_bleu(*options.format(**files).split())
    assert error == "score_bleu.sh: " + message.format(**files)


def test_the_script_from_another_folder(tmp_path):
    """Paths with spaces, a log, a compressed reference, and a locale that is not UTF-8."""
    folder = tmp_path / "my scores"
    folder.mkdir()
    log_file(folder / "generate log", house="la maison de l’été.", yes="Oui.")
    with gzip.open(folder / "the ref.fr.gz", "wt", encoding="utf-8") as file:
        file.write("la maison de l’été.\nOui.\n")
    write(folder / "labels", ["aptitude:é", "débref"])
    command = [str(SCRIPT), "--hyp", "generate log", "--ref", "the ref.fr.gz", "--lang", "fr"]
    command += ["--domains", "labels", "--json", "all scores.json"]
    environment = {**os.environ, "VENV": sys.prefix, "OMP_NUM_THREADS": "1"}
    environment.update(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    lines = run.stdout.decode("utf-8").splitlines()
    assert lines[0].startswith("sacreBLEU  100.0  nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|")
    assert lines[1].startswith("chrF2  100.0  nrefs:1|")
    assert lines[2].startswith(
        "tokenised BLEU (Moses -a, not comparable with sacreBLEU)  100.00  nrefs:1|"
    )
    assert [line.split()[0::2] for line in lines[-2:]] == [["1", "aptitude"], ["1", "débref"]]
    figures = json.loads((folder / "all scores.json").read_text(encoding="utf-8"))
    assert figures["lines"] == 2 and figures["lang"] == "fr"
    assert figures["sacreBLEU"]["score"] == pytest.approx(100)
    assert "tok:13a" in figures["domains"]["débref"]["sacreBLEU"]["signature"]
    assert sorted(os.listdir(folder)) == [
        "all scores.json",
        "generate log",
        "labels",
        "the ref.fr.gz",
    ]
