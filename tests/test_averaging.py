"""Averaging of checkpoints: exact, repeatable, and it runs no code from a file."""

import argparse
import os
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy
import pytest
import torch
from commands import error_of
from fairseq.checkpoint_utils import load_checkpoint_to_cpu

from realformer_fairseq import averaging

SCRIPT = Path(__file__).parents[1] / "scripts" / "average_checkpoints.sh"


def fairseq_state(model, epoch=1):
    """What ``fairseq.trainer.Trainer.state_dict`` saves, with a best metric from numpy."""
    history = {
        "criterion_name": "LabelSmoothedCrossEntropyCriterion",
        "optimizer_name": "FairseqAdam",
        "lr_scheduler_state": {"best": None},
        "num_updates": 100 * epoch,
    }
    return {
        "args": None,
        "cfg": {"common": {"seed": 1}, "model": argparse.Namespace(arch="realformer_tiny")},
        "model": model,
        "criterion": None,
        "optimizer_history": [history],
        "task_state": {},
        "extra_state": {
            "train_iterator": {"epoch": epoch, "iterations_in_epoch": 0, "version": 2},
            "val_loss": numpy.float64(2.5),
            "best": numpy.float64(2.5),
        },
        "last_optimizer_state": {"state": {0: {"exp_avg": torch.ones(1000)}}},
    }


def random_model(seed, dtype=torch.float32):
    """Two layers whose embeddings are shared, as with ``--share-all-embeddings``."""
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(50, 8, generator=generator).to(dtype)
    return OrderedDict(
        [
            ("encoder.embed_tokens.weight", embedding),
            ("encoder.version", torch.tensor([3.0])),
            ("encoder.fc1.weight", torch.randn(16, 8, generator=generator).to(dtype)),
            ("decoder.embed_tokens.weight", embedding),
            ("decoder.output_projection.weight", embedding),
        ]
    )


def save(path, model, epoch=1, **kwargs):
    torch.save(fairseq_state(model, epoch), path, **kwargs)
    return str(path)


def average(*arguments):
    return error_of(averaging, *arguments)


@pytest.fixture
def three(tmp_path):
    """Paths of checkpoint8.pt, checkpoint9.pt and checkpoint10.pt, with models 8, 9 and 10."""
    return [save(tmp_path / f"checkpoint{n}.pt", random_model(n), n) for n in (8, 9, 10)]


def test_the_mean_in_closed_form(tmp_path):
    inputs = [
        save(tmp_path / f"{value}.pt", {"w": torch.tensor([value, -value]), "n": torch.tensor(n)})
        for value, n in ((1.0, 3), (2.0, 4), (6.0, 4))
    ]
    assert average("--inputs", *inputs, "--output", tmp_path / "out.pt") is None
    model = load_checkpoint_to_cpu(str(tmp_path / "out.pt"))["model"]
    assert model["w"].tolist() == [3.0, -3.0]
    assert model["n"].item() == 3  # 11 / 3, rounded down as in fairseq


def test_the_mean_is_the_correctly_rounded_one(three, tmp_path):
    assert average("--inputs", *three, "--output", tmp_path / "out.pt") is None
    averaged = load_checkpoint_to_cpu(str(tmp_path / "out.pt"))["model"]
    models = [random_model(n) for n in (8, 9, 10)]
    for key, tensor in averaged.items():
        exact = torch.stack([model[key].double() for model in models]).mean(0)
        assert torch.equal(tensor, exact.float()), key


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_checkpoint_averaged_with_itself_is_unchanged(tmp_path, dtype):
    model = random_model(1, dtype)
    path = save(tmp_path / "one.pt", model)
    assert average("--inputs", path, path, path, "--output", tmp_path / "out.pt") is None
    averaged = load_checkpoint_to_cpu(str(tmp_path / "out.pt"))["model"]
    assert list(averaged) == list(model)
    for key, tensor in averaged.items():
        assert tensor.dtype == model[key].dtype
        assert torch.equal(tensor, model[key]), key


def test_half_precision_does_not_overflow():
    large = torch.tensor([61440.0], dtype=torch.float16)
    other = torch.tensor([49152.0], dtype=torch.float16)
    mean = averaging.mean([large, large, other, other])
    assert mean.dtype == torch.float16
    assert mean.item() == 55296.0


def test_shared_embeddings_stay_shared(three, tmp_path):
    assert average("--inputs", *three, "--output", tmp_path / "out.pt") is None
    model = torch.load(tmp_path / "out.pt", weights_only=True)["model"]
    pointers = {tensor.data_ptr() for key, tensor in model.items() if "version" not in key}
    assert len(pointers) == 2  # the embedding and fc1


def test_tensors_shared_in_one_checkpoint_only_are_averaged_apart():
    tied = torch.tensor([1.0])
    apart = {"a": torch.tensor([3.0]), "b": torch.tensor([5.0])}
    for models in ([apart, {"a": tied, "b": tied}], [{"a": tied, "b": tied}, apart]):
        result = averaging.average_models(models)
        assert (result["a"].item(), result["b"].item()) == (2.0, 3.0)


def test_the_inputs_are_not_changed():
    models = [random_model(1), random_model(2)]
    averaging.average_models(models)
    for seed, model in enumerate(models, start=1):
        assert all(torch.equal(model[key], value) for key, value in random_model(seed).items())


def test_module_versions_survive():
    model = torch.nn.LayerNorm(4).state_dict()
    assert averaging.average_models([model, model])._metadata == model._metadata


def test_a_rerun_gives_the_same_bytes_under_any_name(three, tmp_path):
    outputs = [tmp_path / "first.pt", tmp_path / "a second name.pt"]
    for output in outputs:
        assert average("--inputs", *three, "--output", output) is None
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_the_rest_of_the_state_is_that_of_the_last_input(three, tmp_path):
    assert average("--inputs", *three, "--output", tmp_path / "out.pt") is None
    state = load_checkpoint_to_cpu(str(tmp_path / "out.pt"))
    expected = load_checkpoint_to_cpu(three[-1])
    for key in expected.keys() - {"model", "last_optimizer_state"}:
        assert state[key] == expected[key], key
    assert "last_optimizer_state" not in state
    assert state["averaged_from"] == ["checkpoint8.pt", "checkpoint9.pt", "checkpoint10.pt"]
    assert os.path.getsize(tmp_path / "out.pt") < os.path.getsize(three[-1])


def test_checkpoints_in_the_old_file_format(tmp_path):
    model = random_model(1)
    old = save(tmp_path / "old.pt", model, _use_new_zipfile_serialization=False)
    assert average("--inputs", old, old, "--output", tmp_path / "out.pt") is None
    averaged = load_checkpoint_to_cpu(str(tmp_path / "out.pt"))["model"]
    assert all(torch.equal(averaged[key], model[key]) for key in model)


def test_the_output_may_be_one_of_the_inputs(tmp_path):
    first = save(tmp_path / "first.pt", {"w": torch.tensor([1.0])})
    second = save(tmp_path / "second.pt", {"w": torch.tensor([2.0])})
    assert average("--inputs", first, second, "--output", first) is None
    assert load_checkpoint_to_cpu(first)["model"]["w"].item() == 1.5


@pytest.mark.parametrize(
    ("by_update", "bound", "expected"),
    [
        (False, None, ["checkpoint9.pt", "checkpoint10.pt"]),
        (False, 9, ["checkpoint2.pt", "checkpoint9.pt"]),
        (True, None, ["checkpoint_2_900.pt", "checkpoint_3_1000.pt"]),
        (True, 999, ["checkpoint_10_800.pt", "checkpoint_2_900.pt"]),
    ],
)
def test_which_files_of_a_directory_are_chosen(tmp_path, by_update, bound, expected):
    """By number, not by name; nothing but numbered checkpoints."""
    for name in (
        "checkpoint1 checkpoint2 checkpoint9 checkpoint10 checkpoint_last checkpoint_best "
        "checkpoint_2_900 checkpoint_10_800 checkpoint_3_1000 checkpoint.best_loss_2.5 "
        "xcheckpoint11"
    ).split():
        (tmp_path / f"{name}.pt").touch()
    (tmp_path / "checkpoint12.pt.tmp").touch()
    chosen = averaging.last_checkpoints(str(tmp_path), 2, by_update, bound)
    assert [os.path.basename(path) for path in chosen] == expected


class RunsCode:
    """Unpickled without protection, this creates a file called marker."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return (os.mkdir, (self.marker,))


def broken_checkpoint(path, kind):
    """Write a file of some kind that must be refused; see the parameters below."""
    whole = Path(save(path.with_name("whole.pt"), random_model(1))).read_bytes()
    if kind == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("no checkpoint\n")
    elif kind == "no model":
        torch.save({"weights": {}}, path)
    elif kind in ("code", "code, old format"):
        state = {**fairseq_state(random_model(1)), "x": RunsCode(path.with_name("marker"))}
        torch.save(state, path, _use_new_zipfile_serialization=kind == "code")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("truncated", "refused: truncated"),
        ("empty", "refused: truncated, or not a fairseq checkpoint"),
        ("text", "not a fairseq checkpoint"),
        ("no model", "not a fairseq checkpoint, it has no model in it"),
        ("missing", "No such file"),
        ("code", "refused: it holds posix.mkdir, which could run code"),
        ("code, old format", "refused: it holds posix.mkdir, which could run code"),
    ],
)
def test_a_file_that_is_no_checkpoint_is_named(tmp_path, kind, message):
    bad = tmp_path / "bad.pt"
    broken_checkpoint(bad, kind)
    before = sorted(os.listdir(tmp_path))
    error = average("--inputs", tmp_path / "whole.pt", bad, "--output", tmp_path / "out.pt")
    assert error.startswith(f"average_checkpoints.sh: {bad}: ") and message in error
    assert "\n" not in error
    assert sorted(os.listdir(tmp_path)) == before  # no output, no temporary file, no marker


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": torch.ones(1)}, "{first}: has no parameter extra, which {last} has"),
        ({"encoder.version": None}, "{last}: has no parameter encoder.version, which {first} has"),
        (
            {"encoder.fc1.weight": torch.ones(16, 9)},
            "{first}: encoder.fc1.weight has shape (16, 8), but (16, 9) in {last}",
        ),
    ],
)
def test_unequal_models_are_refused(tmp_path, change, message):
    first = save(tmp_path / "first.pt", random_model(1))
    model = {k: v for k, v in {**random_model(2), **change}.items() if v is not None}
    last = save(tmp_path / "last.pt", model)
    error = average("--inputs", first, last, "--output", tmp_path / "out.pt")
    assert error == "average_checkpoints.sh: " + message.format(first=first, last=last)
    assert sorted(os.listdir(tmp_path)) == ["first.pt", "last.pt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--num-epoch-checkpoints 4", "found 3 checkpoint<epoch>.pt, asked for 4"),
        (
            "--num-epoch-checkpoints 3 --checkpoint-upper-bound 9",
            "found 2 checkpoint<epoch>.pt up to epoch 9, asked for 3",
        ),
        ("--num-update-checkpoints 1", "found 0 checkpoint_<epoch>_<update>.pt, asked for 1"),
        ("--num-epoch-checkpoints 2 --num-update-checkpoints 2", "choose one of"),
        ("--num-epoch-checkpoints 0", "0 is not a number of checkpoints"),
        ("--num-epoch-checkpoints two", "invalid int value: 'two' (-h for help)"),
        ("--checkpoint-upper-bound 9", "--checkpoint-upper-bound needs --num-epoch-checkpoints"),
        ("", "is a directory and needs --num-epoch-checkpoints or --num-update-checkpoints"),
        ("--num-epochs 2", "unrecognized arguments: --num-epochs 2"),
        ("--num-epoch-checkpoints 2 --output {here}/no/out.pt", "no such folder"),
        ("--num-epoch-checkpoints 2 --output {here}", "exists and is not a file"),
    ],
)
def test_options_that_cannot_work(three, tmp_path, arguments, message):
    arguments = arguments.format(here=tmp_path).split()
    error = average("--inputs", tmp_path, "--output", tmp_path / "out.pt", *arguments)
    assert error.startswith("average_checkpoints.sh: ") and message in error
    assert "\n" not in error
    assert sorted(os.listdir(tmp_path)) == sorted(map(os.path.basename, three))


def run_script(*arguments, cwd):
    environment = {**os.environ, "VENV": sys.prefix, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [str(SCRIPT), *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )


def test_the_script_from_another_folder(tmp_path):
    """Relative paths with spaces, beside folders whose names must not be imported."""
    folder = tmp_path / "my runs"
    (folder / "check points").mkdir(parents=True)
    for name in ("fairseq", "torch") if sys.version_info >= (3, 11) else ():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise ImportError('the wrong one')\n")
    for n in (1, 2, 3):
        save(folder / "check points" / f"checkpoint{n}.pt", {"w": torch.tensor([n / 2])}, n)
    run = run_script(
        *"--num-epoch-checkpoints 2 --output".split(),
        "an average.pt",
        "--inputs",
        "check points",
        cwd=folder,
    )
    assert run.returncode == 0, run.stderr
    assert "check points/checkpoint3.pt" in run.stdout
    umask = os.umask(0)
    os.umask(umask)
    assert (folder / "an average.pt").stat().st_mode & 0o777 == 0o666 & ~umask
    assert load_checkpoint_to_cpu(str(folder / "an average.pt"))["model"]["w"].item() == 1.25


def test_help(tmp_path):
    run = run_script("--help", cwd=tmp_path)
    assert run.returncode == 0
    for option in ("--num-epoch-checkpoints", "--num-update-checkpoints", "--output"):
        assert option in run.stdout
