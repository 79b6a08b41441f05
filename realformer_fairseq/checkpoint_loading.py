"""Let torch load fairseq's checkpoints without letting a file run code.

torch 2.6 and later unpickle with ``weights_only=True`` and refuse every type that is not known to
be harmless. fairseq's checkpoints hold ``argparse.Namespace`` and, where a metric such as BLEU is
tracked, numpy's scalars and arrays of numbers. Exactly those are allowed here; ``weights_only``
stays on, so a checkpoint from elsewhere is refused if it holds anything more.
"""

import argparse

import numpy
import torch

# numpy 2 moved the functions that its pickles name; checkpoints of either may be met.
NUMPY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")
NUMPY_TYPES = ("float64", "float32", "float16", "int64", "int32", "bool")


def harmless_types():
    """What fairseq's checkpoints hold besides tensors and plain Python values."""
    scalar = numpy.float64(0).__reduce__()[0]
    reconstruct = numpy.zeros(0).__reduce__()[0]
    return [
        argparse.Namespace,
        *((scalar, f"{module}.scalar") for module in NUMPY_MODULES),
        *((reconstruct, f"{module}._reconstruct") for module in NUMPY_MODULES),
        numpy.ndarray,
        numpy.dtype,
        *(type(numpy.dtype(name)) for name in NUMPY_TYPES),
    ]


def allow_fairseq_checkpoints() -> None:
    """Tell torch about them, where it asks: from 2.6 on it loads with ``weights_only``."""
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 6):
        torch.serialization.add_safe_globals(harmless_types())
