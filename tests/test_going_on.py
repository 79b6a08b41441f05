"""The same command again: a requeued fine-tuning goes on, and what it names must be there."""

import shutil
import types

import pytest
import torch
from commands import error_of
from conftest import TRAINING
from fairseq_mains import COMMON, generate_each, log_of_training, train
from training_results import assert_same_training, losses

from realformer_checkpoints import averaging
from realformer_fairseq.training.restore_file import LAST, RESETS, changed_settings
from realformer_runtime.command_line import UserError

ALL_RESETS = tuple("--" + name.replace("_", "-") for name in RESETS)


@pytest.fixture
def fine_tune(prepared, trained, tmp_path):
    """Start from a checkpoint of 20 updates, or go on; the log."""

    def fine_tune(updates, *options, folder=tmp_path / "tuned", base=trained / LAST):
        line = ["--restore-file", base, "--save-interval-updates", 2, "--no-epoch-checkpoints"]
        line += ["--max-update", updates, *options]
        return log_of_training(prepared / "data-bin", folder, *line)

    return fine_tune


def test_less_than_an_update_that_is_left_of_an_epoch_is_left_out(fine_tune):
    """After a change of --update-freq or of the number of GPUs."""
    fine_tune(3, *ALL_RESETS)
    assert list(losses(fine_tune(4, "--update-freq", 1000))) == [4]


def test_a_training_that_is_no_longer_finite_ends_in_one_line(fine_tune):
    with pytest.raises(SystemExit, match="after [0-9]+ updates: gradients are Nan/Inf .see crash"):
        fine_tune(8, "--reset-optimizer", "--lr", 1e30)


@pytest.mark.parametrize("resets", [("--reset-optimizer",), ALL_RESETS], ids=" ".join)
def test_a_requeued_fine_tuning_equals_an_uninterrupted_one(fine_tune, tmp_path, resets):
    fine_tune(6, *resets, folder=tmp_path / "whole")
    assert "going on from" not in fine_tune(3, *resets)
    log = fine_tune(6, *resets)
    assert list(losses(log)) == [4, 5, 6]
    assert f"going on from {LAST} of --save-dir {tmp_path / 'tuned'}, not from" in log
    assert_same_training(tmp_path / "whole", tmp_path / "tuned")


def test_a_training_that_is_done_is_left_as_it_is(fine_tune, tmp_path):
    """fairseq would make one update more, and save it."""
    fine_tune(3, *ALL_RESETS)
    before = (tmp_path / "tuned" / LAST).read_bytes()
    log = fine_tune(3, *ALL_RESETS)
    assert "nothing to train: after 3 updates --max-update 3 is reached" in log
    assert losses(log) == {}
    assert (tmp_path / "tuned" / LAST).read_bytes() == before


def test_a_damaged_last_checkpoint_is_replaced_by_one_of_this_folder(fine_tune, tmp_path, trained):
    fine_tune(3, "--reset-optimizer")
    last = tmp_path / "tuned" / LAST
    last.write_bytes(last.read_bytes()[:5000])
    log = fine_tune(4, "--reset-optimizer")
    assert "checkpoint_2_2.pt" in log and list(losses(log)) == [3, 4]
    for path in (tmp_path / "tuned").glob("*.pt"):
        path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(SystemExit, match="no whole checkpoint"):
        fine_tune(4, "--reset-optimizer")
    last.unlink()  # the way to start from --restore-file again, as the log says
    assert list(losses(fine_tune(1, "--reset-optimizer"))) == [1]


def test_a_last_checkpoint_of_another_model_is_refused(fine_tune, tmp_path, trained):
    (tmp_path / "tuned").mkdir()
    shutil.copy(trained / LAST, tmp_path / "tuned")
    state = (tmp_path / "tuned" / LAST).read_bytes()
    with pytest.raises(SystemExit, match="another model: --encoder-layers was 2, is 1 now"):
        fine_tune(1, "--reset-optimizer", "--encoder-layers", 1)
    assert (tmp_path / "tuned" / LAST).read_bytes() == state


def settings(folder, restore_file, finetune=None, suffix=""):
    cfg = types.SimpleNamespace(save_dir=str(folder), restore_file=str(restore_file))
    cfg.finetune_from_model = finetune
    return changed_settings(cfg, types.SimpleNamespace(checkpoint_suffix=suffix))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A --save-dir with a last checkpoint, and one to start from beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "save").mkdir()
    for path in ("base.pt", "save/checkpoint_last.pt", "save/checkpoint_best.pt"):
        (tmp_path / path).touch()
    (tmp_path / "link.pt").symlink_to("save/checkpoint_last.pt")
    (tmp_path / "other name").symlink_to("save")
    return tmp_path / "save"


GOES_ON = {"restore_file": LAST, **dict.fromkeys(RESETS, False)}


def test_the_last_checkpoint_comes_before_another(folder):
    assert settings(folder, LAST) == {}
    for other in ("base.pt", "save/checkpoint_best.pt", "no/such.pt"):
        assert settings(folder, other) == GOES_ON


@pytest.mark.parametrize("spelling", ["save/", "./save/../save/", "other name/", "link.pt"])
def test_the_last_checkpoint_under_another_name_is_the_default(folder, spelling):
    """Also where it is not there yet. --reset-* means it, then."""
    name = spelling if spelling.endswith(".pt") else spelling + LAST
    assert settings(folder, name) == {"restore_file": LAST}
    (folder / LAST).unlink()
    assert settings(folder, name) == {"restore_file": LAST}


def test_a_file_to_start_from_must_be_there(folder):
    (folder / LAST).unlink()
    assert settings(folder, "base.pt") == settings(folder, LAST) == {}
    assert settings(folder, LAST, finetune="base.pt") == {}
    with pytest.raises(UserError, match="--restore-file nosuch.pt: no such file$"):
        settings(folder, "nosuch.pt")
    with pytest.raises(UserError, match=r"is .*save/checkpoint_best.pt meant\?"):
        settings(folder, "checkpoint_best.pt")
    with pytest.raises(UserError, match="--restore-file .*save: no such file"):
        settings(folder, folder)
    with pytest.raises(UserError, match="--finetune-from-model nosuch.pt: no such file"):
        settings(folder, LAST, finetune="nosuch.pt")


def test_checkpoints_in_parts_have_their_own_last_one(folder):
    assert settings(folder, "base.pt", suffix="") == GOES_ON
    shutil.copy("base.pt", "base-shard0.pt")
    assert settings(folder, "base.pt", suffix="-shard0") == {}
    (folder / "checkpoint_last-shard0.pt").touch()
    assert settings(folder, "base.pt", suffix="-shard0") == GOES_ON


def test_a_fine_tuning_says_what_is_another_model(fine_tune):
    log = fine_tune(1, "--reset-optimizer", "--residual-attention", "sum")
    assert f"{LAST}: --residual-attention was mean, is sum now" in log


@pytest.mark.parametrize(
    "before, after, allowed",
    [("fixed", "inverse_sqrt", False), ("inverse_sqrt", "fixed", True), ("fixed", "fixed", True)],
)
def test_another_schedule_goes_on_where_it_can(fine_tune, tmp_path, before, after, allowed):
    fine_tune(1, "--reset-optimizer", "--lr-scheduler", before)
    if allowed:
        assert list(losses(fine_tune(2, "--lr-scheduler", after))) == [2]
        return
    with pytest.raises(SystemExit, match="was fixed, is inverse_sqrt now .--reset-lr-scheduler"):
        fine_tune(2, "--lr-scheduler", after)
    restart = ["--reset-lr-scheduler", "--restore-file", tmp_path / "tuned" / LAST]
    assert list(losses(fine_tune(2, "--lr-scheduler", after, *restart))) == [2]


@pytest.fixture(scope="module")
def of_three_layers(prepared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("three layers")
    layers = ["--encoder-layers", 3, "--decoder-layers", 3, "--no-epoch-checkpoints"]
    line = [prepared / "data-bin", *COMMON, *TRAINING, "--disable-validation", "--save-dir", folder]
    train(*line, *layers, "--max-update", 1)
    return folder / LAST


def parameters(path):
    state = torch.load(path, weights_only=True)
    return state["model"], state["cfg"]["model"]


@pytest.mark.parametrize(
    "kept, left",
    [
        (("0,2", "1"), {"encoder": [0, 2], "decoder": [1]}),
        (("[0, 2]", None), {"encoder": [0, 2], "decoder": [0, 1, 2]}),
        ((None, "2,0"), {"encoder": [0, 1, 2], "decoder": [0, 2]}),
    ],
)
def test_a_training_with_fewer_layers_starts_goes_on_and_translates(
    fine_tune, of_three_layers, prepared, tmp_path, kept, left
):
    options = ["--encoder-layers", 3, "--decoder-layers", 3, "--reset-optimizer", "--lr", 0]
    for side, numbers in zip(left, kept):
        options += [] if numbers is None else [f"--{side}-layers-to-keep", numbers]
    for updates in (1, 2):
        assert list(losses(fine_tune(updates, *options, base=of_three_layers))) == [updates]
    before, _ = parameters(of_three_layers)
    after, model = parameters(tmp_path / "tuned" / LAST)
    layers = {side: getattr(model, f"{side}_layers") for side in left}
    assert layers == {side: len(numbers) for side, numbers in left.items()}
    for side, numbers in left.items():
        for place, number in enumerate(numbers):
            name = f"{side}.layers.%s.fc1.weight"
            assert torch.equal(after[name % place], before[name % number])
        assert f"{side}.layers.{len(numbers)}.fc1.weight" not in after
    average = tmp_path / "average.pt"
    inputs = [tmp_path / "tuned" / LAST, *(tmp_path / "tuned").glob("checkpoint_*_2.pt")]
    assert error_of(averaging, "--inputs", *inputs, "--output", average) is None
    found = generate_each(prepared / "data-bin", [inputs[0], average])
    assert found[0] == found[1] and found[0]["H"].keys() == set(range(20))


def test_a_model_that_is_told_to_keep_layers_trains_without_a_checkpoint(prepared, tmp_path):
    line = [prepared / "data-bin", *COMMON, *TRAINING, "--disable-validation"]
    line += ["--save-dir", tmp_path, "--no-epoch-checkpoints", "--encoder-layers-to-keep", "1"]
    for updates in (1, 2):
        train(*line, "--max-update", updates)
    assert parameters(tmp_path / LAST)[1].encoder_layers == 1
