"""The benchmarks run, and compare what is the same."""

import re

import pytest
import torch
from conftest import PROJECT, run
from models import MODES, batch, build, build_with_weights_of, logits

from benchmarks.eager_realformer import EagerAttention, make_eager
from benchmarks.rounds import speed_ratios, with_spread


@pytest.mark.parametrize("mode", MODES)
def test_attention_written_the_obvious_way_gives_the_same(mode):
    """Logits and gradients, without dropout and with padding on both sides."""
    ours = build(residual_attention=mode).eval()
    eager = make_eager(build_with_weights_of(ours, residual_attention=mode)).eval()
    assert any(isinstance(module, EagerAttention) for module in eager.modules())
    source, previous = batch()
    for model in (ours, eager):
        logits(model, source, previous).square().mean().backward()
    torch.testing.assert_close(logits(eager, source, previous), logits(ours, source, previous))
    for (name, a), b in zip(ours.named_parameters(), eager.parameters()):
        torch.testing.assert_close(a.grad, b.grad, msg=name)


def test_ratios_are_of_the_same_round():
    seconds = {"fairseq": [2.0, 3.0, 8.0], "ours": [1.0, 2.0, 2.0]}
    ratios = speed_ratios(seconds, "fairseq", "ours")
    assert ratios == [2.0, 1.5, 4.0]
    assert with_spread(ratios) == "2.00 (1.50 to 4.00)"


def test_gpu_script_without_a_gpu(tmp_path):
    """Both tables come out, also into the file, and generation finds the same hypotheses."""
    output = tmp_path / "gpu output.md"
    printed = run(PROJECT / "benchmarks/gpu.sh", "--device", "cpu", "--output", output).stdout
    assert output.read_text("utf-8") == printed
    rows = re.findall(r"^\| d 16, 2-2.*\|$", printed, re.M)
    models = [row.split("|")[2 if "tokens" in row else 3].strip() for row in rows]
    assert models == ["fairseq", "mean", "none", "eager", "fairseq", "none", "mean"]
    assert rows[5].endswith("| yes |")


def test_gpu_script_needs_a_gpu():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    result = run(PROJECT / "benchmarks/gpu.sh", check=False)
    assert result.returncode == 1
    assert "--device cuda" in result.stderr and "no CUDA device" in result.stderr


@pytest.mark.parametrize(
    "module, options, words",
    [
        ("training", ["--shapes", "d512,d1"], ["--shapes", "'d1'", "d128"]),
        ("training", ["--contenders", "ours"], ["--contenders", "'ours'", "eager"]),
        ("generation", ["--batches", "1,x"], ["--batches", "'1,x'"]),
        ("generation", ["--batches", "0"], ["--batches", "above 0"]),
    ],
)
def test_bad_options(module, options, words):
    result = run("python3", "-m", f"benchmarks.{module}", *options, check=False, cwd=PROJECT)
    assert result.returncode != 0
    assert all(word in result.stderr.splitlines()[-1] for word in words)
