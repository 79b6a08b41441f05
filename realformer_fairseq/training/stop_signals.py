"""Save a checkpoint when a signal stops the training.

On SIGTERM or SIGUSR1 ``fairseq-train`` finishes the current update or batch of a validation, saves
``checkpoint_last.pt`` and exits with 128 + the number of the signal. A restarted training continues
as if it had not been stopped, but leaves out a validation that was due after that update. It is
enough that one rank gets the signal.

Where nothing is saved, because no update is done yet or ``--no-save`` says so, the exit code is 1:
whoever starts a training again after 128 + SIGUSR1 would do so for ever.

A launcher often sends a signal twice, to the process and to its group, so a second signal within
``SAME_SIGNAL`` seconds is ignored. A later signal ends the training as before the first update.

A signal to the group also ends fairseq's data loading processes, and then the training fails. With
such a launcher use ``--num-workers 0``, as our scripts do.
"""

import contextlib
import functools
import logging
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator

import torch
from fairseq import checkpoint_utils
from fairseq.distributed import utils as distributed_utils
from fairseq.file_io import PathManager
from fairseq.trainer import Trainer

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
SAME_SIGNAL = 5.0  # seconds
NOTHING_SAVED = 1  # exit code

logger = logging.getLogger(__name__)


def set_handlers(handler: Any) -> Dict[int, Any]:
    """Set the handler of ``SIGNALS`` in the main thread, and return those before, by signal.

    A handler that Python has not set cannot be restored, and is left out.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    return {number: former for number, former in before.items() if former is not None}


def end_unsaved(number: int, frame) -> None:
    """Signal handler of a training that has nothing to save."""
    set_handlers(signal.SIG_IGN)  # a further one must not change the exit code
    name = signal.Signals(number).name
    print(f"fairseq-train: {name}: ended before a checkpoint could be saved", file=sys.stderr)
    sys.exit(NOTHING_SAVED)


def hears_signals() -> bool:
    """Whether a handler of ours is set."""
    handler = signal.getsignal(SIGNALS[0])
    return handler is end_unsaved or isinstance(handler, SignalWatch)


class SignalWatch:
    """Signal handler for ``SIGNALS``; ``received`` is the number of the first signal, or 0.

    Args:
        forward: send the first signal on to the processes that this one started
    """

    def __init__(self, forward: bool = False):
        self.forward = forward
        self.received = 0
        self.since = 0.0
        self.previous = set_handlers(self)

    def __call__(self, number: int, frame) -> None:
        now = time.monotonic()
        if not self.received:
            self.received, self.since = number, now
            for process in multiprocessing.active_children() if self.forward else ():
                os.kill(process.pid, number)
        elif now - self.since > SAME_SIGNAL:
            self.end()
            os.kill(os.getpid(), number)

    def end(self) -> None:
        """Restore the previous signal handlers."""
        for each, handler in self.previous.items():
            signal.signal(each, handler)


def all_updates_are_made(trainer: Trainer) -> bool:
    """Whether ``--max-update`` is reached."""
    return trainer.get_num_updates() >= (trainer.cfg.optimization.max_update or math.inf)


def training_is_over(trainer: Trainer) -> bool:
    """Whether this was the last update, after which fairseq saves and ends by itself."""
    last_epoch = trainer.cfg.optimization.max_epoch or math.inf
    return all_updates_are_made(trainer) or trainer._train_iterator.next_epoch_idx > last_epoch


def save_and_exit(trainer: Trainer, number: int) -> None:
    """Save a checkpoint and end the process with 128 + ``number``, on all ranks together."""
    cfg = trainer.cfg.checkpoint
    checkpoint_utils.save_checkpoint(cfg, trainer, trainer._train_iterator, None)
    set_handlers(signal.SIG_IGN)  # a further one must not change the exit code
    if cfg.write_checkpoints_asynchronously:
        PathManager.async_close()
    # Launchers kill the other ranks as soon as one ends, so all wait until the file is written.
    if trainer.data_parallel_world_size > 1:
        arrived = torch.zeros(1, device=trainer.device)
        distributed_utils.all_reduce(arrived, group=trainer.data_parallel_process_group)
        arrived.item()  # waits on a GPU, too
        # Else threads of the process group may still run when the process ends, and abort it.
        torch.distributed.destroy_process_group()
    name, updates = signal.Signals(number).name, trainer.get_num_updates()
    saved, code = "saved", 128 + number
    if cfg.no_save or cfg.no_last_checkpoints:
        saved, code = "not saved", NOTHING_SAVED
    logger.info(f"{name}: {saved} after {updates} updates, ending with exit code {code}")
    sys.exit(code)


@contextlib.contextmanager
def signals_given_back() -> Iterator[None]:
    """Restore the signal handlers of a program that runs a training in its own process.

    A process that a signal ends ignores further ones until it has ended.
    """
    before = set_handlers(end_unsaved)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, handler)


def forward_to_spawned(call_main: Callable[..., Any]) -> Callable[..., Any]:
    """``call_main`` of fairseq, which forwards signals to the processes that it starts."""

    @functools.wraps(call_main)
    def call_and_forward(cfg, main, **kwargs):
        distributed = cfg.distributed_training
        several = distributed.distributed_world_size > 1 and not distributed.distributed_no_spawn
        with signals_given_back():
            forwarder = SignalWatch(forward=True) if several else None
            try:
                return call_main(cfg, main, **kwargs)
            except torch.multiprocessing.ProcessExitedException as first:
                if first.exit_code < 0 and not (forwarder and forwarder.received):
                    raise
                sys.exit(max(first.exit_code, NOTHING_SAVED))  # that process has said why

    return call_and_forward
