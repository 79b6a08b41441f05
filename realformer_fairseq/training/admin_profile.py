"""ADMIN's profile: omega of each sub-layer, from the variances in the first training batches.

``fairseq-train`` takes the profile by itself if it starts without a checkpoint, before optimizer
and DDP exist. Only the checkpoint stores the result.

The recurrence is that of the public code (Transformer-Clinic). One forward pass computes it for
each stack of layers, from the bottom to the top:

    omega_1 = 1,  omega_{i+1} = sqrt(Var(omega_i * x_i) + Var(f_i(x_i)))

The paper (arXiv 2004.08249, section 4.2) takes ``omega_i = sqrt(sum of Var(f_j) for j < i)`` from a
pass with omega 1 everywhere. The code differs from the paper: it starts from 1 instead of 0,
measures the variance of the layer norm's output instead of assuming 1, and applies each omega
before it measures the layers above. In both, f includes its dropout.

This file differs from the public code in one point: it leaves padding out of the variances. Else
omega would depend on the lengths of the sentences in a batch.
"""

import contextlib
import functools
import logging
import math
from typing import Dict, List

import torch
from fairseq import utils
from fairseq.data import data_utils
from fairseq.data.iterators import EpochBatchIterator
from fairseq.distributed import utils as distributed_utils
from fairseq.modules.layer_drop import LayerDropModuleList
from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask
from fairseq.trainer import Trainer
from torch import Tensor, nn
from torch.utils.data import Subset

from ..models.config import RefusedOption
from ..modules.sublayer_scaling import ScaledResidual

logger = logging.getLogger(__name__)


def profile(model: nn.Module, net_input: Dict[str, Tensor]) -> Dict[str, float]:
    """Set each omega of a model of stacks from one forward pass, in the mode the model is in.

    Args:
        net_input: arguments of the model; ``src_tokens`` ``(B, S)`` and, unless it is a language
            model, ``prev_output_tokens`` ``(B, T)`` of a decoder

    Returns:
        every omega by the name of its parameter, from the bottom to the top
    """
    profiled = {}
    with torch.no_grad(), contextlib.ExitStack() as stack:
        source = net_input["src_tokens"]
        tokens = {"encoder": source, "decoder": net_input.get("prev_output_tokens", source)}
        for side, path in model.stacks.items():
            part = model.get_submodule(path)
            present = tokens[side].ne(part.padding_idx).t()  # (T, B)
            recurrence = _Recurrence(present, profiled)
            for name, module in part.named_modules(prefix=path):
                if isinstance(module, ScaledResidual):
                    hook = functools.partial(recurrence.step, f"{name}.omega")
                    handle = module.register_forward_pre_hook(hook)
                    stack.callback(handle.remove)
        model(**net_input)
    return profiled


class _Recurrence:
    """One stack's chain of omegas; ``present`` ``(T, B)`` is false at padding."""

    def __init__(self, present: Tensor, profiled: Dict[str, float]):
        self.present = present
        self.profiled = profiled
        self.omega = 1.0

    def step(self, name: str, module: ScaledResidual, inputs) -> None:
        """Set the omega of a residual connection that is about to run, and compute the next one."""
        x, residual = inputs
        module.omega.fill_(self.omega)
        self.profiled[name] = self.omega
        # Over all dimensions of all tokens, in float64 against overflow.
        parts = (part[self.present].double() for part in (residual * module.omega, x))
        self.omega = math.sqrt(sum(part.var(unbiased=False).item() for part in parts))


def first_sentences(trainer: Trainer, limit: int) -> List[int]:
    """Indices of the first sentences of the training, the same on every rank.

    Args:
        trainer: its task has loaded the training set
        limit: most tokens, counted as for ``--max-tokens``; the first sentence is always taken
    """
    cfg = trainer.cfg
    dataset = trainer.task.dataset(cfg.dataset.train_subset)
    batches = trainer.task.get_batch_iterator(
        dataset=dataset,
        max_tokens=cfg.dataset.max_tokens,
        max_sentences=cfg.dataset.batch_size,
        max_positions=utils.resolve_max_positions(
            trainer.task.max_positions(), trainer._model.max_positions(), cfg.dataset.max_tokens
        ),
        ignore_invalid_inputs=True,
        required_batch_size_multiple=cfg.dataset.required_batch_size_multiple,
        seed=cfg.common.seed,
        disable_iterator_cache=True,
    ).frozen_batches
    # Shuffle as the training does, with indices in place of sentences.
    numbers = range(len(dataset))
    order = EpochBatchIterator(Subset(numbers, numbers), list, batches, seed=cfg.common.seed)
    chosen, tokens = [], 0
    with torch.random.fork_rng([]):  # the data loader draws a random number
        for batch in order.next_epoch_itr(shuffle=cfg.dataset.curriculum < 1):
            for index in batch:
                tokens += dataset.num_tokens(index)
                if chosen and tokens > limit:
                    return chosen
                chosen.append(index)
    return chosen


def profile_before_training(trainer: Trainer) -> None:
    """Take and log the profile if the model needs one, and change nothing but the omegas.

    Raises:
        RefusedOption: for ``--ddp-backend fully_sharded``
    """
    model, cfg = trainer._model, trainer.cfg
    if str(getattr(getattr(model, "cfg", None), "sublayer_scaling", "none")) != "admin":
        return
    if trainer.is_fsdp:  # no rank has whole parameters
        raise RefusedOption(
            "--sublayer-scaling admin cannot be used with --ddp-backend fully_sharded; "
            "--sublayer-scaling admin-analytic can"
        )
    train_subset = cfg.dataset.train_subset
    trainer.task.load_dataset(train_subset, epoch=1, combine=True)
    dataset = trainer.task.dataset(train_subset)
    indices = first_sentences(trainer, model.cfg.admin_profile_tokens)
    model.to(trainer.device)  # the distributed wrapper would do this later
    with _reproducible(trainer):
        sample = dataset.collater([dataset[index] for index in indices])
        sample, _ = trainer._prepare_sample(sample)
        # The output projection, which is left out, would take most of the memory.
        net_input = sample.get("net_input") or sample["net_input1"]  # of sentence_ranking
        omegas = profile(model, {**net_input, "features_only": True})
    if trainer.data_parallel_world_size > 1:
        # Different devices may compute slightly different ones.
        for name in omegas:
            distributed_utils.broadcast(
                model.get_parameter(name).data, 0, trainer.data_parallel_process_group
            )
    tokens = sum(dataset.num_tokens(index) for index in indices)
    if isinstance(trainer.task, TranslationMultiSimpleEpochTask):
        del trainer.task.datasets[train_subset]  # this task cannot load a data set twice
    logger.info(f"ADMIN profile of {len(indices)} sentences, {tokens} tokens")
    for name, omega in omegas.items():
        logger.info(f"ADMIN profile: {name} = {omega:.4f}")


def initialize_missing_omega(trainer: Trainer, filename: str) -> None:
    """Do with omega what ``--missing-omega`` says, after a checkpoint without it was loaded.

    The omegas of ``admin-analytic`` and ``deepnorm`` have kept their initial values by then.
    """
    options = trainer._model.cfg
    scaling, choice = options.sublayer_scaling, options.missing_omega
    if str(choice) == "initial":
        logger.info(f"{filename} has no omega: it starts as --sublayer-scaling {scaling} says")
        profile_before_training(trainer)
        trainer.reinitialize()  # an optimizer in float32 has a copy of the omegas
    else:
        logger.warning(
            f"{filename} has no omega: it is 1, so that the model computes what it did, and "
            f"--sublayer-scaling {scaling} has no effect on the start (--missing-omega initial)"
        )


@contextlib.contextmanager
def _reproducible(trainer: Trainer):
    """Training mode and precision, random numbers of ``--seed``, no LayerDrop; then as before."""
    seed, training = trainer.cfg.common.seed, trainer._model.training
    devices = [torch.cuda.current_device()] if trainer.cuda else []
    layers = [m for m in trainer._model.modules() if isinstance(m, LayerDropModuleList)]
    probabilities = [module.p for module in layers]
    for module in layers:
        module.p = 0.0  # a dropped layer would get no omega
    trainer._model.train()
    amp = bool(trainer.cfg.common.amp and trainer.cuda)
    try:
        with torch.random.fork_rng(devices), data_utils.numpy_seed(seed):
            torch.manual_seed(seed)
            with torch.autocast(trainer.device.type, enabled=amp):
                yield
    finally:
        trainer._model.train(training)
        for module, p in zip(layers, probabilities):
            module.p = p
