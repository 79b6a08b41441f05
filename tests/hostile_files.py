"""Files that are damaged, or that someone has made to do harm."""

import gzip
import io
import os
import runpy
import shutil
import subprocess
import tarfile
from collections import OrderedDict

import numpy
import torch
from checkpoint_files import fairseq_state, random_model
from models import arguments, build


class Calls:
    """Unpickled without protection, this calls something, and then sets the state of the result."""

    def __init__(self, function, *arguments, state=None):
        self.reduced = (function, arguments, state) if state else (function, arguments)

    def __reduce__(self):
        return self.reduced


# In the current folder, where a test sees it.
CODE = "open('marker', 'w').close()"
# By what the refusal has to name.
ATTACKS = {
    "posix.system": Calls(os.system, "touch marker"),
    "Popen": Calls(subprocess.Popen, ["touch", "marker"]),
    "exec": Calls(exec, CODE),
    "eval": Calls(eval, f"exec({CODE!r})"),
    "runpy.run_path": Calls(runpy.run_path, "marker"),
}
# Each puts a value where fairseq has something of its own.
PLACES = {
    "args": lambda state, value: state.update(args=value),
    "cfg": lambda state, value: state["cfg"].update(common=value),
    "extra_state": lambda state, value: state["extra_state"].update(best=[{"a": value}]),
    "model": lambda state, value: state["model"].update({"encoder.version": value}),
    "array": lambda state, value: state["extra_state"].update(best=numpy.array([value], object)),
}
POINTER = (0x4141414141).to_bytes(8, "little")  # an address that nobody may look at
FLOAT, OBJECT = Calls(numpy.dtype, "f8"), Calls(numpy.dtype, "O8")
FIELDS = (3, "<", None, ("a",), {"a": (Calls(numpy.dtype, "O"), 0)}, 8, 8, 0)


def array(shape, dtype, data):
    """What the pickle of an array says, whatever that is."""
    reconstruct, state = numpy.zeros(1).__reduce__()[0], (1, shape, dtype, False, data)
    return Calls(reconstruct, numpy.ndarray, (0,), b"b", state=state)


# numpy arrays whose pickles make Python objects of any address.
POINTER_ARRAYS = {
    "buffer": Calls(numpy.ndarray, (1,), "O", POINTER),
    "record": Calls(numpy.ndarray, (1,), [("a", "O")], POINTER),
    "fields": array((1,), Calls(numpy.dtype, "f8", False, True, state=FIELDS), POINTER),
    "objects": array((1,), OBJECT, [1.0]),
    "too short": array((9,), FLOAT, POINTER),
    "negative": array((-1, -1), FLOAT, POINTER),
    "no type": Calls(numpy.float64(0).__reduce__()[0], "f8", POINTER),
}


def view(size, stride, offset=0):
    """What the pickle of a tensor says about its ten numbers."""
    storage = torch.arange(10.0).untyped_storage()
    typed = torch.storage.TypedStorage(wrap_storage=storage, dtype=torch.float32, _internal=True)
    arguments = (typed, offset, size, stride, False, OrderedDict())
    return Calls(torch._utils._rebuild_tensor_v2, *arguments)


STRANGE_TENSORS = {
    "past the end": lambda: view((11,), (1,)),
    "far past the end": lambda: view((1,), (1,), 1 << 40),
    "before the start": lambda: view((1,), (1,), -1),
    "negative size": lambda: view((-5,), (1,)),
    "negative stride": lambda: view((2,), (-1,), 5),
    "stride overflow": lambda: view((3,), (1 << 61,)),
    "size overflow": lambda: view((1 << 32, 1 << 32), (0, 0)),
    "a number 400 GB long": lambda: view((10**11,), (0,)),
    "no data": lambda: torch.ones(3, device="meta"),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "quantised": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
    "8 bits": lambda: torch.ones(3).to(torch.float8_e5m2),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
}
NUMBERS = torch.arange(2000.0)
OTHER_KINDS = {
    "no model": {"model": None},
    "no parameters": {"model": {}},
    "names that are numbers": {"model": {1: torch.ones(1)}},
    "parameters without names": {"model": [torch.ones(1)]},
    "a number for a parameter": {"model": {"w": view((2,), (1,)), "v": 3}},
    "a list for extra_state": {"extra_state": []},
    "a history of numbers": {"optimizer_history": [3]},
    "a history with names": {"optimizer_history": {"a": 1}},
    # A small file that would fill memory and disk, one view of the same numbers after the other.
    "many views": {"model": {f"w{start}": NUMBERS[start:] for start in range(1000)}},
}


def saved(place=None, value=(), zipped=True):
    """The bytes of a checkpoint with a value in some place, or with other values in its state."""
    state, file = fairseq_state(random_model(1)), io.BytesIO()
    PLACES.get(place, dict.update)(state, value)
    torch.save(state, file, _use_new_zipfile_serialization=zipped)
    return file.getvalue()


def written(write, value):
    """The bytes that ``write(value, file)`` writes."""
    file = io.BytesIO()
    write(value, file)
    return file.getvalue()


OMEGA = {"sublayer_scaling": "admin-analytic"}
SETTINGS = {
    "model": arguments(**OMEGA),
    "checkpoint": {"maximize_best_checkpoint_metric": False},
    "task": {"source_lang": "en", "target_lang": "fr"},
}
WHOLE = {"zip": saved(), "legacy": saved(zipped=False)}
LOG = """1 | INFO | train_inner | epoch 001: 1 / 2 loss=1, nll_loss=2.5, num_updates=50, gnorm=1.5
2 | INFO | valid | valid on 'valid' subset | loss 3 | nll_loss 7.9 | num_updates 100
3 | INFO | train_inner | nll_loss=1.2.3, num_updates=9999999999999999999999, gnorm=nan
4 | INFO | ADMIN profile: encoder.layers.0.self_attn_residual.omega = 1.5
"""
# Every command that reads checkpoints takes these.
CHECKPOINTS = dict.fromkeys(
    ("a.pt", "checkpoint1.pt", "checkpoint2.pt", "checkpoint.best_loss_2.5.pt"),
    saved(None, {"model": build(**OMEGA).state_dict(), "cfg": SETTINGS}),
)
CHECKPOINTS["average.pt"] = saved(None, {"averaged_from": ["a.pt"]})
# Files that are no checkpoints: damaged ones, and others, good and bad.
OTHERS = {
    **{
        f"{part} of 4, {kind}": WHOLE[kind][: len(WHOLE[kind]) * part // 4]
        for kind in WHOLE
        for part in (1, 2, 3)
    },
    **{
        f"{name} of torch": written(torch.save, value)
        for name, value in {
            "a tensor": torch.ones(3),
            "a list": [torch.ones(3)],
            "a state dictionary": {"encoder.w": torch.ones(3)},
            "an optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}, "param_groups": []},
        }.items()
    },
    "torchscript": written(torch.jit.save, torch.jit.script(torch.nn.Linear(2, 2))),
    "numpy.npz": written(lambda value, file: numpy.savez(file, value), numpy.ones(3)),
    "safetensors": b"\x3b"
    + bytes(7)
    + b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    + bytes(8),
    "page.html": b"<!DOCTYPE html>\n<html><body>404: not found</body></html>\n",
    "git-lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 123\n",
    "no data.pkl": WHOLE["zip"].replace(b"data.pkl", b"data.txt"),
    "no records": WHOLE["zip"].replace(b"archive/data/", b"archive/text/"),
    "zip magic": b"PK\x03\x04",
    "zeros": bytes(5000),
    "pickle": b"\x80\x02}q\x00.",
    "stop": b".",
    "three": b"one\ntwo\nthree\n",
    "other": b"eins\nzwei\ndrei\n",
    "two": b"one\ntwo\n",
    "empty": b"",
    "binary": bytes(range(256)) * 9,
    "latin1": b"caf\xe9\n" * 3,
    "odd": b"\x00\r\n\xe2\x80\xa8\n\xef\xbb\xbf\n",
    "one long line": b"x" * 3000,
    **dict.fromkeys(("log", "other.log"), LOG.encode()),
    "generate.log": b"H-0\t-1\ta@@ b\nH-1\t-1\tb\nH-2\t-1\tc\n",
    "bad.log": b"H-99999999999999999999999\t-1\ta\nD-1\t-1\tb\nT-0\tc\n",
    "code": b"#version: 0.2\na b\nb c</w>\n",
    "bad code": b"#version: 9.9\na b c\n",
    "counts": b"abc 3\nab 4\n",
    "bad counts": b"abc -3\n",
    "huge counts": b"abc 1" + b"0" * 400 + b"\n",
    "plain.gz": b"no gzip",
    "cut.gz": gzip.compress(b"one\ntwo\nthree\n", mtime=0)[:-9],
    "broken.gz": gzip.compress(b"one\ntwo\nthree\n" * 99, mtime=0)[:30] + b"\xff" * 40,
    **dict.fromkeys(("dict.en.txt", "dict.fr.txt"), b"a 3\nb 2\n"),
}


def write_files(folder):
    """Have them, a folder, and a link to nowhere in a folder, which becomes the current one."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "folder").mkdir(parents=True)
    os.chdir(folder)
    os.symlink("loop", "loop")
    for name, content in {**CHECKPOINTS, **OTHERS}.items():
        (folder / name).write_bytes(content)


def contents(folder):
    """The bytes of each file, None for another thing, by path."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


# Members of a tar that are no files, by their type.
KINDS = {"symbolic": b"2", "hard": b"1", "device": b"3", "pipe": b"6", "folder": b"5"}


def hostile_tar(name, content=b""):
    """A tar of one file behind others that lead out of the folder, and ``usr/KIND`` of each kind.

    All have the ending of ``name``.
    """
    ending, file = os.path.splitext(name)[1], io.BytesIO()
    members = [(f"{start}outside{ending}", b"0") for start in ("../", "/tmp/", "a/../../")]
    members += [(f"./usr/{kind}{ending}", code) for kind, code in KINDS.items()]
    with tarfile.open(fileobj=file, mode="w") as archive:
        for member, code in [*members, (name, b"0")]:
            info = tarfile.TarInfo(member)
            info.type, info.linkname = code, "../../outside"
            info.size = len(content) if code == b"0" else 0
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()
