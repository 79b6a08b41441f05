"""What holds for every script that is a command, not sourced by others as those of lib/ are."""

import subprocess
from pathlib import Path

import pytest
from conftest import PROJECT, run

FOLDERS = ("scripts", "data-prep", "benchmarks", "results/*")
COMMANDS = sorted(path for folder in FOLDERS for path in PROJECT.glob(f"{folder}/*.sh"))


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_help_has_usage_and_an_example_and_needs_no_environment(path, tmp_path):
    env = {"PATH": "/usr/bin:/bin", "VENV": "/no/such"}
    for flag in ("-h", "--help"):
        text = run(path, flag, cwd=tmp_path, env=env).stdout
        assert path.name in text and "Example" in text
        assert max(map(len, text.splitlines())) <= 100
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_first_lines(path):
    text = path.read_text()
    assert text.startswith("#!/usr/bin/env bash\n# ")
    assert "\nset -euo pipefail\n" in text
    assert path.stat().st_mode & 0o111 == 0o111


def test_without_an_environment_the_way_out_is_named(tmp_path):
    """No .venv, and a python3 without torch."""
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "VENV": str(tmp_path / "none")}
    script = PROJECT / "scripts/score_bleu.sh"
    result = run(script, "--hyp", "a", "--ref", "b", "--lang", "fr", check=False, env=env)
    assert result.returncode == 1
    assert "scripts/setup.sh" in result.stderr and str(tmp_path / "none") in result.stderr


@pytest.mark.parametrize(
    "environment, words",
    [
        ({"PYTHON": "/no/python"}, ["PYTHON", "/no/python"]),
        ({}, ["3.11 or 3.12", "PYTHON="]),
    ],
)
def test_setup_names_what_it_needs(environment, words, tmp_path):
    bash = subprocess.run(["which", "bash"], capture_output=True, text=True).stdout.strip()
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("dirname", "basename", "awk", "uname", "env", "nproc"):
        found = subprocess.run(["which", tool], capture_output=True, text=True).stdout.strip()
        (tools / tool).symlink_to(found)
    env = {"PATH": str(tools), "VENV": str(tmp_path / "none"), **environment}
    result = run(bash, PROJECT / "scripts/setup.sh", check=False, env=env)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in words)
    assert not (tmp_path / "none").exists()


def test_setup_leaves_a_foreign_environment_alone(tmp_path):
    """One that lacks something and was not made by the script."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").write_text("#!/bin/sh\necho regex sklearn\n")
    (tmp_path / "bin/python3").chmod(0o755)
    env = {"PATH": "/usr/bin:/bin", "VENV": str(tmp_path)}
    result = run(PROJECT / "scripts/setup.sh", check=False, env=env)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
    assert "regex sklearn" in result.stderr and f"VENV='{tmp_path}'" in result.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["bin", "python3"]


def test_project_speaks_of_itself_alone():
    """No path of the machine that it was written on."""
    listed = run("git", "-C", PROJECT, "ls-files", check=False).stdout.split("\n")
    if len(listed) < 50:
        pytest.skip("not a git checkout")
    for name in filter(None, listed):
        path = Path(PROJECT, name)
        if path.suffix in {".py", ".sh", ".md", ".txt", ".toml"} and path.is_file():
            assert "/work" + "/" not in path.read_text("utf-8"), name
