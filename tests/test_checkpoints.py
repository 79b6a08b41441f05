"""What can be loaded, and what must not be."""

import argparse
import pickle
import subprocess
import sys

import numpy
import pytest
import torch
from fairseq import checkpoint_utils
from models import TASK, batch, build, logits

from realformer_fairseq.modules.encoder_layer import FAST_PATH_PARAMETERS, RealFormerEncoderLayer


def test_vanilla_transformer_checkpoint_loads():
    vanilla = build("transformer", seed=7)
    ours = build(residual_attention="none")
    ours.load_state_dict(vanilla.state_dict(), strict=True)
    source, previous = batch()
    torch.testing.assert_close(
        logits(ours.eval(), source, previous), logits(vanilla.eval(), source, previous)
    )


def test_second_set_of_weights_of_fairseq_0_12_2_is_dropped():
    model = build("transformer")
    state = model.state_dict()
    for layer in range(3):
        for name in FAST_PATH_PARAMETERS:
            state[f"encoder.layers.{layer}.{name}"] = torch.zeros(3)
    build().load_state_dict(state, strict=True)


def test_layers_of_fairseq_0_12_2_load(monkeypatch):
    """Its encoder layer has further parameters, and adds them to whatever it loads."""
    base = RealFormerEncoderLayer.__mro__[1]
    make = base.__init__

    def make_with_second_set(layer, *args, **kwargs):
        make(layer, *args, **kwargs)
        for name in FAST_PATH_PARAMETERS:
            setattr(layer, name, torch.nn.Parameter(torch.zeros(3)))

    def load_with_second_set(layer, state, prefix, *args):
        state.update({prefix + name: torch.zeros(3) for name in FAST_PATH_PARAMETERS})
        torch.nn.Module._load_from_state_dict(layer, state, prefix, *args)

    state = build("transformer").state_dict()
    monkeypatch.setattr(base, "__init__", make_with_second_set)
    monkeypatch.setattr(base, "_load_from_state_dict", load_with_second_set)
    model = build()
    model.load_state_dict(state, strict=True)
    assert model.state_dict().keys() == state.keys()


def test_very_old_layer_norm_names_load():
    state = build("transformer").state_dict()
    old = {}
    for key, value in state.items():
        key = key.replace("encoder.layers.0.self_attn_layer_norm", "encoder.layers.0.layer_norms.0")
        key = key.replace("decoder.layers.0.final_layer_norm", "decoder.layers.0.layer_norms.2")
        old[key] = value
    model = build(seed=2)
    model.load_state_dict(old, strict=True)
    name = "encoder.layers.0.self_attn_layer_norm.weight"
    assert torch.equal(model.state_dict()[name], state[name])


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32", "bool"])
def test_namespaces_and_numpy_scalars_load_with_weights_only(tmp_path, kind):
    state = {"args": argparse.Namespace(arch="x"), "best": numpy.dtype(kind).type(1)}
    torch.save(state, tmp_path / "checkpoint.pt")
    loaded = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert loaded["args"].arch == "x"
    assert loaded["best"] == state["best"] and type(loaded["best"]) is type(state["best"])


def test_arrays_load_with_weights_only(tmp_path):
    torch.save({"counts": numpy.arange(4), "sum": numpy.ones((2, 2))}, tmp_path / "checkpoint.pt")
    loaded = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert loaded["counts"].tolist() == [0, 1, 2, 3]
    assert loaded["sum"].tolist() == [[1, 1], [1, 1]]


def test_scalars_and_arrays_written_by_numpy_1_load(tmp_path):
    values = {"best": numpy.float64(27.5), "counts": numpy.arange(2)}
    torch.save(values, tmp_path / "new.pt", _use_new_zipfile_serialization=False)
    written = (tmp_path / "new.pt").read_bytes()
    old = written.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    (tmp_path / "old.pt").write_bytes(old)
    assert b"numpy.core.multiarray" in old and b"numpy._core" not in old
    loaded = torch.load(tmp_path / "old.pt", weights_only=True)
    assert (loaded["best"], loaded["counts"].tolist()) == (27.5, [0, 1])


def test_array_of_objects_runs_nothing(tmp_path):
    marker = tmp_path / "was-here"
    values = numpy.array([RunsCommand(marker)], dtype=object)
    torch.save({"model": {}, "counts": values}, tmp_path / "evil.pt")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "evil.pt", weights_only=True)
    assert not marker.exists()


class RunsCommand:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (str(self.marker), "w")


def test_a_checkpoint_cannot_run_code(tmp_path):
    marker = tmp_path / "was-here"
    torch.save({"model": {}, "args": RunsCommand(marker)}, tmp_path / "evil.pt")
    with pytest.raises(pickle.UnpicklingError):
        checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "evil.pt"))
    assert not marker.exists()


def test_unknown_types_stay_refused(tmp_path):
    torch.save({"model": {}, "args": TASK}, tmp_path / "foreign.pt")
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "foreign.pt"))


def test_commands_do_not_import_fairseq():
    code = "import sys; sys.argv = ['-m']; import realformer_fairseq"
    for start, expected in (
        (["-c", code], True),
        (["-m", "realformer_runtime.text.tokenization", "--lang", "fr"], False),
    ):
        out = subprocess.run(
            [sys.executable, "-X", "importtime", *start],
            input="Bonjour.\n",
            capture_output=True,
            text=True,
            check=True,
        )
        assert (" fairseq\n" in out.stderr) == expected
