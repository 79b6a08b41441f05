"""The benchmarks run, compare what is the same, and write what their tables show."""

import importlib
import json
import re
import statistics
import sys

import pytest
import torch
from conftest import PROJECT, fails, run
from models import MODES, assert_same_gradients, batch, build, build_with_weights_of, logits

from benchmarks import throughput
from benchmarks.eager_realformer import EagerAttention, make_eager
from benchmarks.rounds import in_turns, ratios
from benchmarks.tables import table, with_spread
from realformer_runtime.command_line import UserError

README = PROJECT / "benchmarks/README.md"


@pytest.mark.parametrize("mode", MODES)
def test_attention_written_the_obvious_way_gives_the_same(mode):
    """Logits and gradients, without dropout and with padding on both sides."""
    ours = build(residual_attention=mode).eval()
    eager = make_eager(build_with_weights_of(ours, residual_attention=mode)).eval()
    assert any(isinstance(module, EagerAttention) for module in eager.modules())
    torch.testing.assert_close(*(logits(model, *batch()) for model in (eager, ours)))
    assert_same_gradients(ours, eager)


def test_contenders_take_turns_and_the_warm_up_does_not_count():
    order = []
    contenders = {n: lambda n=n: {"seconds": order.append(n) or len(order)} for n in "ab"}
    figures = in_turns(contenders, rounds=3, warm_up=1)
    assert order == list("baabbaab")
    assert figures == {"a": {"seconds": [3, 6, 7]}, "b": {"seconds": [4, 5, 8]}}


def test_ratios_are_of_the_same_round():
    fairseq = {"seconds": [2.0, 3.0, 8.0], "peak_bytes": [100]}
    found = ratios(fairseq, {"seconds": [1.0, 2.0, 2.0], "peak_bytes": [50]})
    assert found["seconds"] == {"median": 2.0, "minimum": 1.5, "maximum": 4.0}
    assert with_spread(found["seconds"]) == "2.00 (1.50 to 4.00)"
    assert with_spread(found["peak_bytes"]) == "0.50"


def check_report(path, contenders, rounds, printed):
    """A complete file, whose ratios are those of its figures and whose table was printed."""
    report = json.loads(path.read_text("utf-8"))
    assert report["command"].startswith("python -m benchmarks.") and path.name in report["command"]
    assert report["versions"][0].startswith("realformer_fairseq ")
    assert report["machine"]["processors"] and report["machine"]["cores"] > 0
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:", report["date"])
    assert report["cases"] and report["options"]["rounds"] == rounds
    for case in report["cases"]:
        assert list(case["figures"]) == contenders
        base = case["figures"][report["baseline"]]["seconds"]
        for name, ratio in case["ratios"].items():
            own = case["figures"][name]["seconds"]
            expected = statistics.median(a / b for a, b in zip(base, own, strict=True))
            assert len(own) == rounds and ratio["seconds"]["median"] == pytest.approx(expected)
    lines = run("python3", "-m", "benchmarks.tables", path, cwd=PROJECT).stdout.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert rows == table(report) and len(rows) == 2 + len(report["cases"]) * len(contenders)
    assert all(line in printed.splitlines() for line in rows)
    return report


@pytest.mark.slow
def test_gpu_script_without_a_gpu(tmp_path):
    """Both tables come out, also into the file, and generation finds the same hypotheses."""
    output, folder = tmp_path / "gpu output.md", tmp_path / "raw figures"
    options = ["--device", "cpu", "--output", output, "--json", folder]
    printed = run(PROJECT / "benchmarks/gpu.sh", *options).stdout
    assert output.read_text("utf-8") == printed
    assert len(list(folder.iterdir())) == 2
    models = ["fairseq", "mean", "none", "eager"]
    training = check_report(folder / "cpu-training.json", models, 1, printed)
    assert all(own["peak_bytes"][0] > 0 for own in training["cases"][0]["figures"].values())
    models = ["fairseq", "none", "mean"]
    generation = check_report(folder / "cpu-generation.json", models, 1, printed)
    assert list(generation["checks"].values()) == [True]


@pytest.mark.slow
def test_text_preparation(raw_corpus, tmp_path):
    """Both ways give the same bytes, in every stage and round."""
    options = ["--pairs", 250, "--rounds", 2, "--jobs", 1, "--merges", 60]
    options += ["--corpus", raw_corpus, "--json", tmp_path / "raw.json"]
    printed = run(PROJECT / "benchmarks/data_prep.sh", *options).stdout
    report = check_report(tmp_path / "raw.json", ["peers", "ours"], 2, printed)
    assert report["checks"]["codes and encoded text are the same bytes"] is True
    *stages, total = (case["figures"]["ours"]["seconds"] for case in report["cases"])
    assert len(stages) == 3 and total == pytest.approx([sum(times) for times in zip(*stages)])


@pytest.mark.slow
def test_averaging(tmp_path):
    """The averages are the same; of tiny models ours does not have a third of the memory."""
    path = tmp_path / "raw.json"
    options = ["--checkpoints", 2, "--shape", "tiny", "--types", 100, "--rounds", 1]
    command = ["python3", "-m", "benchmarks.averaging", *options, "--json", path]
    result = run(*command, check=False, cwd=PROJECT)
    assert result.returncode == 1 and "3 times as fast" in result.stderr
    report = check_report(path, ["ordinary", "mapped"], 1, result.stdout)
    assert list(report["checks"].values()) == [True]
    assert report["machine"]["threads"] is None  # no torch, whose memory its processes would count
    figures = report["cases"][0]["figures"]["mapped"]
    assert figures["seconds_without_import"] < figures["seconds"]
    assert figures["peak_bytes"][0] > 2**26  # torch alone has more


def test_throughput_is_the_median_of_the_log_without_its_first_line(monkeypatch):
    speeds = (20, 100, 400, 150)
    log = [f"epoch 001: 5 / 9 loss=8, wps={wps}, num_updates={n}" for n, wps in enumerate(speeds)]
    monkeypatch.setattr(throughput, "called", lambda *command, **options: "\n".join(log))
    assert throughput.measure(["fairseq-train"], tokens=300, threads=1) == {"seconds": 2.0}


@pytest.mark.slow
def test_throughput(tmp_path):
    path = tmp_path / "raw.json"
    options = ["--shapes", "tiny,small-d128", "--updates", 10, "--types", 50, "--rounds", 1]
    options += ["--contenders", "fairseq,mean", "--json", path]
    command = ["python3", "-m", "benchmarks.throughput", *options]
    printed = run(*command, cwd=PROJECT, timeout=600).stdout
    report = check_report(path, ["fairseq", "mean"], 1, printed)
    assert [case["amount"] for case in report["cases"]] == [4 * 6, 16 * 30]


@pytest.mark.slow
def test_translation(trained, prepared, tmp_path):
    """The export translates as the checkpoint does, and takes less memory."""
    path, text = tmp_path / "raw.json", prepared / "raw"
    files = ["--checkpoint", trained / "checkpoint_last.pt", "--data", prepared / "data-bin"]
    files += ["--input", text / "test.en", "--reference", text / "test.fr", "--json", path]
    command = ["python3", "-m", "benchmarks.translation", "--rounds", 1, *files]
    printed = run(*command, cwd=PROJECT, timeout=600).stdout
    ways = ["--checkpoint", "--checkpoint --int8", "--onnx", "--onnx --int8"]
    report = check_report(path, ways, 1, printed)
    checkpoint, _, exported, _ = report["checks"].values()
    assert checkpoint == exported and checkpoint.endswith(" 20 lines as with --checkpoint")
    assert report["cases"][0]["ratios"]["--onnx"]["peak_bytes"]["median"] < 1


def test_quoted_tables_are_those_of_the_raw_figures():
    """Of every file that the README links to."""
    text = README.read_text("utf-8")
    for name in set(re.findall(r"\((raw/[^)]+\.json)\)", text)):
        report = json.loads((README.parent / name).read_text("utf-8"))
        assert "\n".join(table(report)) in text, name


def test_gpu_script_needs_a_gpu():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    error = fails(PROJECT / "benchmarks/gpu.sh")
    assert "--device cuda" in error and "no CUDA device" in error


@pytest.mark.parametrize(
    "module, options, words",
    [
        ("training", ["--shapes", "d512,d1"], ["--shapes", "'d1'", "d128"]),
        ("training", ["--contenders", "ours"], ["--contenders", "'ours'", "eager"]),
        ("training", ["--warm-up", "-1"], ["--warm-up", "-1"]),
        ("generation", ["--batches", "1,x"], ["--batches", "'x'"]),
        ("generation", ["--batches", "0"], ["--batches", "above 0"]),
        ("averaging", ["--folder", "/no/such"], ["--folder", "/no/such"]),
        ("launches", ["--contenders", "x-transformers"], ["--contenders", "'x-transformers'"]),
    ],
)
def test_bad_options(module, options, words, monkeypatch):
    monkeypatch.setattr(sys, "argv", [module, *options])
    with pytest.raises(UserError) as error:
        importlib.import_module(f"benchmarks.{module}").parse_args()
    assert all(word in str(error.value) for word in words)


def test_what_fails_is_one_line_and_leaves_no_file(tmp_path):
    command = ["python3", "-m", "benchmarks.data_prep", "--corpus", "/no/such", "--json"]
    assert "/no/such/train.en" in fails(*command, tmp_path / "raw.json", cwd=PROJECT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["{", "{}"])
def test_tables_of_another_file(text, tmp_path):
    path = tmp_path / "raw.json"
    path.write_text(text)
    assert str(path) in fails("python3", "-m", "benchmarks.tables", path, cwd=PROJECT)


@pytest.mark.slow
def test_masked_lm(tmp_path):
    options = "--shapes tiny --rounds 2 --dropouts 0.1,0 --types 40".split()
    command = ["python3", "-m", "benchmarks.masked_lm", *options, "--json", tmp_path / "m.json"]
    result = run(*command, cwd=PROJECT)
    report = check_report(tmp_path / "m.json", ["fairseq", "mean", "sum", "none"], 2, result.stdout)
    assert [case["case"].rpartition(" ")[2] for case in report["cases"]] == ["0.1", "0"]


@pytest.mark.slow
def test_engine(tmp_path):
    pytest.importorskip("ctranslate2", reason="pip install '.[benchmarks]'")
    options = "--shapes tiny --batches 2 --rounds 2 --length 5 --types 40 --threads 1".split()
    json_file = ["--json", tmp_path / "engine.json"]
    for precision, contenders in (
        ("float32", ["CTranslate2", "engine", "fairseq"]),
        ("int8", ["CTranslate2", "engine, int8", "engine"]),
    ):
        command = ["python3", "-m", "benchmarks.engine", *options, "--precisions", precision]
        result = run(*command, *json_file, cwd=PROJECT)
        check_report(tmp_path / "engine.json", contenders, 2, result.stdout)
