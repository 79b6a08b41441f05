"""Let torch load fairseq's checkpoints without letting a file run code.

torch 2.6 and later unpickle with ``weights_only=True`` and refuse every type that is not known to
be harmless. fairseq's checkpoints hold ``argparse.Namespace`` and, where a metric such as BLEU is
tracked, numpy's scalars and arrays of numbers. Exactly those are allowed here; ``weights_only``
stays on, so a checkpoint from elsewhere is refused if it holds anything more.
"""

import argparse

import torch

from .safe_numbers import Numbers, NumberType, empty_numbers, number

# numpy 2 moved the functions that its pickles name; checkpoints of either may be met.
NUMPY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")


def harmless_types():
    """What fairseq's checkpoints hold besides tensors and plain Python values."""
    return [
        argparse.Namespace,
        *((number, f"{module}.scalar") for module in NUMPY_MODULES),
        *((empty_numbers, f"{module}._reconstruct") for module in NUMPY_MODULES),
        (Numbers, "numpy.ndarray"),
        (NumberType, "numpy.dtype"),
    ]


def allow_fairseq_checkpoints() -> None:
    """Tell torch about them."""
    torch.serialization.add_safe_globals(harmless_types())
