"""Options of fairseq-train that cannot work: one line that names the flag, at the start."""

import inspect
import os
import shutil

import numpy as np
import pytest
from conftest import PROJECT, TRAINING, run
from fairseq_mains import COMMON, train

NO_VALIDATION = "--disable-validation"


@pytest.fixture(scope="module")
def data(prepared):
    return prepared / "data-bin"


@pytest.fixture
def refusal(data, trained, tmp_path, capsys):
    """What a training says that cannot start. ``LAST`` stands for a checkpoint of 20 updates."""

    def refusal(*options, data=data):
        options = [trained / "checkpoint_last.pt" if word == "LAST" else word for word in options]
        line = [data, *COMMON, *TRAINING, "--save-dir", tmp_path / "new", "--max-update", 1]
        with pytest.raises(SystemExit) as stop:
            train(*line, *options)
        message = stop.value.code
        return capsys.readouterr().err.splitlines()[-1] if message == 1 else message

    return refusal


@pytest.mark.parametrize(
    "options, words",
    [
        # Validation, of which fairseq would tell after the first epoch.
        # The first one for fairseq's Transformer, which we compare with.
        ("--arch transformer --best-checkpoint-metric bleu", "metric bleu needs --eval-bleu"),
        ("--best-checkpoint-metric accuracy", "accuracy needs --report-accuracy"),
        ("--best-checkpoint-metric lose", "lose: validation computes loss, nll_loss, ppl"),
        ("--eval-bleu --eval-bleu-args {beam:4}", "--eval-bleu-args '{beam:4}': JSON"),
        ('--eval-bleu --eval-bleu-args {"beem":4}', "beem is no option (is beam meant?)"),
        ('--eval-bleu --eval-bleu-args {"beam":"x"}', "beam is a whole number"),
        ('--eval-bleu --eval-bleu-args {"beam":0}', "beam is 1 or more"),
        ("--eval-bleu --eval-bleu-remove-bpe b", "--eval-bleu-remove-bpe b: Unknown"),
        ("--eval-bleu --eval-bleu-args 5", "--eval-bleu-args '5': JSON"),
        ("--eval-bleu --eval-bleu-detok-args {", "--eval-bleu-detok-args '{': JSON"),
        ("--eval-bleu --eval-bleu-detok mosis", "--eval-bleu-detok mosis: choose one of moses"),
        ("--max-tokens 30", "--max-tokens-valid 30: Sentences lengths should not exceed"),
        ("--max-source-positions 12", "--skip-invalid-size-inputs-valid-test"),
        ("--valid-subset dev", "Dataset not found: dev"),
        # Data.
        ("--source-lang de", "--source-lang de: no dict.de.txt in"),
        ("--target-lang de", "(there: dict.en.txt, dict.fr.txt)"),
        ("--train-subset dev", "Dataset not found: dev"),
        ("--max-tokens 3", "--max-tokens 3: The dataset is empty"),
        ("--max-tokens 0", "--max-tokens or --batch-size is needed, above 0"),
        *(
            (f"--dataset-impl {impl}", f"--dataset-impl {impl}: the data is mmap")
            for impl in ("raw", "lazy", "cached", "fasta", "huffman")
        ),
        # What this machine lacks.
        ("--fp16", "--fp16 needs a GPU"),
        ("--tpu", "--tpu needs the package torch_xla"),
        ("--write-checkpoints-asynchronously", "-asynchronously needs the package iopath"),
        ("--ddp-backend fully_sharded", "fully_sharded needs the package fairscale"),
        ("--distributed-world-size 99", "--distributed-world-size 99: there are"),
        (
            "--distributed-world-size 2 --distributed-init-method tcp://localhost:1",
            "--ddp-backend pytorch_ddp needs GPUs for 2 processes; on CPUs choose legacy_ddp",
        ),
        ("--model-parallel-size 2", "--model-parallel-size 2"),
        # Numbers.
        ("--adam-betas (0.9", "--adam-betas (0.9: two numbers from 0 to 1"),
        ("--adam-betas 0.9", "--adam-betas 0.9: two numbers from 0 to 1"),
        ("--adam-betas (0.9,98)", "--adam-betas (0.9,98): two numbers from 0 to 1"),
        ("--update-freq 0", "--update-freq 0: whole numbers above 0"),
        ("--warmup-updates 0", "--warmup-updates 0: --lr-scheduler inverse_sqrt"),
        ("--optimizer-overrides {lr:1}", "--optimizer-overrides {lr:1}: no dictionary"),
        ("--lr-scheduler polynomial_decay", "polynomial_decay needs --total-num-update"),
        # The model.
        ("--dropout 1.5", "--dropout 1.5: 0 to 1 is accepted"),
        ("--lr -1", "--lr -1.0: 0 or more is accepted"),
        ("--lr 1e-3,1e-4", "--lr-scheduler inverse_sqrt: Cannot use a fixed learning rate"),
        ("--encoder-attention-heads 0", "--encoder-attention-heads 0: 1 or more"),
        ("--distributed-world-size 0", "--distributed-world-size 0: 1 or more"),
        ("--log-interval 0", "--log-interval 0: 1 or more"),
        ("--seed -1", "--seed -1: 0 to 4294967295"),
        ("--decoder-output-dim 16", "--decoder-output-dim 16: embeddings that are shared"),
        ("--adaptive-softmax-cutoff 9", "need one another"),
        ("--fp16 --bf16", "Cannot combine --fp16"),
        ("--attention-kernel fused", "--attention-kernel fused needs"),
        ("--encoder-attention-heads 5", "--encoder-attention-heads 5: does not divide"),
        ("--decoder-embed-dim 64", "--share-all-embeddings requires --encoder-embed-dim"),
        ("--encoder-embed-path no/such", "no/such: No such file"),
        ("--encoder-layers-to-keep 0,2", "--encoder-layers-to-keep 0,2: the layers are 0 to 1"),
        ("--criterion nat_loss", "--criterion nat_loss is for another task"),
        # Checkpoints.
        ("--restore-file no/such.pt", "--restore-file no/such.pt: no such file"),
        ("--finetune-from-model no/such.pt", "--finetune-from-model no/such.pt: no such file"),
        ("--continue-once no/such.pt", "--continue-once no/such.pt: no such file"),
        ("--finetune-from-model LAST --restore-file LAST", "cannot be used together"),
        ("--finetune-from-model LAST --reset-meters", "--reset-meters goes without saying"),
        ("--restore-file LAST --optimizer radam", "--optimizer was adam, is radam now"),
        ("--restore-file LAST --bf16", "--bf16 was False, is True now (--reset-optimizer)"),
        ("--restore-file LAST --store-ema", "no moving average (leave out --store-ema)"),
        (
            "--restore-file LAST --reset-optimizer --encoder-layers 1",
            "--encoder-layers was 2, is 1 now",
        ),
        # Paths.
        ("--save-dir a${b}", "--save-dir 'a${b}': fairseq takes ${...}"),
        ("--restore-file ???", "--restore-file '???': fairseq takes"),
        ("--tensorboard-logdir a\\", "--tensorboard-logdir 'a\\': fairseq takes"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(refusal, options, words, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    message = refusal(*options.split(" "))
    assert words in message and len(message.splitlines()) == 1, message
    assert message.startswith("fairseq-train: ")


def test_folders_of_data_that_cannot_be_read(refusal, tmp_path):
    assert "no/such: no such folder" in refusal(data="no/such")
    assert "a colon separates several folders" in refusal(data=tmp_path / "a:b")
    assert "the folder of data 'a${b}'" in refusal(data="a${b}")


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("train.en-fr.en.bin", b"", "train.en-fr.en.bin: damaged, 0 bytes instead of"),
        ("train.en-fr.fr.idx", b"half", "train.en-fr.fr.bin and .idx: not there, or damaged"),
        ("dict.en.txt", b"word\n", "dict.en.txt: no dictionary of fairseq: Incorrect"),
        ("dict.fr.txt", b"word 1\n", "words that are not among the 5 of its dictionary"),
    ],
)
def test_files_of_data_that_are_damaged(refusal, data, tmp_path, name, content, words):
    shutil.copytree(data, tmp_path / "data")
    (tmp_path / "data" / name).write_bytes(content)
    assert words in refusal(data=tmp_path / "data")


@pytest.mark.skipif(
    "interpolation" in inspect.signature(np.percentile).parameters, reason="fairseq's buckets work"
)
def test_buckets_need_another_numpy(refusal):
    words = "--num-batch-buckets 4: fairseq's buckets need numpy below 2.4"
    assert words in refusal("--num-batch-buckets", 4)


def test_two_dictionaries_cannot_share_embeddings(refusal, data, tmp_path):
    shutil.copytree(data, tmp_path / "data")
    with (tmp_path / "data/dict.fr.txt").open("a") as file:
        file.write("another 1\n")
    assert "--share-all-embeddings requires a joined dictionary" in refusal(data=tmp_path / "data")


@pytest.mark.parametrize(
    "options, words",
    [
        ("--patience 2 --disable-validation", "--patience has no effect"),
        ("--keep-best-checkpoints 2 --disable-validation", "--keep-best-checkpoints has no"),
        ("--best-checkpoint-metric ppl --maximize-best-checkpoint-metric", "is the worst"),
        ("--report-accuracy --best-checkpoint-metric accuracy", "is the worst"),
    ],
)
def test_what_has_no_effect_or_the_wrong_one_is_logged(data, tmp_path, caplog, options, words):
    caplog.set_level("WARNING")  # translating in this process leaves another one
    line = [data, *COMMON, *TRAINING, "--save-dir", tmp_path, "--max-update", 1]
    train(*line, "--no-epoch-checkpoints", *options.split())
    assert words in caplog.text and (tmp_path / "checkpoint_last.pt").exists()


@pytest.mark.parametrize("folder", ["a$b/{a}/a'b\"c/50%/a:b/a=b,c/a\\b", "null"])
def test_other_names_of_folders_can_be_trained_into(data, tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    line = [data, *COMMON, *TRAINING, "--save-dir", folder, "--max-update", 1]
    train(*line, NO_VALIDATION, "--no-epoch-checkpoints")
    assert (tmp_path / folder / "checkpoint_last.pt").exists()


def test_fairseq_hydra_train_says_so_without_a_traceback(data, tmp_path):
    line = ["--config-dir", PROJECT / "realformer_fairseq/config", "--config-name", "tiny"]
    line += [f"task.data='{data}'", "checkpoint.best_checkpoint_metric=bleu"]
    line += [f"checkpoint.save_dir={tmp_path / 'new'}", f"hydra.run.dir={tmp_path / 'hydra'}"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": "ignore"}
    result = run("fairseq-hydra-train", *line, check=False, env=environment, cwd=PROJECT)
    assert result.returncode == 1
    words = "fairseq-train: --best-checkpoint-metric bleu needs --eval-bleu"
    assert result.stderr.splitlines()[-1] == words
    assert "Traceback" not in result.stderr + result.stdout
