"""Resume ``fairseq-train`` with our model or fairseq's Transformer.

The newest whole checkpoint of the folder replaces a damaged or missing ``checkpoint_last.pt``, with
a line in the log. A checkpoint of another model or dictionary is refused in one line that names the
difference, where fairseq only says that "the architectures" should match.
"""

import functools
import logging
import os
import sys
from pathlib import Path
from typing import Any, Callable, List, Tuple

import torch
from fairseq.distributed import utils as distributed_utils
from fairseq.models.transformer import TransformerModel
from fairseq.tasks import FairseqTask
from fairseq.trainer import Trainer

from realformer_checkpoints.reading import load_checkpoint
from realformer_runtime.command_line import UserError

from ..models.model import RealFormerModel
from .affected_models import OUR_TRAINER_IS_AT_WORK
from .checkpoint_comparison import differing_options, differing_shapes
from .resume_choice import choose_checkpoint
from .save_dir_lock import lock_save_dir

# Other models may change a checkpoint when they load it, so it cannot be compared with them.
CHECKED = (RealFormerModel, TransformerModel)

logger = logging.getLogger(__name__)


def check_model(path: str, trainer: Trainer, only_shapes: bool) -> None:
    """Refuse a checkpoint of another model: a UserError names the differences.

    Args:
        only_shapes: compare no options, which a fine-tuning may change
    """
    state = load_checkpoint(path)
    differences: List[str] = [] if only_shapes else differing_options(state, trainer.cfg.model)
    differences = differences or differing_shapes(state["model"], trainer._model)
    if differences:
        raise UserError(
            f"{path} is a checkpoint of another model: {'; '.join(differences)} "
            "(choose the same model and data-bin, or another --save-dir)"
        )


def prepare_loading(trainer: Trainer, filename: str, reset_optimizer: bool) -> Tuple[str, str]:
    """Lock ``--save-dir``, remove what a killed training left, choose and check a checkpoint."""
    save_dir = trainer.cfg.checkpoint.save_dir
    if not trainer.cfg.checkpoint.no_save and trainer._save_dir_lock is None:
        trainer._save_dir_lock = lock_save_dir(save_dir)
    if trainer._save_dir_lock is not None:
        for leftover in Path(save_dir).glob("*.pt.tmp"):
            leftover.unlink()
    path, warning = choose_checkpoint(filename, save_dir)
    if os.path.exists(path):
        check_model(path, trainer, only_shapes=reset_optimizer)
    return path, warning


def checkpoint_to_load(trainer: Trainer, filename: str, reset_optimizer: bool) -> str:
    """The checkpoint to load in place of ``filename``; the first rank decides for all.

    fairseq decides for checkpoints in parts and for models that are not in ``CHECKED``. Where
    nothing can be loaded, all ranks exit, and the first one prints one line that says why.
    """
    if type(trainer._model) not in CHECKED or trainer.checkpoint_suffix or trainer.is_fsdp:
        return filename
    path, warning, error = filename, "", ""
    if trainer.is_data_parallel_master:
        try:
            path, warning = prepare_loading(trainer, filename, reset_optimizer)
        except (UserError, OSError) as refusal:
            error = str(refusal)
    if trainer.data_parallel_world_size > 1:
        path, warning, error = distributed_utils.broadcast_object(
            (path, warning, error), 0, trainer.data_parallel_process_group, trainer.device
        )
    if error:
        sys.exit(f"fairseq-train: {error}" if trainer.is_data_parallel_master else 1)
    if warning:
        logger.warning(warning)
    return path


def without_settings(broadcast_object: Callable[..., Any]) -> Callable[..., Any]:
    """``broadcast_object`` of fairseq, which sends checkpoints to other ranks without settings.

    torch 2.6 and later would refuse the settings there, and no rank needs them. fairseq sends the
    tensors separately; the placeholder in their place is harmless.
    """
    torch.serialization.add_safe_globals([distributed_utils._TensorPlaceholder])

    @functools.wraps(broadcast_object)
    def broadcast_without(obj, *args, **kwargs):
        is_checkpoint = isinstance(obj, dict) and "cfg" in obj and "optimizer_history" in obj
        if is_checkpoint and OUR_TRAINER_IS_AT_WORK.get():
            obj = {**obj, "cfg": None}
        return broadcast_object(obj, *args, **kwargs)

    return broadcast_without


def iterator_with_batches_of_first_epoch(
    trainer: Trainer, get: Callable[..., Any], epoch: int, load_dataset: bool, **kwargs
) -> Any:
    """An iterator over the same batches in every epoch, also after resuming.

    A training makes its batches in epoch 1 and keeps them. When fairseq resumes, it makes batches
    with the random numbers of the current epoch, so that sentences of the same length change
    places. Nothing changes for tasks and datasets that make new batches in every epoch.

    Args:
        get: ``Trainer.get_train_iterator`` with all arguments but ``epoch`` and ``load_dataset``
    """
    renewed = kwargs.get("disable_iterator_cache") or trainer.cfg.dataset.update_epoch_batch_itr
    if epoch == 1 or not load_dataset or renewed or trainer.task.has_sharded_data("train"):
        return get(epoch, load_dataset=load_dataset)
    subset = trainer.cfg.dataset.train_subset
    trainer.task.load_dataset(
        subset,
        epoch=epoch,
        combine=get.keywords["combine"],
        data_selector=kwargs.get("data_selector"),
        tpu=trainer.tpu,
    )
    own = type(trainer.task).get_batch_iterator is not FairseqTask.get_batch_iterator
    if own or not trainer.task.can_reuse_epoch_itr(trainer.task.dataset(subset)):
        return get(epoch, load_dataset=False)
    iterator = get(1, load_dataset=False)
    iterator.epoch = epoch
    return iterator
