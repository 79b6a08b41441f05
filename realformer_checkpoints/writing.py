"""Write a checkpoint, or fail with one line that says why, and lose no input to an output."""

import os
from typing import Any, Dict, Iterable, Optional

import torch

from realformer_runtime.command_line import UserError


def write_checkpoint(state: Dict[str, Any], path: "os.PathLike[str]") -> None:
    """Write a state. The same state always gives the same bytes.

    Raises:
        UserError: the settings are nested too deeply
    """
    try:
        # torch writes the name of a path into the file, but not that of an open file.
        with open(path, "wb") as file:
            torch.save(state, file)
    except RecursionError:
        raise UserError("the settings of the checkpoint are nested too deeply") from None
    except RuntimeError as error:
        # torch turns an OSError into a RuntimeError.
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise


def check_not_an_input(output: str, inputs: Iterable[Optional[str]]) -> None:
    """Refuse to replace a file that is read by something else.

    Args:
        inputs: names of files, None for those that were not given

    Raises:
        UserError: the output is one of them, whatever it is called there
    """
    for path in filter(None, inputs):
        if os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
            raise UserError(f"--output {output}: is one of the inputs, and would be lost")
