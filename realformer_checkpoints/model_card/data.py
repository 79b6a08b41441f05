"""What a folder of fairseq-preprocess says, as fields of a model card."""

import os
import re
import struct
from typing import Any, Dict, List, Tuple

from realformer_runtime.command_line import UserError

from ..training_log import log_lines
from .markdown import NOT_RECORDED, code, listed, number, table, text

SPECIAL_SYMBOLS = 4  # of fairseq's dictionary: <s>, <pad>, </s>, <unk>
SPLITS = ("train", "valid", "test")
# How fairseq's two kinds of indices start, and at which byte their number of sentences is.
INDEX_LENGTHS = {b"MMIDIDX\0\0": 18, b"TNTIDX\0\0": 32}
COUNTED = re.compile(
    r"\[([\w@.-]+)\] .*?([\w-]{1,50})\.\1: ([0-9]{1,18}) sents, ([0-9]{1,18}) tokens"
)


def dictionary_size(path: str) -> int:
    """Entries that a model has for a dictionary."""
    with open(path, "rb") as file:
        lines = sum(not line.rstrip().endswith(b"#fairseq:overwrite") for line in file)
    return lines + SPECIAL_SYMBOLS


def sentences(index: str) -> Any:
    """How many there are in a file ``.idx``; None if it is not one of fairseq's."""
    with open(index, "rb") as file:
        head = file.read(40)
    for magic, offset in INDEX_LENGTHS.items():
        if head.startswith(magic) and len(head) >= offset + 8:
            return struct.unpack_from("<Q", head, offset)[0]
    return None


def subwords(folder: str) -> Dict[Tuple[str, str, int], int]:
    """By split, language and number of sentences, from what fairseq-preprocess logged."""
    path = os.path.join(folder, "preprocess.log")
    found = {}
    for line in log_lines(path) if os.path.isfile(path) else ():
        counted = COUNTED.search(line)
        if counted:
            lang, split, sents, tokens = counted.groups()
            found[split, lang, int(sents)] = int(tokens)
    return found


def split_table(folder: str, source: str, target: str) -> str:
    pair = f"{source}-{target}|{target}-{source}"
    name = re.compile(rf"([\w-]+)\.(?:{pair})\.{re.escape(source)}\.idx")
    indices = {m.group(1): m.group() for m in map(name.fullmatch, os.listdir(folder)) if m}
    order = [*(s for s in SPLITS if s in indices), *sorted(indices.keys() - set(SPLITS))]
    tokens = subwords(folder)
    rows = []
    for split in order:
        pairs = sentences(os.path.join(folder, indices[split]))
        counts = [number(tokens.get((split, lang, pairs))) for lang in (source, target)]
        rows.append([text(split), number(pairs), *counts])
    header = ["split", "sentence pairs", f"subwords, {text(source)}", f"subwords, {text(target)}"]
    return table(header, rows) if rows else NOT_RECORDED


def data_facts(folder: str, langs: List[str], entries: List[Any]) -> Dict[str, str]:
    """Dictionaries, byte pair encoding and splits of what fairseq-preprocess wrote.

    Args:
        langs: source and target
        entries: of the model for each of them, None if it does not tell

    Raises:
        UserError: there is no dictionary, or another than the model was trained with
    """
    sizes = []
    for lang, expected in zip(langs, entries):
        name = f"dict.{lang}.txt"
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            raise UserError(f"--data {folder}: there is no {name} in it")
        size = dictionary_size(path)
        if expected is not None and size != expected:
            raise UserError(
                f"--data {folder}: {name} has {size} entries, the model of --checkpoint {expected}"
            )
        sizes.append(size)
    codes = os.path.join(folder, "code")
    bpe = NOT_RECORDED
    if os.path.isfile(codes):
        with open(codes, "rb") as file:
            merges = sum(not line.startswith(b"#version") for line in file)
        bpe = f"byte pair encoding of subword-nmt, {number(merges)} merges ({code('code')})"
    return {
        "dictionaries": listed(
            f"{number(size)} entries ({text(lang)})" for lang, size in zip(langs, sizes)
        ),
        "segmentation": bpe,
        "splits": split_table(folder, *langs),
    }
