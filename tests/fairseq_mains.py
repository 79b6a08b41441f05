"""fairseq's own commands and trainer in the process of the test: starting one costs 4 s."""

import contextlib
import copy
import io
import logging
import re
import signal
import sys
from collections import defaultdict
from unittest import mock

import torch
from conftest import PROJECT, TRAINING
from fairseq import checkpoint_utils, options, tasks, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq_cli import generate as fairseq_generate
from fairseq_cli import interactive as fairseq_interactive
from fairseq_cli import train as fairseq_train
from fairseq_cli import validate as fairseq_validate

from realformer_checkpoints.safe_types import allow_fairseq_checkpoints
from realformer_fairseq.training.stop_signals import SIGNALS
from realformer_fairseq.training.trainer import RealFormerTrainer

COMMON = ("--user-dir", PROJECT / "realformer_fairseq", "--cpu")
SEARCH = ("--beam", 4, "--max-len-b", 12, "--required-batch-size-multiple", 1, "--num-workers", 0)
LINE = re.compile(r"^([A-Z])-(\d+)\t(.*)$", re.M)


def words(*arguments):
    return [str(word) for word in arguments]


def lines_by_kind(output):
    """S-, T-, H-, D-, P- and A- lines: ``{"H": {sentence: ["score\\ttokens", ...]}}``."""
    found = defaultdict(lambda: defaultdict(list))
    for kind, number, text in LINE.findall(output):
        found[kind][int(number)].append(text)
    return {kind: dict(sentences) for kind, sentences in found.items()}


def printed(command, *arguments):
    """Standard output of a command's ``cli_main``."""
    output = io.StringIO()
    argv = words("fairseq", *arguments)
    with mock.patch.object(sys, "argv", argv), contextlib.redirect_stdout(output):
        command.cli_main()
    return output.getvalue()


def each(command, parser, data, paths, arguments):
    """What a command prints for each of several checkpoints; see ``lines_by_kind``.

    The command line is read once, since that takes the longest.
    """
    argv = words(data, "--path", "none", *COMMON, *SEARCH, *arguments)
    cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, argv))
    found = []
    for path in paths:
        own = copy.deepcopy(cfg)
        own.common_eval.path = str(path)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            command.main(own)
        found.append(lines_by_kind(output.getvalue()))
    return found


def generate_each(data, paths, *arguments):
    """fairseq-generate on the test set."""
    return each(fairseq_generate, options.get_generation_parser(), data, paths, arguments)


def generate(data, path, *arguments):
    return generate_each(data, [path], *arguments)[0]


def interactive_each(data, paths, *arguments):
    """fairseq-interactive."""
    parser = options.get_generation_parser(interactive=True)
    return each(fairseq_interactive, parser, data, paths, arguments)


def validate(data, path, *arguments):
    """fairseq-validate in one batch."""
    batches = ("--max-tokens", 2000, "--num-workers", 0, "--required-batch-size-multiple", 1)
    line = (data, "--path", path, "--task", "translation", *COMMON, *batches, *arguments)
    return printed(fairseq_validate, *line)


def train(*arguments):
    """fairseq-train; what it logs goes to pytest's ``caplog``."""
    # fairseq keeps the best score on its function, where the next training of a process finds it.
    vars(checkpoint_utils.save_checkpoint).pop("best", None)
    vars(fairseq_train.should_stop_early).pop("best", None)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        return printed(fairseq_train, *arguments)
    finally:
        # One that a signal ends ignores further ones, and so would all that this process starts.
        for number, handler in before.items():
            signal.signal(number, handler)


def log_of_training(data, checkpoints, *arguments, validate=False):
    """fairseq-train with TRAINING and further options, which win over those; what it logs."""
    log, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(log)
    handler.setFormatter(logging.Formatter("%(name)s | %(message)s"))
    line = [data, *COMMON, *TRAINING, "--save-dir", checkpoints]
    line += [] if validate else ["--disable-validation"]
    level = root.level
    root.addHandler(handler)
    root.setLevel("INFO")
    try:
        output = train(*line, *arguments)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    return log.getvalue() + output


def configuration(*arguments):
    """What fairseq-train makes of a command line."""
    args = options.parse_args_and_arch(options.get_training_parser(), words(*arguments))
    return convert_namespace_to_omegaconf(args)


def make_trainer(*arguments, kind=RealFormerTrainer):
    """The trainer as fairseq-train has it when it looks for a checkpoint."""
    return trainer_of(configuration(*arguments), kind)


def trainer_of(cfg, kind=RealFormerTrainer):
    """The same, of a configuration."""
    utils.set_torch_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    return kind(cfg, task, task.build_model(cfg.model), task.build_criterion(cfg.criterion))


def load(path):
    allow_fairseq_checkpoints()
    return torch.load(path, weights_only=True)


def numbers(texts):
    """The numbers at the start of H- lines or in P- lines."""
    return [[float(number) for number in text.split("\t")[0].split()] for text in texts]
