"""Read a fairseq checkpoint without loading it: its tensors stay on the disk until they are used.

Nothing in the file is run (``weights_only``), and what is never looked at, such as the state of the
optimizer, is never read.
"""

import argparse
import math
import os
import pickle
import re
import sys
import warnings
import zipfile
from typing import Any, Dict, Hashable

import torch
from torch import Tensor

from realformer_runtime.command_line import UserError

from .tied_tensors import storage_key

NO_MODEL = "not a fairseq checkpoint, it has no model in it"


def load_checkpoint(path: str) -> Dict[str, Any]:
    """A checkpoint with its tensors left on the disk, mapped into memory.

    What has been used of it counts as resident memory, but the system takes that back as it does
    with its cache of files. Files from before torch 1.6 cannot be mapped and are read as a whole.

    Raises:
        UserError: truncated, not a checkpoint, or it would have to run code to be loaded, or its
            tensors are not what fairseq writes, such as larger than the file
        OSError: no such file
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise UserError(f"{path}: is not a file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
    try:
        mmap = can_be_mapped(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = torch.load(path, map_location="cpu", mmap=mmap, weights_only=True)
    except Exception as error:  # torch raises seven different types for a file it cannot read
        raise UserError(f"{path}: {reason_for_refusal(error)}") from None
    fault = fault_of_state(state) or fault_of_model(state["model"], size)
    if fault:
        raise UserError(f"{path}: refused: {fault}")
    return state


def can_be_mapped(path: str) -> bool:
    """Whether the tensors are in a file as they are in memory: a zip archive of stored records."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        records = archive.infolist()
        orders = [record for record in records if record.filename.endswith("/byteorder")]
        native = all(archive.read(record) == sys.byteorder.encode() for record in orders)
    return native and all(record.compress_type == zipfile.ZIP_STORED for record in records)


def fault_of_state(state: Any) -> str:
    """What a checkpoint has of another kind than fairseq; empty if nothing."""
    model = state.get("model") if isinstance(state, dict) else None
    if not isinstance(model, dict) or not all(isinstance(v, Tensor) for v in model.values()):
        return NO_MODEL
    if not all(isinstance(name, str) for name in model):
        return "not a fairseq checkpoint, its parameters have no names"
    history = [] if state.get("optimizer_history") is None else state["optimizer_history"]
    if not isinstance(history, list) or not all(isinstance(entry, dict) for entry in history):
        return "not a fairseq checkpoint, its optimizer_history is no list of settings"
    if not isinstance(state.get("extra_state"), (dict, type(None))):
        return "not a fairseq checkpoint, its extra_state has no names"
    return ""


def fault_of_model(model: Dict[str, Tensor], size: int) -> str:
    """Which tensor is not an ordinary one, or claims more than is in the file; empty if none.

    A small file can describe large tensors: one number that is repeated, or many views of the same
    numbers. What is made of them would fill memory and disk.

    Args:
        size: of the file, in bytes
    """
    lengths: Dict[Hashable, int] = {}
    for name, tensor in model.items():
        ordinary = type(tensor) in (Tensor, torch.nn.Parameter) and not tensor.is_nested
        ordinary = ordinary and tensor.layout == torch.strided and tensor.device.type == "cpu"
        if not ordinary or tensor.is_quantized:
            return f"{name} is not an ordinary tensor"
        length = math.prod(tensor.shape) * tensor.element_size()
        if length > tensor.untyped_storage().nbytes():
            return f"{name} is larger than what is stored of it"
        lengths[storage_key(tensor)] = length
    if sum(lengths.values()) > size:
        return "its tensors are larger than the file"
    return ""


def reason_for_refusal(error: Exception) -> str:
    """Half a line about why torch did not load a file."""
    name = re.search(r"(?:GLOBAL|class) ([\w.]+)", str(error))
    if isinstance(error, pickle.UnpicklingError) and name:
        return f"refused: it holds {name.group(1)}, which could run code when loaded"
    return "refused: truncated, or not a fairseq checkpoint"


def stored_option(state: Dict[str, Any], group: str, name: str, default: Any = None) -> Any:
    """An option of the training that wrote a checkpoint.

    Args:
        group: of fairseq's configuration, for example ``checkpoint``; older checkpoints have flat
            arguments, in which it is not looked at
        name: with underscores, as in ``max_source_positions``
    """
    cfg = state.get("cfg")
    options = cfg.get(group) if isinstance(cfg, dict) else state.get("args")
    if isinstance(options, argparse.Namespace):
        options = vars(options)
    return options.get(name, default) if isinstance(options, dict) else default
