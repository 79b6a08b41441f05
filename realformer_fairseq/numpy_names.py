"""A name of numpy 1 that fairseq reads where sentences become samples, and numpy 2 lacks."""

import types

import numpy


def provide_removed_names() -> None:
    """Give numpy 2 ``numpy.compat.long`` back, which was Python's ``int``."""
    if not hasattr(numpy, "compat"):
        numpy.compat = types.SimpleNamespace(long=int)
