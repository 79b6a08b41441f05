"""fairseq-interactive as a child process: lines of subwords in, numbered hypotheses out."""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from typing import Iterator, List, Sequence, Tuple

from realformer_runtime.command_line import UserError

HYPOTHESIS = re.compile(r"H-(\d+)\t[^\t]*\t(.*)")
# torch says what does not fit in indented lines below the error.
ERROR_LINE = re.compile(r"\s*size mismatch for|[A-Za-z_.]*(Error|Exception|error:)")


class Search:
    """A running fairseq-interactive; to be used in a ``with`` block, which ends it.

    What it prints besides hypotheses goes to a log, which stays if it fails.

    Args:
        command: program and arguments
        about: what to call it in an error, for example which checkpoint it has
    """

    def __init__(self, command: Sequence[str], about: str):
        self.about = about
        self.sent = 0
        self.failed = False
        handle, self.log_name = tempfile.mkstemp(prefix="translate-", suffix=".log")
        self.log = os.fdopen(handle, "wb")
        # Every hypothesis as soon as it is there.
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        pipe = subprocess.PIPE
        try:
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=self.log, env=environment
            )
        except OSError as error:
            self._close_log()
            raise UserError(f"{command[0]}: {error.strerror}") from None

    def __enter__(self) -> "Search":
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self._close_log()

    def _close_log(self) -> None:
        self.log.close()
        if not self.failed:
            os.unlink(self.log_name)

    def _hypotheses(self) -> Iterator[Tuple[int, str]]:
        """Number and text of each hypothesis as it comes, until the search ends."""
        for line in self.process.stdout:
            match = HYPOTHESIS.fullmatch(line.decode("utf-8").rstrip("\n"))
            if match:
                yield int(match.group(1)), match.group(2)
            else:
                self.log.write(line)

    def failure(self) -> UserError:
        """What to raise if less came out than went in."""
        self.failed = True
        self.process.wait()
        self.log.flush()
        with open(self.log_name, encoding="utf-8", errors="replace") as log:
            errors = [line.strip() for line in log if ERROR_LINE.match(line)]
        reason = f": {errors[-1]}" if errors else ""
        return UserError(
            f"fairseq-interactive failed with {self.about}{reason} (log: '{self.log_name}')"
        )

    def _feed(self, lines: Sequence[str]) -> None:
        # If the search has failed, that is found out where its output is read.
        with contextlib.suppress(BrokenPipeError):
            for line in lines:
                self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.close()

    def translate_all(self, lines: Sequence[str]) -> Iterator[Tuple[int, str]]:
        """Number (from 0) and best hypothesis of every line, in the order in which they come.

        Raises:
            UserError: the search failed, or lines are missing in the end
        """
        feeder = threading.Thread(target=self._feed, args=(lines,), daemon=True)
        feeder.start()
        seen = set()
        for number, text in self._hypotheses():
            if number not in seen:
                seen.add(number)
                yield number, text
        feeder.join()
        if self.process.wait() != 0:
            raise self.failure()
        if len(seen) != len(lines):
            raise UserError(
                f"of {len(lines)} sentences {len(seen)} came out of fairseq-interactive"
            )

    def translate_one(self, line: str) -> str:
        """Best hypothesis of one line; waits for it.

        Raises:
            UserError: the search failed
        """
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self.failure() from None
        self.sent += 1
        for number, text in self._hypotheses():
            if number == self.sent - 1:
                return text
        raise self.failure()


def search_command(args, user_dir: str, extra: List[str]) -> List[str]:
    """The exact command; ``extra`` comes last, so that it wins.

    ``--max-len-a 1``: by fairseq's default a translation ends after 200 subwords, however long its
    source is.

    Args:
        args: ``data``, ``checkpoint``, ``source_lang``, ``target_lang``, ``beam``, ``lenpen``,
            ``max_tokens``, ``interactive``, ``int8``
    """
    # A hypothesis comes out when those of its whole buffer are there; a larger buffer than a batch
    # has sentences gains nothing, as lines come sorted by length.
    buffer = 1 if args.interactive else max(256, args.max_tokens // 10)
    options = {
        "path": args.checkpoint,
        "user-dir": user_dir,
        "task": "translation",
        "source-lang": args.source_lang,
        "target-lang": args.target_lang,
        "beam": args.beam,
        "lenpen": args.lenpen,
        "max-len-a": 1,
        "max-len-b": 200,
        "max-tokens": args.max_tokens,
        "buffer-size": buffer,
        "num-workers": 0,
    }
    program = ["fairseq-interactive"]
    if args.int8:
        program = [sys.executable, "-m", "realformer_fairseq.inference.int8"]
    command = [*program, args.data, "--remove-bpe"]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    if args.int8:
        command.append("--cpu")
    return command + extra
