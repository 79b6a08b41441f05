"""Files from strangers: checkpoints that would run code, archives that would leave their folder."""

import io
import os
import pickle
import resource
import sys
import zipfile
from unittest import mock

import numpy
import pytest
import torch
from checkpoint_files import average, fairseq_state, random_model, save
from commands import error_of
from conftest import TRAINING
from fairseq_cli import generate
from fairseq_cli import train as fairseq_train
from hostile_files import (
    PLACES,
    STRANGE_TENSORS,
    attacks,
    damaged_checkpoints,
    pointer_arrays,
    view,
    write_attack,
)
from models import make_dictionary

from realformer_checkpoints import averaging, omega_by_depth
from realformer_checkpoints.reading import load_checkpoint
from realformer_fairseq import RealFormerModel
from realformer_fairseq.checkpoints import folding as fold_omega
from realformer_fairseq.inference import translation
from realformer_runtime.command_line import UserError


@pytest.fixture
def data(tmp_path):
    """What fairseq needs before it looks at a checkpoint."""
    folder = tmp_path / "data"
    folder.mkdir()
    for lang in ("en", "fr"):
        make_dictionary().save(str(folder / f"dict.{lang}.txt"))
    (folder / "code").write_text("#version: 0.2\na b\n")
    return folder


def fairseq_error(main, *arguments):
    """What a command of fairseq ends with: an exception, or the message of ``sys.exit``."""
    with mock.patch.object(sys, "argv", ["fairseq", *map(str, arguments)]):
        try:
            main()
        except SystemExit as stop:
            return str(stop.code)
        except Exception as error:
            return error
    raise AssertionError("it was not refused")


def loads_of_scripts(path, data, folder):
    """Error lines of every script that reads a checkpoint, by its module's name."""
    (folder / "log").touch()
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/fairseq-interactive").write_text("#!/bin/sh\nexec sleep 60\n")
    (folder / "bin/fairseq-interactive").chmod(0o755)
    output = ["--output", folder / "output"]
    translate = ["--checkpoint", path, "--data", data, *output]
    with (
        mock.patch.dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}"),
        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a b\n"))),
    ):
        return {
            averaging: average("--inputs", path, *output),
            fold_omega: error_of(fold_omega, "--checkpoint", path, *output),
            omega_by_depth: error_of(omega_by_depth, "--run", path, folder / "log", *output),
            translation: error_of(translation, *translate),
        }


def check_refused(path, data, folder, words=""):
    for module, error in loads_of_scripts(path, data, folder).items():
        assert error.startswith(f"{module.PROGRAM}: {path}: refused: "), error
        assert words in error and "\n" not in error
    assert not (folder / "output").exists()


@pytest.mark.parametrize("new_format", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("place", PLACES)
def test_no_script_runs_what_a_checkpoint_says(tmp_path, data, place, new_format):
    marker = tmp_path / "marker"
    for name, attack in attacks(marker).items():
        path = write_attack(tmp_path / "evil.pt", attack, place, new_format)
        check_refused(path, data, tmp_path, "" if place == "object array" else name)
        assert not marker.exists()


@pytest.mark.parametrize("new_format", [True, False], ids=["zip", "legacy"])
def test_fairseq_runs_nothing_either(tmp_path, data, new_format):
    marker, folder = tmp_path / "marker", tmp_path / "checkpoints"
    folder.mkdir()
    train = [data, *TRAINING, "--disable-validation", "--save-dir", folder]
    for place in ("args", "extra_state"):
        attack = attacks(marker)["posix.system"]
        path = write_attack(tmp_path / "evil.pt", attack, place, new_format)
        arguments = [data, "--path", path, "--source-lang", "en", "--target-lang", "fr", "--cpu"]
        assert isinstance(fairseq_error(generate.cli_main, *arguments), pickle.UnpicklingError)
        for option in ("--restore-file", "--finetune-from-model"):
            error = fairseq_error(fairseq_train.cli_main, *train, option, path)
            assert error.startswith(f"fairseq-train: {path}: refused: it holds posix.system")
        with pytest.raises((pickle.UnpicklingError, UserError)):
            RealFormerModel.from_pretrained(str(tmp_path), "evil.pt", data_name_or_path=str(data))
    assert not marker.exists()
    assert list(folder.glob("*.pt")) == []


@pytest.mark.parametrize("new_format", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("kind", pointer_arrays())
def test_no_array_is_made_of_pointers(tmp_path, kind, new_format):
    """Printing or saving one would end the process, or worse."""
    path = write_attack(tmp_path / "evil.pt", pointer_arrays()[kind], "extra_state", new_format)
    error = average("--inputs", path, "--output", tmp_path / "out.pt")
    assert error.startswith(f"average_checkpoints.sh: {path}: refused: ")
    with pytest.raises((pickle.UnpicklingError, ValueError)):
        torch.load(path, weights_only=True)


def test_arrays_of_numbers_are_saved_again_as_numpy_would(tmp_path):
    """By name the file must not ask for anything of this project."""
    values = {"c": numpy.arange(6.0).reshape(2, 3), "big endian": numpy.arange(3, dtype=">i8")}
    values["f"] = numpy.asfortranarray(values["c"])
    torch.save({**fairseq_state(random_model(1)), **values}, tmp_path / "first.pt")
    assert average("--inputs", tmp_path / "first.pt", "--output", tmp_path / "out.pt") is None
    with zipfile.ZipFile(tmp_path / "out.pt") as archive:
        (pickled,) = (n for n in archive.namelist() if n.endswith("data.pkl"))
        assert b"realformer_fairseq" not in archive.read(pickled)
    found = torch.load(tmp_path / "out.pt", weights_only=False)
    for name, value in values.items():
        assert type(found[name]) is numpy.ndarray and (found[name] == value).all()


@pytest.mark.parametrize("new_format", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("kind", STRANGE_TENSORS)
def test_tensors_that_are_not_in_the_file_are_refused(tmp_path, kind, new_format):
    model = {"w": STRANGE_TENSORS[kind]()}
    path = tmp_path / "strange.pt"
    try:
        torch.save(fairseq_state(model), path, _use_new_zipfile_serialization=new_format)
    except RuntimeError:
        pytest.skip("torch cannot write it in this format")
    error = average("--inputs", path, "--output", tmp_path / "out.pt")
    assert error.startswith(f"average_checkpoints.sh: {path}: refused: ")
    assert os.listdir(tmp_path) == ["strange.pt"]


def test_a_small_file_cannot_fill_the_disk(tmp_path):
    """A thousand overlapping views of one tensor would be averaged one by one."""
    whole = torch.arange(2000.0)
    views = {f"w{start}": whole[start:] for start in range(1000)}
    error = average("--inputs", save(tmp_path / "a.pt", views), "--output", tmp_path / "out.pt")
    assert error.endswith("refused: its tensors are larger than the file")
    assert load_checkpoint(save(tmp_path / "b.pt", {"a": whole, "b": whole}))


def test_what_cannot_be_mapped_is_read(tmp_path):
    """Records that a zip program has compressed."""
    save(tmp_path / "a.pt", random_model(1))
    with (
        zipfile.ZipFile(tmp_path / "a.pt") as source,
        zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in source.namelist():
            packed.writestr(name, source.read(name))
    for name, tensor in load_checkpoint(str(tmp_path / "b.pt"))["model"].items():
        assert torch.equal(tensor, random_model(1)[name])


def test_damaged_files_are_one_line(tmp_path, data):
    folder = tmp_path / "damaged"
    folder.mkdir()
    for path in damaged_checkpoints(folder):
        check_refused(path, data, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"model": {1: torch.ones(1)}},
        {"extra_state": []},
        {"optimizer_history": [3]},
        {"optimizer_history": {"a": 1}},
        {"model": [torch.ones(1)]},
        {"model": {"w": view((2,), (1,)), "v": 3}},
    ],
)
def test_settings_of_another_kind_are_one_line(tmp_path, change):
    path = tmp_path / "a.pt"
    torch.save({**fairseq_state(random_model(1)), **change}, path)
    error = average("--inputs", path, "--output", tmp_path / "out.pt")
    assert error.startswith(f"average_checkpoints.sh: {path}: refused: ")


def test_a_nest_without_end_is_one_line(tmp_path):
    nest = []
    for _ in range(100):
        nest = [nest]
    state = {**fairseq_state(random_model(1)), "args": nest}
    torch.save(state, tmp_path / "a.pt")
    with mock.patch("torch.save", side_effect=RecursionError):
        error = average("--inputs", tmp_path / "a.pt", "--output", tmp_path / "out.pt")
    assert error == "average_checkpoints.sh: the settings of the checkpoint are nested too deeply"
    assert os.listdir(tmp_path) == ["a.pt"]


def test_a_full_disk_is_named(tmp_path):
    path = save(tmp_path / "a.pt", random_model(1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        error = average("--inputs", path, "--output", tmp_path / "out.pt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error == f"average_checkpoints.sh: {tmp_path / 'out.pt'}: File too large"
    assert os.listdir(tmp_path) == ["a.pt"]
