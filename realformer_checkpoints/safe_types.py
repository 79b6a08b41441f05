"""Let torch load fairseq's checkpoints without letting a file run code.

torch 2.6 and later load with ``weights_only=True`` and refuse unknown types. fairseq's checkpoints
hold ``argparse.Namespace`` and, if a metric such as BLEU is tracked, numpy's scalars and arrays of
numbers. This file allows exactly these types. ``weights_only`` stays on, so torch refuses a
checkpoint with any other type.
"""

import argparse

import torch

from .safe_numbers import Numbers, NumberType, empty_numbers, number

# numpy 2 moved the functions that its pickles name. Checkpoints may be of numpy 1 or 2.
NUMPY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")


def allow_fairseq_checkpoints() -> None:
    """Tell torch which types are safe, other than tensors and plain Python values."""
    types = [argparse.Namespace, (Numbers, "numpy.ndarray"), (NumberType, "numpy.dtype")]
    for module in NUMPY_MODULES:
        types += [(number, f"{module}.scalar"), (empty_numbers, f"{module}._reconstruct")]
    torch.serialization.add_safe_globals(types)
