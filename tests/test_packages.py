"""What each package needs, what it may import, and where its modules were before."""

import ast
import importlib
import io
import os
import runpy
import sys

import pytest
from conftest import PROJECT, run

from realformer_fairseq.moved_modules import new_paths

PACKAGES = ("realformer_runtime", "realformer_checkpoints", "realformer_fairseq")
# Lowest first: a module imports from its own level and those below.
LEVELS = (
    "realformer_runtime",
    "realformer_checkpoints",
    "realformer_fairseq.modules",
    "realformer_fairseq.models",
    "realformer_fairseq",
)
FORBID = """
import sys
class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(f"{name} is out of bounds", name=name)
sys.meta_path.insert(0, Forbidden())
import importlib
for module in sys.argv[2:]:
    importlib.import_module(module)
"""


def modules_of(package):
    for path in sorted((PROJECT / package).rglob("*.py")):
        parts = path.relative_to(PROJECT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@pytest.mark.parametrize(
    "package, missing",
    [("realformer_runtime", "torch fairseq"), ("realformer_checkpoints", "fairseq")],
)
def test_a_package_imports_without_what_it_does_not_need(package, missing, tmp_path):
    modules = [name for name, _ in modules_of(package) if not name.endswith("__main__")]
    assert len(modules) > 5
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    run(sys.executable, "-c", FORBID, missing, *modules, env=environment)


def imported(name, path):
    """Absolute names of the project's modules that a module imports, in functions, too."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parts if node.level else []), *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def level(name):
    """Of a module. What is in the plugin besides modules and models is on the highest level."""
    return LEVELS.index(max((p for p in LEVELS if f"{name}.".startswith(f"{p}.")), key=len))


def test_imports_never_run_up():
    up = []
    for package in PACKAGES:
        for name, path in modules_of(package):
            ours = [other for other in imported(name, path) if other.startswith("realformer_")]
            up += [(name, other) for other in ours if level(other) > level(name)]
    assert up == []


@pytest.mark.parametrize("old, new", sorted(new_paths().items()))
def test_an_old_path_leads_to_the_new_one_with_a_warning(old, new):
    sys.modules.pop(old, None)
    with pytest.warns(FutureWarning, match=f"{old} is {new} now"):
        assert importlib.import_module(old) is importlib.import_module(new)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the new one has been imported before
def test_an_old_path_runs_as_a_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tokenization", "--lang", "en"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Hello, world.\n")))
    sys.modules.pop("realformer_fairseq.text.tokenization", None)
    with pytest.warns(FutureWarning, match="realformer_runtime.text.tokenization now"):
        runpy.run_module("realformer_fairseq.text.tokenization", run_name="__main__")
    assert capsys.readouterr().out == "Hello , world .\n"
