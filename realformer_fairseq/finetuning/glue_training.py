"""``fairseq-train`` on a task of GLUE, and the predictions of the model that comes of it."""

import argparse
import contextlib
import gc
import logging
import math
from argparse import Namespace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence, Tuple

import torch
from fairseq import checkpoint_utils, options, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.distributed import utils as distributed_utils
from fairseq_cli import train as fairseq_train
from omegaconf import open_dict

from realformer_checkpoints.reading import load_checkpoint
from realformer_checkpoints.writing import write_checkpoint
from realformer_runtime.atomic_output import atomic_output
from realformer_runtime.command_line import UserError, flag

from ..training.resume_choice import LAST
from .glue_data import separator
from .glue_tasks import TASKS
from .pretrained import ENCODINGS, Pretrained

# BERT's recipe, the same for all tasks: Devlin et al. 2019 (arXiv 1810.04805), section 4.1 and
# appendix A.3, the lowest of its four learning rates. What the paper leaves open is as in the code
# that Google has published for it (run_classifier.py, optimization.py).
RECIPE: Dict[str, Any] = {
    "batch_size": 32,
    "max_epoch": 3,
    "lr": [2e-5],
    "lr_scheduler": "polynomial_decay",  # to 0 in a line
    "optimizer": "adam",
    "adam_betas": "(0.9, 0.999)",
    "adam_eps": 1e-6,
    "weight_decay": 0.01,
    "clip_norm": 1.0,
    "pooler_dropout": 0.1,
    # A batch has as many examples as it says, but for the last one.
    "required_batch_size_multiple": 1,
}
WARMUP = 0.1  # of all updates
TO_COMPUTE = -1  # an option that depends on others
# No dev set has a say in which model is measured.
RUN: Dict[str, Any] = {
    "task": "sentence_prediction",
    "criterion": "sentence_prediction",
    "disable_validation": True,
    "no_epoch_checkpoints": True,
    "log_format": "simple",
    "distributed_world_size": 1,
    "find_unused_parameters": True,  # with several GPUs: nothing trains the masked-LM head
    "total_num_update": TO_COMPUTE,
    "warmup_updates": TO_COMPUTE,
}
# What fairseq-train could be told otherwise, but must not be.
FIXED = """
    task criterion arch num_classes regression_target classification_head_name init_token
    separator_token max_positions seed save_dir restore_file finetune_from_model user_dir
""".split()


def head_name(name: str) -> str:
    """Name of a task's head in the model: ``sst_2``. A head of another task is not taken over."""
    return name.lower().replace("-", "_")


def training_options(
    name: str, data: str, pretrained: Pretrained, further: Sequence[str]
) -> Namespace:
    """The options of ``fairseq-train`` for any seed.

    Args:
        name: of the task
        data: folder of the binary files
        further: options of the user, which come first

    Raises:
        UserError: naming an option that has to be as it is
    """
    fixed = [word for word in further if word.partition("=")[0] in map(flag, FIXED)]
    if fixed:
        raise UserError(f"{fixed[0]}: this is chosen for the task, and cannot be after --")
    task, dictionary = TASKS[name], pretrained.dictionary
    defaults = {**pretrained.options, **RECIPE, **RUN}
    defaults.update(
        finetune_from_model=pretrained.path,
        classification_head_name=head_name(name),
        num_classes=len(task.labels) or 1,
        regression_target=not task.labels,
        init_token=dictionary.bos(),
        separator_token=next(iter(separator(task, pretrained)), None),
    )
    parser = options.get_training_parser()
    parser.error = refuse_option
    args = options.parse_args_and_arch(
        parser, [data, *further], modify_parser=lambda parser: parser.set_defaults(**defaults)
    )
    if not (args.max_epoch or args.max_update):
        raise UserError("--max-epoch 0: then --max-update is needed")
    return args


def refuse_option(message: str) -> None:
    """Raise UserError where fairseq's parser would print all of its options."""
    raise UserError(f"{message} (after -- are options of fairseq-train)")


def set_schedule(args: Namespace, examples: int) -> None:
    """Set how many updates there are and how many warm up, unless the user has.

    As in the recipe, the learning rate rises over the first tenth and is 0 at the end.
    """
    per_epoch = math.ceil(examples / (args.batch_size or examples) / args.update_freq[0])
    updates = min(per_epoch * (args.max_epoch or math.inf), args.max_update or math.inf)
    if args.total_num_update == TO_COMPUTE:
        args.total_num_update = updates
    if args.warmup_updates == TO_COMPUTE:
        args.warmup_updates = int(WARMUP * updates)


def configuration(args: Namespace, pretrained: Pretrained, seed: int, folder: Path) -> Any:
    """fairseq's configuration of one seed.

    Tokenizer and BPE are the checkpoint's unless the user names others; the fine-tuned checkpoint
    has them, too.
    """
    own = argparse.Namespace(**{**vars(args), "seed": seed, "save_dir": str(folder)})
    cfg = convert_namespace_to_omegaconf(own)
    with open_dict(cfg):
        for group in ENCODINGS:
            if getattr(args, group) is None:
                cfg[group] = pretrained.encodings.get(group)
    return cfg


@contextlib.contextmanager
def logged_to(path: Path) -> Iterator[None]:
    """Append to a file, and show nowhere else, what fairseq logs and libraries warn of."""
    root, handler = logging.getLogger(), logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(fairseq_train_format())
    before = root.handlers, root.level
    root.handlers, root.level = [handler], logging.INFO
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.handlers, root.level = before
        handler.close()


def fairseq_train_format() -> logging.Formatter:
    """Lines as fairseq-train prints them, which scripts/plot_learning_curve.sh reads."""
    return logging.Formatter(
        "%(asctime)s | %(levelname)s | %(name)s | %(message)s", "%Y-%m-%d %H:%M:%S"
    )


def fine_tune(cfg: Any, model: Path) -> None:
    """Train, or go on with training, and write the last checkpoint without its optimizer."""
    if not model.is_file():
        folder = Path(cfg.checkpoint.save_dir)
        distributed_utils.call_main(cfg, fairseq_train.main)
        gc.collect()  # the trainer, which has references to itself
        state = load_checkpoint(str(folder / LAST))
        state.pop("last_optimizer_state", None)
        with atomic_output(model) as temporary:
            write_checkpoint(state, temporary)
        (folder / LAST).unlink()


def load_fine_tuned(model: Path, data: str, on_cpu: bool) -> Tuple[torch.nn.Module, Any]:
    """A fine-tuned model in evaluation mode on its device, and its task."""
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([str(model)], {"data": data})
    device = "cuda" if torch.cuda.is_available() and not on_cpu else "cpu"
    return models[0].float().to(device).eval(), task


@torch.no_grad()
def predictions(
    model: torch.nn.Module, task: Any, split: str, name: str, batch_size: int
) -> Tuple[List[float], List[float]]:
    """Labels of a split and predictions in the same order: numbers of classes, or scores.

    Args:
        name: of the task of GLUE
    """
    task.load_dataset(split)
    batches = task.get_batch_iterator(task.dataset(split), max_sentences=batch_size)
    expected: List[float] = []
    predicted: List[float] = []
    device = next(model.parameters()).device
    for sample in batches.next_epoch_itr(shuffle=False):
        sample = utils.apply_to_sample(lambda tensor: tensor.to(device), sample)
        logits, _ = model(**sample["net_input"], classification_head_name=head_name(name))
        chosen = logits.argmax(dim=-1) if TASKS[name].labels else logits.view(-1)
        expected += sample["target"].view(-1).tolist()
        predicted += chosen.tolist()
    return expected, predicted
