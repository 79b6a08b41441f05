"""Options of ``fairseq-train`` that cannot work, found before anything is built.

fairseq ends in a traceback for each of them, some only after hours, in the first validation.
"""

import argparse
import ast
import importlib.util
import inspect
import os
import re
from typing import Any, Iterable, Iterator, Tuple

import numpy as np
import torch
from omegaconf import OmegaConf

from realformer_runtime.command_line import UserError, flag

from .data_checks import check_data
from .kernel_checks import attention_kernel
from .option_ranges import check_ranges
from .resume_choice import LAST, RESETS
from .task_checks import PYTORCH_DDP, check_fit, task_options
from .validation_checks import check_bleu, check_metric, name_of, warn_once

ASYNCHRONOUS = "write_checkpoints_asynchronously"


def check_arguments(arguments: argparse.Namespace) -> None:
    """Refuse what fairseq cannot even make a configuration of.

    Raises:
        UserError: naming the flag
    """
    for name, value in vars(arguments).items():
        if isinstance(value, str) and (value == "???" or re.search(r"\$\{|\\('|$)", value)):
            named = "the folder of data" if name == "data" else flag(name)
            raise UserError(
                f"{named} '{value}': fairseq takes ${{...}}, ??? and a backslash at the end or "
                "before a quote for something else than text"
            )
    check_fit(arguments.task, arguments.criterion, arguments.arch)
    if arguments.lr_scheduler == "polynomial_decay" and arguments.total_num_update is None:
        raise UserError("--lr-scheduler polynomial_decay needs --total-num-update")
    if arguments.profile and not torch.cuda.is_available():
        raise UserError("--profile needs a GPU")


def check_options(cfg: Any) -> None:
    """Refuse what cannot work, and log what has no effect.

    Raises:
        UserError: naming the flag
    """
    refuse_first([*hardware(cfg), *attention_kernel(cfg)])
    check_settings(cfg)


def check_settings(cfg: Any) -> None:
    """Check everything but what depends on the machine, of :func:`check_options`."""
    task = str(name_of(cfg.task))
    check_fit(task, name_of(cfg.criterion), name_of(cfg.model))
    refuse_first([*restoring(cfg), *training(cfg), *task_options(cfg, task)])
    check_ranges(cfg)
    check_data(cfg, task)
    if not cfg.dataset.disable_validation:
        check_bleu(cfg.task)
        check_metric(cfg)
    else:
        for name in ("patience", "keep_best_checkpoints"):
            if cfg.checkpoint[name] > 0:
                warn_once(f"{flag(name)} has no effect with --disable-validation")


def refuse_first(checks: Iterable[Tuple[bool, str]]) -> None:
    for refused, message in checks:
        if refused:
            raise UserError(message)


def hardware(cfg: Any) -> Iterator[Tuple[bool, str]]:
    """Pairs of a condition and the message that it leads to."""
    common, several = cfg.common, cfg.distributed_training
    on_cpu = common.cpu or not torch.cuda.is_available()
    yield (
        common.fp16 and not common.memory_efficient_fp16 and on_cpu,
        "--fp16 needs a GPU; on a CPU choose --bf16, or leave it out",
    )
    yield (common.fp16 and common.bf16, "--fp16 and --bf16 cannot be used together")
    yield (common.fp16 and common.amp, "--fp16 and --amp cannot be used together")
    for asked, option, package in (
        (common.tpu, "--tpu", "torch_xla"),
        (cfg.checkpoint[ASYNCHRONOUS], flag(ASYNCHRONOUS), "iopath"),
        (several.zero_sharding != "none", "--zero-sharding", "fairscale"),
        (several.ddp_backend == "fully_sharded", "--ddp-backend fully_sharded", "fairscale"),
    ):
        missing = asked and importlib.util.find_spec(package) is None
        yield (missing, f"{option} needs the package {package}, which is not installed")
    yield (
        several.cpu_offload and several.ddp_backend != "fully_sharded",
        "--cpu-offload needs --ddp-backend fully_sharded",
    )
    alone = several.distributed_init_method is None and several.distributed_port <= 0
    processes, gpus = several.distributed_world_size, torch.cuda.device_count()
    yield (
        alone and "MASTER_ADDR" not in os.environ and processes > max(gpus, 1),
        f"--distributed-world-size {processes}: there are {gpus} GPUs here",
    )
    ddp = str(several.ddp_backend)
    yield (
        processes > 1 and on_cpu and ddp in PYTORCH_DDP,
        f"--ddp-backend {ddp} needs GPUs for {processes} processes; on CPUs choose legacy_ddp",
    )
    yield (
        common.model_parallel_size != 1,
        f"--model-parallel-size {common.model_parallel_size}: needs Megatron's models, use 1",
    )


def restoring(cfg: Any) -> Iterator[Tuple[bool, str]]:
    """Pairs of a condition and the message that it leads to."""
    checkpoint = cfg.checkpoint
    overrides = checkpoint.optimizer_overrides
    yield (not checkpoint.save_dir, "--save-dir '': the name of a folder is needed")
    yield (
        not isinstance(literal(overrides), dict),
        f"--optimizer-overrides {overrides}: no dictionary, such as {{'lr': 0.001}}",
    )
    if checkpoint.finetune_from_model is None:
        return
    yield (
        checkpoint.restore_file != LAST,
        "--finetune-from-model and --restore-file cannot be used together: choose one",
    )
    for name in RESETS:
        yield (
            checkpoint[name],
            f"{flag(name)} goes without saying with --finetune-from-model: leave it out",
        )


def training(cfg: Any) -> Iterator[Tuple[bool, str]]:
    """Pairs of a condition and the message that it leads to."""
    criterion, buckets = name_of(cfg.criterion), getattr(cfg.task, "num_batch_buckets", 0)
    yield (
        bool(buckets) and "interpolation" not in inspect.signature(np.percentile).parameters,
        f"--num-batch-buckets {buckets}: fairseq's buckets need numpy below 2.4, not "
        f"{np.__version__}",
    )
    frequencies = list(cfg.optimization.update_freq)
    yield (
        min(frequencies, default=0) < 1,
        f"--update-freq {','.join(map(str, frequencies))}: whole numbers above 0 are needed",
    )
    betas = getattr(cfg.optimizer, "adam_betas", (0, 0))
    yield (
        not are_betas(literal(betas)),
        f"--adam-betas {betas}: two numbers from 0 to 1 are needed, such as (0.9,0.98)",
    )
    yield (
        name_of(cfg.lr_scheduler) == "inverse_sqrt" and cfg.lr_scheduler.warmup_updates < 1,
        "--warmup-updates 0: --lr-scheduler inverse_sqrt needs a number above 0",
    )
    heads = getattr(cfg.model, "mha_heads_to_keep", -1)
    yield (
        heads != -1 and hasattr(cfg.model, "residual_attention"),
        f"--mha-heads-to-keep {heads}: each layer would keep others, but a head has the scores of "
        "the same head below",
    )
    cutoff = getattr(cfg.model, "adaptive_softmax_cutoff", None)
    yield (
        (criterion == "adaptive_loss") != bool(cutoff),
        "--adaptive-softmax-cutoff and --criterion adaptive_loss need one another",
    )
    ddp = str(cfg.distributed_training.ddp_backend)
    yield (
        criterion == "adaptive_loss" and ddp in PYTORCH_DDP,
        f"--criterion adaptive_loss cannot be used with --ddp-backend {ddp}; legacy_ddp can",
    )
    yield (
        not (cfg.dataset.max_tokens or cfg.dataset.batch_size),
        "--max-tokens or --batch-size is needed, above 0",
    )


def are_betas(values: Any) -> bool:
    """Whether values are coefficients of Adam."""
    is_pair = isinstance(values, (list, tuple)) and len(values) == 2
    return is_pair and all(isinstance(beta, (int, float)) and 0 <= beta < 1 for beta in values)


def literal(value: Any) -> Any:
    """What a text of Python stands for, or None; other values as they are."""
    if not isinstance(value, str):
        return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
    try:
        return ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return None
