"""Facts in a prepared corpus, a log and scores, as fields of a model card."""

import json
import re
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Optional, Tuple

import numpy

from realformer_runtime.command_line import UserError

from ..training_log import log_lines, read_curves, read_gpus, read_speeds
from .markdown import NOT_RECORDED, code_span, escape_markdown, listed, number, table

SPECIAL_SYMBOLS = 4  # of fairseq's dictionary: <s>, <pad>, </s>, <unk>
# Start of fairseq's index files: magic, version and type, then the number of sentences.
INDEX = re.compile(rb"MMIDIDX\0\0.{9}(.{8})", re.S)


def counts(path: Path) -> Tuple[Optional[int], Optional[int]]:
    """Numbers of sentences and subwords in a fairseq index ``.idx``, None for other files."""
    head = numpy.fromfile(path, "u1", 26).tobytes() if path.is_file() else b""
    found = INDEX.match(head)
    sentences = int.from_bytes(found[1], "little") if found else 0
    if not found or path.stat().st_size < 26 + 4 * sentences:
        return None, None
    return sentences, int(numpy.fromfile(path, "<i4", sentences, offset=26).sum(dtype="int64"))


def count_lines(path: Path, without: str) -> int:
    """Number of lines that do not match an expression."""
    with open(path, "rb") as file:
        return sum(not re.search(without.encode(), line) for line in file)


def splits(folder: Path, langs: List[str]) -> str:
    """A table of the sentences and subwords of each split."""
    rows = {}
    for pair in ("-".join(langs), "-".join(reversed(langs))):
        for index in sorted(folder.glob(f"*.{pair}.{langs[0]}.idx")):
            split = index.name.split(".")[0]
            pairs, source = counts(index)
            _, target = counts(index.with_name(f"{split}.{pair}.{langs[1]}.idx"))
            rows[split] = [escape_markdown(split), *map(number, (pairs, source, target))]
    order = dict.fromkeys([*filter(rows.get, ("train", "valid", "test")), *rows])
    header = ["split", "sentence pairs", *(f"subwords, {escape_markdown(x)}" for x in langs)]
    return table(header, map(rows.get, order)) if rows else NOT_RECORDED


def data_facts(folder: Path, langs: List[str], entries: List[Optional[int]]) -> Dict[str, str]:
    """Dictionaries, byte pair encoding and splits in a folder that fairseq-preprocess wrote.

    Args:
        langs: source and target
        entries: sizes of the model's dictionaries, None if unknown
    """
    dictionaries = []
    for lang, expected in zip(langs, entries):
        name = f"dict.{lang}.txt"
        if not (folder / name).is_file():
            raise UserError(f"--data {folder}: there is no {name} in it")
        size = SPECIAL_SYMBOLS + count_lines(folder / name, r"#fairseq:overwrite\s*$")
        if expected not in (size, None):
            model = f"the model of --checkpoint {expected}"
            raise UserError(f"--data {folder}: {name} has {size} entries, {model}")
        dictionaries.append(f"{number(size)} entries ({escape_markdown(lang)})")
    found = {"dictionaries": listed(dictionaries), "splits": splits(folder, langs)}
    if (folder / "code").is_file():
        merges = number(count_lines(folder / "code", "^#version"))
        found["segmentation"] = f"byte pair encoding of subword-nmt, {merges} merges (`code`)"
    return found


def log_facts(path: str) -> Dict[str, str]:
    """Speed, GPUs and validation from the log of fairseq-train."""
    lines = list(log_lines(path))
    curves, speeds, gpus = read_curves(lines), read_speeds(lines), read_gpus(lines)
    del curves["train"]
    if not speeds and not curves and not gpus:
        raise UserError(f"--log {path}: no log of fairseq-train (--log-format simple)")
    validation = []
    for subset, curve in curves.items():
        (update, best), (end, last) = min(curve, key=lambda point: point[1]), curve[-1]
        lowest = f"{escape_markdown(subset)}: best {best:g} after {number(update)} updates"
        validation.append(f"{lowest}, last {last:g} after {number(end)}")
    names = Counter(map(escape_markdown, gpus.values()))
    return {
        "speed": f"{median(speeds):,.0f}" if speeds else NOT_RECORDED,
        "gpus": listed(f"{count} x {name}" for name, count in names.items()),
        "validation": "; ".join(validation) or NOT_RECORDED,
    }


def measures(figures: Any) -> Dict[str, Any]:
    """Score and signature of each measure."""
    found = figures.items() if isinstance(figures, dict) else ()
    pairs = {k: (v.get("score"), v.get("signature")) for k, v in found if isinstance(v, dict)}
    return {k: v for k, v in pairs.items() if tuple(map(type, v)) == (float, str)}


def score_facts(path: str) -> Dict[str, str]:
    """Scores with their signatures, and a table of any scores by domain."""
    try:
        figures = json.loads(Path(path).read_text("utf-8"))
    except (ValueError, RecursionError):  # also for a file that is not UTF-8
        raise UserError(f"--scores {path}: not a JSON file") from None
    if isinstance(figures, dict) and "systems" in figures:
        raise UserError(f"--scores {path}: scores of several systems; score this model alone")
    if not measures(figures):
        raise UserError(f"--scores {path}: no scores in it, as score_bleu.sh --json writes them")
    language = escape_markdown(figures.get("lang"))
    lines = [f"{number(figures.get('lines'))} lines, target language {language}:", ""]
    for name, (score, signature) in measures(figures).items():
        lines.append(f"* {escape_markdown(name)} {score:.1f}, signature {code_span(signature)}")
    domains = figures.get("domains")
    rows = [
        [escape_markdown(name), number(row["lines"]), f"{measures(row)['sacreBLEU'][0]:.1f}"]
        for name, row in (domains.items() if isinstance(domains, dict) else ())
        if "sacreBLEU" in measures(row)
    ]
    if rows:
        lines += ["", table(["domain", "lines", "sacreBLEU"], rows)]
    return {"evaluation": "\n".join(lines)}
