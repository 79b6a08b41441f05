"""Standard streams that are closed, full or read no more, and what the environment says of text."""

import os

import pytest
from conftest import PROJECT, run

TEXT = "L’été à Łódź, « 日本 »\n"
TOKENS = "L’ été à Łódź , « 日 本 »\n"
TOKENIZE = "python3 -m realformer_runtime.text.tokenization --lang fr"
SCORE = f"'{PROJECT}/scripts/score_bleu.sh' --hyp text --ref text --lang fr"
SAMPLE = f"PYTHONPATH='{PROJECT}:{PROJECT}/data-prep' python3 -m sample_corpus"
CLOSED = "{}: standard {} is closed\n"


@pytest.fixture
def bash(tmp_path):
    """A function that runs a command of bash beside a file ``text``, in another environment."""
    (tmp_path / "text").write_text(TEXT, "utf-8")

    def run_bash(command, **environment):
        env = {**os.environ, "PYTHONPATH": str(PROJECT), **environment}
        result = run("bash", "-c", command, cwd=tmp_path, check=False, env=env, encoding="utf-8")
        return result.returncode, result.stdout, result.stderr

    return run_bash


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"{TOKENIZE} <&-", (1, "", CLOSED.format("tokenization", "input"))),
        (f"{TOKENIZE} <text >&-", (1, "", CLOSED.format("tokenization", "output"))),
        (f"{TOKENIZE} <text 2>&-", (0, TOKENS, "")),
        (f"{TOKENIZE} --no-such <&- >&- 2>&-", (1, "", "")),
        (f"{SCORE} >&-", (1, "", CLOSED.format("score_bleu.sh", "output"))),
        (f"{SCORE} --json json <&- >/dev/null 2>&- && test -s json", (0, "", "")),
        (f"{SCORE} --json /no/x <&- 2>&-", (1, "", "")),
        (f"{SAMPLE} --out /dev/null/x >&-", (1, "", "/dev/null/x: Not a directory\n")),
        (f"{TOKENIZE} <text >/dev/full", (1, "", "standard output: No space left on device\n")),
        (f"{SCORE} >/dev/full", (1, "", "standard output: No space left on device\n")),
        (f"{TOKENIZE} <text | true; exit ${{PIPESTATUS[0]}}", (141, "", "")),
        (f"{SCORE} | true; exit ${{PIPESTATUS[0]}}", (141, "", "")),
    ],
)
def test_a_stream_that_does_not_work_costs_one_line_at_most(bash, command, expected):
    code, out, err = bash(command)
    assert (code, out) == expected[:2] and err.endswith(expected[2]) and err.count("\n") <= 1
    assert expected[2] or not err


def test_translations_that_nobody_reads(bash, trained, prepared):
    """The reader goes after the first line, and has gone long before the last."""
    files = f"--checkpoint '{trained}/checkpoint_last.pt' --data '{prepared}/data-bin'"
    translate = f"'{PROJECT}/scripts/translate.sh' {files} --interactive"
    code, out, err = bash(f"yes one | {translate} | head -1; exit ${{PIPESTATUS[1]}}")
    assert code == 141 and out.count("\n") == 1 and len(err.splitlines()) == 2


def test_the_environment_does_not_change_text(bash):
    """More of it is in test_text_files.py."""
    environment = {"PYTHONUTF8": "0", "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"}
    environment.update(PYTHONINSPECT="1", PYTHONHASHSEED="7")
    assert bash(f"{TOKENIZE} <text", **environment)[:2] == (0, TOKENS)
    environment.update(PYTHONIOENCODING="ascii:replace")
    assert bash(SCORE, **environment)[:2] == bash(SCORE)[:2]
    code, _, err = bash(f"{SCORE} --ter --bootstrap-samples 'łódź'", **environment)
    assert (code, err.count("\n")) == (1, 1) and "'łódź'" in err
