"""``torchrun`` for one training that may be told to stop.

    python3 scripts/lib/torchrun_launcher.py [torchrun's options] fairseq-train [its options]

Passes SIGUSR1 on to the processes, too, gives them time to save, and ends with their exit code:
torchrun itself knows neither, and always ends with 1. Where a signal ends a training that has saved
nothing, the exit code is 1, so that nobody starts it again for ever.
"""

import os
import signal
import sys
from typing import Any, List

from realformer_runtime.command_line import UserError, run_main

SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1"
SECONDS_TO_SAVE = "110"  # within the 120 between a batch system's warning and its end
# Each process gets its rank on the command line. Left to the environment, fairseq starts
# independent trainings on CPUs.
START_WITH_RANK = (
    'exec "$@" --distributed-no-spawn --distributed-init-method env:// '
    '--distributed-world-size "$WORLD_SIZE" --distributed-rank "$RANK" --device-id "$LOCAL_RANK"'
)


def torchrun_arguments(words: List[str]) -> List[str]:
    """torchrun's own options, then the command that each process runs."""
    if "fairseq-train" not in words:
        raise UserError("no fairseq-train after torchrun's options")
    end = words.index("fairseq-train")
    return [*words[:end], "--no-python", "bash", "-c", START_WITH_RANK, "bash", *words[end:]]


def last_save(words: List[str]) -> Any:
    """What changes with each checkpoint that a training saves."""
    folder = words[words.index("--save-dir") + 1]
    try:
        status = os.stat(os.path.join(folder, "checkpoint_last.pt"))
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


def main() -> None:
    arguments = torchrun_arguments(sys.argv[1:])
    saved_before = last_save(arguments)
    os.environ["TORCHELASTIC_SIGNALS_TO_HANDLE"] = SIGNALS
    os.environ["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] = SECONDS_TO_SAVE
    # Here, so that nobody waits for torch to get a message about the command line.
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    if "--signals-to-handle" in run.get_args_parser().format_help():  # newer torch
        arguments = ["--signals-to-handle", SIGNALS, *arguments]
    try:
        run.main(arguments)
    except SignalException as stop:
        code = 128 + stop.sigval
    except ChildFailedError as failed:
        _, first = failed.get_first_failure()
        code = first.exitcode if first.exitcode > 0 else 128 - first.exitcode
    else:
        return
    for number in (signal.SIGTERM, signal.SIGUSR1):
        if code == 128 + number and last_save(arguments) == saved_before:
            raise UserError(f"{number.name}: ended before a checkpoint could be saved")
    sys.exit(code)


if __name__ == "__main__":
    run_main(main)
