"""The project's command line helpers, without ``import realformer_fairseq``.

That would import fairseq, 8 s for each of the many short commands of a preparation. It is among
``sys.modules`` so that a process of a pool can hand a ``UserError`` back.
"""

import importlib.util
import sys
from pathlib import Path

_FILE = Path(__file__).resolve().parents[1] / "realformer_runtime/command_line.py"
_spec = importlib.util.spec_from_file_location("realformer_fairseq_command_line", _FILE)
_module = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

ArgumentParser = _module.ArgumentParser
UserError = _module.UserError
run_main = _module.run_main
