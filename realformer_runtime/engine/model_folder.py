"""The folder of an exported model: what is in it, and whether it is whole."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Dict, List

from ..command_line import UserError
from .search_options import SearchOptions

FORMAT = 1
MANIFEST = "model.json"
ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
ENCODER_INT8, DECODER_INT8 = "encoder-int8.onnx", "decoder-int8.onnx"
DICTIONARIES = "dictionaries.json"
FOR_PEOPLE = (MANIFEST, "README.md")  # not checked


@dataclass
class Manifest:
    """What the engine has to know of a model beside its graphs.

    Args:
        source_lang, target_lang: codes of the languages, whose rules the text needs
        moses: whether text is prepared as Moses' scripts do, for models of WMT'14
        max_source_positions, max_target_positions: the longest sentences, with ``</s>``
        search: options that differ from those of ``SearchOptions``
        made_from: checkpoint, its sha256, and versions, for people
        files: sha256 of every other file
        format: of the folder; a later one may not be understood
    """

    source_lang: str
    target_lang: str
    moses: bool
    max_source_positions: int
    max_target_positions: int
    search: Dict[str, Any] = field(default_factory=dict)
    made_from: Dict[str, Any] = field(default_factory=dict)
    files: Dict[str, str] = field(default_factory=dict)
    format: int = FORMAT

    def check(self) -> None:
        """Raise TypeError or ValueError for what no export writes."""
        kinds = {"source_lang": str, "target_lang": str, "moses": bool, "search": dict}
        kinds.update(files=dict, max_source_positions=int, max_target_positions=int)
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} is no {kind.__name__}")
        SearchOptions(**self.search)
        for name in {ENCODER, DECODER, DICTIONARIES, *self.files}:
            if name not in self.files or name != os.path.basename(name):
                raise ValueError(f"{name} is not a file of its own")

    def write(self, folder: Path) -> None:
        """Write into a folder that has all other files."""
        names = sorted(path.name for path in folder.iterdir() if path.name not in FOR_PEOPLE)
        self.files = {name: sha256_of(folder / name) for name in names}
        text = json.dumps(asdict(self), ensure_ascii=False, indent=2)
        (folder / MANIFEST).write_text(text + "\n", "utf-8")


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read and check a folder, every byte of what is used.

    Raises:
        UserError: no such folder, no exported model, of a later version, or damaged
    """
    if not folder.is_dir():
        raise UserError(f"--onnx: no such folder: '{folder}'")
    path = folder / MANIFEST
    if not path.is_file():
        raise UserError(f"--onnx '{folder}': no exported model: there is no {MANIFEST} in it")
    try:
        content = json.loads(path.read_text("utf-8"))
        version = content["format"]
        if version != FORMAT:
            raise UserError(
                f"--onnx '{folder}': of format {version}, where this version reads {FORMAT}"
            )
        manifest = Manifest(**{each.name: content[each.name] for each in fields(Manifest)})
        manifest.check()
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"--onnx '{folder}': damaged: {MANIFEST}: {error!r}") from None
    for name, digest in manifest.files.items():
        if not (folder / name).is_file():
            raise UserError(f"--onnx '{folder}': damaged: there is no {name} in it")
        if sha256_of(folder / name) != digest:
            raise UserError(f"--onnx '{folder}': damaged: {name} is not as it was written")
    return manifest


def write_dictionaries(folder: Path, source: List[str], target: List[str]) -> None:
    """Write the words of both languages, in the order of their numbers."""
    text = json.dumps({"source": source, "target": target}, ensure_ascii=False)
    (folder / DICTIONARIES).write_text(text, "utf-8")


def read_dictionaries(folder: Path) -> Dict[str, List[str]]:
    """The words of ``source`` and ``target``."""
    return json.loads((folder / DICTIONARIES).read_text("utf-8"))
