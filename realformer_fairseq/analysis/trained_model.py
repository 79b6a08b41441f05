"""Load a trained Transformer, ours or fairseq's, and a split of prepared data."""

import logging
import os
import warnings
from typing import Tuple

from fairseq import checkpoint_utils, tasks
from fairseq.data import FairseqDataset
from fairseq.models.transformer import TransformerModelBase

from realformer_checkpoints.incomplete_states import load_with_options
from realformer_checkpoints.reading import stored_option
from realformer_runtime.command_line import UserError


def load_model(checkpoint: str, data: str) -> Tuple[TransformerModelBase, tasks.FairseqTask]:
    """Load a model in evaluation mode and float32, and its task with the dictionaries.

    Raises:
        UserError: the checkpoint is refused, or does not fit the data; names both
    """
    state = load_with_options(checkpoint)
    for side in ("source_lang", "target_lang"):
        lang = stored_option(state, "task", side)
        if not isinstance(lang, str):
            raise UserError(f"--checkpoint {checkpoint}: not a model that translates")
        if not os.path.isfile(os.path.join(data, f"dict.{lang}.txt")):
            raise UserError(f"--data {data}: there is no dict.{lang}.txt in it")
    overrides = {"data": data, "eval_bleu": False}
    try:
        models, _, task = checkpoint_utils.load_model_ensemble_and_task([checkpoint], overrides)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        reason = next((line for line in lines if "size mismatch" in line), lines[0])
        misfit = f"--checkpoint {checkpoint} does not fit the dictionaries of --data {data}"
        raise UserError(f"{misfit}: {reason}") from None
    except AssertionError:  # a model that is registered nowhere
        models = [None]
    (model,) = models
    if not isinstance(model, TransformerModelBase):
        raise UserError(f"--checkpoint {checkpoint}: neither a realformer nor a transformer")
    return model.float().eval(), task


def load_split(task: tasks.FairseqTask, split: str) -> FairseqDataset:
    """Load a split of the task's data: ``train``, ``valid``, ``test``, ...

    Raises:
        UserError: there is no such split
    """
    cfg = task.cfg
    try:
        task.load_dataset(split)
    except FileNotFoundError:
        where = f"{cfg.source_lang}-{cfg.target_lang} in --data {cfg.data}"
        raise UserError(f"--gen-subset {split}: there is none for {where}") from None
    return task.dataset(split)


def load_model_and_split(
    checkpoint: str, data: str, split: str
) -> Tuple[TransformerModelBase, tasks.FairseqTask, FairseqDataset]:
    """Load model, task and sentence pairs for a command, and silence warnings of libraries."""
    logging.getLogger().setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", category=UserWarning)  # pinned memory, missing glyphs
    model, task = load_model(checkpoint, data)
    return model, task, load_split(task, split)
