"""Which checkpoints of a folder are averaged: by number, by value, and none silently left out."""

import os

import pytest
import torch
from checkpoint_files import average, fairseq_state, save
from fairseq.checkpoint_utils import load_checkpoint_to_cpu

from realformer_checkpoints import selection as checkpoint_choice


@pytest.mark.parametrize(
    ("by_update", "bound", "expected"),
    [
        (False, None, ["checkpoint9.pt", "checkpoint10.pt"]),
        (False, 9, ["checkpoint8.pt", "checkpoint9.pt"]),
        (True, None, ["checkpoint_2_900.pt", "checkpoint_3_1000.pt"]),
        (True, 999, ["checkpoint_10_800.pt", "checkpoint_2_900.pt"]),
    ],
)
def test_which_files_of_a_directory_are_chosen(tmp_path, by_update, bound, expected):
    """By number, not by name; nothing but numbered checkpoints."""
    for name in (
        "checkpoint1 checkpoint8 checkpoint9 checkpoint10 checkpoint_last checkpoint_best "
        "checkpoint_2_900 checkpoint_10_800 checkpoint_3_1000 checkpoint.best_loss_2.5 "
        "xcheckpoint11"
    ).split():
        (tmp_path / f"{name}.pt").touch()
    (tmp_path / "checkpoint12.pt.tmp").touch()
    chosen = checkpoint_choice.last_checkpoints(str(tmp_path), 2, by_update, bound)
    assert [os.path.basename(path) for path in chosen] == expected


@pytest.mark.parametrize(
    ("epochs", "n", "missing"),
    [
        ((1, 2, 3, 5, 6), 4, (4, 3, 5)),
        ((1, 2, 3, 5, 6), 2, None),
        ((2, 4, 6, 8), 4, None),  # --save-interval 2
        ((2, 4, 8, 10), 3, (6, 4, 8)),
        ((1, 2, 9), 2, (3, 2, 9)),
    ],
)
def test_a_missing_epoch_is_named(tmp_path, epochs, n, missing):
    for epoch in epochs:
        save(tmp_path / f"checkpoint{epoch}.pt", {"w": torch.ones(1)}, epoch)
    options = ["--num-epoch-checkpoints", n, "--output", tmp_path / "out.pt"]
    error = average("--inputs", tmp_path, *options)
    if missing is None:
        assert error is None
    else:
        named = "checkpoint{}.pt is missing between checkpoint{}.pt and checkpoint{}.pt"
        assert named.format(*missing) in error and "\n" not in error
    assert (tmp_path / "out.pt").exists() == (missing is None)


def save_best(folder, metric, values, maximize):
    """``checkpoint.best_<metric>_<value>.pt``, each with its value as the model."""
    for value in values:
        state = fairseq_state({"w": torch.tensor([float(value)])})
        if maximize is not None:
            state["cfg"]["checkpoint"] = {"maximize_best_checkpoint_metric": maximize}
        torch.save(state, folder / f"checkpoint.best_{metric}_{value}.pt")


@pytest.mark.parametrize(
    ("maximize", "options", "expected"),
    [
        (False, [], ["10.0310", "9.5000"]),  # by value, not by name
        (True, [], ["10.0310", "27.1001"]),
        (True, ["--best-is", "lowest"], ["10.0310", "9.5000"]),
        (None, ["--best-is", "highest"], ["10.0310", "27.1001"]),
    ],
)
def test_the_best_checkpoints_are_chosen_as_the_training_had_it(
    tmp_path, maximize, options, expected
):
    save_best(tmp_path, "bleu", ["9.5000", "10.0310", "27.1001"], maximize)
    save(tmp_path / "checkpoint_best.pt", {"w": torch.zeros(1)})
    options = ["--num-best-checkpoints", 2, "--output", tmp_path / "out.pt", *options]
    for inputs in ([tmp_path], tmp_path.glob("checkpoint.best_*")):
        assert average("--inputs", *inputs, *options) is None
        state = load_checkpoint_to_cpu(str(tmp_path / "out.pt"))
        assert state["averaged_from"] == [f"checkpoint.best_bleu_{v}.pt" for v in expected]
        assert state["model"]["w"].item() == pytest.approx(sum(map(float, expected)) / 2)


@pytest.mark.parametrize(
    ("bests", "options", "message"),
    [
        ([("bleu", ["1.0"], True)], [], "found 1 checkpoint.best_<metric>_<value>.pt, asked for 2"),
        ([("bleu", ["1.0"], True), ("loss", ["2.0"], True)], [], "checkpoints of bleu and loss"),
        (
            [("bleu", ["1.0", "2.0"], None)],
            [],
            "does not tell whether its metric is maximised: give",
        ),
        ([("a", ["1.0"], True), ("a", ["2.0"], False)], [], "_1.0.pt but not in"),
        ([], ["--checkpoint-upper-bound", 3], "--checkpoint-upper-bound needs --num-epoch"),
    ],
)
def test_best_checkpoints_that_cannot_be_chosen(tmp_path, bests, options, message):
    for best in bests:
        save_best(tmp_path, *best)
    before = sorted(os.listdir(tmp_path))
    options = ["--num-best-checkpoints", 2, "--output", tmp_path / "out.pt", *options]
    error = average("--inputs", tmp_path, *options)
    assert message in error and "\n" not in error
    assert sorted(os.listdir(tmp_path)) == before
