"""Commands of the package, run in the process of the test."""

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
            # data-prep has one of its own
            getattr(module, "run_main", run_main)(module.main, module.PROGRAM)
        except SystemExit as stop:
            return stop.code
    return None
