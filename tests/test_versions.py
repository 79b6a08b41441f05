"""What is said where the plugin cannot run, and that versions are named the same everywhere.

Packages named torch and fairseq that hold only what the check looks at stand in for old releases.
``python -S`` keeps the installed ones out of sight.
"""

import os
import re
import sys

import fairseq
import pytest
from conftest import PROJECT, run

from realformer_fairseq import supported_versions
from realformer_fairseq.supported_versions import ACCEPTED, fairseq_version, why_unsupported

PYTHON = "Python {}.{}.{}".format(*sys.version_info[:3])
MUTABLE_DEFAULT = "raise ValueError('mutable default is not allowed:\\nuse default_factory')"
NOT_ALLOWED = (
    f"fairseq 0.12.2 does not import on {PYTHON} (ValueError: mutable default is not allowed:)"
)
# torch, fairseq and what its __init__.py does; what the message says.
UNSUPPORTED = (
    ("1.13.1+cu117", "0.12.2", "", "this is torch 1.13.1+cu117"),
    ("2.5.1", "0.12.3", "", "this is torch 2.5.1"),
    ("2.13.0", "0.10.2", "", "this is fairseq 0.10.2"),
    ("2.13.0", "0.12.2", MUTABLE_DEFAULT, NOT_ALLOWED),
    (None, "0.12.2", "", f"torch is not installed for {PYTHON}"),
    ("2.6.0", None, "", f"fairseq is not installed for {PYTHON}"),
    # A clone of fairseq in the current folder, which Python finds as well:
    ("2.6.0", "clone", "", f"fairseq is not installed for {PYTHON}"),
)


def stand_ins(folder, torch_version, fairseq_release, start=""):
    """Packages torch and fairseq of these versions, None for no such package."""
    folder.mkdir()
    if torch_version:
        (folder / "torch").mkdir()
        (folder / "torch/__init__.py").write_text(f"__version__ = '{torch_version}'\n")
    if fairseq_release == "clone":
        (folder / "fairseq/fairseq").mkdir(parents=True)
    elif fairseq_release:
        (folder / "fairseq").mkdir()
        (folder / "fairseq/__init__.py").write_text(start)
        (folder / "fairseq/version.txt").write_text(f"{fairseq_release}\n")
    return folder


def import_plugin(packages, *start):
    path = os.pathsep.join([str(PROJECT), str(packages)])
    environment = {**os.environ, "PYTHONPATH": path}
    return run(sys.executable, "-S", *start, check=False, env=environment)


@pytest.mark.parametrize(("torch_version", "release", "start", "reason"), UNSUPPORTED)
def test_import_says_in_one_line_what_is_wrong(tmp_path, torch_version, release, start, reason):
    packages = stand_ins(tmp_path / "packages", torch_version, release, start)
    result = import_plugin(packages, "-c", "import realformer_fairseq")
    assert result.returncode == 1
    *trace, last = result.stderr.splitlines()
    assert last == f"ImportError: {reason}: {ACCEPTED}"
    assert str(packages) not in "".join(trace)  # nothing from within fairseq


@pytest.mark.parametrize("name", ["fairseq-generate", "fairseq_cli/train.py"])
def test_fairseq_commands_end_with_that_line_alone(tmp_path, name):
    packages = stand_ins(tmp_path / "packages", "2.5.1", "0.12.2")
    command = tmp_path / name
    command.parent.mkdir(exist_ok=True)
    command.write_text("import realformer_fairseq\n")
    result = import_plugin(packages, command)
    assert result.returncode == 1
    assert result.stderr == f"{command.name}: this is torch 2.5.1: {ACCEPTED}\n"


def test_fairseq_train_shows_no_traceback():
    """fairseq's own import of ``--user-dir`` lets the line through."""
    code = f"""
import sys, torch
from fairseq_cli.train import cli_main
torch.__version__ = "2.5.1"
sys.argv = ["fairseq-train", "data", "--user-dir", {str(PROJECT / "realformer_fairseq")!r}]
cli_main()
"""
    result = run(sys.executable, "-c", code, check=False)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == f"fairseq-train: this is torch 2.5.1: {ACCEPTED}"
    assert "Traceback" not in result.stderr


def test_this_environment_is_accepted_and_an_older_python_is_not(monkeypatch):
    assert fairseq_version() == fairseq.__version__
    assert why_unsupported() is None
    monkeypatch.setattr(supported_versions, "OLDEST_PYTHON", (sys.version_info[0] + 1, 0))
    assert why_unsupported() == f"this is {PYTHON}"


def test_versions_are_the_same_everywhere():
    """In the message, setup.py, the pinned wheels and the pages."""
    setup = (PROJECT / "setup.py").read_text("utf-8")
    pinned = re.findall(r'"((?:[a-z]+-)?fairseq(?:-fixed)?)==([\d.]+)', setup)
    assert len(pinned) == 3
    wheels = (PROJECT / "scripts/fairseq-wheels.txt").read_text("utf-8")
    pages = [(PROJECT / p).read_text("utf-8") for p in ("README.md", "docs/installation.md")]
    for name, version in pinned:
        assert all(f"{name} {version}" in text for text in (ACCEPTED, *pages))
        assert name == "fairseq" or f"{name}=={version} ;" in wheels
    oldest_torch = "{}.{}".format(*supported_versions.OLDEST_TORCH)
    oldest_python = "{}.{}".format(*supported_versions.OLDEST_PYTHON)
    assert f'"torch>={oldest_torch}"' in setup and f"torch {oldest_torch} or later" in ACCEPTED
    assert f'python_requires=">={oldest_python}"' in setup
    assert f"Python {oldest_python} or later" in ACCEPTED
