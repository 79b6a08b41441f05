"""A training that is told to stop, and what it goes on from."""

import os
import shutil
import signal
import subprocess
import sys
import time
import types

import pytest
import torch
from conftest import PROJECT, TRAINING
from fairseq import checkpoint_utils
from fairseq.data.iterators import BufferedIterator
from fairseq.distributed import utils as distributed_utils
from fairseq.tasks.translation import TranslationTask
from fairseq.trainer import Trainer
from fairseq_mains import COMMON, configuration, log_of_training, train
from training_results import assert_same_training, losses

from realformer_fairseq.models.model import RealFormerModel
from realformer_fairseq.training import admin_profile, data_loading, stop_signals
from realformer_fairseq.training import trainer as trainer_module
from realformer_fairseq.training.stop_signals import SignalWatch
from realformer_fairseq.training.trainer import STEPS_WITHOUT_SUMS, RealFormerTrainer


@pytest.fixture
def heard():
    """Signals of this process that reach the handlers it has; those before come back afterwards."""
    heard, numbers = [], stop_signals.SIGNALS
    before = [signal.signal(number, lambda got, _: heard.append(got)) for number in numbers]
    # Importing the plugin has left them alone, so that generation, for example, ends at once.
    assert not any(isinstance(handler, SignalWatch) for handler in before)
    yield heard
    for number, handler in zip(numbers, before):
        signal.signal(number, handler)


@pytest.mark.parametrize("number", stop_signals.SIGNALS)
def test_a_signal_counts_once_and_a_later_one_acts_as_without_us(heard, number):
    watch = SignalWatch()
    assert watch.received == 0
    for _ in range(2):
        os.kill(os.getpid(), number)
    assert watch.received == number and heard == []
    watch.since -= stop_signals.SAME_SIGNAL + 1
    for later in stop_signals.SIGNALS:
        os.kill(os.getpid(), later)
    assert watch.received == number and heard == list(stop_signals.SIGNALS)


def test_signals_are_given_back_after_a_training_in_this_process(heard):
    before = [signal.getsignal(number) for number in stop_signals.SIGNALS]
    with pytest.raises(KeyError), stop_signals.signals_given_back():
        SignalWatch()
        raise KeyError
    assert [signal.getsignal(number) for number in stop_signals.SIGNALS] == before


# A training in two processes that fairseq starts, but without GPUs and without fairseq.
SPAWN = """
import os, signal, sys, time, types
import torch.multiprocessing

def rank(index, folder):
    got = []
    signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))
    open(os.path.join(folder, f"ready{index}"), "w").close()
    while not got:
        time.sleep(0.05)
    open(os.path.join(folder, f"saved{index}"), "w").close()
    sys.exit(128 + got[0])

def main():
    pass

main.__module__ = "fairseq_cli.train"

if __name__ == "__main__":
    from realformer_fairseq.training.stop_signals import forward_to_spawned

    def call_main(cfg, main):
        torch.multiprocessing.spawn(rank, (sys.argv[1],), nprocs=2)

    options = types.SimpleNamespace(distributed_world_size=2, distributed_no_spawn=False)
    model = types.SimpleNamespace(_name="realformer_tiny")
    cfg = types.SimpleNamespace(distributed_training=options, model=model)
    forward_to_spawned(call_main)(cfg, main)
"""


@pytest.mark.slow
def test_a_signal_reaches_the_processes_that_fairseq_starts(tmp_path):
    """The first to end makes torch end the other, which may be later here: see save_and_exit."""
    (tmp_path / "spawn.py").write_text(SPAWN)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    command = [sys.executable, tmp_path / "spawn.py", tmp_path]
    training = subprocess.Popen(command, env=environment)
    try:
        end = time.monotonic() + 200
        while len(list(tmp_path.glob("ready*"))) < 2:
            assert training.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        training.send_signal(signal.SIGUSR1)
        assert training.wait(60) == 128 + signal.SIGUSR1
    finally:
        training.kill()
    assert list(tmp_path.glob("saved*"))


@pytest.mark.parametrize(
    "updates, next_epoch, over", [(20, 1, True), (21, 1, True), (19, 3, True), (19, 2, False)]
)
def test_after_the_last_update_fairseq_ends_by_itself(
    heard, monkeypatch, updates, next_epoch, over
):
    """Else a training would be stopped that is done, and make one update too many afterwards."""
    cfg = configuration("data", *TRAINING, "--max-update", 20, "--max-epoch", 2)
    iterator, saved = types.SimpleNamespace(next_epoch_idx=next_epoch), []
    trainer = object.__new__(RealFormerTrainer)
    trainer.__dict__.update(is_fsdp=False, cfg=cfg, _num_updates=updates)
    trainer.__dict__.update(_signal_watch=SignalWatch(), _train_iterator=iterator)
    monkeypatch.setattr(RealFormerTrainer, "data_parallel_world_size", 1)
    monkeypatch.setattr(Trainer, "train_step", lambda *_: "output")
    monkeypatch.setattr(checkpoint_utils, "save_checkpoint", lambda *a: saved.append(a))
    os.kill(os.getpid(), signal.SIGUSR1)
    if over:
        assert trainer.train_step([]) == "output" and saved == []
    else:
        with pytest.raises(SystemExit) as stop:
            trainer.train_step([])
        assert stop.value.code == 128 + signal.SIGUSR1
        assert saved == [(cfg.checkpoint, trainer, iterator, None)]


def test_with_bmuf_ranks_look_for_signals_now_and_then(heard, monkeypatch):
    cfg = configuration("data", *TRAINING, "--use-bmuf")
    trainer, looks = object.__new__(RealFormerTrainer), []
    trainer.__dict__.update(is_fsdp=False, cfg=cfg, device=torch.device("cpu"), _num_updates=1)
    trainer.__dict__.update(_train_iterator=types.SimpleNamespace(next_epoch_idx=1))

    def other_rank_has_one(received, *_, **__):
        looks.append(1)
        received.fill_(USR1 if len(looks) == 2 else 0)

    monkeypatch.setattr(RealFormerTrainer, "data_parallel_world_size", 2)
    monkeypatch.setattr(RealFormerTrainer, "data_parallel_process_group", None)
    monkeypatch.setattr(Trainer, "train_step", lambda *_: "output")
    monkeypatch.setattr(distributed_utils, "all_reduce", other_rank_has_one)
    monkeypatch.setattr(trainer_module, "save_and_exit", lambda _, number: sys.exit(number))
    for _ in range(2 * STEPS_WITHOUT_SUMS - 1):
        trainer.train_step([])
    assert len(looks) == 1
    with pytest.raises(SystemExit) as stop:
        trainer.train_step([])
    assert stop.value.code == USR1


@pytest.fixture
def training(prepared, tmp_path, heard, caplog, capsys):
    """Four updates of fairseq-train in this process: the exit code, the log, saved updates."""
    folder = tmp_path / "checkpoints"

    def training(*options):
        line = [prepared / "data-bin", *COMMON, *TRAINING, "--save-dir", folder, "--max-update", 4]
        line += ["--no-epoch-checkpoints", "--save-interval-updates", 2, *options]
        with pytest.raises(SystemExit) as stop:
            train(*line)
        updates = None
        if (folder / "checkpoint_last.pt").exists():
            state = torch.load(folder / "checkpoint_last.pt", weights_only=True)
            updates = state["optimizer_history"][-1]["num_updates"]
        return stop.value.code, caplog.text + capsys.readouterr().err, updates

    caplog.set_level("INFO")
    return training


@pytest.fixture
def signals_in(monkeypatch):
    """Send signals to this process just before a function runs for the n-th time."""

    def signals_in(owner, name, *numbers, time=1):
        function, calls = getattr(owner, name), []

        def send_and_call(*args, **kwargs):
            calls.append(1)
            if len(calls) == time:
                for number in numbers:
                    os.kill(os.getpid(), number)
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, send_and_call)

    return signals_in


def test_stopped_and_resumed_equals_uninterrupted(
    trained, training, signals_in, prepared, tmp_path
):
    """From update 10, since the last checkpoint is half a file; stopped at 19, in epoch 2."""
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    shutil.copy(trained / "checkpoint_1_10.pt", folder)
    whole = (folder / "checkpoint_1_10.pt").read_bytes()
    (folder / "checkpoint_last.pt").write_bytes(whole[: len(whole) // 2])
    (folder / "checkpoint_2_18.pt.tmp").write_bytes(whole[:100])

    signals_in(Trainer, "train_step", TERM, time=9)
    options = ["--disable-validation", "--save-interval-updates", 0, "--max-update", 20]
    code, log, updates = training(*options)
    assert (code, updates) == (128 + TERM, 19), log[-2000:]
    (line,) = [line for line in log.splitlines() if "going on from" in line]
    assert "checkpoint_last.pt" in line and "truncated" in line and "checkpoint_1_10.pt" in line
    assert (min(losses(log)), max(losses(log))) == (11, 18)  # the 19th is saved before it is logged
    assert "SIGTERM: saved after 19 updates" in log
    assert not list(folder.glob("*.tmp"))

    options = ["--max-update", 20, "--no-epoch-checkpoints"]
    assert list(losses(log_of_training(prepared / "data-bin", folder, *options))) == [20]
    assert_same_training(trained, folder)
    state = torch.load(folder / "checkpoint_last.pt", weights_only=True)
    assert state["extra_state"]["train_iterator"]["epoch"] == 2


USR1, TERM = signal.SIGUSR1, signal.SIGTERM
ADMIN = ("--sublayer-scaling", "admin", "--disable-validation")


@pytest.mark.parametrize("number", [USR1, TERM])
@pytest.mark.parametrize(
    "owner, name",
    [
        (TranslationTask, "load_dictionary"),
        (RealFormerModel, "build_model"),
        (Trainer, "load_checkpoint"),
        (admin_profile, "profile"),
        (Trainer, "get_train_iterator"),
        (Trainer, "begin_epoch"),
    ],
)
def test_before_the_first_update_it_ends_with_1_and_a_line(
    training, signals_in, owner, name, number
):
    """A launcher often sends two. With 128 + SIGUSR1, our batch script would start it again."""
    signals_in(owner, name, number, number)
    code, log, updates = training(*ADMIN)
    assert code == 1 and updates is None
    assert f"{signal.Signals(number).name}: ended before a checkpoint could be saved" in log


def test_during_a_validation_it_saves_at_once(training, signals_in):
    signals_in(Trainer, "valid_step", USR1)
    code, log, updates = training()
    assert (code, updates) == (128 + USR1, 2) and "SIGUSR1: saved after 2 updates" in log


def test_while_a_checkpoint_is_saved_it_saves_after_the_next_update(training, signals_in):
    signals_in(Trainer, "save_checkpoint", USR1, TERM)
    code, _, updates = training("--disable-validation")
    assert (code, updates) == (128 + USR1, 3)


def test_a_second_signal_does_not_change_how_it_ends(training, signals_in):
    signals_in(Trainer, "train_step", USR1)
    signals_in(Trainer, "save_checkpoint", TERM)
    assert training("--disable-validation")[::2] == (128 + USR1, 1)


def test_a_late_second_signal_ends_it_unsaved(training, signals_in, monkeypatch, tmp_path):
    """While the checkpoint is being written, of which nothing is left then."""
    monkeypatch.setattr(stop_signals, "SAME_SIGNAL", -1.0)
    signals_in(Trainer, "train_step", USR1)
    signals_in(torch, "save", USR1)
    code, log, updates = training("--disable-validation")
    assert code == 1 and updates is None and "ended before a checkpoint" in log
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == [".training.lock"]


@pytest.mark.parametrize("option", ["--no-save", "--no-last-checkpoints"])
def test_where_nothing_is_saved_the_code_is_1(training, signals_in, option):
    signals_in(Trainer, "train_step", USR1)
    code, log, updates = training("--disable-validation", option)
    assert (code, updates) == (1, None) and "not saved after 1 updates" in log


def test_ctrl_c_ends_in_no_traceback(training, signals_in):
    signals_in(Trainer, "load_checkpoint", signal.SIGINT)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # xdist ignores it
    try:
        assert training(*ADMIN)[::2] == (130, None)
    finally:
        signal.signal(signal.SIGINT, before)


def test_threads_that_load_data_end_before_the_process():
    """Else torch aborts the process in one of them: exit code 134 after a training that is done."""
    batches = BufferedIterator(2, [torch.ones(1)] * 100)
    next(batches)
    assert batches._consumer.is_alive()  # it waits for room in the queue
    data_loading.end_threads()
    assert not batches._consumer.is_alive()


def test_a_training_ends_them_at_its_exit(training, signals_in, monkeypatch):
    registered = []
    monkeypatch.setattr(data_loading.atexit, "register", registered.append)
    signals_in(Trainer, "train_step", USR1)
    training("--disable-validation")
    assert data_loading.end_threads in registered
