"""Choose the checkpoint to resume from: the last one, or else the newest that is whole."""

import zipfile
import zlib
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from realformer_checkpoints.reading import load_checkpoint
from realformer_runtime.command_line import UserError

LAST = "checkpoint_last.pt"  # fairseq's default of --restore-file
RESETS = ("reset_optimizer", "reset_lr_scheduler", "reset_dataloader", "reset_meters")


def load_whole(path: str) -> Dict[str, Any]:
    """Load a checkpoint after checking every byte, or raise UserError. Tensors stay on the disk."""
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
        UserError: there are only damaged checkpoints
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


def choose_checkpoint(filename: str, save_dir: str) -> Tuple[str, str]:
    """The checkpoint to load in place of ``filename``, and a warning for the log.

    It is ``filename`` itself if that is whole, or if there is no checkpoint at all.

    Raises:
        UserError: ``filename`` is damaged, and no whole checkpoint can replace it
    """
    path, why = Path(filename), f"{filename}: not there"
    is_there = path.exists()
    if is_there:
        try:
            load_whole(filename)
            return filename, ""
        except UserError as error:
            why = str(error)
    is_last = path == Path(save_dir, LAST)
    instead = newest_whole(path.parent, besides=path) if is_last else None
    if instead is not None:
        return instead, f"{why}; going on from {instead}"
    if is_there:
        raise UserError(f"{why}; to start afresh, move it away")
    return filename, ""
