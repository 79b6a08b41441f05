"""Choose the checkpoint to resume from: the last one, or else the newest that is whole."""

import zipfile
import zlib
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional

from realformer_checkpoints.reading import load_checkpoint
from realformer_runtime.command_line import UserError


class Choice(NamedTuple):
    """The checkpoint to load, and a warning for the log."""

    path: str
    warning: str = ""


def load_whole(path: str) -> Dict[str, Any]:
    """Load a checkpoint after checking every byte. Its tensors stay on the disk.

    Raises:
        UserError: truncated, damaged, or not a checkpoint
    """
    state = load_checkpoint(path)
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                damaged = archive.testzip()
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
            damaged = str(error)
        if damaged:
            raise UserError(f"{path}: damaged, at its record {damaged}")
    return state


def updates_of(state: Dict[str, Any]) -> Optional[int]:
    """The number of updates of a checkpoint, or None if training cannot resume from it."""
    history = state.get("optimizer_history") or [{}]
    extra = state.get("extra_state") or {}
    resumable = "last_optimizer_state" in state and "train_iterator" in extra
    updates = history[-1].get("num_updates") if resumable else None
    return updates if isinstance(updates, int) else None


def newest_whole(folder: Path, besides: Path) -> Optional[str]:
    """The whole checkpoint with the most updates that training can resume from, or None.

    Raises:
        UserError: only damaged checkpoints were found; names one
    """
    updates, refusals = {}, []
    for path in sorted(folder.glob("checkpoint*.pt")):
        if path == besides:
            continue
        try:
            updates[str(path)] = updates_of(load_checkpoint(str(path)))
        except UserError as error:
            refusals.append(str(error))
    resumable = [path for path in updates if updates[path] is not None]
    for path in sorted(resumable, key=lambda path: -updates[path]):
        try:
            load_whole(path)
            return path
        except UserError as error:
            refusals.append(str(error))
    if refusals:
        raise UserError(f"{refusals[0]} ({len(refusals)} such files, and no whole checkpoint)")
    return None


def choose_checkpoint(filename: str, save_dir: str) -> Choice:
    """The checkpoint to load in place of ``filename``, which fairseq would load.

    Returns:
        ``filename`` itself if it is whole, or if there is no checkpoint at all

    Raises:
        UserError: ``filename`` is damaged, and no whole checkpoint can replace it
    """
    path, why = Path(filename), f"{filename}: not there"
    is_there = path.exists()
    if is_there:
        try:
            load_whole(filename)
            return Choice(filename)
        except UserError as error:
            why = str(error)
    is_last = path == Path(save_dir, "checkpoint_last.pt")
    instead = newest_whole(path.parent, besides=path) if is_last else None
    if instead is not None:
        return Choice(instead, f"{why}; going on from {instead}")
    if is_there:
        raise UserError(f"{why}; to start afresh, move it away")
    return Choice(filename)
