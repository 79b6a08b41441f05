"""What ``pip install .`` takes along."""

import importlib.util
import sys
import zipfile

import pytest
from conftest import PROJECT, run

PACKAGES = [init.parent for init in PROJECT.glob("realformer_*/__init__.py")]
CAN_BUILD = any(
    importlib.util.find_spec("setuptools") and importlib.util.find_spec(name)
    for name in ("wheel", "setuptools.command.bdist_wheel")
)


@pytest.mark.skipif(not CAN_BUILD, reason="no setuptools and wheel in this environment")
def test_a_wheel_has_every_file_of_the_packages(tmp_path):
    build = "import setuptools.build_meta as b, sys; print(b.build_wheel(sys.argv[1]))"
    copy = tmp_path / "project"
    copy.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        (copy / name).write_bytes((PROJECT / name).read_bytes())
    files = [
        path.relative_to(PROJECT)
        for package in PACKAGES
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    for path in files:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes((PROJECT / path).read_bytes())
    run(sys.executable, "-c", build, tmp_path, cwd=copy)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == {path.as_posix() for path in files}
