"""Commands of the package, run in the process of the test."""

import io
import sys
from unittest import mock

from realformer_runtime.command_line import run_main


def error_of(module, *arguments):
    """Run ``module.main`` as its script would.

    Returns:
        the error message, or None on success
    """
    with mock.patch.object(sys, "argv", [module.PROGRAM, *map(str, arguments)]):
        try:
            run_main(module.main, module.PROGRAM)
        except SystemExit as stop:
            return stop.code
    return None


def outcome(module, *arguments, text=b""):
    """Run ``module.main`` with ``text`` as its standard input.

    Returns:
        the error message, or None on success; standard output, in bytes; standard error
    """
    streams = [io.TextIOWrapper(io.BytesIO(content), "utf-8") for content in (text, b"", b"")]
    with mock.patch.multiple(sys, **dict(zip(("stdin", "stdout", "stderr"), streams))):
        error = error_of(module, *arguments)
        for stream in streams[1:]:
            stream.flush()
    out, err = (stream.buffer.getvalue() for stream in streams[1:])
    return error, out, err.decode("utf-8", "replace")
