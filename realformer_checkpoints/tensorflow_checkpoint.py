"""Read a checkpoint of TensorFlow without TensorFlow.

``PREFIX.index`` is a table of sorted keys in the format of LevelDB. Its values are messages of
protobuf (``tensorflow/core/protobuf/tensor_bundle.proto``), one for each tensor, with its place in
the files ``PREFIX.data-00000-of-00001``, ... Nothing in them is code.
"""

import math
import os
from dataclasses import dataclass
from typing import Dict, Iterator, List, Tuple, Union

import numpy as np

from realformer_runtime.command_line import UserError

from .crc32c import crc32c

FOOTER, MAGIC = 48, 0xDB4775248B80FB57  # size and end of a table, sstable's
TYPES = {1: np.dtype("<f4"), 3: np.dtype("<i4"), 9: np.dtype("<i8")}  # of types.proto
NUMBER, TEXT, SIZES = 0, 2, {1: 8, 5: 4}  # protobuf's wire types; sizes of the others in bytes
SLICES = 7  # field of an entry


class Damaged(Exception):
    """What is wrong with a file, for the end of a message."""


@dataclass
class Entry:
    """Where a tensor is. ``checksum`` is masked, as LevelDB does it."""

    dtype: np.dtype
    shape: Tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int


def masked(checksum: int) -> int:
    """A checksum as it is stored, so that it is none of bytes that include it."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


def checksum_of(data: bytes) -> int:
    return masked(crc32c(np.frombuffer(data, np.uint8)))


def take(data: bytes, start: int, size: int) -> bytes:
    if start + size > len(data):
        raise Damaged("truncated")
    return data[start : start + size]


def read_number(data: bytes, place: int) -> Tuple[int, int]:
    """A number of 7 bits a byte, and the place behind it."""
    number = 0
    for shift in range(0, 70, 7):
        (byte,) = take(data, place, 1)
        number, place = number | (byte & 0x7F) << shift, place + 1
        if byte < 0x80:
            return number, place
    raise Damaged("a number in it has no end")


def read_message(data: bytes) -> Dict[int, List[Union[int, bytes]]]:
    """The values of each field of a message of protobuf."""
    fields: Dict[int, List[Union[int, bytes]]] = {}
    place = 0
    while place < len(data):
        key, place = read_number(data, place)
        field, kind = key >> 3, key & 7
        if kind == NUMBER:
            value, place = read_number(data, place)
        elif kind in SIZES:
            value = int.from_bytes(take(data, place, SIZES[kind]), "little")
            place += SIZES[kind]
        elif kind == TEXT:
            size, place = read_number(data, place)
            value, place = take(data, place, size), place + size
        else:
            raise Damaged(f"damaged: a message in it has a field of the unknown kind {kind}")
        fields.setdefault(field, []).append(value)
    return fields


def number_of(message: Dict[int, List[Union[int, bytes]]], field: int) -> int:
    """A number of a message, 0 if it has none."""
    value = message.get(field, [0])[-1]
    if not isinstance(value, int):
        raise Damaged(f"damaged: field {field} of a message in it is no number")
    return value


def messages_of(message: Dict[int, List[Union[int, bytes]]], field: int) -> List[dict]:
    """The messages inside a message."""
    found = message.get(field, [])
    if any(isinstance(value, int) for value in found):
        raise Damaged(f"damaged: field {field} of a message in it is a number")
    return [read_message(value) for value in found]


def read_block(data: bytes, handle: bytes) -> Iterator[Tuple[bytes, bytes]]:
    """Keys and values of one block of a table.

    Args:
        data: the table
        handle: offset and size of the block
    """
    offset, place = read_number(handle, 0)
    size, _ = read_number(handle, place)
    block = take(data, offset, size + 5)
    if block[size]:
        raise Damaged("compressed; TensorFlow writes an index without compression")
    if checksum_of(block[:-4]) != int.from_bytes(block[-4:], "little"):
        raise Damaged("damaged: a checksum does not fit")
    restarts = int.from_bytes(block[max(size - 4, 0) : size], "little")
    end, place, key = size - 4 - 4 * restarts, 0, b""
    while place < end:
        shared, place = read_number(block, place)
        added, place = read_number(block, place)
        length, place = read_number(block, place)
        key, place = key[:shared] + take(block, place, added), place + added
        yield key, take(block, place, length)
        place += length


def read_table(data: bytes) -> Iterator[Tuple[bytes, bytes]]:
    """Keys and values of a table."""
    footer = data[-FOOTER:]
    if len(footer) < FOOTER or int.from_bytes(footer[-8:], "little") != MAGIC:
        raise Damaged("truncated, or not the index of a TensorFlow checkpoint")
    _, place = read_number(footer, 0)
    _, place = read_number(footer, place)
    for _, handle in read_block(data, footer[place:]):
        yield from read_block(data, handle)


def read_entry(value: bytes) -> Entry:
    """An entry of the index, a ``BundleEntryProto``."""
    message = read_message(value)
    kind = number_of(message, 1)
    if kind not in TYPES:
        known = ", ".join(dtype.name for dtype in TYPES.values())
        raise Damaged(f"of TensorFlow's type {kind}; read are {known}")
    if SLICES in message:
        raise Damaged("stored in slices")
    shapes = messages_of(message, 2)
    shape = tuple(number_of(size, 1) for found in shapes for size in messages_of(found, 2))
    shard, offset, size, checksum = (number_of(message, field) for field in (3, 4, 5, 6))
    if math.prod(shape) * TYPES[kind].itemsize != size:
        raise Damaged(f"of the shape {shape}, which {size} bytes do not have")
    return Entry(TYPES[kind], shape, shard, offset, size, checksum)


def read_header(value: bytes) -> int:
    """The number of files with data, of a ``BundleHeaderProto``."""
    message = read_message(value)
    if number_of(message, 2):
        raise Damaged("its numbers are big-endian")
    return number_of(message, 1)


class TensorFlowCheckpoint:
    """Tensors by name. They are mapped from the disk, and checked when they are read.

    Args:
        prefix: what TensorFlow calls the checkpoint: the files' common name

    Raises:
        UserError: naming the file that is damaged or the tensor that cannot be read
        OSError: a file cannot be read
    """

    def __init__(self, prefix: str):
        self.prefix, self.index = prefix, f"{prefix}.index"
        self.entries: Dict[str, Entry] = {}
        self.shards = 0
        self.mapped: Dict[str, np.ndarray] = {}
        with open(self.index, "rb") as file:
            data = file.read()
        name = ""
        try:
            for key, value in read_table(data):
                name = key.decode("utf-8", "backslashreplace")
                if name:
                    self.entries[name] = read_entry(value)
                else:
                    self.shards = read_header(value)
        except Damaged as error:
            about = f"{name}: " if name else ""
            raise UserError(f"{self.index}: {about}{error}") from None

    def data_of(self, path: str) -> np.ndarray:
        if path not in self.mapped:
            empty = not os.path.getsize(path)  # and then it cannot be mapped
            self.mapped[path] = np.empty(0, np.uint8) if empty else np.memmap(path, np.uint8, "r")
        return self.mapped[path]

    def tensor(self, name: str) -> np.ndarray:
        """One tensor, read-only."""
        entry = self.entries[name]
        path = f"{self.prefix}.data-{entry.shard:05d}-of-{self.shards:05d}"
        data = self.data_of(path)[entry.offset : entry.offset + entry.size]
        if len(data) < entry.size:
            raise UserError(f"{path}: {name}: truncated")
        if masked(crc32c(data)) != entry.checksum:
            raise UserError(f"{path}: {name}: damaged: its checksum does not fit")
        return data.view(entry.dtype).reshape(entry.shape)
