"""What can be loaded, and what is saved again; what must not be loaded is in test_bad_input.py."""

import argparse
import io
import pickletools
import zipfile

import numpy
import pytest
import torch
from checkpoint_files import average, random_model, save
from hostile_files import NUMBERS, saved
from models import build

from realformer_checkpoints.reading import load_checkpoint
from realformer_fairseq.modules.encoder_layer import FAST_PATH_PARAMETERS, RealFormerEncoderLayer


def test_layers_of_fairseq_0_12_2_load(monkeypatch):
    """Its encoder layer has further parameters, and adds them to whatever it loads and saves."""
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
    for loaded in (state, build("transformer").state_dict()):
        model.load_state_dict(loaded, strict=True)
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


NUMPY = {
    **{kind: numpy.dtype(kind).type(1) for kind in ("f8", "f4", "f2", "i8", "i4", "bool")},
    "array": numpy.arange(6.0).reshape(2, 3),
    "columns first": numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)),
    "big endian": numpy.arange(3, dtype=">i8"),
}


@pytest.mark.parametrize("written_by", [1, 2])
def test_namespaces_and_numbers_of_numpy_load_and_are_saved_as_they_were(written_by, tmp_path):
    """numpy 2 renamed a module. By name a file must not ask for anything of this project."""
    content = saved(None, {**NUMPY, "args": argparse.Namespace(arch="x")}, zipped=False)
    old, new = b"numpy.core.multiarray", b"numpy._core.multiarray"
    content = content.replace(new, old) if written_by == 1 else content.replace(old, new)
    (tmp_path / "first.pt").write_bytes(content)
    assert average("--inputs", tmp_path / "first.pt", "--output", tmp_path / "second.pt") is None
    with zipfile.ZipFile(tmp_path / "second.pt") as archive:
        opcodes = pickletools.genops(archive.read("archive/data.pkl"))
        names = [name for opcode, name, _ in opcodes if opcode.name == "GLOBAL"]
    assert names and not [name for name in names if name.startswith("realformer")]
    for name, weights_only in (("first.pt", True), ("second.pt", True), ("second.pt", False)):
        loaded = torch.load(tmp_path / name, weights_only=weights_only)
        assert loaded["args"].arch == "x"
        for kind, value in NUMPY.items():
            assert isinstance(loaded[kind], type(value)) and (loaded[kind] == value).all()
    assert type(loaded["array"]) is numpy.ndarray  # for those who do without weights_only


def test_what_is_unusual_but_harmless_is_read(tmp_path):
    """Tied parameters, and records that a zip program has compressed."""
    assert load_checkpoint(save(tmp_path / "tied.pt", {"a": NUMBERS, "b": NUMBERS}))
    with (
        zipfile.ZipFile(io.BytesIO(saved())) as source,
        zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in source.namelist():
            packed.writestr(name, source.read(name))
    for name, tensor in load_checkpoint(str(tmp_path / "packed.pt"))["model"].items():
        assert torch.equal(tensor, random_model(1)[name])
