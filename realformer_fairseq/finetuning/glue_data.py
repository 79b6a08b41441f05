"""Examples of GLUE as ``sentence_prediction`` of fairseq reads them."""

import json
import os
import shutil
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from fairseq.data import Dictionary, encoders
from fairseq.data.indexed_dataset import make_builder

from realformer_runtime.command_line import UserError

from .glue_files import Split, read_split
from .glue_tasks import TASKS, GlueTask
from .pretrained import ENCODINGS, Pretrained

FACTS = "facts.json"
Encode = Callable[[str], str]


def split_names(task: GlueTask) -> List[Tuple[str, str]]:
    """The splits, by fairseq's name and by that of the file in the archive."""
    numbered = (f"valid{number or ''}" for number in range(len(task.dev)))
    return [("train", "train"), *zip(numbered, task.dev)]


def separator(task: GlueTask, pretrained: Pretrained) -> Tuple[int, ...]:
    """What is between two sentences besides the ``</s>`` that ends each.

    RoBERTa has a second one. BERT has none: each ``</s>`` ends a segment.
    """
    two = len(task.sentences) == 2 and not pretrained.has_token_types
    return (pretrained.dictionary.eos(),) if two else ()


def build_encoder(cfg: Any) -> Encode:
    """From a sentence to the entries of a dictionary, with spaces between them.

    Args:
        cfg: fairseq's configuration, with ``tokenizer`` and ``bpe``; without them words are entries

    Raises:
        UserError: naming the flag
    """
    steps: List[Encode] = []
    builders = (encoders.build_tokenizer, encoders.build_bpe)
    for group, build in zip(ENCODINGS, builders):
        try:
            encoder = build(cfg[group])
            if encoder is not None:
                encoder.encode("")  # some read their files only now
        except Exception as error:  # of each encoder its own kinds
            name = getattr(cfg[group], "_name", cfg[group])
            raise UserError(
                f"--{group} {name}: {str(error).strip() or repr(error)} "
                "(options after -- come before those of the checkpoint)"
            ) from error
        steps += [] if encoder is None else [encoder.encode]

    def encode(sentence: str) -> str:
        for step in steps:
            sentence = step(sentence)
        return sentence

    return encode


def shortened(sentences: Sequence[List[str]], room: int) -> List[List[str]]:
    """Sentences that have room together: as in BERT's code, the longer one loses its last word."""
    kept = [list(words) for words in sentences]
    while sum(map(len, kept)) > room:
        max(reversed(kept), key=len).pop()
    return kept


def prepare(
    name: str, settings: Dict[str, Any], pretrained: Pretrained, encode: Encode, output: Path
) -> Dict[str, Dict[str, int]]:
    """Write the binary files of a task to ``output/data-bin``, or find them complete.

    Args:
        settings: what the results depend on, with ``data``, the folder of the task's files

    Returns:
        of each file of the archive, how many examples it has, how many lines were skipped, how many
        examples shortened, and how many of their words are unknown

    Raises:
        UserError: naming the file and the line; or the folder was made with other settings
    """
    folder = output / "data-bin"
    if (folder / FACTS).is_file():
        before = json.loads((folder / FACTS).read_text("utf-8"))
        check_settings(output, before["settings"], settings)
        return before["files"]
    if os.path.lexists(folder):
        raise UserError(f"--output {output}: its data-bin is of something else: choose another")
    task, data = TASKS[name], settings["data"]
    splits = {own: (file, read_split(name, data, file)) for own, file in split_names(task)}
    temporary = folder.with_name(f"{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    write_dictionaries(task, pretrained, temporary)
    files = {
        file: write_split(task, split, own, pretrained, encode, temporary)
        for own, (file, split) in splits.items()
    }
    facts = {"settings": settings, "files": files}
    (temporary / FACTS).write_text(json.dumps(facts, indent=2), "utf-8")
    os.replace(temporary, folder)
    return files


def check_settings(output: Path, before: Dict[str, Any], settings: Dict[str, Any]) -> None:
    """Refuse a folder whose results have been made with other settings."""
    for name, value in settings.items():
        if before.get(name) != value:
            raise UserError(
                f"--output {output}: it was made with {name} '{before.get(name)}', not '{value}': "
                "choose another --output, or delete it"
            )


def classes_of(task: GlueTask) -> Dictionary:
    """The dictionary of the labels, in which classes are numbered as in ``task.labels``."""
    classes = Dictionary()
    for label in task.labels:
        classes.add_symbol(label)
    return classes


def write_dictionaries(task: GlueTask, pretrained: Pretrained, folder: Path) -> None:
    for number in range(len(task.sentences)):
        (folder / f"input{number}").mkdir(parents=True)
        shutil.copy(pretrained.dictionary_path, folder / f"input{number}" / "dict.txt")
    (folder / "label").mkdir()
    if task.labels:
        classes_of(task).save(str(folder / "label" / "dict.txt"))


def write_split(
    task: GlueTask, split: Split, name: str, pretrained: Pretrained, encode: Encode, folder: Path
) -> Dict[str, int]:
    """Write inputs and labels of one split, and count."""
    # <s>, one </s> for each sentence, and the separator.
    special = 1 + len(task.sentences) + len(separator(task, pretrained))
    room = pretrained.options["max_positions"] - special
    inputs = [
        Column(folder / f"input{number}" / name, pretrained.dictionary)
        for number in range(len(task.sentences))
    ]
    cut = 0
    for example in split.examples:
        sentences = [encode(text).split() for text in example.sentences]
        kept = shortened(sentences, room)
        cut += kept != sentences
        for column, words in zip(inputs, kept):
            column.add(words)
    labels = [example.label for example in split.examples]
    if task.labels:
        column = Column(folder / "label" / name, classes_of(task))
        for label in labels:
            column.add([label])
        column.finish()
    else:
        (folder / "label" / f"{name}.label").write_text("".join(f"{x}\n" for x in labels))
    for column in inputs:
        column.finish()
    return {
        "examples": len(labels),
        "skipped_lines": split.skipped,
        "shortened": cut,
        "words": sum(column.words for column in inputs),
        "unknown_words": sum(column.unknown_words for column in inputs),
    }


class Column:
    """A binary file of fairseq, with lines of words that are in a dictionary."""

    def __init__(self, prefix: Path, dictionary: Dictionary):
        self.prefix, self.dictionary = prefix, dictionary
        self.builder = make_builder(f"{prefix}.bin", "mmap", vocab_size=len(dictionary))
        self.words = self.unknown_words = 0

    def add(self, words: List[str]) -> None:
        tokens = self.dictionary.encode_line(" ".join(words), add_if_not_exist=False)
        self.words += len(words)
        self.unknown_words += int(tokens.eq(self.dictionary.unk()).sum())
        self.builder.add_item(tokens)

    def finish(self) -> None:
        self.builder.finalize(f"{self.prefix}.idx")
