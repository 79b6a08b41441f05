"""Trainings of several processes: one profile, one signal, resumed, with the result of one."""

import signal

import pytest
import torch
from conftest import TRAINING
from fairseq_mains import log_of_training
from ranks import of_ranks, train_each
from training_results import losses

OPTIONS = """
    --sublayer-scaling admin --admin-profile-tokens 200 --dropout 0 --attention-dropout 0
    --max-update 6 --no-epoch-checkpoints --disable-validation
""".split()
# A --user-dir that keeps what each rank starts with, and sends one rank a signal.
SPY = """
import os
import signal
import torch
from realformer_fairseq.training.trainer import RealFormerTrainer

load_checkpoint, train_step = RealFormerTrainer.load_checkpoint, RealFormerTrainer.train_step

def load_and_keep(self, *args, **kwargs):
    result = load_checkpoint(self, *args, **kwargs)
    torch.save(self._model.state_dict(), os.environ["SPY"] + f"/rank{self.data_parallel_rank}.pt")
    return result

def step_with_signal(self, *args, **kwargs):
    at = [self.data_parallel_rank, self.get_num_updates() + 1]
    if at == [1, int(os.environ["STOP_AT"])]:
        os.kill(os.getpid(), signal.SIGUSR1)
    return train_step(self, *args, **kwargs)

RealFormerTrainer.load_checkpoint = load_and_keep
RealFormerTrainer.train_step = step_with_signal
"""


def assert_same_models(folder, other):
    """Two trainings of equal batches end with models that differ by rounding."""
    one, other = (
        torch.load(each / "checkpoint_last.pt", weights_only=True)["model"]
        for each in (folder, other)
    )
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], rtol=1e-3, atol=1e-5, msg=name)


@pytest.fixture
def train_two(prepared, tmp_path):
    """Both ranks of a training, in which rank 1 gets SIGUSR1 in one update; codes and logs."""
    (tmp_path / "spy_on_ranks").mkdir()
    (tmp_path / "spy_on_ranks/__init__.py").write_text(SPY)

    def train(stop_at, *options):
        line = [prepared / "data-bin", *TRAINING, *OPTIONS, *options]
        line += ["--user-dir", tmp_path / "spy_on_ranks", "--save-dir", tmp_path / "checkpoints"]
        lines = [[*line, *own] for own in of_ranks(2)]
        logs = [tmp_path / "log0", tmp_path / "log1"]
        codes = train_each(lines, logs, SPY=str(tmp_path), STOP_AT=str(stop_at))
        return codes, logs[0].read_text()

    return train


def test_two_processes_stop_together_go_on_and_end_like_one(prepared, train_two, tmp_path):
    codes, log = train_two(stop_at=4)
    assert codes == [128 + signal.SIGUSR1] * 2, log
    assert "SIGUSR1: saved after 4 updates" in log
    one, other = (torch.load(tmp_path / f"rank{rank}.pt") for rank in (0, 1))
    assert one.keys() == other.keys() and any(name.endswith("omega") for name in one)
    assert all(torch.equal(one[name], other[name]) for name in one)

    codes, log = train_two(stop_at=0)
    assert codes == [0, 0], log
    assert list(losses(log)) == [5, 6] and "ADMIN profile" not in log

    log_of_training(prepared / "data-bin", tmp_path / "single", *OPTIONS, *["--update-freq", 2])
    assert_same_models(tmp_path / "checkpoints", tmp_path / "single")


@pytest.mark.parametrize(
    "options, words",
    [
        (("--restore-file", "no/such.pt"), "--restore-file no/such.pt: no such file"),
        (("--update-freq", 0), "--update-freq 0: whole numbers above 0"),
        (("--encoder-attention-heads", 5), "--encoder-attention-heads 5: does not divide"),
    ],
)
def test_what_cannot_work_ends_all_and_the_first_says_why(train_two, tmp_path, options, words):
    codes, log = train_two(0, *options)
    assert codes == [1, 1] and "Traceback" not in log
    assert log.splitlines()[-1].startswith("fairseq-train: ") and words in log.splitlines()[-1]
    assert "fairseq-train: " not in (tmp_path / "log1").read_text()
