"""The training scripts: recipes, arithmetic, refusals, and trainings on the CPU."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import fairseq_mains
import pytest
import torch
from conftest import PROJECT, TRAINING, fails, run, wait_for
from recipe_scripts import ROWS, SCRIPTS, command
from torch.distributed.elastic.multiprocessing.api import SignalException
from training_results import losses

from realformer_fairseq.training.plan import checkpoints_kept, plan, updates_an_epoch
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


SHARED = {
    "--optimizer": "radam",
    "--adam-betas": "(0.9, 0.98)",
    "--clip-norm": "0.0",
    "--weight-decay": "0.0",
    "--label-smoothing": "0.1",
    "--warmup-updates": "8000",
    "--keep-last-epochs": "25",
}
INVERSE = {"--lr-scheduler": "inverse_sqrt", "--warmup-init-lr": "1e-7", "--stop-min-lr": "1e-9"}
# With the learning rate 0 that the decay starts from, fairseq would end at once: no --stop-min-lr.
DECAY = {"--lr-scheduler": "polynomial_decay", "--power": "1"}
BASELINE_RATES = {"en_fr": ("7e-4", "50"), "en_de": ("1e-3", "100")}
DECAY_RATES = {"en_fr": ("1.2e-3", "50"), "en_de": ("5e-4", "50")}


@pytest.mark.parametrize("pair, row", ROWS)
@pytest.mark.parametrize(
    "model, residual, scaling, rates, schedule",
    [
        ("post-ln", "none", "none", BASELINE_RATES, INVERSE),
        ("pre-ln", "none", "none", BASELINE_RATES, INVERSE),
        ("admin", "none", "admin", BASELINE_RATES, INVERSE),
        ("realformer", "mean", "admin", DECAY_RATES, DECAY),
        ("realformer-none", "none", "admin", DECAY_RATES, DECAY),
    ],
)
def test_models_have_the_papers_figures(pair, row, model, residual, scaling, rates, schedule):
    gpus, tokens, update_freq = ROWS[pair, row]
    words, _ = command(pair, "--model", model, "--row", row, "--gpus", gpus)
    suffix = "" if row == "6-6" else "_" + row.replace("-", "_")
    figures = {
        **SHARED,
        **schedule,
        **dict(zip(("--lr", "--max-epoch"), rates[pair])),
        "--residual-attention": residual,
        "--sublayer-scaling": scaling,
        "--max-tokens": str(tokens),
        "--update-freq": str(update_freq),
        "--arch": f"realformer_wmt_{pair}{suffix}",
        "--nproc-per-node": str(gpus),
    }
    assert {flag: value(words, flag) for flag in figures} == figures
    switches = {"--encoder-normalize-before", "--decoder-normalize-before", "--stop-min-lr"}
    expected = {word for word in switches if "normalize" in word and model == "pre-ln"}
    assert switches.intersection(words) == expected | (schedule.keys() & switches)
    assert words.count("--fp16") == 1


@pytest.mark.parametrize(
    "pair, row, gpus, nodes, fits",
    [
        ("en_fr", "6-6", 1, 1, True),
        ("en_fr", "6-6", 4, 2, True),
        ("en_fr", "6-6", 3, 1, False),
        ("en_fr", "60-12", 1, 16, True),
        ("en_fr", "60-12", 5, 1, 4000),
        ("en_de", "18-18", 8, 1, 4096),
        ("en_de", "18-18", 1, 16, 2048),
    ],
)
def test_tokens_an_update_are_the_same_however_many_gpus(pair, row, gpus, nodes, fits):
    """Where they cannot be, another --max-tokens is recommended if there is one."""
    first, tokens, freq = ROWS[pair, row]
    batch, world = first * tokens * freq, gpus * nodes
    options = ["--row", row, "--gpus", gpus, "--nodes", nodes, "--master-addr", "first"]
    words, result = command(pair, *options, check=False)
    if fits is not True:
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
        assert f"{batch} tokens an update / ({world} GPUs x {tokens} tokens)" in result.stderr
        if not fits:
            assert f"{batch} is no multiple of {world}" in result.stderr
            return
        tokens = int(re.search(r"try --max-tokens (\d+)", result.stderr)[1])
        assert tokens == fits
        words, _ = command(pair, *options, "--max-tokens", tokens)
    assert world * tokens * int(value(words, "--update-freq")) == batch


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--row", "12-12"], ["--row", "'12-12'", "6-6 60-12"]),
        (["--model", "deepnorm"], ["--model", "'deepnorm'", "post-ln pre-ln admin realformer"]),
        (["--gpus", "0", "--precision", "fp16"], ["--precision fp16", "GPU"]),
        (["--precision", "half"], ["--precision", "'half'", "fp16, bf16, fp32, auto"]),
        (["--nodes", "2"], ["--nodes 2", "--master-addr"]),
        (["--nodes", "2", "--node-rank", "2", "--master-addr", "x"], ["--node-rank", "'2'"]),
        (["--gpus", "2", "--cpu-processes", "2"], ["--cpu-processes", "--gpus 0"]),
        (["--arch", "realformer"], ["'--arch'", "after --"]),
        (["--gpus", "1", "--", "--update-freq", "4"], ["--update-freq", "--effective-batch"]),
        (["--gpus", "1", "--gpus", "2"], ["--gpus is given twice"]),
        (["--gpus", "1", "--", "--save-dir=x"], ["--save-dir", "before --"]),
        (["--gpus", "1", "--", "--bf16"], ["--bf16", "--precision"]),
        (["--gpus", "1", "--", "--distributed-world-size", "2"], ["--distributed-world-size"]),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(arguments, words):
    error = fails(SCRIPTS["en_fr"], "--dry-run", "--data", "/no/such", *arguments)
    assert all(word in error for word in words), error


@pytest.mark.parametrize("variable", ["WORLD_SIZE", "SLURM_LOCALID"])
def test_a_script_for_each_process_is_refused(variable):
    """Under torchrun, or srun with a task for each GPU: as many independent trainings."""
    error = fails(SCRIPTS["en_fr"], "--dry-run", env={**os.environ, variable: "2"})
    assert "once on a machine" in error


def test_what_is_not_there_or_in_use_is_named_before_anything_is_done(tmp_path):
    data, script = tmp_path / "data-bin", shutil.copytree(PROJECT / "scripts", tmp_path / "scripts")
    script /= "train_wmt14_en_fr.sh"
    arguments = ["--data", data, "--save-dir", tmp_path, "--gpus", 0]
    assert f"--data '{data}': no dict.en.txt there" in fails(script, *arguments)
    data.mkdir()
    for lang in ("en", "fr"):
        (data / f"dict.{lang}.txt").touch()
    plugin = f"'{tmp_path}/realformer_fairseq': this project's fairseq plugin"
    assert plugin in fails(script, *arguments)
    with lock_save_dir(str(tmp_path)):
        env = {**os.environ, "LOCK_PATIENCE": "0.1"}
        error = fails(SCRIPTS["en_fr"], *arguments, env=env)
    assert f"--save-dir '{tmp_path}': another training" in error
    assert not (tmp_path / "train.log").exists()


def test_what_is_not_the_recipe_is_said():
    """Options after the dashes come last; another schedule replaces the recipe's."""
    options = ["--gpus", 1, "--effective-batch", 16000, "--epochs", 3, "--precision", "bf16"]
    options += ["--model", "admin", "--", "--lr", "1e-4", "--lr-scheduler=polynomial_decay"]
    words, result = command("en_fr", *options)
    replaced = "16000 tokens an update", "3 epochs", "--lr-scheduler polynomial_decay", "--lr 1e-4"
    for said in replaced:
        assert f"NOT THE RECIPE: {said} instead of" in result.stderr
    assert (value(words, "--update-freq"), value(words, "--max-epoch")) == ("2", "3")
    assert words[0] == "fairseq-train" and "--bf16" in words and "--fp16" not in words
    end = ["--total-num-update", "COUNTED_FROM_THE_DATA", *options[-3:]]
    assert words[-7:] == [*end, "--distributed-world-size", "1"]
    assert "--warmup-init-lr" not in words
    assert result.stderr.count("NOT THE RECIPE") == 4


def configuration(prepared, *further):
    return fairseq_mains.configuration(prepared / "data-bin", *TRAINING, *further)


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

    for flag in ("--fp16", "--bf16", "--memory-efficient-fp16", "--memory-efficient-bf16"):
        cfg = configuration(prepared, "--max-epoch", 7, flag)
        cfg.common.tpu = cfg.common.bf16  # which is what fairseq itself makes of it
        assert plan(cfg) == found, flag
    found = plan(configuration(prepared, "--max-epoch", 7, "--max-update", 5))
    assert found["updates"] == 5
    with pytest.raises(UserError, match="--max-epoch"):
        plan(configuration(prepared))


@pytest.mark.parametrize(
    "options, kept",
    [
        ("", 3 + 7),
        ("--keep-last-epochs 25", 3 + 7),
        ("--keep-last-epochs 5", 3 + 6),
        ("--no-epoch-checkpoints", 3),
        ("--no-epoch-checkpoints --save-interval-updates 10", 3 + 4),
        ("--no-epoch-checkpoints --save-interval-updates 10 --keep-interval-updates 2", 3 + 3),
        ("--no-epoch-checkpoints --keep-best-checkpoints 4", 3 + 4),
    ],
)
def test_the_disk_is_counted_with_what_the_options_keep(options, kept):
    cfg = fairseq_mains.configuration("data", *TRAINING, *options.split())
    assert checkpoints_kept(cfg, epochs=7, updates=40) == kept


@pytest.mark.parametrize(
    "batches, gpus, update_freq, updates, without_rest",
    [(18, 1, 1, 18, 17), (18, 2, 2, 5, 4), (19, 2, 5, 2, 1), (1, 8, 8, 1, 0)],
)
def test_rests_of_an_epoch_are_updates(batches, gpus, update_freq, updates, without_rest):
    assert updates_an_epoch(batches, gpus, update_freq) == updates
    assert updates_an_epoch(batches, gpus, update_freq, without_rest=True) == without_rest


def train_command(prepared, folder, *arguments):
    """A training of 0.05 million parameters, with 300 tokens on each process."""
    command = [SCRIPTS["en_fr"], "--data", prepared / "data-bin", "--save-dir", folder]
    return [*command, "--gpus", 0, "--max-tokens", 300, *arguments, "--", *SMALL]


def test_a_training_from_start_to_end(prepared, tmp_path):
    """With two processes. What it said beforehand is what it did."""
    folder = tmp_path / "my training"
    options = ["--effective-batch", 1200, "--epochs", 2, "--precision", "bf16"]
    options += ["--cpu-processes", 2]
    result = run(*train_command(prepared, folder, *options), timeout=600)
    updates = int(re.search(r"(\d+) in all", result.stderr)[1])
    found = losses(result.stdout)
    assert max(found) == updates
    assert f"--total-num-update {updates}" in result.stdout
    last = next(line for line in result.stdout.splitlines() if f"num_updates={updates}," in line)
    assert " lr=0," in last
    assert losses((folder / "train.log").read_text()) == found
    names = {path.name for path in folder.iterdir()}
    assert {"checkpoint1.pt", "checkpoint2.pt", "checkpoint_last.pt", "tensorboard"} <= names
    said = float(re.search(r"5 checkpoints x ([\d.]+) GB", result.stderr)[1]) * 1e9
    assert all(abs(path.stat().st_size - said) < 250_000 for path in folder.glob("*.pt"))


def test_more_gpus_than_there_are_are_refused(prepared, tmp_path):
    there = torch.cuda.device_count()
    line = [SCRIPTS["en_fr"], "--data", prepared / "data-bin", "--save-dir", tmp_path / "x"]
    line += ["--gpus", there + 1]
    assert f"--gpus {there + 1}: there are {there} here" in fails(*line)


@pytest.mark.slow
@pytest.mark.parametrize("processes, number", [(1, signal.SIGTERM), (2, signal.SIGUSR1)])
def test_told_to_stop_the_script_saves_and_goes_on_later(prepared, tmp_path, processes, number):
    """The signal goes to every process, as Slurm does it: launcher, ranks, and log."""
    options = ["--cpu-processes", processes, "--effective-batch", 600, "--epochs", 2000]
    command = [str(word) for word in train_command(prepared, tmp_path, *options)]

    def logged(pattern):
        log = tmp_path / "train.log"
        return re.findall(pattern, log.read_text()) if log.exists() else []

    for start in (1, 2):
        training = subprocess.Popen(command, start_new_session=True)
        try:
            wait_for(lambda start=start: logged(f"num_updates={start * 20},"), training)
            os.killpg(training.pid, number)
            assert training.wait(120) == 128 + number
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(training.pid, signal.SIGKILL)
            training.wait()
        ends = wait_for(lambda start=start: logged(SAVED)[start - 1 :])
        assert len(ends) == 1 and int(ends[0][1]) == 128 + number
        state = torch.load(tmp_path / "checkpoint_last.pt", weights_only=True)
        assert state["optimizer_history"][-1]["num_updates"] == int(ends[0][0])
    assert logged(f"@ {logged(SAVED)[0][0]} updates")


SAVED = r"saved after (\d+) updates, ending with exit code (\d+)"


def test_a_signal_before_the_training_ends_the_script_with_1(prepared, tmp_path):
    """While updates are counted; with 128 + SIGUSR1 a batch system would start it for ever."""
    batch = ["--effective-batch", 600]
    command = [str(word) for word in train_command(prepared, tmp_path / "new", *batch)]
    said = tmp_path / "said"
    with said.open("w") as log:
        process = subprocess.Popen(command, stderr=log, start_new_session=True)
    try:
        wait_for(lambda: "tokens an update = " in said.read_text(), process)
        os.killpg(process.pid, signal.SIGUSR1)
        assert process.wait(60) == 1, said.read_text()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    message = said.read_text().splitlines()[-1]
    assert message == "train_wmt14_en_fr.sh: SIGUSR1: ended before the training has started"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "number, saves, code",
    [
        (signal.SIGUSR1, True, 138),
        (signal.SIGUSR1, False, 1),
        (signal.SIGTERM, False, 1),
        (signal.SIGINT, False, 130),
    ],
)
def test_the_launcher_ends_with_1_where_nothing_was_saved(
    tmp_path, monkeypatch, number, saves, code
):
    monkeypatch.syspath_prepend(PROJECT / "scripts/lib")
    import torchrun_launcher

    def stop(arguments):
        if saves:
            (tmp_path / "checkpoint_last.pt").touch()
        raise SignalException("stopped", number)

    monkeypatch.setattr("torch.distributed.run.main", stop)
    for name in ("TORCHELASTIC_SIGNALS_TO_HANDLE", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"):
        monkeypatch.setenv(name, "")  # it sets them, and monkeypatch what they were
    words = ["--standalone", "fairseq-train", "data", "--save-dir", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["launcher", *words])
    with pytest.raises(SystemExit) as ended:
        torchrun_launcher.run_main(torchrun_launcher.main)
    said = f"launcher: {number.name}: ended before a checkpoint could be saved"  # with code 1
    assert ended.value.code == (said if code == 1 else code)


SRUN = """#!/bin/sh
[ "$1" = --kill-on-bad-exit=0 ] && shift
echo "cores $SRUN_CPUS_PER_TASK" >&2
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
        "SLURM_CPUS_PER_TASK": "32",
    }
    arguments = ["--row", "60-12", "--gpus", 8, "--dry-run", "--data", "/none", "--", "--seed", 3]
    sbatch = PROJECT / "scripts/slurm/train.sbatch"
    result = run(sbatch, SCRIPTS["en_fr"], *arguments, env=environment, check=False)
    assert result.returncode == status and "cores 32" in result.stderr
    words = shlex.split(result.stdout)
    flags = ["--nnodes", "--node-rank", "--master-addr", "--update-freq", "--master-port"]
    assert [value(words, flag) for flag in flags] == ["2", "1", "first", "16", "21007"]
    assert ("scontrol requeue 41007" in (tmp_path / "calls").read_text()) == requeued
