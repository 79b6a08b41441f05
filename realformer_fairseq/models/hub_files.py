"""The files that ``from_pretrained`` needs, and what it takes from them."""

import os
import tarfile
from typing import Any, Dict, Optional, Sequence

from realformer_checkpoints.incomplete_states import load_with_options
from realformer_checkpoints.reading import stored_option
from realformer_runtime.command_line import UserError
from realformer_runtime.text.subword_files import PIECES
from realformer_runtime.text.utf8_lines import start_of_text

SIDES = ("source_lang", "target_lang")

# Of translation_multi_simple_epoch: dictionaries that need not be with the data.
DICTIONARY_OPTIONS = ("fixed_dictionary", "source_dict", "target_dict")


def check_files(
    folder: str,
    checkpoints: str,
    data: str,
    names: Sequence[str] = ("checkpoint_file", "data_name_or_path"),
    dictionary: Optional[str] = None,
    **overrides,
) -> None:
    """Refuse what is not there, or no checkpoint, before fairseq ends in a TypeError over it.

    Args:
        folder: of the checkpoints; an address or an archive is left to fairseq
        checkpoints: names in it, several with a colon between them
        data: folder of the dictionaries, from the folder if it starts with a dot; here, too, an
            address or an archive is left to fairseq
        names: what the user gives checkpoints and data as
        dictionary: its file, or None if there is one for each language
        overrides: may have ``source_lang`` and ``target_lang``

    Raises:
        UserError: naming the folder or the file
    """
    if os.path.isfile(folder) and not tarfile.is_tarfile(folder):
        raise UserError(f"'{folder}' is a file: give its folder, then its name, then {names[1]}")
    if "://" in folder or os.path.isfile(folder):
        return
    if folder and not os.path.isdir(folder):
        raise UserError(f"no such folder: '{folder}'")
    data = os.path.join(folder, data) if data.startswith(".") else data
    is_folder = "://" not in data and not os.path.isfile(data)
    for name in checkpoints.split(os.pathsep):
        path = os.path.join(folder, name)
        check_file(names[0], path)
        state = load_with_options(path)
        elsewhere = any(stored_option(state, "task", name) for name in DICTIONARY_OPTIONS)
        if elsewhere or not is_folder:
            continue
        langs = [overrides.get(side) or stored_option(state, "task", side) for side in SIDES]
        for file in [dictionary] if dictionary else [f"dict.{x}.txt" for x in langs if x]:
            check_dictionary(names[1], os.path.join(data.split(os.pathsep)[0], file))


def find_sentencepiece_model(folder: str, data: str, options: Dict) -> None:
    """Complete ``sentencepiece_model`` by the file that is with the data, where it is needed.

    What is beside the checkpoint fairseq itself takes.

    Args:
        folder, data: as of :func:`check_files`
        options: of ``from_pretrained``

    Raises:
        UserError: there is none
    """
    if options.get("bpe") != "sentencepiece" or not os.path.isdir(folder):
        return
    if path := options.get("sentencepiece_model"):
        if "://" not in path:
            check_file("sentencepiece_model", path)
        return
    data = os.path.join(folder, data) if data.startswith(".") else data
    if os.path.isfile(path := os.path.join(data, PIECES)):
        options["sentencepiece_model"] = path
    elif not os.path.isfile(os.path.join(folder, PIECES)):
        raise UserError(f"sentencepiece_model: no {PIECES} in '{folder}' or '{data}': name it")


def check_dictionary(name: str, path: str) -> None:
    """Refuse a file that an editor has converted: fairseq takes a byte order mark for text."""
    check_file(name, path)
    with open(path, "rb") as file:
        start = file.read(8)
    if start_of_text(start, f"{name} '{path}'") != start:
        raise UserError(f"{name}: '{path}' starts with a byte order mark, not with a word")


def check_file(name: str, path: str) -> None:
    if not os.path.isfile(path):
        raise UserError(f"{name}: no such file: '{path}'")


def complete_languages(folder: str, checkpoint: str, options: Dict[str, Any]) -> None:
    """Complete the languages by the checkpoint's: without any, a tokenizer takes English.

    Args:
        folder: of the checkpoint; in an address or an archive nothing is looked for
        checkpoint: one name, or several with a colon between them
        options: of ``from_pretrained``
    """
    if not options.get("tokenizer") or (folder and not os.path.isdir(folder)):
        return
    # Here, since it imports sacremoses, which is 7 % of a training's start.
    from realformer_runtime.text.languages import code_or_none

    state = load_with_options(os.path.join(folder, checkpoint.split(os.pathsep)[0]))
    for side in SIDES:
        language = stored_option(state, "task", side)
        if language and code_or_none(language):
            options.setdefault(side, language)
