"""Facts in a prepared corpus, a log and scores, as fields of a model card."""

import json
import re
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy

from realformer_runtime.command_line import UserError
from realformer_runtime.text.subword_files import PIECES

from ..reading import SENTENCE_TASKS
from ..training_log import Curve, log_lines, read_curves, read_gpus, read_speeds
from .kinds import KINDS, Kind
from .markdown import NOT_RECORDED, code_span, escape_markdown, listed, number, table

MOST_BITS = 100  # of a loss that has a perplexity
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
    header = ["split", "sentence pairs", *(f"subwords, {escape_markdown(x)}" for x in langs)]
    return in_order(rows, header)


def in_order(rows: Dict[str, List[str]], header: List[str]) -> str:
    """A table of splits: training, validation, test and any others."""
    order = dict.fromkeys([*filter(rows.get, ("train", "valid", "test")), *rows])
    return table(header, map(rows.get, order)) if rows else NOT_RECORDED


def dictionary_size(folder: Path, name: str, expected: Optional[int], mask: bool = False) -> int:
    """Entries of a dictionary, with the special symbols.

    Args:
        expected: the model's, None if unknown
        mask: the model's has ``<mask>``, which fairseq adds if it is not in the file

    Raises:
        UserError: the file is not there, or has another size
    """
    path = folder / name
    if not path.is_file():
        raise UserError(f"--data {folder}: there is no {name} in it")
    size = SPECIAL_SYMBOLS + count_lines(path, r"#fairseq:overwrite\s*$")
    if mask and count_lines(path, "^<mask> ") == count_lines(path, "(?!)"):
        size += 1
    if expected not in (size, None):
        model = f"the model of --checkpoint {expected}"
        raise UserError(f"--data {folder}: {name} has {size} entries, {model}")
    return size


def segmentation(folder: Path) -> Dict[str, str]:
    """Byte pair encoding or SentencePiece, if its merges or its model are beside the data."""
    if (folder / PIECES).is_file():
        return {"segmentation": f"SentencePiece (`{PIECES}`)"}
    if not (folder / "code").is_file():
        return {}
    merges = number(count_lines(folder / "code", "^#version"))
    return {"segmentation": f"byte pair encoding of subword-nmt, {merges} merges (`code`)"}


def data_facts(folder: Path, langs: List[str], entries: List[Optional[int]]) -> Dict[str, str]:
    """Dictionaries, byte pair encoding and splits in a folder that fairseq-preprocess wrote.

    Args:
        langs: source and target
        entries: sizes of the model's dictionaries, None if unknown
    """
    dictionaries = []
    for lang, expected in zip(langs, entries):
        size = dictionary_size(folder, f"dict.{lang}.txt", expected)
        dictionaries.append(f"{number(size)} entries ({escape_markdown(lang)})")
    found = {"dictionaries": listed(dictionaries), "splits": splits(folder, langs)}
    return {**found, **segmentation(folder)}


def text_facts(folder: Path, kind: Kind, entries: Optional[int]) -> Dict[str, str]:
    """The same of text in one language, for a language model."""
    size = dictionary_size(folder, str(Path(kind.folder, "dict.txt")), entries, kind.has_mask)
    rows = {
        index.stem: [escape_markdown(index.stem), *map(number, counts(index))]
        for index in sorted((folder / kind.folder).glob("*.idx"))
    }
    found = {"dictionaries": f"{number(size)} entries"}
    found["splits"] = in_order(rows, ["split", "lines", "subwords"])
    return {**found, **segmentation(folder)}


def log_facts(path: str, task: str) -> Dict[str, str]:
    """Speed, GPUs and validation from the log of fairseq-train."""
    lines = list(log_lines(path))
    curves, speeds, gpus = read_curves(lines), read_speeds(lines), read_gpus(lines)
    del curves["train"]
    if not speeds and not curves and not gpus:
        raise UserError(f"--log {path}: no log of fairseq-train (--log-format simple)")
    names = Counter(map(escape_markdown, gpus.values()))
    return {
        "speed": f"{median(speeds):,.0f}" if speeds else NOT_RECORDED,
        "gpus": listed(f"{count} x {name}" for name, count in names.items()),
        "validation": (task not in SENTENCE_TASKS and best_and_last(curves)) or NOT_RECORDED,
        **validation_as_evaluation(lines, curves, task),
    }


def best_and_last(curves: Dict[str, Curve], best: Callable = min) -> str:
    """The best and the last value of each validation set."""
    found = []
    for subset, curve in curves.items():
        (update, value), (end, last) = best(curve, key=lambda point: point[1]), curve[-1]
        words = f"{escape_markdown(subset)}: best {value:g} after {number(update)} updates"
        found.append(f"{words}, last {last:g} after {number(end)}")
    return "; ".join(found)


def validation_as_evaluation(
    lines: List[str], losses: Dict[str, Curve], task: str
) -> Dict[str, str]:
    """What language models are compared by, on the validation sets: accuracy and perplexity."""
    accuracies = read_curves(lines, "accuracy")
    del accuracies["train"]
    words = " of the masked words" if task == "masked_lm" else ""
    measured = {f"accuracy{words}, percent": best_and_last(accuracies, max)}
    if task in ("masked_lm", "language_modeling"):
        perplexities = {
            subset: [(update, round(2 ** min(loss, MOST_BITS), 2)) for update, loss in curve]
            for subset, curve in losses.items()
        }
        measured[f"perplexity{words}"] = best_and_last(perplexities)
    rows = [f"* {name}: {value}" for name, value in measured.items() if value]
    return {"evaluation": "\n".join(rows)} if rows and task in KINDS else {}


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
