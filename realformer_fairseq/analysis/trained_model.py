"""Load a trained model, ours or the one of fairseq's it is compared with, and a split of data."""

import logging
import os
import warnings
from typing import Any, Dict, List, NamedTuple, Tuple, Type

from fairseq import checkpoint_utils, tasks
from fairseq.data import FairseqDataset
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY, BaseFairseqModel
from fairseq.models.roberta import RobertaModel
from fairseq.models.transformer import TransformerModelBase
from fairseq.models.transformer_lm import TransformerLanguageModel

from realformer_checkpoints.incomplete_states import load_with_options
from realformer_checkpoints.reading import stored_option, stored_task
from realformer_runtime.command_line import UserError

from ..modules.encoder_layer import leave_fast_path


class Kind(NamedTuple):
    """Models of one task: their class, and the names of ours and fairseq's."""

    model: Type[BaseFairseqModel]
    names: Tuple[str, str]

    def refusal(self, checkpoint: str) -> UserError:
        """The error over a checkpoint of another model."""
        ours, theirs = self.names
        return UserError(f"--checkpoint {checkpoint}: neither a {ours} nor a {theirs}")


# By the names of tasks; any other task with two languages is one of translation.
KINDS = {
    "translation": Kind(TransformerModelBase, ("realformer", "transformer")),
    "masked_lm": Kind(RobertaModel, ("realformer_masked_lm", "roberta")),
    "language_modeling": Kind(TransformerLanguageModel, ("realformer_lm", "transformer_lm")),
}
# Masked words are the same for every model, whatever the seed of its training.
MASKING_SEED = 1


def task_and_dictionaries(state: Dict[str, Any]) -> Tuple[str, List[str]]:
    """A key of ``KINDS`` and the files in the data that the vocabulary is in.

    Raises:
        ValueError: naming any other task
    """
    langs = [stored_option(state, "task", side) for side in ("source_lang", "target_lang")]
    if all(isinstance(lang, str) for lang in langs):
        return "translation", [f"dict.{lang}.txt" for lang in langs]
    task = stored_task(state)
    if task not in KINDS or task == "translation":
        raise ValueError(f"its task is {task or 'not recorded'}; accepted are {', '.join(KINDS)}")
    return task, ["dict.txt"]


def check_model(checkpoint: str, state: Dict[str, Any], kind: Kind) -> None:
    """Refuse a checkpoint of a model that is not of a kind, or is registered nowhere."""
    name = str(stored_option(state, "model", "_name") or stored_option(state, "model", "arch"))
    model = ARCH_MODEL_REGISTRY.get(name) or MODEL_REGISTRY.get(name) or BaseFairseqModel
    if not issubclass(model, kind.model):
        raise kind.refusal(checkpoint)


def load_model(checkpoint: str, data: str) -> Tuple[BaseFairseqModel, tasks.FairseqTask]:
    """Load a model in evaluation mode and float32, and its task with the dictionaries.

    Raises:
        UserError: the checkpoint is refused, or does not fit the data; names both
    """
    state = load_with_options(checkpoint)
    try:
        name, dictionaries = task_and_dictionaries(state)
    except ValueError as error:
        raise UserError(f"--checkpoint {checkpoint}: {error}") from None
    for file in dictionaries:
        if not os.path.isfile(os.path.join(data, file)):
            raise UserError(f"--data {data}: there is no {file} in it")
    check_model(checkpoint, state, KINDS[name])
    overrides = {"data": data, "eval_bleu": False, "seed": MASKING_SEED}
    try:
        models, _, task = checkpoint_utils.load_model_ensemble_and_task([checkpoint], overrides)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        reason = next((line for line in lines if "size mismatch" in line), lines[0])
        misfit = f"--checkpoint {checkpoint} does not fit the dictionaries of --data {data}"
        raise UserError(f"{misfit}: {reason}") from None
    except AssertionError:  # a task that is registered nowhere
        raise KINDS[name].refusal(checkpoint) from None
    leave_fast_path(models[0])
    return models[0].float().eval(), task


def load_split(task: tasks.FairseqTask, split: str) -> FairseqDataset:
    """Load a split of the task's data: ``train``, ``valid``, ``test``, ...

    Raises:
        UserError: there is no such split
    """
    cfg = task.cfg if hasattr(task, "cfg") else task.args
    try:
        task.load_dataset(split)
    except FileNotFoundError:
        langs = getattr(cfg, "source_lang", None), getattr(cfg, "target_lang", None)
        where = f"{'-'.join(langs)} in --data {cfg.data}" if all(langs) else f"--data {cfg.data}"
        raise UserError(f"--gen-subset {split}: there is none for {where}") from None
    return task.dataset(split)


def load_model_and_split(
    checkpoint: str, data: str, split: str
) -> Tuple[BaseFairseqModel, tasks.FairseqTask, FairseqDataset]:
    """Load model, task and data set for a command, and silence warnings of libraries."""
    logging.getLogger().setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", category=UserWarning)  # pinned memory, missing glyphs
    model, task = load_model(checkpoint, data)
    return model, task, load_split(task, split)
