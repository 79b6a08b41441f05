"""IWSLT'14 German-English: the archive's layout, the stages, the recipe, and seeds."""

import re
import shlex
import signal

import pytest
from conftest import PROJECT, fails, run
from fairseq.data import Dictionary
from iwslt14_archive import SENTENCES_OF_A_TEST, TESTS, write_archive
from public_corpora import extraction
from public_corpora.recipe import RECIPES, load_recipe
from stand_ins import exit_code_after, stand_in_environment
from test_train_scripts import value
from wmt14_archives import sentence

from realformer_runtime.text.tokenization import line_function

PREPARE = PROJECT / "data-prep/prepare-iwslt14de2en.sh"
TRAIN = PROJECT / "scripts/train_iwslt14_de_en.sh"
SMALL = """
    --encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 16 --decoder-embed-dim 16
    --encoder-ffn-embed-dim 16 --decoder-ffn-embed-dim 16 --lr 5e-3 --warmup-updates 3
    --required-batch-size-multiple 1
""".split()


def lines(path):
    return path.read_text("utf-8").split("\n")[:-1]


def test_text_is_what_the_archive_has_in_its_order(tmp_path):
    write_archive(tmp_path, size=40)
    extraction.extract_all(load_recipe(RECIPES / "iwslt14-de-en.json"), tmp_path, tmp_path)
    for lang in ("de", "en"):
        train = lines(tmp_path / f"train.ted.{lang}")
        assert len(train) == 44 and train[:2] == ["Talk 0: Über-Titel", "About 0 &amp; more"]
        assert train[2] == f"{sentence(lang, 1, 0)} Old-Fashioned"
        assert not [line for line in train if "<" in line or "words" in line]
        expected = [
            f"{sentence(lang, corpus, number)} It's Here"
            for corpus in range(1, len(TESTS) + 1)
            for number in range(1, SENTENCES_OF_A_TEST + 1)
        ]
        assert lines(tmp_path / f"test.{lang}") == expected
    assert not list(tmp_path.glob("valid*"))


def test_tokens_are_those_of_the_literature():
    """As ``tokenizer.perl -l LANG`` without -a, then lower case."""
    tokenize = line_function("en", moses=True, split_hyphens=False, lowercase=True)
    assert tokenize("It's a well-known “Test” -- No. 5") == (
        "it &apos;s a well-known “ test ” -- no. 5"
    )


def command(*arguments):
    result = run(TRAIN, "--dry-run", "--data", "/no/such", "--gpus", 1, *arguments)
    return [shlex.split(line) for line in result.stdout.splitlines()], result.stderr


@pytest.mark.parametrize(
    "model, residual, scaling", [("realformer", "mean", "admin"), ("post-ln", "none", "none")]
)
def test_the_recipe_is_fairseqs_for_every_model(model, residual, scaling):
    (words,), _ = command("--model", model)
    figures = {
        "--arch": "realformer_iwslt_de_en",
        "--source-lang": "de",
        "--residual-attention": residual,
        "--sublayer-scaling": scaling,
        "--optimizer": "adam",
        "--adam-betas": "(0.9, 0.98)",
        "--clip-norm": "0.0",
        "--lr": "5e-4",
        "--lr-scheduler": "inverse_sqrt",
        "--warmup-updates": "4000",
        "--dropout": "0.3",
        "--weight-decay": "1e-4",
        "--label-smoothing": "0.1",
        "--max-tokens": "4096",
        "--update-freq": "1",
        "--keep-last-epochs": "10",
    }
    assert {flag: value(words, flag) for flag in figures} == figures
    assert "--share-decoder-input-output-embed" in words


@pytest.mark.parametrize("seeds", ["3 5", "3\n5\n"])
def test_each_seed_has_a_folder_of_its_own(seeds):
    options = ["--seeds", seeds, "--save-dir", "/some/where", "--", "--log-interval", 7]
    trainings, said = command(*options)
    assert "NOT THE RECIPE: --log-interval" in said and "--seed" not in said
    for words, seed in zip(trainings, ("3", "5")):
        assert value(words, "--save-dir") == f"/some/where/seed-{seed}"
        assert [words[i + 1] for i, word in enumerate(words) if word == "--seed"][-1] == seed
        assert words[words.index("--log-interval", words.index("--log-interval") + 1) + 1] == "7"
    assert len(trainings) == 2


@pytest.mark.parametrize(
    "script, arguments, words",
    [
        (TRAIN, ["--seeds", "1 x"], ["--seeds", "'x'"]),
        (TRAIN, ["--seeds", "2 2"], ["--seeds", "'2 2'", "twice"]),
        (TRAIN, ["--seeds", " "], ["--seeds", "no numbers"]),
        (TRAIN, ["--seeds", "1 2", "--", "--seed", "5"], ["--seed:", "not after --"]),
        (TRAIN, ["--seeds", "1 2", "--", "--seed=5"], ["--seed:", "not after --"]),
        (TRAIN, ["--row", "12-12"], ["--row", "'12-12'", "6-6"]),
        (PREPARE, ["--dict", __file__], ["--dict", "each language"]),
        (PREPARE, ["--recipe", "en-de"], ["--recipe 'en-de'", "iwslt14-de-en"]),
        (PREPARE, ["--corpora", "/no/such"], ["--corpora", "/no/such"]),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(script, arguments, words):
    error = fails(script, *arguments)
    assert error.startswith(script.name) and all(word in error for word in words), error


@pytest.fixture
def stand_ins(tmp_path):
    """An environment of stand-ins, and the start of a command line."""
    data = tmp_path / "data"
    data.mkdir()
    for lang in ("de", "en"):
        (data / f"dict.{lang}.txt").touch()
    line = [TRAIN, "--gpus", "0", "--data", data, "--save-dir", tmp_path / "my seeds", "--seeds"]
    return stand_in_environment(tmp_path / "environment"), [str(word) for word in line]


@pytest.mark.parametrize(
    "number, code, to_all",
    [
        (signal.SIGTERM, 143, False),
        (signal.SIGUSR1, 138, False),
        (signal.SIGUSR1, 138, True),
        (signal.SIGINT, 143, False),
    ],
)
def test_a_signal_reaches_the_training_of_a_seed(stand_ins, tmp_path, number, code, to_all):
    """The script ends after it, with its exit code; Slurm signals all processes of a step."""
    environment, line = stand_ins
    folder = tmp_path / "my seeds/seed-1"
    assert exit_code_after(number, [*line, "1 2"], environment, folder, to_all=to_all) == code
    assert (folder / "saved").exists()
    assert (
        not (folder / "training-is-done").exists() and not (tmp_path / "my seeds/seed-2").exists()
    )


def test_scores_are_of_the_options_that_are_given(stand_ins, tmp_path):
    environment, line = stand_ins
    line = [*line, "1"]
    assert run(*line, env=environment).stdout.splitlines()[-1] == "seed 1: BLEU 30.50"
    for other in ("--model admin", "--epochs 3", "-- --lr 1"):
        error = fails(*line, *other.split(), env=environment)
        assert f"--save-dir '{tmp_path}/my seeds/seed-1' was made with" in error and other in error
    again = run(*line, "--max-tokens", 2048, env=environment)
    assert again.stdout.splitlines() == ["seed 1: BLEU 30.50"]


def test_a_training_that_ends_early_is_averaged_over_what_it_has(stand_ins, tmp_path):
    environment, line = stand_ins
    folder, line = tmp_path / "my seeds/seed-1", [*line, "1"]
    result = run(*line, env={**environment, "EPOCHS_DONE": "0"}, check=False)
    assert result.returncode == 1
    error = f"--save-dir '{folder}': no checkpoint<epoch>.pt is there to average"
    assert result.stderr.splitlines()[-1].endswith(error)
    result = run(*line, env=environment)  # the training goes on
    assert "NOT THE RECIPE: the average of 2 epochs instead of 10" in result.stderr
    assert "--num-epoch-checkpoints 2 " in (folder / "average.pt").read_text()


def test_help_is_silent_about_what_is_refused():
    said = run(PREPARE, "-h").stdout
    assert "--dict" not in said and "--recipe" not in said and "--bpe-codes FILE" in said


@pytest.mark.slow
def test_from_the_archive_to_the_bleu_of_seeds(tmp_path):
    out, save_dir = tmp_path / "corpus of mine", tmp_path / "two seeds"
    write_archive(tmp_path)
    prepare = [PREPARE, "--corpora", tmp_path, "--out", out, "--bpe-merges", 100, "--jobs", 1]
    result = run(*prepare, timeout=600)
    assert "sha256" in result.stderr and "train: 105 pairs, others have 160239" in result.stderr
    for lang in ("de", "en"):
        tokenize = line_function(lang, moses=True, split_hyphens=False, lowercase=True)
        kept = [tokenize(line) for line in lines(out / "raw" / f"train.ted.{lang}")]
        del kept[9]  # sentence 7: the German side is three times as long
        assert lines(out / f"split/valid.{lang}") == kept[22::23]
        train = [line for number, line in enumerate(kept, 1) if number % 23]
        assert lines(out / f"split/train.{lang}") == train
    dictionaries = [Dictionary.load(str(out / f"data-bin/dict.{x}.txt")) for x in ("de", "en")]
    assert dictionaries[0] != dictionaries[1]
    assert "data-bin: done before" in run(*prepare, timeout=600).stderr

    options = ["--gpus", 0, "--data", out / "data-bin", "--save-dir", save_dir, "--epochs", 2]
    options += ["--seeds", "1 2", "--max-tokens", 512, "--effective-batch", 512]
    result = run(TRAIN, *options, "--", *SMALL, timeout=600)
    *seeds, mean = result.stdout.splitlines()[-3:]
    scores = [re.fullmatch(r"seed ([12]): BLEU ([0-9.]+)", line).groups() for line in seeds]
    assert [seed for seed, _ in scores] == ["1", "2"]
    average = sum(float(score) for _, score in scores) / 2
    assert re.fullmatch(rf"mean {average:.2f}, standard deviation [0-9.]+", mean)
    assert (save_dir / "seed-2/average.pt").is_file()
    again = run(TRAIN, *options, "--", *SMALL, timeout=600)
    assert again.stdout.splitlines() == [*seeds, mean]
