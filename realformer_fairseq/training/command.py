"""``fairseq-train`` as a command: what cannot work ends at once, a user's mistake in one line."""

import contextlib
import functools
import os
import sys
from typing import Any, Callable, Iterator

import torch

from realformer_runtime.command_line import UserError, printable

from .affected_models import is_trained_by_us
from .bfloat16 import no_tpu_without_its_library
from .option_checks import check_arguments, check_options
from .save_dir_lock import locks_given_back
from .stop_signals import (
    end_unsaved,
    forward_to_spawned,
    hears_signals,
    set_handlers,
    signals_given_back,
)


@contextlib.contextmanager
def errors_in_one_line(cfg: Any) -> Iterator[None]:
    """Turn mistakes of the user's and missing files into a line of the first rank; exit code 1."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except UserError as error:
        message = str(error)
    else:
        return
    rank = cfg.distributed_training.distributed_rank or int(os.environ.get("RANK") or 0)
    sys.exit(1 if rank else f"fairseq-train: {printable(message)}")


@contextlib.contextmanager
def process_group_ended() -> Iterator[None]:
    """Leave the other processes before this one ends; else threads of the group may abort it."""
    try:
        yield
    except SystemExit:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
        raise


def run_rank(main: Callable[..., Any], cfg: Any, **kwargs) -> Any:
    """``main`` of fairseq in one process of a training."""
    with signals_given_back(), locks_given_back(), process_group_ended(), errors_in_one_line(cfg):
        return main(cfg, **kwargs)


def begin_in_hydra(cfg: Any) -> None:
    """Do in fairseq-hydra-train what it has missed, since it imports the plugin later."""
    with errors_in_one_line(cfg):
        check_options(cfg)
    if not hears_signals():
        set_handlers(end_unsaved)


def as_a_command_line(parse: Callable[..., Any]) -> Callable[..., Any]:
    """``parse_args_and_arch`` of fairseq, with ``--bf16``, and one line where fairseq trips."""
    parse_with_bf16 = no_tpu_without_its_library(parse)

    @functools.wraps(parse)
    def parse_checked(*args, **kwargs):
        try:
            parsed = parse_with_bf16(*args, **kwargs)
            namespace = parsed[0] if isinstance(parsed, tuple) else parsed
            if is_trained_by_us(getattr(namespace, "arch", None)):
                check_arguments(namespace)
        except (UserError, ValueError) as error:  # fairseq's of --fp16 with --bf16
            print(f"fairseq-train: {printable(str(error))}", file=sys.stderr)
            sys.exit(1)
        return parsed

    return parse_checked


def as_a_command(call_main: Callable[..., Any]) -> Callable[..., Any]:
    """``call_main`` of fairseq, which checks options first and hears of signals in each process."""
    forwarding = forward_to_spawned(call_main)

    @functools.wraps(call_main)
    def call_checked(cfg, main, **kwargs):
        if not is_trained_by_us(getattr(cfg.model, "_name", None)):
            return call_main(cfg, main, **kwargs)
        with errors_in_one_line(cfg):
            check_options(cfg)
            return forwarding(cfg, functools.partial(run_rank, main), **kwargs)

    return call_checked
