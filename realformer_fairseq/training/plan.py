"""How many updates a training will have, and what its checkpoints will weigh.

Takes the command line of ``fairseq-train`` and asks fairseq for the batches, so that whatever
changes them counts. ``--distributed-world-size`` is the number of GPUs.
"""

import contextlib
import logging
import math
import sys
from typing import Dict

from fairseq import options, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer

from realformer_runtime.command_line import UserError, run_main

from .option_checks import check_settings

# A parameter and the two states of Adam, which fairseq saves in float32 whatever --fp16 says.
BYTES_A_PARAMETER = 3 * 4


def updates_an_epoch(batches: int, gpus: int, update_freq: int, without_rest: bool = False) -> int:
    """fairseq deals batches out to the GPUs and adds up ``update_freq`` of each.

    Rests count. With ``--skip-remainder-batch`` they do not, nor does the last batch of each GPU.
    """
    each = math.ceil(batches / gpus)
    return (each - 1) // update_freq if without_rest else math.ceil(each / update_freq)


def checkpoints_kept(cfg, epochs: int, updates: int) -> int:
    """How many checkpoints there are at most, one that is being written included.

    Args:
        cfg: fairseq's configuration
        epochs, updates: of the whole training
    """
    checkpoint = cfg.checkpoint
    kept = 3  # the last, the best, and the one that is being written
    if not checkpoint.no_epoch_checkpoints:  # one more is there before the oldest goes
        last = checkpoint.keep_last_epochs
        kept += min(epochs, last + 1) if last > 0 else epochs
    if checkpoint.save_interval_updates > 0:
        every = updates // checkpoint.save_interval_updates
        most = checkpoint.keep_interval_updates
        kept += min(every, most + 1) if most > 0 else every
    return kept + max(checkpoint.keep_best_checkpoints, 0)


def plan(cfg) -> Dict[str, int]:
    """Figures of a training by name; ``checkpoint_bytes`` include the state of Adam or RAdam.

    Args:
        cfg: fairseq's configuration; it is changed

    Raises:
        UserError: an option that cannot work, or that leaves the number of updates open
    """
    check_settings(cfg)
    if len(cfg.optimization.update_freq) > 1:
        raise UserError("--update-freq: one number, not a list by epoch")
    if cfg.optimization.max_epoch < 1:
        raise UserError("--max-epoch: needed to count the updates")
    gpus = cfg.distributed_training.distributed_world_size
    cfg.distributed_training.distributed_world_size = 1
    # Batches and parameters are the same on a CPU. fairseq takes --bf16 for a TPU.
    cfg.common.cpu = True
    cfg.common.fp16 = cfg.common.bf16 = cfg.common.tpu = False
    task = tasks.setup_task(cfg.task)
    model = task.build_model(cfg.model)
    trainer = Trainer(cfg, task, model, task.build_criterion(cfg.criterion))
    batches = len(trainer.get_train_iterator(epoch=1).frozen_batches)
    without_rest = getattr(cfg.optimization, "skip_remainder_batch", False)  # not in 0.12.2
    epoch = updates_an_epoch(batches, gpus, cfg.optimization.update_freq[0], without_rest)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    updates = epoch * cfg.optimization.max_epoch
    updates = min(updates, cfg.optimization.max_update or updates)
    return {
        "updates_an_epoch": epoch,
        "updates": updates,
        "checkpoints": checkpoints_kept(cfg, math.ceil(updates / max(1, epoch)), updates),
        "parameters": parameters,
        "checkpoint_bytes": parameters * BYTES_A_PARAMETER,
    }


def main() -> None:
    logging.disable(logging.INFO)
    with contextlib.redirect_stdout(sys.stderr):
        try:
            args = options.parse_args_and_arch(options.get_training_parser())
        except SystemExit:  # argparse has said why
            sys.exit(1)
        figures = plan(convert_namespace_to_omegaconf(args))
    for name, value in figures.items():
        print(name, value)


if __name__ == "__main__":
    run_main(main)
