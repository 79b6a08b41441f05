"""Which checkpoint a training starts from, and when it goes on instead.

The same command starts a training and, after a requeue, goes on with it. So ``checkpoint_last.pt``
of ``--save-dir`` comes before ``--restore-file``, as in fairseq before ``--finetune-from-model``.
"""

import copy
import logging
import os
from typing import Any, Dict

from fairseq.file_io import PathManager
from fairseq.trainer import Trainer

from realformer_runtime.command_line import UserError, flag

from .resume_choice import LAST, RESETS
from .resuming import decided_by_first_rank

logger = logging.getLogger(__name__)


def with_what_is_there(cfg: Any, trainer: Trainer) -> Any:
    """The settings of checkpoints with which fairseq loads what this training is to go on from.

    Where a file is named that is not there, all ranks exit, and the first prints one line.
    """
    changes = decided_by_first_rank(trainer, lambda: changed_settings(cfg, trainer))
    if "reset_optimizer" in changes:
        logger.warning(
            f"going on from {LAST} of --save-dir {cfg.save_dir}, not from --restore-file "
            f"{cfg.restore_file} (to start from that again, choose another --save-dir, or move "
            f"{LAST} away)"
        )
    cfg = copy.deepcopy(cfg)
    for name, value in changes.items():
        setattr(cfg, name, value)
    return cfg


def changed_settings(cfg: Any, trainer: Trainer) -> Dict[str, Any]:
    """The settings that must differ from the command line.

    Raises:
        UserError: ``--restore-file`` or ``--finetune-from-model`` is not there
    """
    suffix = trainer.checkpoint_suffix
    last = os.path.join(cfg.save_dir, LAST.replace(".pt", f"{suffix}.pt"))
    is_first_start = not PathManager.exists(last)
    if cfg.restore_file == LAST:
        for name in ("continue_once", "finetune_from_model") if is_first_start else ():
            if getattr(cfg, name, None) is not None:
                need_file(flag(name), getattr(cfg, name), cfg.save_dir)
        return {}
    restored = cfg.restore_file.replace(".pt", f"{suffix}.pt")
    if os.path.realpath(restored) == os.path.realpath(last):
        return {"restore_file": LAST}
    if is_first_start:
        need_file("--restore-file", restored, cfg.save_dir)
        return {}
    return {"restore_file": LAST, **dict.fromkeys(RESETS, False)}


def need_file(option: str, path: str, save_dir: str) -> None:
    """Refuse a file that is not there."""
    if PathManager.isfile(path):
        return
    inside = os.path.join(save_dir, path)
    meant = f" (is {inside} meant?)" if os.path.isfile(inside) else ""
    raise UserError(f"{option} {path}: no such file{meant}")
