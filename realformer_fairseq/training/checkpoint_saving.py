"""Write checkpoints completely or not at all.

fairseq copies ``checkpoint_last.pt`` in place, so a kill or a full disk leaves half a file. After a
failed write it appends its next attempt to the partial file, and leaves that on the full disk.
"""

import functools
import os
import shutil
import time
from pathlib import Path
from typing import Any, Callable

import torch
from fairseq.file_io import PathManager

from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import UserError

from .affected_models import OUR_TRAINER_IS_AT_WORK

ATTEMPTS, SECONDS_BETWEEN = 3, 2.5  # as in fairseq


class CheckpointNotSaved(OSError):
    """A checkpoint cannot be written. The earlier file of its name is unchanged."""


def write_whole(write: Callable[[Path], Any], path: str) -> None:
    """Write a file with ``write`` by :func:`atomic_output`, or raise CheckpointNotSaved."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with atomic_output(path, exclusive=True) as temporary:
                write(temporary)
            return
        # torch raises RuntimeError if the disk is full
        except (OSError, RuntimeError, UserError) as error:
            if attempt == ATTEMPTS:
                why = reason(error, path)
                raise CheckpointNotSaved(f"{path} cannot be saved: {why}") from error
            time.sleep(SECONDS_BETWEEN)


def reason(error: BaseException, path: str) -> str:
    """The error of the operating system and the free space, on one line."""
    first = error
    while not isinstance(first, OSError) and first.__context__ is not None:
        first = first.__context__
    message = first.strerror if isinstance(first, OSError) and first.strerror else str(error)
    free = shutil.disk_usage(os.path.dirname(path) or ".").free
    return f"{message.splitlines()[0]} ({free / 1e9:.1f} GB free)"


def save_whole(save: Callable[..., Any]) -> Callable[..., Any]:
    """``torch_persistent_save`` of fairseq, which writes ordinary files by :func:`write_whole`."""

    @functools.wraps(save)
    def save_or_leave(obj, filename, async_write: bool = False):
        elsewhere = PathManager.path_requires_pathmanager(filename)
        if async_write or elsewhere or not OUR_TRAINER_IS_AT_WORK.get():
            return save(obj, filename, async_write)

        def write(temporary: Path) -> None:
            with open(temporary, "wb") as file:
                torch.save(obj, file)
                file.flush()
                os.fsync(file.fileno())

        return write_whole(write, filename)

    return save_or_leave


def copy_whole(copy: Callable[..., Any]) -> Callable[..., Any]:
    """``PathManager.copy`` of fairseq, which writes ordinary files by :func:`write_whole`."""

    @functools.wraps(copy)
    def copy_or_leave(src_path: str, dst_path: str, overwrite: bool = False):
        if PathManager.path_requires_pathmanager(dst_path) or not OUR_TRAINER_IS_AT_WORK.get():
            return copy(src_path, dst_path, overwrite)
        write_whole(lambda temporary: shutil.copyfile(src_path, temporary), dst_path)
        return dst_path

    return copy_or_leave
