"""Trainings of several processes, which start at once: Python and fairseq are loaded before."""

import multiprocessing
import multiprocessing.forkserver
import os
import socket
import sys
from unittest import mock

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["realformer_fairseq"])


def of_ranks(ranks):
    """The options of each rank of a training on CPUs."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
    shared = ["--ddp-backend", "legacy_ddp", "--distributed-backend", "gloo"]
    shared += ["--distributed-no-spawn", "--distributed-world-size", ranks]
    shared += ["--distributed-init-method", address, "--distributed-rank"]
    return [[*shared, rank] for rank in range(ranks)]


def train_each(lines, logs, **environment):
    """fairseq-train of several command lines at the same time; their exit codes.

    Args:
        logs: what stdout and stderr of each become
        environment: further variables
    """
    each = [(list(map(str, line)), str(log), environment) for line, log in zip(lines, logs)]
    # It is started with the first process, and looks for modules nowhere else.
    with mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        multiprocessing.forkserver.ensure_running()
    processes = [CONTEXT.Process(target=fairseq_train, args=args, daemon=True) for args in each]
    for process in processes:
        process.start()
    try:
        for process in processes:
            process.join(timeout=120)
        return [process.exitcode for process in processes]
    finally:
        for process in processes:
            process.kill()


def fairseq_train(line, log, environment):
    from fairseq_cli.train import cli_main

    os.environ.update(environment)
    with open(log, "w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    sys.argv = ["fairseq-train", *line]
    cli_main()
