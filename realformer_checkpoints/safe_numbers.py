"""Load numpy's numbers from a checkpoint safely.

A pickle chooses the functions that build its values, and their arguments. numpy's functions are
not safe for that: ``numpy.ndarray`` and ``dtype.__setstate__`` turn any bytes into pointers to
Python objects. The replacements in this file only copy numbers from bytes of the right length.
"""

import pickle

import numpy

KINDS = ("f8", "f4", "f2", "i8", "i4", "b1")
BYTE_ORDERS = "<>=|"


class NumberType:
    """Stands for ``numpy.dtype``.

    Raises:
        pickle.UnpicklingError: not a type of ``KINDS``
    """

    __slots__ = ("dtype",)  # without a dictionary no other object can be turned into one

    def __init__(self, kind, align=False, copy=False):
        if not isinstance(kind, str) or kind not in KINDS:
            raise pickle.UnpicklingError(f"class numpy.dtype[{kind!s:.20}] is not of numbers")
        self.dtype = numpy.dtype(kind)

    def __setstate__(self, state):
        """Take the byte order, the only part of the state that matters for numbers."""
        order = state[1]
        if not isinstance(order, str) or len(order) != 1 or order not in BYTE_ORDERS:
            raise pickle.UnpicklingError("class numpy.dtype has an unknown byte order")
        self.dtype = self.dtype.newbyteorder(order)

    def __reduce__(self):
        return self.dtype.__reduce__()


def read_numbers(number_type, data) -> numpy.ndarray:
    """Copy numbers from bytes into a flat array.

    Raises:
        pickle.UnpicklingError: not bytes, or not of a ``NumberType``
        ValueError: the bytes do not hold whole numbers
    """
    if type(number_type) is not NumberType or not isinstance(data, bytes):
        raise pickle.UnpicklingError("class numpy.ndarray has something other than numbers in it")
    return numpy.frombuffer(data, number_type.dtype).copy()


def number(number_type, data):
    """Stands for ``numpy.core.multiarray.scalar``."""
    return read_numbers(number_type, data).reshape(())[()]


class Numbers(numpy.ndarray):
    """Stands for ``numpy.ndarray``. It is empty until its state is set, and saved as an array."""

    def __new__(cls, *arguments):
        if arguments:  # such as a type or a place in memory
            raise pickle.UnpicklingError("class numpy.ndarray is not made of numbers alone")
        return super().__new__(cls, 0, numpy.int8)

    def __setstate__(self, state):
        _, shape, number_type, fortran, data = state
        order = "F" if fortran else "C"
        values = read_numbers(number_type, data).reshape(tuple(shape), order=order)
        super().__setstate__((1, values.shape, values.dtype, False, values.tobytes()))

    def __reduce_ex__(self, protocol):
        return numpy.asarray(self).__reduce_ex__(protocol)


def empty_numbers(cls, shape, kind) -> Numbers:
    """Stands for ``numpy.core.multiarray._reconstruct``. The state of its result is set later."""
    return Numbers()
