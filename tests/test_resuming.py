"""Damaged checkpoints, other models and dictionaries, full disks, two trainings in one folder."""

import os
import shutil
from pathlib import Path

import pytest
import torch
from conftest import PROJECT, TRAINING, run
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager
from fairseq.trainer import Trainer
from fairseq_mains import make_trainer

from realformer_fairseq.training import checkpoint_saving, resuming
from realformer_fairseq.training.affected_models import our_trainer_at_work
from realformer_fairseq.training.resume_choice import choose_checkpoint
from realformer_fairseq.training.save_dir_lock import lock_save_dir
from realformer_runtime.command_line import UserError


@pytest.fixture
def folder(trained, tmp_path):
    """Checkpoints of 10 and 20 updates, and of 20 as the last."""
    for path in trained.glob("*.pt"):
        shutil.copy(path, tmp_path)
    return tmp_path


def damage(path, how):
    content = bytearray(path.read_bytes())
    if how == "middle":  # inside a tensor: the file's directory of records stays as it is
        middle = len(content) // 2
        content[middle : middle + 4] = bytes(255 - byte for byte in content[middle : middle + 4])
    path.write_bytes(content if how == "middle" else content[: int(how * len(content))])


def choose(folder, name="checkpoint_last.pt"):
    """The name of the checkpoint that a training goes on from, and the warning."""
    path, warning = choose_checkpoint(str(folder / name), str(folder))
    return os.path.relpath(path, folder), warning


@pytest.mark.parametrize("how", [0, 0.01, 0.5, 0.999, "middle"])
def test_the_newest_whole_checkpoint_takes_the_place_of_a_damaged_one(folder, how):
    last, newest, oldest = "checkpoint_last.pt", "checkpoint_2_20.pt", "checkpoint_1_10.pt"
    assert choose(folder) == (last, "")
    os.utime(folder / newest, (1, 1))  # the number of updates counts, not the time
    damage(folder / last, how)
    path, warning = choose(folder)
    assert path == newest and last in warning and str(folder / newest) in warning
    damage(folder / newest, how)
    assert choose(folder)[0] == oldest
    with pytest.raises(UserError, match=newest):  # as --restore-file
        choose(folder, newest)
    damage(folder / oldest, how)
    with pytest.raises(UserError, match="no whole checkpoint"):
        choose(folder)


def test_without_a_last_checkpoint_another_that_has_an_optimizer_state_is_taken(folder):
    (folder / "checkpoint_last.pt").unlink()
    path, warning = choose(folder)
    assert path == "checkpoint_2_20.pt" and "not there" in warning
    for name in ("checkpoint_1_10.pt", "checkpoint_2_20.pt"):
        state = torch.load(folder / name, weights_only=True)
        del state["last_optimizer_state"]
        torch.save(state, folder / name)  # as an average is
    assert choose(folder) == ("checkpoint_last.pt", "")  # a fresh start
    (folder / "empty").mkdir()
    assert choose(folder / "empty") == ("checkpoint_last.pt", "")


@pytest.fixture
def load(folder, prepared):
    """Load the last checkpoint of ``folder`` into a training, or get the error message."""

    def load(*further, data=prepared / "data-bin", reset_optimizer=False):
        trainer = make_trainer(data, *TRAINING, "--save-dir", folder, *further)
        try:
            return trainer.load_checkpoint(str(folder / "checkpoint_last.pt"), reset_optimizer)
        except SystemExit as stop:
            return stop.code
        finally:
            if getattr(trainer, "_save_dir_lock", None) is not None:
                trainer._save_dir_lock.close()

    return load


@pytest.mark.parametrize(
    "further, words",
    [
        (["--encoder-layers", 3], ["--encoder-layers was 2, is 3 now"]),
        (["--residual-attention", "sum"], ["--residual-attention was mean, is sum now"]),
        (
            ["--arch", "transformer", "--decoder-normalize-before"],
            [
                "--arch was realformer_tiny, is transformer now",
                "--residual-attention was mean, is none now",
                "--decoder-normalize-before was False, is True now",
            ],
        ),
    ],
)
def test_another_model_is_named(load, further, words):
    message = load(*further)
    assert "checkpoint_last.pt" in message and len(message.splitlines()) == 1
    assert all(word in message for word in words), message


def test_a_fine_tuning_may_change_what_is_done_with_the_parameters(load):
    assert load()["train_iterator"]["epoch"] == 2
    assert load("--residual-attention", "none", reset_optimizer=True)["train_iterator"]
    message = load("--encoder-ffn-embed-dim", 32, reset_optimizer=True)
    assert "encoder.layers.0.fc1.weight has shape [64, 32], [32, 32] now" in message


def test_parameters_that_only_some_versions_of_fairseq_have_are_no_difference(load, folder):
    state = torch.load(folder / "checkpoint_last.pt", weights_only=True)
    for side in ("encoder", "decoder"):
        state["model"][f"{side}.embed_positions._float_tensor"] = torch.zeros(1)
        state["model"].pop(f"{side}.version", None)
    state["model"]["encoder.layers.0.in_proj_weight"] = torch.zeros(96, 32)
    torch.save(state, folder / "checkpoint_last.pt")
    assert load(reset_optimizer=True)["train_iterator"]
    state["model"]["encoder.layers.0.fc3.weight"] = torch.zeros(1)
    del state["model"]["decoder.layers.1.fc1.weight"]
    torch.save(state, folder / "checkpoint_last.pt")
    message = load(reset_optimizer=True)
    assert "it lacks decoder.layers.1.fc1.weight" in message
    assert "its encoder.layers.0.fc3.weight has no place" in message


def test_both_sizes_of_unequal_dictionaries_are_named(load, prepared, tmp_path):
    data = tmp_path / "other data"
    shutil.copytree(prepared / "data-bin", data)
    for lang in ("en", "fr"):
        with (data / f"dict.{lang}.txt").open("a") as file:
            file.writelines(f"further{number} 1\n" for number in range(8))
    size = len((prepared / "data-bin/dict.en.txt").read_text().splitlines()) + 4
    message = f"source dictionary has {size} entries, that of the data-bin {size + 8}"
    assert message in load(data=data)


def test_one_training_at_a_time_uses_a_folder(load, folder, monkeypatch):
    monkeypatch.setattr(resuming, "lock_save_dir", lambda path: lock_save_dir(path, patience=0.3))
    lock = lock_save_dir(str(folder))
    assert f"--save-dir {folder}: another training" in load()
    lock.close()
    assert load()["train_iterator"]


def test_a_second_try_to_save_starts_again(tmp_path):
    """fairseq's own goes on behind what the first try has written."""
    tries = []

    def write(temporary):
        with open(temporary, "a") as file:
            file.write("content")
        tries.append(temporary)
        if len(tries) == 1:
            raise OSError("a network drive that has hiccups")

    path = tmp_path / "checkpoint.pt"
    path.symlink_to("elsewhere")  # is replaced, not followed
    checkpoint_saving.write_whole(write, str(path))
    assert path.read_text() == "content" and len(tries) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_failed_copy_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_saving, "SECONDS_BETWEEN", 0)

    def half(source, target):
        Path(target).write_text(Path(source).read_text()[:3])
        raise OSError(28, "No space left on device")

    (tmp_path / "checkpoint1.pt").write_text("new content")
    (tmp_path / "checkpoint_last.pt").write_text("old content")
    monkeypatch.setattr(checkpoint_saving.shutil, "copyfile", half)
    expected = pytest.raises(checkpoint_saving.CheckpointNotSaved, match="No space left on device")
    with our_trainer_at_work(), expected:
        PathManager.copy(
            str(tmp_path / "checkpoint1.pt"), str(tmp_path / "checkpoint_last.pt"), overwrite=True
        )
    assert (tmp_path / "checkpoint_last.pt").read_text() == "old content"
    assert len(list(tmp_path.iterdir())) == 2


def test_bf16_trains_on_any_device(prepared, folder):
    """Two updates of fairseq's trainer, of which fairseq alone says that it needs a TPU."""
    line = [prepared / "data-bin", *TRAINING, "--save-dir", folder / "new", "--bf16"]
    trainer = make_trainer(*line)
    cfg, model = trainer.cfg, trainer.get_model()
    assert cfg.common.bf16 and not cfg.common.tpu
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    _, iterator = checkpoint_utils.load_checkpoint(cfg.checkpoint, trainer)
    batches = iterator.next_epoch_itr(shuffle=True)
    before = trainer.optimizer.fp32_params[0].clone()
    step = Trainer.train_step  # ours would take over the signals of this process
    found = [step(trainer, [next(batches)])["loss"] for _ in range(2)]
    assert all(0 < loss < 20 for loss in found)
    assert not torch.equal(trainer.optimizer.fp32_params[0], before)
    assert trainer.optimizer.fp32_params[0].dtype == torch.float32


FULL_DISK = """
mount -t tmpfs -o size="$SIZE" none "$SAVE_DIR" || exit 99
"$@"
status=$?
ls "$SAVE_DIR" >"$KEPT/names"
cp "$SAVE_DIR/checkpoint_last.pt" "$KEPT"
exit $status
"""


@pytest.mark.slow
def test_a_full_disk_loses_no_older_checkpoint(prepared, trained, tmp_path):
    """On a disk with room for three and a half checkpoints: two after 2 updates, and one more."""
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir(), kept.mkdir()
    mount = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", disk]
    if not shutil.which("unshare") or run(*mount, check=False).returncode:
        pytest.skip("no right to mount a small disk")
    size = 3.5 * (trained / "checkpoint_last.pt").stat().st_size
    environment = {"SAVE_DIR": str(disk), "KEPT": str(kept), "SIZE": f"{size / 1024:.0f}k"}
    result = run(
        *["unshare", "-rm", "bash", "-c", FULL_DISK, "bash", "fairseq-train"],
        *[prepared / "data-bin", "--user-dir", PROJECT / "realformer_fairseq", *TRAINING],
        *["--save-dir", disk, "--disable-validation", "--max-update", 8, "--no-epoch-checkpoints"],
        *["--save-interval-updates", 2],
        env={**os.environ, **environment},
        check=False,
    )
    assert result.returncode == 1, result.stderr[-2000:]
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"fairseq-train: {disk}/checkpoint_") and "No space left" in last
    names = (kept / "names").read_text().split()
    assert "checkpoint_1_2.pt" in names and not [name for name in names if name.endswith("tmp")]
    state = torch.load(kept / "checkpoint_last.pt", weights_only=True)
    assert state["optimizer_history"][-1]["num_updates"] in (2, 4)


@pytest.mark.slow
def test_plain_torchrun_cannot_start_two_trainings_in_one_folder(prepared, tmp_path):
    """On CPUs fairseq makes nothing of torchrun's variables. Run with `scripts/test.sh -m slow`."""
    command = ["torchrun", "--standalone", "--nproc-per-node", 2, "--no-python", "fairseq-train"]
    command += [prepared / "data-bin", "--user-dir", PROJECT / "realformer_fairseq", *TRAINING]
    command += ["--save-dir", tmp_path, "--disable-validation", "--max-update", 100000]
    result = run(*command, check=False)
    assert result.returncode != 0
    assert "another training is at work there" in result.stderr + result.stdout
