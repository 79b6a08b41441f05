"""One training at a time in a ``--save-dir``.

Two trainings there overwrite each other's checkpoints without a word. It happens easily: under a
plain ``torchrun`` fairseq on CPUs starts as many independent trainings as there are processes.
"""

import contextlib
import fcntl
import logging
import os
import time
from typing import IO, Iterator, List, Optional

from realformer_runtime.command_line import UserError

LOCK_NAME = ".training.lock"
# Data loading processes of a killed training notice within 5 s that it is gone.
PATIENCE = 20.0

_locks: List[IO] = []  # that this process has taken

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def locks_given_back() -> Iterator[None]:
    """Give back the locks that are taken inside, also where something keeps the trainer alive."""
    before = len(_locks)
    try:
        yield
    finally:
        for lock in _locks[before:]:
            lock.close()
        del _locks[before:]


def lock_save_dir(save_dir: str, patience: float = PATIENCE) -> Optional[IO]:
    """Take the lock of a folder; it is given back when the file is closed or the process ends.

    Returns:
        the open file that holds the lock; None where there is no such folder, or where
        its file system knows no locks

    Raises:
        UserError: another training is at work there after ``patience`` seconds
    """
    if not os.path.isdir(save_dir):
        return None
    try:
        lock = open(os.path.join(save_dir, LOCK_NAME), "a")  # noqa: SIM115
    except OSError:
        return None  # fairseq itself tells of a folder that it cannot write to
    last_try = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _locks.append(lock)
            return lock
        except (BlockingIOError, PermissionError):  # another process has it
            pass
        except OSError as error:
            logger.warning(f"--save-dir {save_dir} cannot be locked: {error.strerror}")
            lock.close()
            return None
        if time.monotonic() >= last_try:
            lock.close()
            raise UserError(
                f"--save-dir {save_dir}: another training is at work there "
                "(for several processes in one training use the scripts, or fairseq-train's "
                "--distributed-world-size)"
            )
        time.sleep(0.2)
