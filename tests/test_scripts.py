"""What holds for every script that is a command, not sourced by others as those of lib/ are."""

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import PROJECT, fails, run

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
    assert path.read_text().startswith("#!/usr/bin/env bash\n# ")
    assert "\nset -euo pipefail\n" in path.read_text()


# What is run as a command by the name of a script.
NAMED = re.compile(r'^PROGRAM = "(\w+\.sh)"$(?=.*^ +run_main\(main)', re.M | re.S)
MODULES = {
    name: ".".join(path.relative_to(PROJECT).with_suffix("").parts).replace(".__main__", "")
    for path in PROJECT.glob("realformer_*/**/*.py")
    for name in NAMED.findall(path.read_text("utf-8"))
}
NASTY = ("--flag", "", "a b", "*", "$(touch x)", "'\"", "a\nb", "\\", "--", "-h")


@pytest.mark.parametrize("name", MODULES)
def test_a_script_hands_its_words_to_the_module_that_has_its_name(name, tmp_path):
    """What the module makes of them is tested without the script, which takes seconds less."""
    python = tmp_path / "bin/python3"
    python.parent.mkdir()
    python.write_text('#!/bin/bash\n[[ "$1" != -m ]] || printf "%s\\0" "$@"\n')
    python.chmod(0o755)
    environment = {**os.environ, "VENV": str(tmp_path)}
    result = run(PROJECT / "scripts" / name, *NASTY, env=environment, cwd=tmp_path)
    assert result.stdout.split("\0") == ["-m", MODULES[name], *NASTY, ""]
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


TRAIN = "scripts/train_wmt14_en_fr.sh"
TABLE7 = "scripts/reproduce_table7.sh --row fr-6-6"
SAMPLE = "data-prep/prepare-sample-en2fr.sh"
WMT14 = "data-prep/prepare-wmt14en2fr.sh"
ATTENTION = "results/attention/run.sh --data d --out o"


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        (TRAIN, ["--max-tokens", "9" * 20], ["--max-tokens", "9" * 20]),
        (TRAIN, ["--gpus", "-1"], ["--gpus", "'-1'"]),
        (TRAIN, ["--gpus", "08"], ["--gpus", "'08'"]),
        (TRAIN, ["--gpus", ""], ["--gpus", "''"]),
        (TRAIN, ["--node-rank", "08"], ["--node-rank", "'08'"]),
        (TRAIN, ["--node-rank", "9" * 20], ["--node-rank"]),
        (TRAIN, ["--save-dir", ""], ["--save-dir", "''"]),
        (TRAIN, ["--data", "-x", "--gpus", "0"], ["--data", "/-x'", "dict.en.txt"]),
        (TRAIN, ["--precision", "*"], ["--precision", "'*'"]),
        (TRAIN, ["--epochs", "1.5"], ["--epochs", "'1.5'"]),
        (TRAIN, ["x y"], ["x y"]),
        (TRAIN, ["--gpus", "1", "--gpus", "1"], ["--gpus", "twice"]),
        (SAMPLE, ["--out", "a", "--jobs", "1", "--out", "a"], ["--out", "twice"]),
        (TABLE7, ["--row", "fr-6-6"], ["--row", "twice"]),
        (TABLE7, ["--out", ""], ["--out", "''"]),
        (TABLE7, ["--gpus", "two"], ["--gpus", "'two'"]),
        ("scripts/reproduce_table7.sh", ["--row", "$(touch x)"], ["--row", "'$(touch x)'"]),
        (TABLE7, ["--", "--epochs", "0"], ["--epochs", "'0'"]),
        (SAMPLE, ["--jobs", "9" * 20], ["--jobs", "9" * 20]),
        (SAMPLE, ["--bpe-merges", "-5"], ["--bpe-merges", "'-5'"]),
        (SAMPLE, ["--out", ""], ["--out", "''"]),
        (SAMPLE, ["--out", "/dev/null/x"], ["--out", "/dev/null/x"]),
        ("data-prep/prepare-debian-en2fr.sh", ["--corpus", ""], ["--corpus", "''"]),
        (WMT14, ["--retry-pause", "-1"], ["--retry-pause", "'-1'"]),
        (WMT14, ["--bpe-codes", "/dev"], ["--bpe-codes", "'/dev'"]),
        (WMT14, ["--tries", "many"], ["--tries", "'many'"]),
        ("scripts/score_bleu.sh --hyp x --lang fr", ["--ref", "a\nb"], ["a\\nb"]),
        (ATTENTION, [f"a={__file__}", f"a={__file__}"], ["'a'", "twice"]),
        (ATTENTION, ["a=/no/such"], ["a: ", "'/no/such'"]),
        ("results/residual-attention/run.sh", ["--corpus", "/no/such"], ["--corpus", "/no/such"]),
        ("results/residual-attention/run.sh", ["best"], ["'best'", "admin-mean"]),
        ("results/masked-lm/run.sh", ["--corpus", "/no/such"], ["--corpus /no/such"]),
        ("results/masked-lm/run.sh", ["best"], ["'best'", "sum-half"]),
        ("results/depth/run.sh", ["--corpus", "/no/such", "admin"], ["--corpus", "/no/such"]),
        ("results/depth/run.sh", ["mean"], ["'mean'", "admin-mean"]),
    ],
)
def test_a_mistake_is_one_line(command, arguments, words, tmp_path):
    script, *options = command.split()
    result = run(PROJECT / script, *options, *arguments, check=False, cwd=tmp_path)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith(f"{Path(script).name}: ")
    assert all(word in result.stderr for word in words), result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("tools", "command", "environment", "words"),
    [
        # No .venv, and a python3 without torch.
        (
            {"python3": "exit 1"},
            "scripts/score_bleu.sh --hyp a --ref b --lang fr",
            {},
            ["scripts/setup.sh", "/none"],
        ),
        # Each names what it needs: this python3 lacks whatever it is asked for.
        *(
            ({"python3": 'echo "$2"'}, f"scripts/{command} --onnx x", {}, ["python3 lacks numpy"])
            for command in ("translate.sh", "serve.sh")
        ),
        ({}, "scripts/setup.sh", {"PYTHON": "/no/python"}, ["PYTHON", "/no/python"]),
        ({}, "scripts/setup.sh", {}, ["3.11 or 3.12", "PYTHON="]),
        # An environment that lacks something and was not made by the script.
        (
            {"../none/bin/python3": "echo regex sklearn"},
            "scripts/setup.sh",
            {},
            ["regex sklearn", "VENV=", "/none"],
        ),
    ],
)
def test_what_an_environment_lacks_is_named(tools, command, environment, words, tmp_path):
    (tmp_path / "tools").mkdir()
    for tool in ("bash", "dirname", "basename", "awk", "uname", "env", "nproc"):
        (tmp_path / "tools" / tool).symlink_to(shutil.which(tool))
    for name, text in tools.items():
        path = tmp_path / "tools" / name
        path.parent.resolve().mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    before = sorted(tmp_path.rglob("*"))
    env = {"PATH": str(tmp_path / "tools"), "VENV": str(tmp_path / "none"), **environment}
    script, *arguments = command.split()
    result = run(PROJECT / script, *arguments, check=False, env=env)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1, result.stderr
    assert all(word in result.stderr for word in words), result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_project_speaks_of_itself_alone():
    """No path of the machine that it was written on."""
    listed = run("git", "-C", PROJECT, "ls-files", check=False).stdout.split("\n")
    if len(listed) < 50:
        pytest.skip("not a git checkout")
    for name in filter(None, listed):
        path = Path(PROJECT, name)
        if path.suffix in {".py", ".sh", ".md", ".txt", ".toml"} and path.is_file():
            assert "/work" + "/" not in path.read_text("utf-8"), name


@pytest.mark.parametrize(
    ("experiment", "option", "words", "error"),
    [
        ("masked-lm", "--seeds", "1\nx", "--seeds: 'x' is not a whole number"),
        ("masked-lm", "--languages", "en\nxx", "/bpe/train.xx'"),
        ("residual-attention", "--seeds", "1\nx", "--seeds: 'x' is not a whole number"),
    ],
)
def test_words_on_lines_of_their_own_count(experiment, option, words, error, tmp_path):
    corpus = ("bpe/train.en", "bpe/train.fr", "data-bin/dict.en.txt")
    for name in (*corpus, "raw/train.src", "raw/test.en", "raw/test.fr"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    script = PROJECT / f"results/{experiment}/run.sh"
    assert error in fails(script, "--corpus", tmp_path, "--out", "/dev/null/x", option, words)
