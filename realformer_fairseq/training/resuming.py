"""Resume ``fairseq-train`` with one of our models or of fairseq's that they are compared with.

The newest whole checkpoint of the folder replaces a damaged or missing ``checkpoint_last.pt``, with
a line in the log. A checkpoint of another model or dictionary is refused in one line that names the
difference, where fairseq only says that "the architectures" should match.
"""

import functools
import logging
import math
import os
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

import torch
from fairseq.distributed import utils as distributed_utils
from fairseq.tasks import FairseqTask
from fairseq.trainer import Trainer

from realformer_checkpoints.incomplete_states import why_no_model_can_be_built
from realformer_checkpoints.reading import load_checkpoint, option_group
from realformer_runtime.command_line import UserError

from ..models.multilingual import MultilingualRealFormerModel
from ..models.stacks import ModelOfStacks
from .affected_models import BASELINES, OUR_TRAINER_IS_AT_WORK, OURS
from .checkpoint_comparison import (
    differing_names,
    differing_options,
    differing_shapes,
    lacks_omega,
    unloadable_state,
)
from .resume_choice import choose_checkpoint, updates_of
from .save_dir_lock import lock_save_dir

# Other models may change a checkpoint when they load it, so it cannot be compared with them.
CHECKED = {*OURS, *BASELINES} - {MultilingualRealFormerModel}

logger = logging.getLogger(__name__)


class Resets(NamedTuple):
    """What of a checkpoint is not taken over."""

    optimizer: bool
    lr_scheduler: bool


class Choice(NamedTuple):
    """The checkpoint to load, what the log is to say, and whether it lacks the model's omega."""

    path: str
    warnings: List[str]
    lacks_omega: bool


def check_state(path: str, state: Dict[str, Any], trainer: Trainer, resets: Resets) -> None:
    """Refuse a checkpoint whose state these options cannot go on from."""
    cfg = trainer.cfg
    found = []
    if updates_of(state) is not None and not resets.optimizer:
        found = unloadable_state(state, cfg, same_schedule=not resets.lr_scheduler)
    if cfg.ema.store_ema and "ema" not in (state.get("extra_state") or {}):
        found.append("it has no moving average (leave out --store-ema)")
    if found:
        raise UserError(f"{path} cannot be gone on from: {'; '.join(found)}")


def check_model(path: str, state: Dict[str, Any], trainer: Trainer, fine_tuning: bool) -> Choice:
    """Refuse a checkpoint of another model: a UserError names the differences.

    Args:
        fine_tuning: options may differ if the parameters fit, and so may classification heads
    """
    model = trainer._model
    reason = option_group(state, "model") is not None and why_no_model_can_be_built(state)
    if reason:
        raise UserError(f"{path}: refused: {reason}")
    stored = state["model"]
    if isinstance(model, ModelOfStacks):
        stored = model.without_pruned_layers(stored)
    options, upgraded = differing_options(state, trainer.cfg.model, model), dict(stored)
    model.upgrade_state_dict(upgraded)
    names = differing_names(upgraded, model)
    differences = [*options, *names] if names or not fine_tuning else []
    # Going on needs the same heads: the optimizer has their state.
    differences = differences or differing_shapes(upgraded if fine_tuning else stored, model)
    if differences:
        raise UserError(
            f"{path} is a checkpoint of another model: {'; '.join(differences)} "
            "(choose the same model and data-bin, or another --save-dir)"
        )
    warnings = [f"{path}: {'; '.join(options)}"] if options else []
    return Choice(path, warnings, lacks_omega(stored, model))


def prepare_loading(trainer: Trainer, filename: str, resets: Resets) -> Choice:
    """Lock ``--save-dir``, remove what a killed training left, choose and check a checkpoint."""
    save_dir = trainer.cfg.checkpoint.save_dir
    if not trainer.cfg.checkpoint.no_save and trainer._save_dir_lock is None:
        trainer._save_dir_lock = lock_save_dir(save_dir)
    if trainer._save_dir_lock is not None:
        for leftover in Path(save_dir).glob("*.pt.tmp"):
            leftover.unlink()
    path, warning = choose_checkpoint(filename, save_dir)
    choice = Choice(path, [], False)
    if os.path.exists(path):
        state = load_checkpoint(path)
        choice = check_model(path, state, trainer, fine_tuning=resets.optimizer)
        check_state(path, state, trainer, resets)
    return choice._replace(warnings=[*filter(None, [warning]), *choice.warnings])


def decided_by_first_rank(trainer: Trainer, decide: Callable[[], Any]) -> Any:
    """What ``decide`` returns on the first rank.

    If it raises there, all ranks exit, and the first one prints one line that says why.
    """
    decision, error = None, ""
    if trainer.is_data_parallel_master:
        try:
            decision = decide()
        except (UserError, OSError) as refusal:
            error = str(refusal)
    if trainer.data_parallel_world_size > 1:
        decision, error = distributed_utils.broadcast_object(
            (decision, error), 0, trainer.data_parallel_process_group, trainer.device
        )
    if error:
        sys.exit(f"fairseq-train: {error}" if trainer.is_data_parallel_master else 1)
    return decision


def checkpoint_to_load(trainer: Trainer, filename: str, resets: Resets) -> Tuple[str, bool]:
    """The checkpoint to load in place of ``filename``, and whether it lacks the model's omega.

    fairseq decides for checkpoints in parts and for models that are not in ``CHECKED``.
    """
    if type(trainer._model) not in CHECKED or trainer.checkpoint_suffix or trainer.is_fsdp:
        return filename, False
    path, warnings, no_omega = decided_by_first_rank(
        trainer, lambda: tuple(prepare_loading(trainer, filename, resets))
    )
    for warning in warnings:
        logger.warning(warning)
    return path, no_omega


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


def leave_out_incomplete_group(iterator: Any, update_freq: Sequence[int]) -> None:
    """Begin the next epoch if what is left of this one is less than an update.

    fairseq has an error there, after a change of ``--update-freq`` or of the number of GPUs.
    """
    done, batches = iterator.iterations_in_epoch, len(iterator)
    chunk = update_freq[min(iterator.epoch, len(update_freq)) - 1]
    if done and math.ceil(done / chunk) >= math.ceil(batches / chunk):
        iterator._next_epoch_itr = None
        iterator.epoch += 1


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
