"""Checkpoints and archives that someone has made to do harm, or that are damaged."""

import io
import os
import subprocess
import tarfile
import zipfile
from collections import OrderedDict

import numpy
import torch
from checkpoint_files import fairseq_state, random_model


class Calls:
    """Unpickled without protection, this calls something, and then sets the state of the result."""

    def __init__(self, function, *arguments, state=None):
        self.reduced = (function, arguments, state) if state else (function, arguments)

    def __reduce__(self):
        return self.reduced


def attacks(marker):
    """Ways to make a file, by what the refusal has to name."""
    code = f"open({str(marker)!r}, 'w').close()"
    return {
        "posix.system": Calls(os.system, f"touch '{marker}'"),
        "Popen": Calls(subprocess.Popen, ["touch", str(marker)]),
        "exec": Calls(exec, code),
        "eval": Calls(eval, f"exec({code!r})"),
        "runpy.run_path": Calls(__import__("runpy").run_path, str(marker)),
    }


# Each puts the attack where fairseq has something of its own.
PLACES = {
    "args": lambda state, attack: state.update(args=attack),
    "cfg": lambda state, attack: state["cfg"].update(common=attack),
    "extra_state": lambda state, attack: state["extra_state"].update(best=[{"a": attack}]),
    "model": lambda state, attack: state["model"].update({"encoder.version": attack}),
    "object array": lambda state, attack: state["extra_state"].update(
        best=numpy.array([attack], dtype=object)
    ),
}


def write_attack(path, attack, place, new_format=True):
    state = fairseq_state(random_model(1))
    PLACES[place](state, attack)
    torch.save(state, path, _use_new_zipfile_serialization=new_format)
    return path


def _pointer() -> bytes:
    """An address that nobody may look at."""
    return (0x4141414141).to_bytes(8, "little")


def pointer_arrays():
    """numpy arrays whose pickles make Python objects of any address."""
    fields = (3, "<", None, ("a",), {"a": (Calls(numpy.dtype, "O"), 0)}, 8, 8, 0)
    number = Calls(numpy.dtype, "f8", False, True, state=fields)
    reconstruct = numpy.zeros(1).__reduce__()[0]
    empty = (numpy.ndarray, (0,), b"b")
    return {
        "buffer": Calls(numpy.ndarray, (1,), "O", _pointer()),
        "record": Calls(numpy.ndarray, (1,), [("a", "O")], _pointer()),
        "fields": Calls(reconstruct, *empty, state=(1, (1,), number, False, _pointer())),
        "objects": Calls(
            reconstruct, *empty, state=(1, (1,), Calls(numpy.dtype, "O8"), False, [1.0])
        ),
        "too short": Calls(
            reconstruct, *empty, state=(1, (9,), Calls(numpy.dtype, "f8"), False, _pointer())
        ),
        "negative": Calls(
            reconstruct, *empty, state=(1, (-1, -1), Calls(numpy.dtype, "f8"), False, _pointer())
        ),
        "no type": Calls(numpy.float64(0).__reduce__()[0], "f8", _pointer()),
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
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
}


def damaged_checkpoints(folder):
    """Files that are no checkpoints, by name."""
    whole = io.BytesIO()
    torch.save(fairseq_state(random_model(1)), whole)
    old = io.BytesIO()
    torch.save(fairseq_state(random_model(1)), old, _use_new_zipfile_serialization=False)
    contents = {
        "empty": b"",
        "text": b"no checkpoint\n",
        "zip magic": b"PK\x03\x04",
        "zeros": bytes(5000),
        "pickle": b"\x80\x02}q\x00.",
        "stop": b".",
    }
    for name, content in (("zip", whole.getvalue()), ("old", old.getvalue())):
        for part in (1, 2, 3):
            contents[f"{name} cut after {part} quarters"] = content[: len(content) * part // 4]
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    with zipfile.ZipFile(folder / "no data.pkl", "w") as archive:
        archive.writestr("archive/readme", "nothing")
    with zipfile.ZipFile(whole) as source:
        pickled = source.read("archive/data.pkl")
    with zipfile.ZipFile(folder / "no records", "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")
    return sorted(folder.iterdir())


def hostile_tar(file, wanted, content=b"<p>Text.</p>\n"):
    """Write a tar: ``wanted`` as a file, and other members that lead out of a folder.

    Returns:
        names of links and devices that end like ``wanted``
    """
    ending = os.path.splitext(wanted)[1]
    kinds = {
        "symbolic": (tarfile.SYMTYPE, "/etc/passwd"),
        "hard": (tarfile.LNKTYPE, "../../outside"),
        "device": (tarfile.CHRTYPE, ""),
        "pipe": (tarfile.FIFOTYPE, ""),
        "folder": (tarfile.DIRTYPE, ""),
    }
    special = []
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name in ("../outside" + ending, "/tmp/outside" + ending, "a/../../outside" + ending):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for kind, (code, target) in kinds.items():
            info = tarfile.TarInfo(f"./usr/{kind}{ending}")
            info.type, info.linkname = code, target
            special.append(info.name[2:])
            archive.addfile(info)
        info = tarfile.TarInfo(wanted)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return special


def write_deb(path, data_tar: bytes):
    """A Debian package around the tar of its files."""
    control = io.BytesIO()
    with tarfile.open(fileobj=control, mode="w") as archive:
        info = tarfile.TarInfo("./control")
        archive.addfile(info)
    members = {"debian-binary": b"2.0\n", "control.tar": control.getvalue(), "data.tar": data_tar}
    with open(path, "wb") as file:
        file.write(b"!<arch>\n")
        for name, content in members.items():
            head = f"{name:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
            file.write(head.encode() + content + b"\n" * (len(content) % 2))
