"""fairseq's threads that load data end before the process does.

They are daemon threads. Python ends one that is still at work at the exit of the process, and if it
is in an operation of torch then, C++ aborts the process ("terminate called without an active
exception", exit code 134), although the training is done or has saved.
"""

import atexit
import queue
import threading
import time

from fairseq.data.iterators import BackgroundConsumer

PATIENCE = 10.0  # seconds for the batch that a thread is at


def end_threads_at_exit() -> None:
    """End the threads when the process exits, whatever the reason."""
    atexit.unregister(end_threads)  # of an earlier training
    atexit.register(end_threads)


def end_threads() -> None:
    """Let each thread finish the batch that it is at, and wait for it."""
    threads = [each for each in threading.enumerate() if isinstance(each, BackgroundConsumer)]
    for thread in threads:
        thread._max_len = 0  # reached after one more batch
    until = time.monotonic() + PATIENCE
    for thread in threads:
        while thread.is_alive() and time.monotonic() < until:
            make_room(thread._queue)
            thread.join(0.01)


def make_room(batches: queue.Queue) -> None:
    """Empty a queue that a thread may be waiting to put a batch into."""
    while not batches.empty():
        batches.get_nowait()
