"""Read a fairseq checkpoint without loading its tensors, which stay on the disk until used.

A file never runs code (``weights_only``). Unused tensors, such as the optimizer's, are never read.
"""

import argparse
import math
import os
import pickle
import re
import sys
import warnings
import zipfile
from typing import Any, Dict, Hashable, Optional

import torch
from torch import Tensor

from realformer_runtime.command_line import UserError

# In extra_state: the weights of --store-ema, and in float32 those of --ema-fp32.
EMA, EMA_FLOAT32 = "ema", "ema_fp32_params"
# Names of tasks whose models do not translate.
SENTENCE_TASKS = ("sentence_prediction", "sentence_ranking")
LANGUAGE_MODEL_TASKS = ("masked_lm", "language_modeling", *SENTENCE_TASKS)
# Key in the state of a model whose omega is folded into other parameters.
FOLDED = "folded_omega"
# Of parameters and buffers. torch computes with few others, such as those of 8 bits.
TYPES = frozenset(
    getattr(torch, name)
    for name in """
        bfloat16 float16 float32 float64 complex64 complex128 bool uint8 int8 int16 int32 int64
    """.split()
)


def load_checkpoint(path: str, ema: bool = False) -> Dict[str, Any]:
    """Read a checkpoint with its tensors mapped into memory from the disk.

    Used tensors count as resident memory, but the system can free it like its file cache. Files
    from before torch 1.6 cannot be mapped and are read completely.

    Args:
        ema: ``model`` is the moving average of ``fairseq-train --store-ema``

    Raises:
        UserError: truncated, not a checkpoint, with code to run, without the moving average that is
            asked for, or with tensors that fairseq does not write, such as ones larger than the
            file
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise UserError(f"{path}: is not a file")
    with open(path, "rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        size = os.fstat(file.fileno()).st_size
        try:
            mmap = can_be_mapped(path)
            source = path if mmap else file
            state = torch.load(source, map_location="cpu", mmap=mmap, weights_only=True)
        except Exception as error:  # torch raises seven types for files that it cannot read
            raise UserError(f"{path}: {reason_for_refusal(error)}") from None
    reason = why_not_a_checkpoint(state)
    if ema and not reason:
        if not has_moving_average(state):
            raise UserError(f"{path}: has no EMA weights, which fairseq-train --store-ema writes")
        state["model"] = state["extra_state"][EMA]
        reason = why_not_a_checkpoint(state)
    reason = reason or why_tensors_are_refused(state["model"], size)
    if reason:
        raise UserError(f"{path}: refused: {reason}")
    return state


def has_moving_average(state: Dict[str, Any]) -> bool:
    """Whether a state has the weights of ``fairseq-train --store-ema``."""
    return EMA in (state.get("extra_state") or ())


def drop_moving_average(state: Dict[str, Any]) -> None:
    """Leave the weights of ``--store-ema`` and ``--ema-fp32`` out of a state."""
    if has_moving_average(state):
        extra_state = state["extra_state"].items()
        state["extra_state"] = {k: v for k, v in extra_state if k not in (EMA, EMA_FLOAT32)}


def storage_key(tensor: Tensor) -> Hashable:
    """Key that is equal for two tensors if, and only if, they are the same view of one storage."""
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def can_be_mapped(path: str) -> bool:
    """Whether a file has tensors as in memory: a zip archive without compression, native bytes.

    torch maps by name, and takes no name that is not UTF-8.
    """
    if re.search("[\ud800-\udfff]", path) or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        records = archive.infolist()
        orders = [record for record in records if record.filename.endswith("/byteorder")]
        native = all(archive.read(record) == sys.byteorder.encode() for record in orders)
    return native and all(record.compress_type == zipfile.ZIP_STORED for record in records)


def why_not_a_checkpoint(state: Any) -> str:
    """Why a state is not one that fairseq writes, or an empty string."""
    entries = state if isinstance(state, dict) else {}
    model = entries.get("model")
    if model is None and entries and all(isinstance(v, Tensor) for v in entries.values()):
        reason = "it has parameters alone: fairseq has them under 'model', beside their options"
    elif model is None and "param_groups" in entries:
        reason = "it has the state of an optimizer alone, and no model"
    elif not isinstance(model, dict) or not all(isinstance(v, Tensor) for v in model.values()):
        reason = "it has no model in it"
    elif not model:
        reason = "its model has no parameters"
    elif not all(isinstance(name, str) for name in model):
        reason = "its parameters have no names"
    elif not (state.get("optimizer_history") is None or are_all(state["optimizer_history"], dict)):
        reason = "its optimizer_history is no list of settings"
    elif not isinstance(state.get("extra_state"), (dict, type(None))):
        reason = "its extra_state has no names"
    else:
        return ""
    return f"not a fairseq checkpoint, {reason}"


def are_all(values: Any, kind: type) -> bool:
    """Whether ``values`` is a list of values of one type."""
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def why_tensors_are_refused(model: Dict[str, Tensor], size: int) -> str:
    """Why a tensor is not ordinary or is larger than the file, or an empty string.

    A small file can describe large tensors: one number that is repeated, or many views of the same
    numbers. Copies of such tensors would fill memory and disk.
    """
    lengths: Dict[Hashable, int] = {}
    for name, tensor in model.items():
        ordinary = type(tensor) in (Tensor, torch.nn.Parameter) and tensor.device.type == "cpu"
        ordinary = ordinary and tensor.layout == torch.strided and tensor.dtype in TYPES
        if not ordinary or tensor.is_nested or tensor.is_quantized:
            return f"{name} is not an ordinary tensor"
        length = math.prod(tensor.shape) * tensor.element_size()
        if length > tensor.untyped_storage().nbytes():
            return f"{name} is larger than what is stored of it"
        lengths[storage_key(tensor)] = length
    if sum(lengths.values()) > size:
        return "its tensors are larger than the file"
    return ""


def reason_for_refusal(error: Exception) -> str:
    """Why torch did not load a file, for the end of a message."""
    name = re.search(r"(?:GLOBAL|class) ([\w.]+)", str(error))
    if isinstance(error, pickle.UnpicklingError) and name:
        return f"refused: it holds {name.group(1)}, which could run code when loaded"
    return "refused: truncated, or not a fairseq checkpoint"


def stored_option(state: Dict[str, Any], group: str, name: str, default: Any = None) -> Any:
    """An option of the training that wrote a checkpoint.

    Args:
        group: of fairseq's configuration; the flat arguments of older checkpoints have no groups
    """
    return (option_group(state, group) or {}).get(name, default)


def stored_task(state: Dict[str, Any]) -> str:
    """The name of the task of the training that wrote a checkpoint, empty if it is not recorded."""
    return str(stored_option(state, "task", "_name") or stored_option(state, "task", "task") or "")


def option_group(state: Dict[str, Any], group: str) -> Optional[Dict[str, Any]]:
    """The options of a group in a checkpoint, of older ones all options, None if there are none."""
    cfg = state.get("cfg")
    options = cfg.get(group) if isinstance(cfg, dict) else state.get("args")
    if isinstance(options, argparse.Namespace):
        options = vars(options)
    return options if isinstance(options, dict) else None
