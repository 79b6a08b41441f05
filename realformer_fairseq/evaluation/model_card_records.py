"""What the files beside a checkpoint say: prepared data, scores and training log."""

import json
import os
import re
import struct
from collections import Counter
from statistics import median
from typing import Any, Dict, Iterator, List, Tuple

from ..analysis.training_log import read_curves, read_gpus, read_speeds, short_lines
from ..command_line import UserError
from .model_card_markdown import NOT_RECORDED, code, listed, number, scalar, table, text

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
    found = {}
    for line in log_lines(os.path.join(folder, "preprocess.log")):
        counted = COUNTED.search(line)
        if counted:
            lang, split, sents, tokens = counted.groups()
            found[split, lang, int(sents)] = int(tokens)
    return found


def log_lines(path: str) -> Iterator[str]:
    """Of a file that may not be there."""
    if os.path.isfile(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from short_lines(file)


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
    paths = [os.path.join(folder, f"dict.{lang}.txt") for lang in langs]
    for path, expected in zip(paths, entries):
        if not os.path.isfile(path):
            raise UserError(f"--data {folder}: there is no {os.path.basename(path)} in it")
        size = dictionary_size(path)
        if expected is not None and size != expected:
            raise UserError(
                f"--data {folder}: {os.path.basename(path)} has {size} entries, the model of "
                f"--checkpoint {expected}"
            )
    codes = os.path.join(folder, "code")
    bpe = NOT_RECORDED
    if os.path.isfile(codes):
        with open(codes, "rb") as file:
            merges = sum(not line.startswith(b"#version") for line in file)
        bpe = f"byte pair encoding of subword-nmt, {number(merges)} merges ({code('code')})"
    by_language = zip(langs, map(dictionary_size, paths))
    return {
        "dictionaries": listed(
            f"{number(size)} entries ({text(lang)})" for lang, size in by_language
        ),
        "segmentation": bpe,
        "splits": split_table(folder, *langs),
    }


def read_scores(path: str) -> Dict[str, Any]:
    """What ``scripts/score_bleu.sh --json`` wrote about one system.

    Raises:
        UserError: naming what is wrong with it
        OSError: no such file
    """
    try:
        with open(path, encoding="utf-8") as file:
            figures = json.load(file)
    except (ValueError, RecursionError):  # also what is not UTF-8
        raise UserError(f"--scores {path}: not a JSON file") from None
    if isinstance(figures, dict) and "systems" in figures:
        raise UserError(f"--scores {path}: scores of several systems; score this model alone")
    if not isinstance(figures, dict) or not measures_of(figures):
        raise UserError(f"--scores {path}: no scores in it, as score_bleu.sh --json writes them")
    return figures


def measures_of(figures: Dict[str, Any]) -> Dict[str, Tuple[float, str]]:
    """Score and signature by measure."""
    found = {}
    for name, measure in figures.items():
        if isinstance(measure, dict):
            score, signature = measure.get("score"), measure.get("signature")
            if isinstance(score, float) and isinstance(signature, str):
                found[name] = score, signature
    return found


def evaluation(figures: Dict[str, Any]) -> str:
    """A list of scores, each with its signature, and a table by domain if there is one."""
    lines = [f"{number(figures.get('lines'))} lines, target language {text(figures.get('lang'))}:"]
    lines.append("")
    for name, (score, signature) in measures_of(figures).items():
        lines.append(f"* {text(name)} {score:.1f}, signature {code(signature)}")
    domains = figures.get("domains")
    rows = []
    for domain, row in domains.items() if isinstance(domains, dict) else ():
        scores = measures_of(row) if isinstance(row, dict) else {}
        if "sacreBLEU" in scores:
            rows.append([text(domain), number(row.get("lines")), f"{scores['sacreBLEU'][0]:.1f}"])
    if rows:
        lines += ["", table(["domain", "lines", "sacreBLEU"], rows)]
    return "\n".join(lines)


def log_facts(path: str) -> Dict[str, str]:
    """Speed, GPUs and validation from the log of fairseq-train.

    Raises:
        UserError: none of it is in the file
        OSError: no such file
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = list(short_lines(file))
    curves, speeds, gpus = read_curves(lines), read_speeds(lines), read_gpus(lines)
    del curves["train"]
    if not speeds and not curves and not gpus:
        raise UserError(f"--log {path}: no log of fairseq-train (--log-format simple)")
    validation = []
    for subset, curve in curves.items():
        (update, best), (end, last) = min(curve, key=lambda point: point[1]), curve[-1]
        validation.append(
            f"{text(subset)}: best {best:g} after {number(update)} updates, "
            f"last {last:g} after {number(end)}"
        )
    return {
        "speed": f"{median(speeds):,.0f}" if speeds else NOT_RECORDED,
        "gpus": listed(f"{n} x {text(scalar(name))}" for name, n in Counter(gpus.values()).items()),
        "validation": "; ".join(validation) or NOT_RECORDED,
    }
