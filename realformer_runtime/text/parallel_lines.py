"""Apply a line function to a stream of text, in order, on several processes, in bounded memory.

Only a line feed ends a line, so that the two sides of a corpus stay parallel.
"""

import collections
import concurrent.futures
import functools
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures.process import BrokenProcessPool
from typing import BinaryIO, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ..command_line import ArgumentParser, UserError, whole_number_above_0
from .utf8_lines import decode_line, start_of_text

BLOCK_BYTES = 1 << 18
# In bytes, more than any text to translate. It bounds the memory of a worker.
LONGEST_LINE = 1 << 20
SOURCE = "standard input"
BLOCKS_PER_WORKER = 2  # one in work and one that waits

LineFunction = Callable[[str], str]
# The type of --jobs. A pool with far more processes cannot start.
number_of_processes = functools.partial(whole_number_above_0, most=4096)


def add_jobs(parser: ArgumentParser) -> None:
    """Add ``--jobs``, which :func:`convert_stream` takes."""
    parser.add_argument(
        "--jobs", type=number_of_processes, default=1, help="processes (default: 1)"
    )


class Converted(NamedTuple):
    """A converted block of whole lines."""

    text: bytes
    word_counts: Optional[Dict[str, int]]
    too_long: List[int]  # numbers of the lines that were left empty


def blocks(source: BinaryIO) -> Iterator[bytes]:
    """Blocks of whole lines, of about ``BLOCK_BYTES``. The last may lack its line feed.

    A line longer than ``LONGEST_LINE`` is cut to one byte more. A byte order mark at the start is
    left out.
    """
    rest = b""
    at_start = True
    while data := source.read(BLOCK_BYTES):
        if at_start:
            data, at_start = start_of_text(data, SOURCE), False
        lines, line_feed, tail = data.rpartition(b"\n")
        if line_feed:
            yield rest + lines + line_feed
            rest = tail
        else:
            rest = (rest + tail)[: LONGEST_LINE + 1]
    if rest:
        yield rest


def _decode(line: bytes, number: int, too_long: List[int]) -> str:
    if len(line) > LONGEST_LINE:
        too_long.append(number)
        return ""
    return decode_line(line, number, SOURCE)


def convert_block(convert: LineFunction, block: bytes, first: int, count_words: bool) -> Converted:
    """Convert a block of whole lines, of which the first has the number ``first``."""
    too_long: List[int] = []
    body = block[:-1] if block.endswith(b"\n") else block
    try:
        if len(block) > LONGEST_LINE:
            raise ValueError("look at the lines one by one")
        lines = body.decode("utf-8").split("\n")
    except ValueError:
        numbered = enumerate(body.split(b"\n"), first)
        lines = [_decode(line, number, too_long) for number, line in numbered]
    text = "\n".join(map(convert, lines))
    counts = None
    if count_words:
        counts = collections.Counter(text.replace("\n", " ").split(" "))
        del counts[""]
        counts = dict(counts)  # is sent between processes twice as fast as a Counter
    return Converted(text.encode("utf-8") + b"\n" * block.endswith(b"\n"), counts, too_long)


def _start_worker(make: Callable[[], LineFunction]) -> None:
    global line_function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the workers
    parent = multiprocessing.parent_process()

    def end_with_parent():
        parent.join()
        os._exit(1)  # a killed parent would leave the worker waiting for ever

    threading.Thread(target=end_with_parent, daemon=True).start()
    line_function = make()


def _work(block: bytes, first: int, count_words: bool) -> Converted:
    return convert_block(line_function, block, first, count_words)


def _numbered(source: BinaryIO) -> Iterator[Tuple[bytes, int]]:
    first = 1
    for block in blocks(source):
        yield block, first
        first += block.count(b"\n")


def _convert_in_pool(source, make, jobs, count_words) -> Iterator[Converted]:
    waiting: collections.deque = collections.deque()
    pool = concurrent.futures.ProcessPoolExecutor(jobs, initializer=_start_worker, initargs=(make,))
    try:
        for block, first in _numbered(source):
            waiting.append(pool.submit(_work, block, first, count_words))
            if len(waiting) >= BLOCKS_PER_WORKER * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UserError(
            "a worker process was killed, perhaps for want of memory: fewer --jobs need less"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def convert_blocks(
    source: BinaryIO, make: Callable[[], LineFunction], jobs: int = 1, count_words: bool = False
) -> Iterator[Converted]:
    """Convert a stream block by block, in order.

    At most ``BLOCKS_PER_WORKER`` blocks for each worker are read ahead of the results.

    Args:
        source: UTF-8; a last line without a line feed stays so
        make: makes the line function, once in each process; must be picklable
        jobs: worker processes; 1 works in this process

    Raises:
        UserError: a line is not UTF-8, or a worker process was killed
    """
    # Called here first, so that an error in its arguments is raised once, before processes start.
    convert = make()
    if jobs > 1:
        yield from _convert_in_pool(source, make, jobs, count_words)
        return
    for block, first in _numbered(source):
        yield convert_block(convert, block, first, count_words)


def convert_stream(
    source: BinaryIO,
    sink: BinaryIO,
    make: Callable[[], LineFunction],
    jobs: int = 1,
    count_words: bool = False,
    end_last_line: bool = True,
) -> Dict[str, int]:
    """Convert a stream into another; a line longer than ``LONGEST_LINE`` becomes an empty one.

    Args:
        end_last_line: add a line feed that the last line lacks

    Returns:
        the number of times that each word was written, empty without ``count_words``
    """
    total: Dict[str, int] = collections.Counter()
    text = b"\n"
    for text, counts, too_long in convert_blocks(source, make, jobs, count_words):
        sink.write(text)
        total.update(counts or {})
        for number in too_long:
            what = f"longer than {LONGEST_LINE} bytes, left empty"
            print(f"{SOURCE}, line {number}: {what}", file=sys.stderr)
    if end_last_line and not text.endswith(b"\n"):
        sink.write(b"\n")
    sink.flush()
    return total
