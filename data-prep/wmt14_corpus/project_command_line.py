"""The project's command line helpers, without ``import realformer_fairseq``.

That would import fairseq, 8 s for each of the many short commands of a preparation.
"""

import importlib.util
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "realformer_fairseq/command_line.py"
_spec = importlib.util.spec_from_file_location("realformer_fairseq_command_line", _FILE)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

ArgumentParser = _module.ArgumentParser
UserError = _module.UserError
run_main = _module.run_main
