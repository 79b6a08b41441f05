"""Write a file or a folder completely or not at all."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional

from .command_line import UserError


def check_output(flag: str, path: Optional[str]) -> None:
    """Fail before a long computation where its result could not be written; None is no file.

    Raises:
        UserError: with the flag
    """
    if path is None:
        return
    folder = os.path.dirname(os.path.realpath(path))
    if path == "-":
        raise UserError(f"{flag}: '-' is no file (/dev/stdout is standard output)")
    if os.path.isdir(path) or path.endswith("/"):
        raise UserError(f"{flag}: '{path}' is a folder, not a file")
    if not os.path.isdir(folder):
        raise UserError(f"{flag} {path}: no such folder: '{folder}'")
    # A file is written beside where it is to be; a device or a pipe is not.
    place = path if os.path.exists(path) and not os.path.isfile(path) else folder
    if not os.access(place, os.W_OK):
        raise UserError(f"{flag}: '{path}' cannot be written")


@contextmanager
def atomic_output(path, exclusive: bool = False) -> Iterator[Path]:
    """Yield a temporary path in the same folder; it becomes ``path`` if the block succeeds.

    If the block fails, the temporary file is removed, and what was at ``path`` stays as it was.
    An error of the system that names the temporary file or none, such as that of a full disk, names
    ``path`` then.
    A symbolic link is followed. Entering fails early, before any long computation, where nothing
    can be written.

    Args:
        exclusive: nobody else writes into the folder. The temporary file is ``path.tmp``, so that a
            killed process leaves one such file at most, and a symbolic link is replaced

    Raises:
        UserError: no such folder, or ``path`` is something other than a file
        OSError: the folder cannot be written to
    """
    target = Path(path) if exclusive else Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise UserError(f"{path}: no such folder: {target.parent}")
    # A rename would replace /dev/null itself if root writes to it.
    if os.path.exists(path) and not os.path.isfile(path):
        raise UserError(f"{path}: exists and is not a file")
    # Not the tempfile module: its files are readable by their owner only, whatever the umask.
    name = f"{target.name}.tmp" if exclusive else f".{target.name}.{os.getpid()}.tmp"
    temporary = target.with_name(name)
    try:
        temporary.touch()
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        if error.filename in (None, os.fspath(temporary)):
            error.filename = os.fspath(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(path: str) -> Iterator[Path]:
    """A temporary folder that becomes ``path`` if the block succeeds, and is deleted if not."""
    target = Path(os.path.abspath(path))
    if os.pathsep in str(target):
        raise UserError(f"--output '{path}': a colon separates folders, and cannot be in one")
    if os.path.lexists(target):
        raise UserError(f"--output '{path}': is there already: choose another, or delete it")
    if not target.parent.is_dir():
        raise UserError(f"--output '{path}': no such folder: '{target.parent}'")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.mkdir()
    try:
        yield temporary
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
