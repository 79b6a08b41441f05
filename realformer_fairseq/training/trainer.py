"""fairseq's trainer, extended for the training of our models.

``fairseq-train`` has no option for the class of its trainer. The first function that gets the
trainer is ``checkpoint_utils.load_checkpoint``, so our wrapper of that function changes the class.
"""

import contextlib
import functools
import logging
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch
from fairseq.data.iterators import EpochBatchIterator
from fairseq.distributed import utils as distributed_utils
from fairseq.trainer import Trainer

from realformer_runtime.command_line import UserError, flag

from .admin_profile import initialize_missing_omega, profile_before_training
from .affected_models import is_one_of_ours, our_trainer_at_work
from .checkpoint_saving import CheckpointNotSaved
from .command import begin_in_hydra
from .data_loading import end_threads_at_exit
from .restore_file import with_what_is_there
from .resuming import (
    Resets,
    checkpoint_to_load,
    iterator_with_batches_of_first_epoch,
    leave_out_incomplete_group,
)
from .stop_signals import (
    SIGNALS,
    SignalWatch,
    all_updates_are_made,
    save_and_exit,
    training_is_over,
)

logger = logging.getLogger(__name__)

# With --use-bmuf ranks sum their numbers only now and then. So often they look for signals.
STEPS_WITHOUT_SUMS = 10


class RealFormerTrainer(Trainer):
    """The trainer of our models and of those of fairseq that they are compared with.

    It takes ADMIN's profile when a training starts, resumes from whole checkpoints with the same
    batches, writes whole checkpoints, and saves when a signal stops it.
    """

    _signal_watch: Optional[SignalWatch] = None
    _signal_on_a_rank = 0
    _steps = 0
    _train_iterator = None
    _save_dir_lock = None

    def load_checkpoint(
        self, filename, reset_optimizer=False, reset_lr_scheduler=False, *args, **kwargs
    ):
        """Load a checkpoint, or take ADMIN's profile if there is none.

        Only here is it known whether training starts or resumes, while the model is on its device
        and in its precision, and no optimizer exists.
        """
        filename, no_omega = checkpoint_to_load(
            self, filename, Resets(reset_optimizer, reset_lr_scheduler)
        )
        with our_trainer_at_work():
            extra_state = super().load_checkpoint(
                filename, reset_optimizer, reset_lr_scheduler, *args, **kwargs
            )
        if extra_state is None:
            profile_before_training(self)
        elif no_omega:
            initialize_missing_omega(self, filename)
        return extra_state

    def save_checkpoint(self, filename, extra_state):
        """Save whole files only, also where fairseq saves the state of a crash."""
        with our_trainer_at_work():
            return super().save_checkpoint(filename, extra_state)

    def _build_optimizer(self):
        """Build optimizer and schedule; what they refuse is one line."""
        try:
            super()._build_optimizer()
        except (AssertionError, ImportError, ValueError) as error:
            names = f"--optimizer {self.cfg.optimizer._name} --lr-scheduler "
            raise UserError(f"{names}{self.cfg.lr_scheduler._name}: {error}") from error

    def get_train_iterator(self, epoch, combine=True, load_dataset=True, **kwargs):
        """The batches of an epoch: those of epoch 1, in the order of this epoch."""
        get = functools.partial(super().get_train_iterator, combine=combine, **kwargs)
        with batches_or_one_line(limits("max_tokens", self)):
            self._train_iterator = iterator_with_batches_of_first_epoch(
                self, get, epoch, load_dataset, **kwargs
            )
        return self._train_iterator

    def train_step(self, samples, raise_oom=False):
        """One update. If a signal has come, the training then saves and ends."""
        if self._signal_watch is None:
            self._signal_watch = SignalWatch()
        try:
            output = super().train_step(samples, raise_oom)
        # fairseq looks for the module whose output it is, and may end in StopIteration.
        except (FloatingPointError, StopIteration) as error:
            first = error if isinstance(error, FloatingPointError) else error.__context__
            reason = str(first).split("\n")[0]
            updates = self.get_num_updates()
            raise UserError(f"after {updates} updates: {reason} (see crash.pt)") from error
        if self.cfg.optimization.use_bmuf and self.data_parallel_world_size > 1:
            self._steps += 1
            if self._steps % STEPS_WITHOUT_SUMS == 0:
                received = torch.tensor(self._signal_watch.received, device=self.device)
                distributed_utils.all_reduce(received, self.data_parallel_process_group, op="max")
                self._signal_on_a_rank = int(received.item())
        self._end_after_signal()
        return output

    def valid_step(self, sample, raise_oom=False):
        """One batch of a validation. If a signal has come, the training then saves and ends."""
        output = super().valid_step(sample, raise_oom)
        if self._signal_watch is not None:
            self._end_after_signal()
        return output

    def _end_after_signal(self) -> None:
        if self.data_parallel_world_size == 1:
            self._signal_on_a_rank = self._signal_watch.received
        if self._signal_on_a_rank and not training_is_over(self):
            save_and_exit(self, self._signal_on_a_rank)

    def get_valid_iterator(self, subset, **kwargs):
        """The batches of a validation."""
        with batches_or_one_line(f"--valid-subset {subset}, {limits('max_tokens_valid', self)}"):
            return super().get_valid_iterator(subset, **kwargs)

    def _aggregate_logging_outputs(
        self, logging_outputs: List[Dict[str, Any]], *extra_stats_to_sum, ignore=False
    ):
        """Sum fairseq's numbers over the ranks, and count the ranks that have got each signal.

        The counts are added to fairseq's numbers, so they cost no communication. All are then read
        from the device at once, where fairseq would wait for the first of them anyway.
        """
        received = self._signal_watch.received if self._signal_watch else 0
        signals = [float(received == number) for number in SIGNALS]
        logging_outputs, summed = super()._aggregate_logging_outputs(
            logging_outputs, *extra_stats_to_sum, *signals, ignore=ignore
        )
        if all(map(torch.is_tensor, summed)):
            summed = torch.cat([number.view(1) for number in summed]).tolist()
        own = len(extra_stats_to_sum)
        heard = [number for number, ranks in zip(SIGNALS, summed[own:]) if ranks > 0]
        self._signal_on_a_rank = heard[0] if heard else 0
        return logging_outputs, summed[:own]


def limits(option: str, trainer: Trainer) -> str:
    """What sentences may be too long for: a batch, if its tokens are limited, or the model."""
    tokens = trainer.cfg.dataset[option]
    positions = trainer.get_model().max_positions()
    return f"{flag(option)} {tokens}" if tokens else f"a model of {positions} positions"


@contextlib.contextmanager
def batches_or_one_line(limit: str) -> Iterator[None]:
    """Turn what fairseq says of sentences that are too long into a UserError."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # of several kinds
        raise UserError(f"{limit}: {error}") from error


def with_our_trainer(load_checkpoint: Callable[..., Any]) -> Callable[..., Any]:
    """``load_checkpoint`` of fairseq, which first turns a trainer of our models into ours."""

    @functools.wraps(load_checkpoint)
    def adopt_and_load(cfg, trainer, **kwargs):
        if type(trainer) is Trainer and is_one_of_ours(trainer.get_model()):
            trainer.__class__ = RealFormerTrainer
            begin_in_hydra(trainer.cfg)
            end_threads_at_exit()
            cfg = with_what_is_there(cfg, trainer)
        extra_state, iterator = load_checkpoint(cfg, trainer, **kwargs)
        if isinstance(trainer, RealFormerTrainer):
            if isinstance(iterator, EpochBatchIterator):
                leave_out_incomplete_group(iterator, trainer.cfg.optimization.update_freq)
            begin_no_epoch_if_nothing_is_left(trainer)
        return extra_state, iterator

    return adopt_and_load


def begin_no_epoch_if_nothing_is_left(trainer: RealFormerTrainer) -> None:
    """Let fairseq begin no epoch where it would make one update more than there are to be."""
    if all_updates_are_made(trainer):
        updates, limits = trainer.get_num_updates(), trainer.cfg.optimization
        reached = f"after {updates} updates --max-update {limits.max_update} is reached"
        logger.info(f"nothing to train: {reached}")
        limits.max_epoch = -1


def save_or_end(save_checkpoint: Callable[..., Any]) -> Callable[..., Any]:
    """``save_checkpoint`` of fairseq; if our trainer cannot save, it ends in one line."""

    @functools.wraps(save_checkpoint)
    def save_with_ours(cfg, trainer, *args, **kwargs):
        if not isinstance(trainer, RealFormerTrainer):
            return save_checkpoint(cfg, trainer, *args, **kwargs)
        try:
            with our_trainer_at_work():
                return save_checkpoint(cfg, trainer, *args, **kwargs)
        except CheckpointNotSaved as error:
            sys.exit(f"fairseq-train: {error}; earlier checkpoints are as they were")

    return save_with_ours
