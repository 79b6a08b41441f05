"""The log of the service: lines on standard error without any text of users."""

import sys

PROGRAM = "serve.sh"


def log(line: str) -> None:
    """Write a line; nobody need read it."""
    try:
        sys.stderr.write(f"{PROGRAM}: {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def report(error: BaseException) -> None:
    """Log where an error was raised, but not its message, which may have text of users."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "unknown place"
    log(f"{type(error).__name__} at {place}")
