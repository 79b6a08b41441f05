"""Small checkpoints as Google's RealFormer-BERT ones, and what its arithmetic makes of them."""

import json
import struct

import numpy as np

from realformer_checkpoints.tensorflow_checkpoint import MAGIC, checksum_of

DTYPES = {np.dtype("f4"): 1, np.dtype("i8"): 9}
SPECIAL = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]  # in no order of fairseq's
WORDS = ["the", "cat", "walk", "##s", "##ing", "cafe", "un", "##aff", "##able", ".", ",", "'", "猫"]
VOCABULARY = [*SPECIAL, *WORDS]
CONFIG = {
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 12,
    "initializer_range": 0.02,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
    "num_attention_heads": 3,
    "num_hidden_layers": 3,
    "type_vocab_size": 2,
    "vocab_size": len(VOCABULARY),
}


def number(value):
    """As protobuf and LevelDB write it: 7 bits a byte."""
    found = b""
    while value >= 0x80:
        found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
    return found + bytes([value])


def field(place, value):
    if isinstance(value, bytes):
        return number(place << 3 | 2) + number(len(value)) + value
    return number(place << 3) + number(value)


def block(pairs, compression=0):
    """A block of a table: keys share what they start with with the one before."""
    body, before = b"", b""
    for key, value in pairs:
        shared = 0
        while shared < min(len(key), len(before)) and key[shared] == before[shared]:
            shared += 1
        body += number(shared) + number(len(key) - shared) + number(len(value))
        body, before = body + key[shared:] + value, key
    body += struct.pack("<II", 0, 1) + bytes([compression])
    return body + struct.pack("<I", checksum_of(body))


def write_bundle(prefix, tensors, compression=0, kinds=DTYPES):
    """TensorFlow's format, version 2, of which tensorflow_checkpoint.py has the sources."""
    data, entries = b"", [(b"", field(1, 1) + field(3, field(1, 1)))]
    for name, tensor in sorted(tensors.items()):
        written = np.ascontiguousarray(tensor).tobytes()
        shape = b"".join(field(2, field(1, size)) for size in np.shape(tensor))
        entry = field(1, kinds[np.asarray(tensor).dtype]) + field(2, shape)
        entry += field(4, len(data)) + field(5, len(written))
        entry += number(6 << 3 | 5) + struct.pack("<I", checksum_of(written))
        entries.append((name.encode(), entry))
        data += written
    half = len(entries) // 2
    first, second = block(entries[:half], compression), block(entries[half:])
    index = [
        (entries[half - 1][0], number(0) + number(len(first) - 5)),
        (entries[-1][0], number(len(first)) + number(len(second) - 5)),
    ]
    handles = number(0) + number(0) + number(len(first) + len(second))
    handles += number(len(block(index)) - 5)
    footer = handles.ljust(40, b"\0") + struct.pack("<Q", MAGIC)
    with open(f"{prefix}.index", "wb") as file:
        file.write(first + second + block(index) + footer)
    with open(f"{prefix}.data-00000-of-00001", "wb") as file:
        file.write(data)


def random_weights(config=CONFIG):
    """Weights by Google's names; those of an optimizer, too."""
    generator = np.random.default_rng(1)
    d, ffn, words = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    shapes = {
        "bert/embeddings/word_embeddings": (words, d),
        "bert/embeddings/token_type_embeddings": (config["type_vocab_size"], d),
        "bert/embeddings/position_embeddings": (config["max_position_embeddings"], d),
        "bert/pooler/dense/kernel": (d, d),
        "cls/predictions/transform/dense/kernel": (d, d),
        "cls/predictions/output_bias": (words,),
        "cls/seq_relationship/output_weights": (2, d),
        "cls/seq_relationship/output_bias": (2,),
    }
    norms = ["bert/embeddings", "cls/predictions/transform"]
    for layer in (f"bert/encoder/layer_{n}" for n in range(config["num_hidden_layers"])):
        for name in ("self/query", "self/key", "self/value", "output/dense"):
            shapes[f"{layer}/attention/{name}/kernel"] = (d, d)
        shapes[f"{layer}/intermediate/dense/kernel"] = (d, ffn)
        shapes[f"{layer}/output/dense/kernel"] = (ffn, d)
        norms += [f"{layer}/attention/output", f"{layer}/output"]
    for name in [name for name in shapes if name.endswith("/kernel")]:
        shapes[name.replace("/kernel", "/bias")] = shapes[name][1:]
    for name in norms:
        shapes.update({f"{name}/LayerNorm/{part}": (d,) for part in ("gamma", "beta")})
    weights = {name: generator.normal(0, 0.5, shape).astype("f4") for name, shape in shapes.items()}
    bias = weights["bert/pooler/dense/bias"]
    optimizer = {f"bert/pooler/dense/bias/adam_{moment}": bias for moment in "mv"}
    return {**weights, **optimizer, "global_step": np.int64(7)}


def expected_outputs(weights, config, ids, mask, segments):
    """What Google's code computes, in float64, by the names in the examples' expected.npz."""
    weights = {name: value.astype("f8") for name, value in weights.items()}
    heads, d = config["num_attention_heads"], config["hidden_size"]

    def dense(x, name):
        return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}/LayerNorm/gamma"] + weights[f"{name}/LayerNorm/beta"]

    def gelu(x):
        return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def of_heads(x):
        return x.reshape(*x.shape[:2], heads, d // heads).transpose(0, 2, 1, 3)

    embeddings = {
        name: weights[f"bert/embeddings/{name}_embeddings"] for name in ("word", "position")
    }
    x = embeddings["word"][ids] + embeddings["position"][: ids.shape[1]]
    x = norm(x + weights["bert/embeddings/token_type_embeddings"][segments], "bert/embeddings")
    found, scores = {}, 0
    for n in range(config["num_hidden_layers"]):
        layer = f"bert/encoder/layer_{n}"
        q, k, v = (
            of_heads(dense(x, f"{layer}/attention/self/{name}"))
            for name in ("query", "key", "value")
        )
        scores = scores + q @ k.swapaxes(2, 3) / np.sqrt(d // heads)
        chosen = scores / (n + 1) if config.get("use_running_mean") else scores
        chosen = np.exp(chosen + -10000.0 * (1 - mask[:, None, None, :]))
        attended = (chosen / chosen.sum(-1, keepdims=True)) @ v
        attended = attended.transpose(0, 2, 1, 3).reshape(x.shape)
        x = norm(
            x + dense(attended, f"{layer}/attention/output/dense"), f"{layer}/attention/output"
        )
        hidden = gelu(dense(x, f"{layer}/intermediate/dense"))
        x = found[f"layer_{n}"] = norm(
            x + dense(hidden, f"{layer}/output/dense"), f"{layer}/output"
        )
    transformed = norm(
        gelu(dense(x, "cls/predictions/transform/dense")), "cls/predictions/transform"
    )
    found["logits"] = transformed @ embeddings["word"].T + weights["cls/predictions/output_bias"]
    found["pooled"] = np.tanh(dense(x[:, 0], "bert/pooler/dense"))
    return {"input_ids": ids, "input_mask": mask, "token_type_ids": segments, **found}


def write_release(folder, config=CONFIG, weights=None, words=VOCABULARY):
    """A release as Google's: the four files."""
    folder.mkdir(exist_ok=True)
    weights = random_weights(config) if weights is None else weights
    write_bundle(folder / "bert_model.ckpt", weights)
    (folder / "bert_config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), "utf-8")
    return folder


def write_example(folder, **options):
    """A release, and ``expected.npz`` with two sentences, one of two segments and one padded."""
    config = {**CONFIG, **options}
    weights = random_weights(config)
    ids = np.array([[3, 6, 7, 4, 8, 9, 4], [3, 8, 10, 4, 0, 0, 0]])
    segments = np.array([[0, 0, 0, 0, 1, 1, 1], [0] * 7])
    outputs = expected_outputs(weights, config, ids, (ids != 0).astype(int), segments)
    write_release(folder, config, weights)
    np.savez(folder / "expected.npz", **outputs)
    return folder
