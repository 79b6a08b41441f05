"""The training scripts of the recipes, and the commands that they would run."""

import shlex

from conftest import PROJECT, run

SCRIPTS = {pair: PROJECT / f"scripts/train_wmt14_{pair}.sh" for pair in ("en_fr", "en_de")}
# Row by row: GPUs x tokens x update-freq of the papers.
ROWS = {
    ("en_fr", "6-6"): (8, 8000, 10),
    ("en_fr", "60-12"): (16, 5000, 16),
    ("en_de", "6-6"): (4, 8192, 1),
    ("en_de", "12-12"): (4, 8192, 1),
    ("en_de", "18-18"): (4, 8192, 1),
}


def command(pair, *arguments, check=True):
    """The command that a dry run prints, in words."""
    result = run(SCRIPTS[pair], "--dry-run", "--data", "/no/such", *arguments, check=check)
    return shlex.split(result.stdout), result
