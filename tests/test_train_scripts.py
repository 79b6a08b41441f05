"""The training scripts: recipes, arithmetic, refusals, and trainings on the CPU."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import time

import pytest
import torch
from conftest import PROJECT, TRAINING, run
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from recipe_scripts import ROWS, SCRIPTS, command
from training_results import losses

from realformer_fairseq.training.plan import plan, updates_an_epoch
from realformer_fairseq.training.save_dir_lock import lock_save_dir
from realformer_runtime.command_line import UserError

# A model and updates for a CPU; after --.
SMALL = """
    --encoder-layers 2 --decoder-layers 2 --encoder-embed-dim 32 --decoder-embed-dim 32
    --encoder-ffn-embed-dim 64 --decoder-ffn-embed-dim 64 --encoder-attention-heads 4
    --decoder-attention-heads 4 --required-batch-size-multiple 1 --log-interval 1 --lr 5e-3
    --warmup-updates 5 --dropout 0 --attention-dropout 0 --activation-dropout 0
""".split()


def value(words, flag):
    assert words.count(flag) == 1, (flag, words)
    return words[words.index(flag) + 1]


@pytest.mark.parametrize("pair, row", ROWS)
def test_the_papers_gpus_give_the_papers_update_freq(pair, row):
    gpus, tokens, update_freq = ROWS[pair, row]
    words, _ = command(pair, "--row", row, "--gpus", gpus)
    assert (value(words, "--max-tokens"), value(words, "--update-freq")) == (
        str(tokens),
        str(update_freq),
    )
    suffix = "" if row == "6-6" else "_" + row.replace("-", "_")
    assert value(words, "--arch") == f"realformer_wmt_{pair}{suffix}"
    assert value(words, "--nproc-per-node") == str(gpus)
    assert words.count("--fp16") == 1
    assert value(words, "--keep-last-epochs") == "25"


@pytest.mark.parametrize("gpus, nodes", [(1, 1), (2, 1), (4, 2), (8, 1), (5, 1), (1, 16)])
@pytest.mark.parametrize("pair, row", [("en_fr", "6-6"), ("en_fr", "60-12"), ("en_de", "18-18")])
def test_tokens_an_update_are_the_same_however_many_gpus(pair, row, gpus, nodes):
    first, tokens, freq = ROWS[pair, row]
    batch = first * tokens * freq
    options = ["--row", row, "--gpus", gpus, "--nodes", nodes, "--master-addr", "first"]
    words, result = command(pair, *options, check=False)
    world = gpus * nodes
    if batch % (world * tokens):
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
        assert f"{batch} tokens an update / ({world} GPUs x {tokens} tokens)" in result.stderr
        fits = re.search(r"try --max-tokens (\d+)", result.stderr)
        if not fits:
            assert batch % world and f"{batch} is no multiple of {world}" in result.stderr
            return
        tokens = int(fits[1])
        words, _ = command(pair, *options, "--max-tokens", tokens)
    assert world * tokens * int(value(words, "--update-freq")) == batch


SHARED = {
    "--optimizer": "radam",
    "--adam-betas": "(0.9, 0.98)",
    "--clip-norm": "0.0",
    "--weight-decay": "0.0",
    "--label-smoothing": "0.1",
    "--warmup-updates": "8000",
}
BASELINE = {"--lr-scheduler": "inverse_sqrt", "--warmup-init-lr": "1e-7", "--stop-min-lr": "1e-9"}
DECAY = {"--lr-scheduler": "polynomial_decay", "--power": "1", "--max-epoch": "50"}


@pytest.mark.parametrize("row", ["6-6", "largest"])
@pytest.mark.parametrize(
    "model, residual, scaling, rates, schedule",
    [
        ("post-ln", "none", "none", ("7e-4", "1e-3"), BASELINE),
        ("pre-ln", "none", "none", ("7e-4", "1e-3"), BASELINE),
        ("admin", "none", "admin", ("7e-4", "1e-3"), BASELINE),
        ("realformer", "mean", "admin", ("1.2e-3", "5e-4"), DECAY),
    ],
)
def test_models_have_the_papers_figures(row, model, residual, scaling, rates, schedule):
    for pair, rate, epochs in zip(SCRIPTS, rates, ("50", "100")):
        chosen = [r for p, r in ROWS if p == pair][-1] if row == "largest" else row
        words, _ = command(pair, "--model", model, "--row", chosen, "--gpus", 4)
        figures = {**SHARED, "--max-epoch": epochs, **schedule, "--lr": rate}
        figures.update({"--residual-attention": residual, "--sublayer-scaling": scaling})
        assert {flag: value(words, flag) for flag in figures} == figures
        assert ("--encoder-normalize-before" in words) == (model == "pre-ln")
        assert ("--decoder-normalize-before" in words) == (model == "pre-ln")
        # With the learning rate 0 that the decay starts from, fairseq would end at once.
        assert ("--stop-min-lr" in words) == (model != "realformer")


@pytest.mark.parametrize(
    "pair, model, expected",
    [
        ("en-fr", "realformer", "25 5 0.8"),
        ("en-fr", "admin", "10 5 0.8"),
        ("en-de", "realformer", "25 4 0.6"),
        ("en-de", "post-ln", "10 4 0.6"),
    ],
)
def test_other_scripts_can_ask_a_recipe_how_to_decode(pair, model, expected):
    ask = 'set -euo pipefail; source "$0"; recipe "$1" 6-6 "$2"; echo "$AVERAGE $BEAM $LENPEN"'
    result = run("bash", "-c", ask, PROJECT / "scripts/lib/recipes.sh", pair, model)
    assert result.stdout.strip() == expected


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--row", "12-12"], ["--row", "'12-12'", "6-6 60-12"]),
        (["--model", "deepnorm"], ["--model", "'deepnorm'", "post-ln pre-ln admin realformer"]),
        (["--gpus", "two"], ["--gpus", "'two'"]),
        (["--gpus", "0", "--precision", "fp16"], ["--precision fp16", "GPU"]),
        (["--precision", "half"], ["--precision", "'half'", "fp16, bf16, fp32, auto"]),
        (["--max-tokens", "0"], ["--max-tokens", "'0'", "whole number above 0"]),
        (["--nodes", "2"], ["--nodes 2", "--master-addr"]),
        (["--nodes", "2", "--node-rank", "2", "--master-addr", "x"], ["--node-rank", "'2'"]),
        (["--gpus", "2", "--cpu-processes", "2"], ["--cpu-processes", "--gpus 0"]),
        (["--row"], ["--row needs a value"]),
        (["--arch", "realformer"], ["'--arch'", "after --"]),
        (["--gpus", "1", "--", "--update-freq", "4"], ["--update-freq", "--effective-batch"]),
        (["--gpus", "1", "--", "--save-dir=x"], ["--save-dir", "before --"]),
        (["--gpus", "1", "--", "--bf16"], ["--bf16", "--precision"]),
        (["--gpus", "1", "--", "--distributed-world-size", "2"], ["--distributed-world-size"]),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(arguments, words):
    _, result = command("en_fr", *arguments, check=False)
    assert result.returncode == 1 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert all(word in result.stderr for word in words), result.stderr


def test_missing_data_is_named(tmp_path):
    result = run(SCRIPTS["en_de"], "--data", tmp_path, "--gpus", 1, check=False)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
    assert f"--data '{tmp_path}': no dict.en.txt there" in result.stderr


@pytest.fixture
def dictionaries(tmp_path):
    """All that a script looks at before it asks fairseq."""
    data = tmp_path / "data-bin"
    data.mkdir()
    for lang in ("en", "fr"):
        (data / f"dict.{lang}.txt").touch()
    return data


def test_a_missing_plugin_is_named(dictionaries, tmp_path):
    shutil.copytree(PROJECT / "scripts", tmp_path / "scripts")
    script = tmp_path / "scripts/train_wmt14_en_fr.sh"
    result = run(script, "--data", dictionaries, "--gpus", 0, check=False)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
    assert f"'{tmp_path}/realformer_fairseq': this project's fairseq plugin" in result.stderr


def test_a_folder_where_another_training_is_at_work_is_refused(dictionaries, tmp_path):
    lock = lock_save_dir(str(tmp_path))
    arguments = ["--data", dictionaries, "--save-dir", tmp_path, "--gpus", 0]
    result = run(SCRIPTS["en_fr"], *arguments, check=False)
    lock.close()
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
    assert f"--save-dir '{tmp_path}': another training" in result.stderr
    assert not (tmp_path / "train.log").exists()


@pytest.mark.parametrize("variable", ["WORLD_SIZE", "SLURM_LOCALID"])
def test_a_script_for_each_process_is_refused(variable):
    """Under torchrun, or srun with a task for each GPU: as many independent trainings."""
    result = run(SCRIPTS["en_fr"], "--dry-run", env={**os.environ, variable: "2"}, check=False)
    assert result.returncode == 1 and "once on a machine" in result.stderr


def test_what_is_not_the_recipe_is_said():
    options = ["--gpus", 1, "--effective-batch", 16000, "--epochs", 3, "--precision", "bf16"]
    words, result = command("en_fr", *options)
    assert result.stderr.count("NOT THE RECIPE") == 2
    assert "16000 tokens an update instead of 640000" in result.stderr
    assert (value(words, "--update-freq"), value(words, "--max-epoch")) == ("2", "3")
    assert words[0] == "fairseq-train" and "--bf16" in words and "--fp16" not in words
    assert value(words, "--distributed-world-size") == "1"


def test_options_after_the_dashes_come_last():
    words, _ = command("en_fr", "--gpus", 1, "--", "--lr", "1e-4", "--total-num-update", 7)
    assert words[-6:-2] == ["--lr", "1e-4", "--total-num-update", "7"]


def configuration(prepared, *further):
    line = [str(word) for word in (prepared / "data-bin", *TRAINING, *further)]
    args = options.parse_args_and_arch(options.get_training_parser(), line)
    return convert_namespace_to_omegaconf(args)


def test_updates_are_counted_as_fairseq_does(prepared, trained):
    log = (trained / "train.log").read_text()
    found = plan(configuration(prepared, "--max-epoch", 7))
    assert found["updates_an_epoch"] == int(re.search(r"total_num_itrs = (\d+)", log)[1])
    assert found["updates"] == 7 * found["updates_an_epoch"]
    model = torch.load(trained / "checkpoint_last.pt", weights_only=True)["model"]
    tensors = {tensor.data_ptr(): tensor.numel() for tensor in model.values()}  # shared ones once
    buffers = [name for name in model if name.endswith(("version", "_float_tensor"))]
    counted = sum(tensors.values()) - sum(model[name].numel() for name in buffers)
    assert found["parameters"] == counted
    size = (trained / "checkpoint_last.pt").stat().st_size
    assert found["checkpoint_bytes"] == 12 * found["parameters"]
    assert 0 < size - found["checkpoint_bytes"] < 250_000  # names, settings, alignment


@pytest.mark.parametrize(
    "batches, gpus, update_freq, updates",
    [(18, 1, 1, 18), (18, 2, 2, 5), (19, 2, 5, 2), (1, 8, 8, 1)],
)
def test_rests_of_an_epoch_are_updates(batches, gpus, update_freq, updates):
    assert updates_an_epoch(batches, gpus, update_freq) == updates


def test_no_plan_without_an_end(prepared):
    with pytest.raises(UserError, match="--max-epoch"):
        plan(configuration(prepared))


def train(prepared, folder, *arguments, further=(), **options):
    return run(
        *[SCRIPTS["en_fr"], "--data", prepared / "data-bin", "--save-dir", folder, "--gpus", 0],
        *["--max-tokens", 300, *arguments, "--", *SMALL, *further],
        **options,
    )


def test_a_training_from_start_to_end(prepared, tmp_path):
    """What it said beforehand is what it did."""
    folder = tmp_path / "my training"
    result = train(prepared, folder, "--effective-batch", 1200, "--epochs", 2)
    updates = int(re.search(r"(\d+) in all", result.stderr)[1])
    found = losses(result.stdout)
    assert max(found) == updates
    assert f"--total-num-update {updates}" in result.stdout
    last = next(line for line in result.stdout.splitlines() if f"num_updates={updates}," in line)
    assert " lr=0," in last
    log = (folder / "train.log").read_text()
    assert losses(log) == found
    names = {path.name for path in folder.iterdir()}
    assert {"checkpoint1.pt", "checkpoint2.pt", "checkpoint_last.pt", "tensorboard"} <= names
    sizes = [path.stat().st_size for path in folder.glob("*.pt")]
    said = float(re.search(r"29 checkpoints x ([\d.]+) GB", result.stderr)[1]) * 1e9
    assert all(abs(size - said) < 250_000 for size in sizes)


@pytest.mark.slow
def test_two_processes_train_like_one(prepared, tmp_path):
    """Same losses and parameters as one process with twice the update-freq."""
    batch = ["--effective-batch", 1200, "--epochs", 1]
    one = train(prepared, tmp_path / "one", *batch)
    two = train(prepared, tmp_path / "two", *batch, "--cpu-processes", 2)
    assert "--update-freq 4" in one.stderr and "--update-freq 2" in two.stderr
    first, second = losses(one.stdout), losses(two.stdout)
    assert len(first) > 2 and second == pytest.approx(first, abs=2e-3)
    states = [
        torch.load(tmp_path / name / "checkpoint_last.pt", weights_only=True)["model"]
        for name in ("one", "two")
    ]
    for name, tensor in states[0].items():
        torch.testing.assert_close(states[1][name], tensor, atol=1e-4, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("processes, number", [(1, signal.SIGTERM), (2, signal.SIGUSR1)])
def test_told_to_stop_the_script_saves_and_goes_on_later(prepared, tmp_path, processes, number):
    """The signal goes to every process, as Slurm does it: launcher, ranks, and log."""
    script = [SCRIPTS["en_fr"], "--data", prepared / "data-bin", "--save-dir", tmp_path]
    script += ["--gpus", 0, "--cpu-processes", processes, "--max-tokens", 300]
    script += ["--effective-batch", 600, "--epochs", 2000, "--", *SMALL]
    log = tmp_path / "train.log"
    for start in (1, 2):
        training = subprocess.Popen([str(word) for word in script], start_new_session=True)
        try:
            goal = f"num_updates={start * 20},"
            wait_for(lambda goal=goal: log.exists() and goal in log.read_text(), training)
            os.killpg(training.pid, number)
            assert training.wait(120) == 128 + number
        finally:
            training.kill()
        wait_for(lambda: "ending with exit code" in log.read_text())
        ends = re.findall(
            r"saved after (\d+) updates, ending with exit code (\d+)", log.read_text()
        )
        assert len(ends) == start and int(ends[-1][1]) == 128 + number
        state = torch.load(tmp_path / "checkpoint_last.pt", weights_only=True)
        assert state["optimizer_history"][-1]["num_updates"] == int(ends[-1][0])
    assert f"@ {ends[0][0]} updates" in log.read_text()


def wait_for(condition, process=None, seconds=240):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end and (process is None or process.poll() is None)
        time.sleep(0.2)


SRUN = """#!/bin/sh
[ "$1" = --kill-on-bad-exit=0 ] && shift
SLURM_NODEID=1 "$@"
exit "$STATUS"
"""
SCONTROL = """#!/bin/sh
echo "scontrol $*" >>"$CALLS"
[ "$1" = show ] && printf 'first\\nsecond\\n'
exit 0
"""


@pytest.mark.parametrize("status, requeued", [(0, False), (1, False), (138, True)])
def test_slurm_starts_the_script_on_each_machine(tmp_path, status, requeued):
    """With stand-ins for srun and scontrol."""
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        "STATUS": str(status),
        "SLURM_JOB_ID": "41007",
        "SLURM_JOB_NODELIST": "n[1-2]",
        "SLURM_JOB_NUM_NODES": "2",
    }
    arguments = ["--row", "60-12", "--gpus", 8, "--dry-run", "--data", "/none", "--", "--seed", 3]
    sbatch = PROJECT / "scripts/slurm/train.sbatch"
    result = run(sbatch, SCRIPTS["en_fr"], *arguments, env=environment, check=False)
    assert result.returncode == status
    words = shlex.split(result.stdout)
    expected = {
        "--nnodes": "2",
        "--node-rank": "1",
        "--master-addr": "first",
        "--update-freq": "16",
    }
    expected["--master-port"] = "21007"
    assert {flag: value(words, flag) for flag in expected} == expected
    assert ("scontrol requeue 41007" in (tmp_path / "calls").read_text()) == requeued
