"""What the commands share: a mistake of the user's is one clear line and exit code 1."""

import argparse
import contextlib
import fcntl
import io
import os
import re
import signal
import sys
from pathlib import Path
from typing import Callable, Optional, Sequence


class UserError(Exception):
    """Something the user can put right; the message names the file or the option."""


def printable(text: str) -> str:
    """One line without control characters, which names of files may have.

    Bytes that are not UTF-8 stay as they are, as surrogates.
    """
    return "".join(
        char if char.isprintable() or "\udc80" <= char <= "\udcff" else repr(char)[1:-1]
        for char in text
    )


def flag(name: str) -> str:
    """The command line's name of an option: ``--max-tokens`` of ``max_tokens``."""
    return "--" + name.replace("_", "-")


def whole_number_above_0(text: str, most: int = 10**18 - 1) -> int:
    """A count up to ``most``; the ``type`` of an option."""
    if not re.fullmatch("0*[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    # Python itself refuses to read thousands of digits.
    if len(text.lstrip("0")) > len(str(most)) or int(text) > most:
        raise argparse.ArgumentTypeError(f"'{text}' is above {most}")
    return int(text)


def whole_number_from_0(text: str) -> int:
    """A count that may be 0; the ``type`` of an option."""
    if not re.fullmatch("[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 on")
    return int(text)


class ArgumentParser(argparse.ArgumentParser):
    """``argparse`` without abbreviations and repetitions, whose errors are one line.

    Args:
        documentation: a module's, whose first line describes the command; None under ``python -OO``
    """

    def __init__(self, documentation: Optional[str] = None, **kwargs):
        kwargs.setdefault("description", (documentation or "").partition("\n")[0] or None)
        super().__init__(allow_abbrev=False, **kwargs)
        # argparse takes -1e-3 for an option.
        self._negative_number_matcher = re.compile(r"-\.?[0-9]")

    def parse_known_args(self, args: Optional[Sequence[str]] = None, namespace=None):
        """As argparse, but refuse an empty value and an option that is there twice.

        An empty value is a shell variable that was never set. Of an option that is there twice only
        the last would count; those with ``action="extend"`` or ``append`` collect their values.
        """
        args = sys.argv[1:] if args is None else list(args)
        given, option = set(), ""
        for word in args[: args.index("--")] if "--" in args else args:
            name, equals, value = word.partition("=")
            action = self._option_string_actions.get(name)
            option = name if action else option
            if not word or (action and equals and not value):
                self.error(f"{option}: '' is empty, it needs a value")
            if action in given:
                self.error(f"{name} is given twice")
            if action and action.nargs != 0 and not isinstance(action, argparse._AppendAction):
                given.add(action)
        return super().parse_known_args(args, namespace)

    def error(self, message):
        """Raise UserError where argparse would print its usage and exit with code 2."""
        raise UserError(f"{message} (-h for help)")


class ClosedStream(io.RawIOBase):
    """Stands in for a closed standard stream: a command that needs it ends in one line."""

    def __init__(self, name: str):
        self.name = name

    def readable(self):
        return True

    def writable(self):
        return True

    def readinto(self, buffer):
        raise UserError(f"{self.name} is closed")

    write = readinto


def is_closed(stream, unusable: int) -> bool:
    """Whether a standard stream is closed, or the shell opened it for the other direction only.

    scripts/lib/common.sh does that with closed streams, so that no file gets their number.
    """
    try:
        return stream is None or fcntl.fcntl(stream, fcntl.F_GETFL) & os.O_ACCMODE == unusable
    except (OSError, ValueError):
        return False  # no stream of the system


def prepare_streams() -> None:
    """Standard streams that are UTF-8 in any environment, and never None."""
    if is_closed(sys.stdin, os.O_WRONLY):
        sys.stdin = io.TextIOWrapper(ClosedStream("standard input"))
    if is_closed(sys.stdout, os.O_RDONLY):
        sys.stdout = io.TextIOWrapper(ClosedStream("standard output"), write_through=True)
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(os.devnull, "w"), write_through=True)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def discard(*streams) -> None:
    """Lose what is left to write; else Python would try again at its end, and complain."""
    for stream in streams:
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "w") as null:
            os.dup2(null.fileno(), stream.fileno())


def run_main(main: Callable[[], None], program: Optional[str] = None) -> None:
    """Run a command; turn ``UserError`` and ``OSError`` into one line, ``program: message``.

    Ctrl-C ends it with exit code 130, quietly unless ``KeyboardInterrupt`` has a message. When
    nobody reads its output any more, it ends with 141, as other filters.

    Args:
        main: takes its arguments from ``sys.argv``
        program: what the user called, default the name of the running file
    """
    program = program or Path(sys.argv[0]).name
    prepare_streams()
    try:
        main()
        sys.stdout.flush()
    except UserError as error:
        message = str(error)
    except BrokenPipeError:
        discard(sys.stdout, sys.stderr)
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:  # without a name, it is of a standard stream
        message = f"{error.filename or 'standard output'}: {error.strerror or error}"
        discard(sys.stdout)
    except MemoryError:
        message = "there is not enough memory"
    except KeyboardInterrupt as interrupt:
        if interrupt.args:
            print(f"{program}: {interrupt}", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    else:
        return
    sys.exit(f"{program}: {printable(message)}")
