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
from conftest import PROJECT, TRAINING, run
from fairseq import checkpoint_utils
from fairseq.trainer import Trainer
from training_results import flat, losses

from realformer_fairseq.training import stop_signals
from realformer_fairseq.training.stop_signals import SignalWatch
from realformer_fairseq.training.trainer import RealFormerTrainer

# A --user-dir that sends the signal in the middle of an update.
SENDER = """
import os
import realformer_fairseq
from fairseq.trainer import Trainer

train_step = Trainer.train_step

def step_with_signal(self, *args, **kwargs):
    if self.get_num_updates() + 1 == int(os.environ["STOP_AT"]):
        os.kill(os.getpid(), int(os.environ["STOP_BY"]))
    return train_step(self, *args, **kwargs)

Trainer.train_step = step_with_signal
"""


@pytest.fixture
def train_until(prepared, tmp_path):
    """fairseq-train up to 20 updates that gets a signal in update ``stop_at``."""
    (tmp_path / "sender").mkdir()
    (tmp_path / "sender/__init__.py").write_text(SENDER)

    def train(stop_at, number=signal.SIGTERM):
        return run(
            *["fairseq-train", prepared / "data-bin", "--user-dir", tmp_path / "sender", *TRAINING],
            *["--save-dir", tmp_path / "checkpoints", "--max-update", 20, "--no-epoch-checkpoints"],
            "--disable-validation",
            env={
                **os.environ,
                "PYTHONPATH": str(PROJECT),
                "STOP_AT": str(stop_at),
                "STOP_BY": str(int(number)),
            },
            check=False,
        )

    return train


def test_stopped_and_resumed_equals_uninterrupted(trained, train_until, tmp_path):
    """From update 10, since the last checkpoint is half a file; stopped at 19, in epoch 2."""
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    shutil.copy(trained / "checkpoint_1_10.pt", folder)
    whole = (folder / "checkpoint_1_10.pt").read_bytes()
    (folder / "checkpoint_last.pt").write_bytes(whole[: len(whole) // 2])
    (folder / "checkpoint_2_18.pt.tmp").write_bytes(whole[:100])

    stopped = train_until(19)
    log = stopped.stdout + stopped.stderr
    assert stopped.returncode == 128 + signal.SIGTERM, log[-2000:]
    (line,) = [line for line in log.splitlines() if "going on from" in line]
    assert "checkpoint_last.pt" in line and "truncated" in line and "checkpoint_1_10.pt" in line
    assert (min(losses(log)), max(losses(log))) == (11, 18)  # the 19th is saved before it is logged
    assert "SIGTERM: saved after 19 updates" in log
    assert not list(folder.glob("*.tmp"))

    resumed = train_until(0)
    assert resumed.returncode == 0 and list(losses(resumed.stdout + resumed.stderr)) == [20]
    expected, actual = (
        torch.load(path / "checkpoint_last.pt", weights_only=True) for path in (trained, folder)
    )
    assert actual["extra_state"]["train_iterator"]["epoch"] == 2
    for part in ("model", "last_optimizer_state"):
        one, other = flat(expected[part]), flat(actual[part])
        assert one.keys() == other.keys() and len(one) > 20
        assert [key for key in one if not same(one[key], other[key])] == []


def same(one, other):
    return torch.equal(one, other) if torch.is_tensor(one) else one == other


@pytest.fixture
def watch():
    """The signals of this process, as if a training had started; given back afterwards."""
    heard = []
    before = {
        number: signal.signal(number, lambda got, frame: heard.append(got))
        for number in stop_signals.SIGNALS
    }
    watch = SignalWatch()
    watch.heard = heard
    yield watch
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", stop_signals.SIGNALS)
def test_a_signal_that_comes_twice_at_once_counts_once(watch, number):
    assert watch.received == 0
    for _ in range(2):
        os.kill(os.getpid(), number)
    assert watch.received == number and watch.heard == []


def test_a_later_signal_acts_as_without_us(watch):
    os.kill(os.getpid(), signal.SIGUSR1)
    watch.since -= stop_signals.SAME_SIGNAL + 1
    os.kill(os.getpid(), signal.SIGTERM)
    assert watch.heard == [signal.SIGTERM] and watch.received == signal.SIGUSR1
    os.kill(os.getpid(), signal.SIGUSR1)
    assert watch.heard == [signal.SIGTERM, signal.SIGUSR1]


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


def test_importing_the_plugin_leaves_signals_alone():
    """So that generation, for example, ends at once."""
    assert not any(isinstance(signal.getsignal(n), SignalWatch) for n in stop_signals.SIGNALS)


def test_signals_are_given_back_after_a_training_in_this_process():
    def stop(*_):
        pass

    before = [signal.signal(number, stop) for number in stop_signals.SIGNALS]
    try:
        with pytest.raises(KeyError), stop_signals.signals_given_back():
            SignalWatch()
            raise KeyError
        assert [signal.getsignal(number) for number in stop_signals.SIGNALS] == [stop, stop]
    finally:
        for number, handler in zip(stop_signals.SIGNALS, before):
            signal.signal(number, handler)


@pytest.mark.parametrize(
    "updates, next_epoch, over",
    [(20, 1, True), (21, 1, True), (19, 1, False), (19, 3, True), (19, 2, False)],
)
def test_after_the_last_update_fairseq_ends_by_itself(
    watch, monkeypatch, updates, next_epoch, over
):
    """Else a training would be stopped that is done, and make one update too many afterwards."""
    checkpoint = types.SimpleNamespace(
        write_checkpoints_asynchronously=False, no_save=False, no_last_checkpoints=False
    )
    trainer = object.__new__(RealFormerTrainer)
    iterator = types.SimpleNamespace(next_epoch_idx=next_epoch)
    trainer.__dict__.update(
        _signal_watch=watch,
        _train_iterator=iterator,
        _num_updates=updates,
        is_fsdp=False,
        cfg=types.SimpleNamespace(
            optimization=types.SimpleNamespace(max_update=20, max_epoch=2), checkpoint=checkpoint
        ),
    )
    saved = []
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
        assert saved == [(checkpoint, trainer, iterator, None)]
