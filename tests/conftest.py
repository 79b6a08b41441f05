"""Puts the folders that tests import from on the path, and keeps torch to one thread."""

import os
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
)
sys.path[:0] = [str(PROJECT), str(PROJECT / "data-prep"), str(PROJECT / "tests")]


@pytest.fixture(scope="session")
def project() -> Path:
    return PROJECT
