"""The reader of TensorFlow's checkpoints, on files of the tests and on TensorFlow's own."""

import importlib.util
import random
import sys

import numpy as np
import pytest
from conftest import run
from google_checkpoints import block, number, write_bundle

from realformer_checkpoints import tensorflow_checkpoint
from realformer_checkpoints.crc32c import crc32c
from realformer_checkpoints.tensorflow_checkpoint import Damaged, TensorFlowCheckpoint
from realformer_runtime.command_line import UserError

TENSORS = {
    "a/kernel": np.arange(6, dtype="f4").reshape(2, 3),
    "a/kernel/adam_m": np.zeros((3, 0), "f4"),
    "a/long": np.random.default_rng(1).normal(size=(130, 41)).astype("f4"),
    "global_step": np.int64(-3),
    **{f"layer_{n}/bias": np.full(n, n, "f4") for n in range(1, 40)},
}
WITH_TENSORFLOW = """
import sys
import numpy as np
import tensorflow as tf
ours, theirs = tf.train.load_checkpoint(sys.argv[1]), sys.argv[2]
tensors = {name: ours.get_tensor(name) for name in ours.get_variable_to_shape_map()}
names = sorted(tensors)
values = [tf.constant(tensors[name]) for name in names]
whole = [""] * len(names)
tf.raw_ops.SaveV2(prefix=theirs, tensor_names=names, shape_and_slices=whole, tensors=values)
"""


def assert_same(checkpoint, tensors=TENSORS):
    assert set(checkpoint.entries) == set(tensors)
    for name, value in tensors.items():
        found = checkpoint.tensor(name)
        assert (found.dtype, found.shape) == (value.dtype, np.shape(value)), name
        np.testing.assert_array_equal(found, value, err_msg=name)


def test_checksums_are_those_of_the_standard():
    """RFC 3720, B.4; and lengths around those that make another lane."""
    for data, expected in (
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (b"", 0),
    ):
        assert crc32c(np.frombuffer(data, np.uint8)) == expected
    data = np.random.default_rng(1).integers(0, 256, 70, dtype=np.uint8)
    for length in range(70):
        # What is appended to data as its own checksum leaves a constant.
        whole = data[:length].tobytes()
        whole += crc32c(data[:length]).to_bytes(4, "little")
        assert crc32c(np.frombuffer(whole, np.uint8)) == 0x48674BC7


def test_tensors_are_those_that_were_written(tmp_path):
    write_bundle(tmp_path / "x", TENSORS)
    assert_same(TensorFlowCheckpoint(tmp_path / "x"))


@pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="without TensorFlow")
def test_tensorflow_reads_ours_and_writes_the_same(tmp_path):
    """Its extra is `tensorflow`, which .ci/run installs."""
    write_bundle(tmp_path / "ours", TENSORS)
    run(sys.executable, "-c", WITH_TENSORFLOW, tmp_path / "ours", tmp_path / "theirs")
    assert_same(TensorFlowCheckpoint(tmp_path / "theirs"))


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "harm, message",
    [
        (lambda index, data: cut(index, 20), "index: truncated, or not the index"),
        (lambda index, data: cut(index, -1), "index: truncated, or not the index"),
        (lambda index, data: index.write_bytes(b""), "index: truncated, or not the index"),
        (lambda index, data: flip(index, 30), "index: damaged: a checksum"),
        (lambda index, data: cut(data, -9), "data-00000-of-00001: layer_9/bias: truncated"),
        (lambda index, data: cut(data, 0), "data-00000-of-00001: a/kernel: truncated"),
        (lambda index, data: flip(data, 23), "data-00000-of-00001: a/kernel: damaged"),
    ],
)
def test_damage_is_named(harm, message, tmp_path):
    write_bundle(tmp_path / "x", TENSORS)
    harm(tmp_path / "x.index", tmp_path / "x.data-00000-of-00001")
    with pytest.raises(UserError, match=message):
        assert_same(TensorFlowCheckpoint(tmp_path / "x"))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"compression": 1}, "x.index: compressed"),
        ({"kinds": {np.dtype("f4"): 7, np.dtype("i8"): 9}}, "a/kernel: of TensorFlow's type 7"),
        ({"kinds": {np.dtype("f4"): 9, np.dtype("i8"): 9}}, r"a/kernel: of the shape \(2, 3\)"),
    ],
)
def test_what_is_not_read_is_named(options, message, tmp_path):
    write_bundle(tmp_path / "x", TENSORS, **options)
    with pytest.raises(UserError, match=message):
        TensorFlowCheckpoint(tmp_path / "x")


@pytest.mark.parametrize("reader", ["read_entry", "read_header", "read_message"])
def test_messages_of_any_bytes_are_read_or_refused(reader):
    generator = random.Random(1)
    refused = 0
    for _ in range(400):
        data = bytes(generator.choice((0, 1, 8, 10, 18, 200, 255)) for _ in range(12))
        try:
            getattr(tensorflow_checkpoint, reader)(data)
        except Damaged:
            refused += 1
    assert refused > 20


def test_blocks_of_any_bytes_are_read_or_refused(tmp_path):
    """With the right checksum, so that it is not what refuses them."""
    generator = random.Random(1)
    for _ in range(200):
        body = bytes(generator.choice((0, 1, 3, 40, 200)) for _ in range(20))
        body += b"\0" + tensorflow_checkpoint.checksum_of(body + b"\0").to_bytes(4, "little")
        try:
            pairs = list(tensorflow_checkpoint.read_block(body, number(0) + number(20)))
            assert all(len(value) <= 20 for _, value in pairs)
        except Damaged:
            pass
    whole = block([(b"a", b"1"), (b"ab", b"2")])
    handle = number(0) + number(len(whole) - 5)
    assert [*tensorflow_checkpoint.read_block(whole, handle)] == [(b"a", b"1"), (b"ab", b"2")]
