"""Which checkpoints of a folder are averaged: by number, by value, and none silently left out."""

import os
import re

import pytest
import torch
from checkpoint_files import average, fairseq_state
from fairseq.checkpoint_utils import load_checkpoint_to_cpu


def save_all(folder, names):
    """Save a checkpoint by each name, with the last number in it as its model.

    Args:
        names: of ``checkpoint<name>.pt``; + or - behind one says that the training's metric was
            maximised or minimised
    """
    for name in names.split():
        state = fairseq_state({"w": torch.tensor([number(name)])})
        if name[-1] in "+-":
            state["cfg"]["checkpoint"] = {"maximize_best_checkpoint_metric": name[-1] == "+"}
        torch.save(state, folder / f"checkpoint{name.rstrip('+-')}.pt")


def number(name):
    return float(([0] + re.findall(r"[\d.]*\d", name))[-1])


LOWEST = ".best_bleu_10.0310 .best_bleu_9.5000"
HIGHEST = ".best_bleu_10.0310 .best_bleu_27.1001"
NUMBERED = "1 8 9 10 _last _best _2_900 _10_800 _3_1000 .best_loss_2.5"
BLEU = "_best .best_bleu_9.5000{0} .best_bleu_10.0310{0} .best_bleu_27.1001{0}"


@pytest.mark.parametrize(
    ("names", "options", "expected"),
    [
        # By number or value, not by name.
        (NUMBERED, "epoch-checkpoints 2", "9 10"),
        (NUMBERED, "epoch-checkpoints 2 --checkpoint-upper-bound 9", "8 9"),
        (NUMBERED, "update-checkpoints 2", "_2_900 _3_1000"),
        (NUMBERED, "update-checkpoints 2 --checkpoint-upper-bound 999", "_10_800 _2_900"),
        ("1 2 3 5 6", "epoch-checkpoints 2", "5 6"),
        ("2 4 6 8", "epoch-checkpoints 4", "2 4 6 8"),  # --save-interval 2
        (BLEU.format("-"), "best-checkpoints 2", LOWEST),
        (BLEU.format("+"), "best-checkpoints 2", HIGHEST),
        (BLEU.format("+"), "best-checkpoints 2 --best-is lowest", LOWEST),
        (BLEU.format(""), "best-checkpoints 2 --best-is highest", HIGHEST),
    ],
)
def test_which_files_are_chosen(tmp_path, names, options, expected):
    save_all(tmp_path, names)
    (tmp_path / "xcheckpoint11.pt").touch()
    (tmp_path / "checkpoint12.pt.tmp").touch()
    output, flags = tmp_path / "out.pt", f"--num-{options}".split()
    for inputs in [[tmp_path], tmp_path.glob("checkpoint.best_*.pt")][: 1 + ("best" in options)]:
        assert average("--inputs", *inputs, *flags, "--output", output) is None
        state = load_checkpoint_to_cpu(str(output))
        assert state["averaged_from"] == [f"checkpoint{name}.pt" for name in expected.split()]
        numbers = [number(name) for name in expected.split()]
        assert state["model"]["w"].item() == pytest.approx(sum(numbers) / len(numbers))


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        ("2 4 8 10", "epoch-checkpoints 3", ["6.pt is missing between", "4.pt and ", "8.pt"]),
        ("1 2 9", "epoch-checkpoints 2", ["3.pt is missing between", "2.pt and ", "9.pt"]),
        (".best_bleu_1.0+", "best-checkpoints 2", ["found 1 checkpoint.best_", "asked for 2"]),
        (".best_bleu_1.0+ .best_loss_2.0+", "best-checkpoints 2", ["bleu and loss"]),
        (".best_bleu_1.0 .best_bleu_2.0", "best-checkpoints 2", ["maximised", "--best-is"]),
        (".best_a_1.0+ .best_a_2.0-", "best-checkpoints 2", ["_1.0.pt but not in", "--best-is"]),
        ("1 2", "epoch-checkpoints 1 --checkpoint-upper-bound x", ["--checkpoint-upper", "'x' is"]),
        ("1", "best-checkpoints 2 --checkpoint-upper-bound 3", ["--checkpoint-upper", "--num-ep"]),
    ],
)
def test_what_cannot_be_chosen_is_said(tmp_path, names, options, words):
    save_all(tmp_path, names)
    before = sorted(os.listdir(tmp_path))
    options = [*f"--num-{options}".split(), "--output", tmp_path / "out.pt"]
    error = average("--inputs", tmp_path, *options)
    assert all(word in error for word in words) and "\n" not in error, error
    assert sorted(os.listdir(tmp_path)) == before
