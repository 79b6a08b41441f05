"""The plan of scripts/reproduce_table7.sh, and its way through steps that are done."""

import json
import re
import shutil
import signal

import pytest
from conftest import PROJECT, fails, run
from corpus_stamps import stamp, text_of
from stand_ins import exit_code_after, stand_in_environment

SCRIPT = PROJECT / "scripts/reproduce_table7.sh"


def plan(*options):
    return run(SCRIPT, "--dry-run", "--gpus", 4, *options)


@pytest.mark.parametrize(
    "row, model, average, beam, lenpen, rate",
    [
        ("fr-60-12", "realformer", 25, 5, 0.8, "1.2e-3"),
        ("fr-6-6", "admin", 10, 5, 0.8, "7e-4"),
        ("de-18-18", "pre-ln", 10, 4, 0.6, "1e-3"),
        ("de-6-6", "realformer", 25, 4, 0.6, "5e-4"),
        ("fr-6-6", "realformer-none", 25, 5, 0.8, "1.2e-3"),
    ],
)
def test_the_plan_has_the_figures_of_the_papers(row, model, average, beam, lenpen, rate, tmp_path):
    result = plan("--row", row, "--model", model, "--out", tmp_path / "out")
    language = row[:2]
    prepare, training, averaging, generating, scoring, card = result.stdout.splitlines()
    assert f"prepare-wmt14en2{language}.sh" in prepare
    arch = f"--arch realformer_wmt_en_{row.replace('-', '_')} ".replace("_6_6", "")
    assert arch in training and f"--lr {rate} " in training
    assert f"--num-epoch-checkpoints {average} " in averaging
    assert f"--beam {beam} --lenpen {lenpen} " in generating
    assert scoring.endswith(f"--lang {language} --json {tmp_path}/out/scores.json ")
    assert f"--scores {tmp_path}/out/scores.json --output {tmp_path}/out/MODEL_CARD.md" in card
    hours = {"fr-60-12": "72", "fr-6-6": "28", "de-18-18": "23", "de-6-6": "9.4"}
    assert hours[row] in re.search("hours on the paper's .*", result.stderr).group()
    assert list(tmp_path.iterdir()) == []


def test_options_of_the_training_and_of_fairseq(tmp_path):
    small = ["--row", "fr-6-6", "--corpus", "debian", "--scale", "cpu", "--corpora", "/a b"]
    result = plan(*small, "--", "--epochs", 1, "--", "--seed", 3)
    prepare, training, averaging, *_ = result.stdout.splitlines()
    assert re.search(r"prepare-debian-en2fr.sh .*--corpus /a\\ b", prepare)
    assert "--max-epoch 1 " in training and "--seed 3" in training and "--cpu" in training
    assert "--num-epoch-checkpoints 1 " in averaging


@pytest.mark.parametrize(
    "options, message",
    [
        ([], "--row: '' is not one of de-6-6"),
        (["--row", "fr-6-6", "--model", "rezero"], "--model: 'rezero' is not one of post-ln"),
        (["--row", "fr-6-6", "--scale", "big"], "--scale: 'big' is not one of paper, cpu"),
        (["--row", "de-6-6", "--corpus", "debian"], "--corpus debian is English-French"),
        (
            ["--row", "fr-6-6", "--against", "/no"],
            "--against /no: no such file: '/no/",
        ),
        (["--row", "fr-6-6", "--epochs", "3"], "unknown option '--epochs'"),
    ],
)
def test_mistakes_are_named(options, message):
    assert message in fails(SCRIPT, "--dry-run", *options)


def test_comparisons_of_one_name_are_refused(tmp_path):
    """Each has a file that is called after its folder."""
    folders = [tmp_path / parent / "admin" for parent in ("seed 1", "seed 2")]
    options = ["--row", "fr-6-6"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "generate.log").touch()
        options += ["--against", folder]
    error = fails(SCRIPT, "--dry-run", *options)
    assert f"--against '{folders[0]}' and '{folders[1]}': " in error and "against-admin" in error


def test_what_is_done_is_not_done_again(prepared, raw_corpus, trained, tmp_path):
    """Training and averaging are done: it translates and scores; then it only scores."""
    corpus, out = shutil.copytree(prepared, tmp_path / "a corpus"), tmp_path / "out"
    stamp(corpus, text_of(raw_corpus), 8000)
    out.mkdir()
    shutil.copy(trained / "checkpoint_last.pt", out / "average.pt")
    (out / "training-is-done").touch()
    line = [SCRIPT, "--row", "fr-6-6", "--corpus", "debian", "--scale", "cpu"]
    line += ["--corpora", raw_corpus, "--corpus-dir", corpus, "--out", out]
    first = run(*line, timeout=600)
    assert (out / "generate.log").read_text().count("\nH-") == 20
    scores = json.loads((out / "scores.json").read_text())
    assert scores["lines"] == 20 and "sacreBLEU  " in first.stdout
    card = out / "MODEL_CARD.md"
    assert f"sacreBLEU {scores['sacreBLEU']['score']:.1f}, signature" in card.read_text()
    card.write_text("filled in by hand")
    before = (out / "generate.log").stat().st_mtime_ns
    for baseline in ("admin", "the control"):
        (tmp_path / baseline).mkdir()
        shutil.copy(out / "generate.log", tmp_path / baseline)
        line += ["--against", tmp_path / baseline]
    assert run(*line).stdout.startswith(first.stdout)
    compared = json.loads((out / "against-the control.json").read_text())
    *_, ours = compared["paired_bootstrap"]["sacreBLEU"]["systems"].values()
    assert ours["p_value"] == 1.0 and (out / "against-admin.json").exists()
    assert (out / "generate.log").stat().st_mtime_ns == before
    assert card.read_text() == "filled in by hand"
    assert "was made with 'fr-6-6 realformer" in fails(*line, "--model", "admin")


def test_a_signal_to_the_script_reaches_its_training(prepared, raw_corpus, tmp_path):
    out = tmp_path / "out"
    line = [SCRIPT, "--row", "fr-6-6", "--corpus", "debian", "--scale", "cpu"]
    corpus = shutil.copytree(prepared, tmp_path / "a corpus")
    stamp(corpus, text_of(raw_corpus), 8000)
    line += ["--corpora", raw_corpus, "--corpus-dir", corpus, "--out", out]
    environment = stand_in_environment(tmp_path / "environment")
    assert exit_code_after(signal.SIGTERM, line, environment, out / "checkpoints") == 143
    assert (out / "checkpoints/saved").exists() and not (out / "training-is-done").exists()
