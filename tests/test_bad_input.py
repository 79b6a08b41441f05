"""Random mistakes at the command line and in files: a clear line or a right result, no third thing.

Some 200 examples are the same in every run. ``BAD_INPUTS=2000 pytest tests/test_bad_input.py``
tries that many new ones for each command.
"""

import gzip
import io
import os
import shutil
import sys
from unittest import mock

import pytest
import torch
from checkpoint_files import fairseq_state, random_model
from conftest import PROJECT, run
from fake_search import SEARCH
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models import arguments, build
from wmt14_corpus import __main__ as wmt14

from realformer_checkpoints import averaging, learning_curve, omega_by_depth
from realformer_checkpoints.reading import load_checkpoint
from realformer_fairseq.checkpoints import folding as fold_omega
from realformer_fairseq.inference import translation
from realformer_runtime.command_line import run_main
from realformer_runtime.scores import scoring
from realformer_runtime.text import byte_pair_encoding, tokenization

TRIES = int(os.environ.get("BAD_INPUTS", 0))
RANDOM = settings(
    max_examples=TRIES or 24,
    derandomize=not TRIES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
NUMBERS = ["1", "2", "0", "-1", "1.5", "nan", "inf", "-0", "1e3", "9" * 20, "9" * 5000, "", "two"]
NUMBERS += ["1 ", "0x1", "٣", "1_0"]
WORDS = ["", "a b", "é\n", "-", "--", "$x_", "\\", "\x1b[31m", "lowest", "fr", "xx", "../..", "{}"]
LOG = """1 | INFO | train_inner | epoch 001: 1 / 2 loss=1, nll_loss=2.5, num_updates=50, gnorm=1.5
2 | INFO | valid | valid on 'valid' subset | loss 3 | nll_loss 7.9 | num_updates 100
3 | INFO | train_inner | nll_loss=1.2.3, num_updates=9999999999999999999999, gnorm=nan
4 | INFO | ADMIN profile: encoder.layers.0.self_attn_residual.omega = 1.5
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with good and bad files, in which every example works."""
    folder = tmp_path_factory.mktemp("bad input")
    contents = {
        "three": b"one\ntwo\nthree\n",
        "other": b"eins\nzwei\ndrei\n",
        "two": b"one\ntwo\n",
        "empty": b"",
        "binary": bytes(range(256)) * 9,
        "latin1": b"caf\xe9\n" * 3,
        "odd": b"\x00\r\n\xe2\x80\xa8\n\xef\xbb\xbf\n",
        "one long line": b"x" * 3000,
        "log": LOG.encode(),
        "generate.log": b"H-0\t-1\ta@@ b\nH-1\t-1\tb\nH-2\t-1\tc\n",
        "bad.log": b"H-99999999999999999999999\t-1\ta\nD-1\t-1\tb\nT-0\tc\n",
        "code": b"#version: 0.2\na b\nb c</w>\n",
        "bad code": b"#version: 9.9\na b c\n",
        "counts": b"abc 3\nab 4\n",
        "bad counts": b"abc -3\n",
        "huge counts": b"abc 1" + b"0" * 400 + b"\n",
        "plain.gz": b"no gzip",
        "cut.gz": gzip.compress(b"one\ntwo\nthree\n")[:-9],
        "broken.gz": gzip.compress(b"one\ntwo\nthree\n" * 99)[:30] + b"\xff" * 40,
        "dict.en.txt": b"a 3\nb 2\n",
        "dict.fr.txt": b"a 3\nb 2\n",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    for epoch, name in enumerate(("a.pt", "checkpoint1.pt", "checkpoint2.pt")):
        torch.save(fairseq_state(random_model(epoch), epoch), folder / name)
    state = fairseq_state(build(sublayer_scaling="admin-analytic").state_dict())
    state["cfg"]["model"] = arguments(sublayer_scaling="admin-analytic")
    torch.save(state, folder / "omega.pt")
    (folder / "cut.pt").write_bytes((folder / "a.pt").read_bytes()[:700])
    (folder / "bin").mkdir()
    (folder / "bin/fairseq-interactive").write_text(SEARCH.format(python=sys.executable))
    (folder / "bin/fairseq-interactive").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
        yield folder


FILES = st.sampled_from(
    "three other two empty binary latin1 odd log generate.log bad.log code counts plain.gz cut.gz"
    " broken.gz folder loop missing a.pt checkpoint1.pt omega.pt cut.pt . / /dev/null".split()
    + ["one long line", "bad code", "bad counts", "huge counts", "", "a/b\n", "é" * 200, "x" * 300]
)
OUTPUTS = st.sampled_from(["out/new", "out/new", "out/new", "out/old", "out", "no/where", "", "/"])
NUMBER, WORD = st.sampled_from(NUMBERS), st.sampled_from(WORDS)
SMALL = st.sampled_from([number for number in NUMBERS if number not in ("9" * 20, "1_0", "1e3")])


def mostly(strategy, *good):
    """Of mistakes alone none would be seen but the first."""
    return st.one_of(*3 * [st.sampled_from(good)], strategy)


OUTPUT, COUNT, FRENCH = mostly(OUTPUTS, "out/new"), mostly(NUMBER, "1", "2"), mostly(WORD, "fr")
CODES, LOGS = mostly(FILES, "code"), mostly(FILES, "log")
THREE = mostly(FILES, "three", "other", "generate.log")
# Of each command: options with the strategies of their values, and those that a right call has.
COMMANDS = {
    averaging: {
        "--inputs": 2 * [mostly(FILES, "a.pt", "checkpoint1.pt")],
        "--output": [OUTPUT],
        "--weights": [COUNT, COUNT],
        "--num-epoch-checkpoints": [COUNT],
        "--num-update-checkpoints": [COUNT],
        "--num-best-checkpoints": [COUNT],
        "--checkpoint-upper-bound": [COUNT],
        "--best-is": [WORD],
        "--show": [FILES],
    },
    fold_omega: {"--checkpoint": [mostly(FILES, "omega.pt")], "--output": [OUTPUT]},
    omega_by_depth: {
        "--run": [mostly(FILES, "omega.pt"), LOGS],
        "--title": [WORD],
        "--output": [OUTPUT],
    },
    learning_curve: {
        "--logs": [LOGS, FILES],
        "--quantity": [st.sampled_from(["loss", "gradient-norm", "speed", "", "x"])],
        "--title": [WORD],
        "--output": [OUTPUT],
    },
    scoring: {
        "--hyp": [THREE, THREE],
        "--ref": [mostly(FILES, "three", "other")],
        "--lang": [FRENCH],
        "--ter": [],
        "--domains": [THREE],
        "--bootstrap-samples": [SMALL],
        "--json": [OUTPUT],
    },
    tokenization: {
        "--lang": [FRENCH],
        "--detokenize": [],
        "--moses": [],
        "--normalize-punctuation": [],
        "--remove-non-printing": [],
        "--word-counts": [OUTPUT],
        "--jobs": [SMALL.filter(lambda number: number != "2")],
    },
    byte_pair_encoding: {
        "--merges": [COUNT],
        "--word-counts": [mostly(FILES, "counts"), FILES],
        "--codes": [CODES],
        "--jobs": [SMALL.filter(lambda number: number != "2")],
    },
    translation: {
        "--checkpoint": [mostly(FILES, "a.pt")],
        "--data": [st.sampled_from([".", ".", "missing", "three", ""])],
        "--bpe-codes": [CODES],
        "--input": [THREE],
        "--output": [OUTPUT],
        "--source-lang": [mostly(WORD, "en")],
        "--target-lang": [FRENCH],
        "--beam": [COUNT],
        "--lenpen": [COUNT],
        "--max-tokens": [COUNT],
        "--overlong": [WORD],
        "--moses": [],
        "--interactive": [],
        "--dry-run": [],
    },
    wmt14: {
        "--recipe": [FILES],
        "--out": [OUTPUT],
        "--archives": [FILES],
        "--codes": [CODES],
        "--dict": [mostly(FILES, "dict.en.txt")],
        "--lines": [COUNT],
        "--merges": [COUNT],
    },
}
RIGHT = {
    averaging: ["--inputs", "--output"],
    fold_omega: ["--checkpoint", "--output"],
    omega_by_depth: ["--run", "--output"],
    learning_curve: ["--logs", "--output"],
    scoring: ["--hyp", "--ref", "--lang"],
    tokenization: ["--lang"],
    byte_pair_encoding: ["--codes"],
    translation: ["--checkpoint", "--data", "--bpe-codes"],
    wmt14: ["--codes", "--dict"],
}
FIRST = {
    byte_pair_encoding: ["apply", "apply", "learn", "x"],
    wmt14: ["fit", "fit", "fit", "extract", "clean", "x"],
}


@st.composite
def command_lines(draw, module):
    """Options of a right call with one or the other left out, others added, in any order."""
    options = COMMANDS[module]
    names = [name for name in RIGHT[module] if draw(st.integers(0, 19))]
    names += draw(st.lists(st.sampled_from(list(options)), max_size=2))[::2]
    words = []
    for name in draw(st.permutations(names)):
        values = [draw(value) for value in options[name]]
        words += [name, *values[: draw(st.sampled_from([2, 2, 2, 1, 1, 1, 0]))]]
    if module in FIRST:
        words.insert(0, draw(st.sampled_from(FIRST[module])))
    if not draw(st.integers(0, 19)):
        words.insert(draw(st.integers(0, len(words))), draw(WORD))
    return words


TEXTS = [b"", b"a b\n", b"a b", b"caf\xe9\n", b"\x00\r\x1c\n\xe2\x80\xa8\n", b"x" * 4000 + b"\n"]


def outcome(module, arguments, text=b""):
    """Run a command in this process.

    Returns:
        exit code or message, and what was written to standard error
    """
    program = getattr(module, "PROGRAM", "wmt14_corpus")
    main = getattr(module, "_run", module.main)
    run_program = getattr(module, "run_main", run_main)  # one of its own in data-prep
    stdin, stdout, stderr = (io.TextIOWrapper(io.BytesIO(t), "utf-8") for t in (text, b"", b""))
    streams = mock.patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr)
    with streams, mock.patch.object(sys, "argv", [program, *arguments]):
        try:
            run_program(main, program)
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        stderr.flush()
        said = stderr.buffer.getvalue().decode("utf-8", "replace")
    return code, said


def check(module, arguments, text, folder):
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    (out / "old").write_text("old")
    before = sorted(path.name for path in folder.iterdir())
    code, said = outcome(module, arguments, text)
    assert "Traceback" not in said
    assert sorted(path.name for path in folder.iterdir()) == before
    names = {path.name for path in out.iterdir()}
    if module is not wmt14:
        assert names <= {"old", "new"}, names
    if code:
        program = getattr(module, "PROGRAM", "wmt14_corpus")
        assert isinstance(code, str) and code.startswith(f"{program}: ") and "\n" not in code
        assert len(code) > len(program) + 5
        assert (out / "old").read_text() == "old"
        assert module is wmt14 or "new" not in names, names
    elif module in (averaging, fold_omega) and "--show" not in arguments:
        (changed,) = [p for p in out.iterdir() if p.name == "new" or p.read_bytes() != b"old"]
        assert load_checkpoint(str(changed))["model"]
    elif module in (omega_by_depth, learning_curve):
        (changed,) = [p for p in out.iterdir() if p.name == "new" or p.read_bytes() != b"old"]
        assert changed.read_bytes().endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize("module", COMMANDS, ids=lambda module: module.__name__.split(".")[-1])
@pytest.mark.filterwarnings("ignore")
def test_a_clear_error_or_a_right_result(module, world):
    @RANDOM
    @given(st.data())
    def any_mistake(data):
        words = data.draw(command_lines(module))
        check(module, words, data.draw(st.sampled_from(TEXTS)), world)

    any_mistake()


@pytest.mark.parametrize("option", [["--max-tokens", "1"], ["--", "--max-source-positions", "1"]])
def test_no_room_for_a_subword_is_said(world, option):
    """It once was split without end."""
    arguments = ["--checkpoint", "a.pt", "--data", ".", *option]
    code, _ = outcome(translation, arguments, b"a b\n")
    assert code.startswith("translate.sh: ") and option[-2] in code


TRAIN = "scripts/train_wmt14_en_fr.sh"
TABLE7 = "scripts/reproduce_table7.sh"
SAMPLE = "data-prep/prepare-sample-en2fr.sh"
DEBIAN = "data-prep/prepare-debian-en2fr.sh"
WMT14 = "data-prep/prepare-wmt14en2fr.sh"


@pytest.mark.parametrize(
    ("script", "arguments", "words"),
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
        (TRAIN, ["--row"], ["--row", "value"]),
        (TRAIN, ["x y"], ["x y"]),
        (TABLE7, ["--row", "fr-6-6", "--out", ""], ["--out", "''"]),
        (TABLE7, ["--row", "fr-6-6", "--gpus", "two"], ["--gpus", "'two'"]),
        (TABLE7, ["--row", "$(touch x)"], ["--row", "'$(touch x)'"]),
        (TABLE7, ["--row", "fr-6-6", "--", "--epochs", "0"], ["--epochs", "'0'"]),
        (SAMPLE, ["--jobs", "9" * 20], ["--jobs", "9" * 20]),
        (SAMPLE, ["--bpe-merges", "-5"], ["--bpe-merges", "'-5'"]),
        (SAMPLE, ["--out", ""], ["--out", "''"]),
        (SAMPLE, ["--out", "/dev/null/x"], ["--out", "/dev/null/x"]),
        (SAMPLE, ["--out"], ["--out", "value"]),
        (DEBIAN, ["--corpus", "/none"], ["--corpus", "'/none'"]),
        (DEBIAN, ["--corpus", ""], ["--corpus", "''"]),
        (WMT14, ["--retry-pause", "-1"], ["--retry-pause", "'-1'"]),
        (WMT14, ["--bpe-codes", "/dev"], ["--bpe-codes", "'/dev'"]),
        (WMT14, ["--corpora", "/none"], ["--corpora", "'/none'"]),
        (WMT14, ["--tries", "many"], ["--tries", "'many'"]),
        ("scripts/average_checkpoints.sh", ["--inputs", "a\nb", "--output", "c"], ["a\\nb"]),
        ("scripts/score_bleu.sh", ["--lang", "fr", "--hyp"], ["--hyp"]),
    ],
)
def test_mistakes_at_the_scripts_are_one_line(script, arguments, words, tmp_path):
    result = run(PROJECT / script, *arguments, check=False, cwd=tmp_path)
    error = result.stderr
    assert result.returncode == 1 and len(error.splitlines()) == 1, error
    assert error.startswith(f"{os.path.basename(script)}: ")
    assert all(word in error for word in words), error
    assert list(tmp_path.iterdir()) == []
