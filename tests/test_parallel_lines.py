"""Streams of lines: order, line ends, bounded reading, and what happens on a kill."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import PROJECT

from realformer_runtime.command_line import UserError
from realformer_runtime.text import parallel_lines
from realformer_runtime.text.parallel_lines import BLOCK_BYTES, BLOCKS_PER_WORKER, LONGEST_LINE

COMMAND = [sys.executable, "-m", "realformer_runtime.text.tokenization", "--lang", "en", "--jobs"]
LIMIT = 120  # seconds, in which every process here ends, or is ended
BOTH = pytest.mark.parametrize("jobs", [1, 2])


def upper():
    return str.upper


def converted(text, **options):
    sink = io.BytesIO()
    counts = parallel_lines.convert_stream(io.BytesIO(text), sink, upper, **options)
    return sink.getvalue(), counts


@BOTH
def test_lines_keep_their_order_and_place(jobs, monkeypatch):
    monkeypatch.setattr(parallel_lines, "BLOCK_BYTES", 1000)
    lines = [f"line {number} é" * (number % 40) for number in range(2000)]
    text, counts = converted("\n".join(lines).encode() + b"\n", jobs=jobs, count_words=True)
    assert text.decode().split("\n") == [line.upper() for line in lines] + [""]
    assert counts["ÉLINE"] == sum(max(0, number % 40 - 1) for number in range(2000))


@pytest.mark.parametrize("text", [b"", b"\n", b"a", b"a\n", b"a\n\n\nb", b"\r\n\x0c\n", b"\n\n"])
def test_line_feeds_are_the_only_line_ends(text):
    assert converted(text, end_last_line=False)[0] == text.upper()
    ended = text.upper() + b"\n" * (bool(text) and not text.endswith(b"\n"))
    assert converted(text)[0] == ended


@BOTH
def test_input_is_not_read_far_ahead_of_the_output(jobs):
    source = io.BytesIO(b"some words in a line\n" * (40 * BLOCK_BYTES // 21))
    results = parallel_lines.convert_blocks(source, upper, jobs)
    for taken in range(1, 6):
        next(results)
        assert source.tell() <= (taken + BLOCKS_PER_WORKER * jobs + 1) * BLOCK_BYTES
    results.close()


@BOTH
def test_a_line_too_long_is_left_empty_and_named(jobs, capsys):
    long = b"\xffno UTF-8 " * (3 * LONGEST_LINE // 10)
    longest = b"x" * LONGEST_LINE
    text, _ = converted(b"a\n" + long + b"\nb\n" + longest + b"\n" + longest + b"y\nc\n", jobs=jobs)
    assert text == b"A\n\nB\n" + longest.upper() + b"\n\nC\n"
    errors = [line.split(":")[0] for line in capsys.readouterr().err.splitlines()]
    assert errors == ["standard input, line 2", "standard input, line 5"]


def test_a_line_without_end_is_not_kept():
    class Endless(io.RawIOBase):
        left = 200

        def read(self, size=-1):
            self.left -= 1
            return b"x" * size if self.left > 0 else b""

    assert [len(block) for block in parallel_lines.blocks(Endless())] == [LONGEST_LINE + 1]


@BOTH
def test_a_line_that_is_not_utf8_is_named(jobs, monkeypatch):
    monkeypatch.setattr(parallel_lines, "BLOCK_BYTES", 1000)
    with pytest.raises(UserError, match="line 5001: not UTF-8"):
        converted(b"a line\n" * 5000 + b"caf\xe9\n" + b"a line\n" * 5000, jobs=jobs)


def feed(process):
    with contextlib.suppress(OSError):  # the reader has ended
        while True:
            process.stdin.write(b"a line of some words\n" * 1000)


@pytest.fixture
def running():
    """The command with two workers, fed without end, and its output not read."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A shell that runs the tests in the background has them ignore Ctrl-C, and so all they start.
    heed = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    process = subprocess.Popen(
        [*COMMAND, "2"], cwd=PROJECT, start_new_session=True, **pipes, **heed
    )
    timer = threading.Timer(LIMIT, os.killpg, (process.pid, signal.SIGKILL))
    feeder = threading.Thread(target=feed, args=(process,), daemon=True)
    timer.start()
    feeder.start()
    assert process.stdout.read(1)
    yield process
    timer.cancel()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    feeder.join()


def end_of(process):
    """Exit code and what was written to standard error."""
    process.stdout.read()
    return process.wait(timeout=LIMIT), process.stderr.read().decode()


def workers(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return list(map(int, children.split()))


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no Linux /proc")


@needs_proc
def test_a_killed_worker_is_one_clear_error(running):
    os.kill(workers(running)[0], signal.SIGKILL)
    code, errors = end_of(running)
    assert code == 1 and len(errors.splitlines()) == 1
    assert errors.startswith("tokenization: a worker process was killed")


@needs_proc
def test_workers_end_with_a_killed_parent(running):
    orphans = workers(running)
    assert len(orphans) == 2
    running.kill()
    running.wait(timeout=LIMIT)
    deadline = time.monotonic() + LIMIT
    while any(map(alive, orphans)):
        assert time.monotonic() < deadline, "the workers still run"
        time.sleep(0.05)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_interrupting_is_quiet(running):
    os.killpg(running.pid, signal.SIGINT)
    assert end_of(running) == (128 + signal.SIGINT, "")


@BOTH
def test_a_closed_output_is_quiet(jobs):
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"input": b"a line\n" * 100_000, "stdout": writer, "stderr": subprocess.PIPE}
    result = subprocess.run([*COMMAND, str(jobs)], cwd=PROJECT, timeout=LIMIT, **streams)
    os.close(writer)
    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, b"")
