"""What the commands share: a mistake of the user's is one clear line and exit code 1."""

import argparse
import re
import signal
import sys
from pathlib import Path
from typing import Callable, Optional


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


class ArgumentParser(argparse.ArgumentParser):
    """``argparse`` without abbreviations, whose errors are one line.

    Args:
        documentation: a module's, whose first line describes the command; None under ``python -OO``
    """

    def __init__(self, documentation: Optional[str] = None, **kwargs):
        kwargs.setdefault("description", (documentation or "").partition("\n")[0] or None)
        super().__init__(allow_abbrev=False, **kwargs)

    def error(self, message):
        """Raise UserError where argparse would print its usage and exit with code 2."""
        raise UserError(f"{message} (-h for help)")


def run_main(main: Callable[[], None], program: Optional[str] = None) -> None:
    """Run a command; turn ``UserError`` and ``OSError`` into one line, ``program: message``.

    Ctrl-C ends it with exit code 130, quietly unless ``KeyboardInterrupt`` has a message.

    Args:
        main: takes its arguments from ``sys.argv``
        program: what the user called, default the name of the running file
    """
    program = program or Path(sys.argv[0]).name
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    try:
        main()
    except UserError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except MemoryError:
        message = "there is not enough memory"
    except KeyboardInterrupt as interrupt:
        if interrupt.args:
            print(f"{program}: {interrupt}", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    else:
        return
    sys.exit(f"{program}: {printable(message)}")
