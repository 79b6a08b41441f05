"""The languages of a translation: those of the checkpoint, or of the user where it has none."""

import os
import sys
from typing import Any, Dict

from realformer_checkpoints.incomplete_states import load_with_options
from realformer_checkpoints.reading import LANGUAGE_MODEL_TASKS, stored_option, stored_task
from realformer_runtime.command_line import UserError, flag, printable
from realformer_runtime.text.languages import code_or_none, language_code

from ..models.hub_files import SIDES, check_file


def set_languages(args, program: str) -> None:
    """Complete ``source_lang`` and ``target_lang`` of ``args``, the names of the dictionaries.

    Also set ``codes``, the two languages whose rules the text needs. A language that the user
    writes otherwise than the checkpoint (``fr`` and ``fr_FR``) has the checkpoint's dictionary.

    Raises:
        UserError: the checkpoints contradict the user or one another, or a language is unknown
    """
    given = {side: getattr(args, side) for side in SIDES}
    for side, name in given.items():
        language_code(name or "en", flag(side))
    if not (args.dry_run and all(given.values())):  # a dry run looks at no file unless it has to
        for path in args.checkpoint.split(os.pathsep):
            check_file("--checkpoint", path)
            state = load_with_options(path)
            check_translates(path, state)
            take_languages(args, path, state)
    for side in SIDES:
        if getattr(args, side) is None:
            raise UserError(f"{flag(side)} is needed: '{args.checkpoint}' does not name it")
    args.codes = [language_code(given[side] or getattr(args, side), flag(side)) for side in SIDES]
    if not all(given.values()):
        languages = f"{args.source_lang} to {args.target_lang}"
        print(f"{program}: {languages}, as the checkpoint says", file=sys.stderr)


def check_translates(path: str, state: Dict[str, Any]) -> None:
    """Refuse a checkpoint of a language model, by the name of its task."""
    task = stored_task(state)
    if task in LANGUAGE_MODEL_TASKS:
        names = [stored_option(state, "model", name) for name in ("_name", "arch")]
        model = printable(str(next(filter(None, names), "model")))
        raise UserError(
            f"--checkpoint '{path}': a {model} of --task {task} does not translate; "
            "accepted are models of translation, as a realformer or a transformer"
        )


def take_languages(args, path: str, state) -> None:
    """Take the languages of one checkpoint, which must not contradict those that are known."""
    for side in SIDES:
        known, stored = getattr(args, side), stored_option(state, "task", side)
        if known and stored and code_or_none(stored) not in (None, code_or_none(known)):
            raise UserError(f"{flag(side)} {known}: '{path}' was trained with '{stored}'")
        setattr(args, side, stored or known)
