"""The functions of fairseq that the plugin wraps while it is loaded.

A wrapper acts only for the models named in its row of ``PATCHES``. For any other model it calls
fairseq's function with the same arguments.
"""

import inspect
from typing import Any, Callable, NamedTuple

from fairseq import checkpoint_utils, options
from fairseq.distributed import utils as distributed_utils
from fairseq.file_io import PathManager

from .checkpoints.published_checkpoints import with_what_is_missing
from .training.checkpoint_saving import copy_whole, save_whole
from .training.command import as_a_command, as_a_command_line
from .training.resuming import without_settings
from .training.trainer import save_or_end, with_our_trainer

TRAINED = "realformer models and those of fairseq that they are compared with, in training"
# An attribute of each wrapper: the pair of the wrapper itself and fairseq's function.
MARK = "_wrapped_by_realformer_fairseq"


class Patch(NamedTuple):
    """One function of fairseq, its wrapper, and the reason for wrapping it."""

    owner: Any
    name: str
    wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]
    reason: str
    models: str = TRAINED


PATCHES = (
    Patch(
        checkpoint_utils,
        "load_checkpoint",
        with_our_trainer,
        "the trainer becomes a RealFormerTrainer, which fairseq-train has no option for",
    ),
    Patch(
        checkpoint_utils,
        "save_checkpoint",
        save_or_end,
        "a training that cannot save ends in one line that names the file",
    ),
    Patch(
        checkpoint_utils,
        "_upgrade_state_dict",
        with_what_is_missing,
        "fairseq loads no file with only a model and its options (a KeyError about best_loss)",
        "realformer and any other model in such a file",
    ),
    Patch(
        checkpoint_utils,
        "torch_persistent_save",
        save_whole,
        "after a failed write, fairseq appends its next attempt to the partial file",
    ),
    Patch(
        PathManager,
        "copy",
        copy_whole,
        "fairseq copies checkpoint_last.pt in place, so that a kill leaves half a file",
    ),
    Patch(
        distributed_utils,
        "broadcast_object",
        without_settings,
        "torch 2.6 and later refuses a checkpoint's settings on all ranks but the first",
    ),
    Patch(
        distributed_utils,
        "call_main",
        as_a_command,
        "options that cannot work and signals before the first update end a training in one line; "
        "a later signal must also reach the processes that fairseq starts",
    ),
    Patch(
        options,
        "parse_args_and_arch",
        as_a_command_line,
        "fairseq takes --bf16 for a TPU, and ends in a traceback if a path has ${...} in it",
    ),
)


def is_ours(function: Any) -> bool:
    """Whether a function is our wrapper, not one around it to which functools copied ``MARK``."""
    wrapper, _ = getattr(function, MARK, (None, None))
    return wrapper is function


def install() -> None:
    """Install every wrapper, once. A function that others have wrapped again stays as it is."""
    for patch in PATCHES:
        function = getattr(patch.owner, patch.name)
        if hasattr(function, MARK) and not is_ours(function):
            continue
        fairseqs_own = getattr(function, MARK, (None, function))[1]
        wrapper = patch.wrapper(fairseqs_own)
        setattr(wrapper, MARK, (wrapper, fairseqs_own))
        _assign(patch, wrapper)


def uninstall() -> None:
    """Restore fairseq's functions, except those that others have wrapped again."""
    for patch in PATCHES:
        function = getattr(patch.owner, patch.name)
        if is_ours(function):
            _assign(patch, getattr(function, MARK)[1])


def _assign(patch: Patch, function: Callable[..., Any]) -> None:
    static = isinstance(inspect.getattr_static(patch.owner, patch.name), staticmethod)
    setattr(patch.owner, patch.name, staticmethod(function) if static else function)
