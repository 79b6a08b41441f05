"""What ``fairseq-train`` goes on from with our model or fairseq's Transformer, and what is refused.

In place of a damaged or missing ``checkpoint_last.pt`` the newest whole checkpoint of the folder is
taken, with a line in the log. Another model or another dictionary than the checkpoint's is named in
one line, where fairseq says that "the architectures" should match.
"""

import functools
import logging
import os
import sys
from pathlib import Path
from typing import Any, Callable, List

import torch
from fairseq.distributed import utils as distributed_utils
from fairseq.models.transformer import TransformerModel
from fairseq.tasks import FairseqTask
from fairseq.trainer import Trainer

from realformer_checkpoints.reading import load_checkpoint
from realformer_runtime.command_line import UserError

from ..models.model import RealFormerModel
from .checkpoint_comparison import differing_options, differing_shapes
from .checkpoint_saving import TEMPORARY
from .resume_choice import Choice, choose_checkpoint
from .save_dir_lock import lock_save_dir

# Ours and its baseline. Others may change a checkpoint when they load it.
MODELS = (RealFormerModel, TransformerModel)

logger = logging.getLogger(__name__)


def check_model(path: str, trainer: Trainer, only_shapes: bool) -> None:
    """Refuse a checkpoint of another model.

    Args:
        only_shapes: a fine-tuning may change what a model does with its parameters

    Raises:
        UserError: naming what differs, and both values
    """
    state = load_checkpoint(path)
    differences: List[str] = []
    if not only_shapes:
        differences = differing_options(state, trainer.cfg.model)
    differences = differences or differing_shapes(state["model"], trainer._model)
    if differences:
        raise UserError(
            f"{path} is a checkpoint of another model: {'; '.join(differences)} "
            "(choose the same model and data-bin, or another --save-dir)"
        )


def prepare_loading(trainer: Trainer, filename: str, reset_optimizer: bool) -> Choice:
    """Lock the folder, remove what a killed training left half written, choose and check.

    Raises:
        UserError: see above
    """
    save_dir = trainer.cfg.checkpoint.save_dir
    if not trainer.cfg.checkpoint.no_save and getattr(trainer, "_save_dir_lock", None) is None:
        trainer._save_dir_lock = lock_save_dir(save_dir)
    if getattr(trainer, "_save_dir_lock", None) is not None:
        for path in Path(save_dir).glob("*.pt" + TEMPORARY):
            path.unlink()
    choice = choose_checkpoint(filename, save_dir)
    if os.path.exists(choice.path):
        check_model(choice.path, trainer, only_shapes=reset_optimizer)
    return choice


def load_what_is_whole(load_checkpoint: Callable[..., Any]) -> Callable[..., Any]:
    """``Trainer.load_checkpoint``, after ``prepare_loading`` on the first rank."""

    @functools.wraps(load_checkpoint)
    def prepare_and_load(self, filename, reset_optimizer=False, *args, **kwargs):
        if type(self._model) not in MODELS or self.checkpoint_suffix or self.is_fsdp:
            return load_checkpoint(self, filename, reset_optimizer, *args, **kwargs)
        choice, error = None, ""
        if self.is_data_parallel_master:
            try:
                choice = tuple(prepare_loading(self, filename, reset_optimizer))
            except (UserError, OSError) as refusal:
                error = str(refusal)
        if self.data_parallel_world_size > 1:
            choice, error = distributed_utils.broadcast_object(
                (choice, error), 0, self.data_parallel_process_group, self.device
            )
        if error:
            sys.exit(f"fairseq-train: {error}" if self.is_data_parallel_master else 1)
        path, warning = choice
        if warning:
            logger.warning(warning)
        return load_checkpoint(self, path, reset_optimizer, *args, **kwargs)

    return prepare_and_load


def without_settings(broadcast_object: Callable[..., Any]) -> Callable[..., Any]:
    """``broadcast_object`` of fairseq, which hands a loaded checkpoint to the other ranks.

    torch 2.6 and later would refuse the settings in it there, and no rank has a use for them. What
    stands for the tensors, which travel by themselves, is harmless.
    """
    torch.serialization.add_safe_globals([distributed_utils._TensorPlaceholder])

    @functools.wraps(broadcast_object)
    def broadcast_without(obj, *args, **kwargs):
        if isinstance(obj, dict) and "cfg" in obj and "optimizer_history" in obj:
            obj = {**obj, "cfg": None}
        return broadcast_object(obj, *args, **kwargs)

    return broadcast_without


def with_batches_of_first_epoch(get_train_iterator: Callable[..., Any]) -> Callable[..., Any]:
    """``Trainer.get_train_iterator`` that makes the same batches again on resuming.

    A training makes its batches in epoch 1 and keeps them. fairseq makes them anew on resuming,
    with the random numbers of the epoch it is in: sentences of the same length then change places.
    Tasks and datasets that make new ones in every epoch are left alone.
    """

    @functools.wraps(get_train_iterator)
    def get_with_same_batches(self, epoch, combine=True, load_dataset=True, **kwargs):
        get = functools.partial(
            get_train_iterator, self, combine=combine, load_dataset=load_dataset, **kwargs
        )
        renewed = kwargs.get("disable_iterator_cache") or self.cfg.dataset.update_epoch_batch_itr
        if epoch == 1 or not load_dataset or renewed or self.task.has_sharded_data("train"):
            return get(epoch)
        subset = self.cfg.dataset.train_subset
        self.task.load_dataset(
            subset,
            epoch=epoch,
            combine=combine,
            data_selector=kwargs.get("data_selector"),
            tpu=self.tpu,
        )
        get.keywords["load_dataset"] = False
        own = type(self.task).get_batch_iterator is not FairseqTask.get_batch_iterator
        if own or not self.task.can_reuse_epoch_itr(self.task.dataset(subset)):
            return get(epoch)
        iterator = get(1)
        iterator.epoch = epoch
        return iterator

    return get_with_same_batches


def resume_what_is_whole() -> None:
    """Have every training resume this way."""
    Trainer.load_checkpoint = load_what_is_whole(Trainer.load_checkpoint)
    distributed_utils.broadcast_object = without_settings(distributed_utils.broadcast_object)
    Trainer.get_train_iterator = with_batches_of_first_epoch(Trainer.get_train_iterator)
