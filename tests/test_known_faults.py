"""Faults that users of fairseq met, and their relatives, where no other file has them.

The numbers are of issues at github.com/facebookresearch/fairseq, unless another project is named.
"""

import argparse
import io
import os
import socket
import subprocess
import sys

import pytest
import torch
from beam_search import assert_forced_scores, generate
from conftest import PROJECT, TRAINING
from fairseq import utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY
from fairseq_mains import load, words
from models import EOS, MODES, PAD, batch, build, build_with_weights_of, logits, without_dropout

from realformer_fairseq.models.architectures import ARCHITECTURES
from realformer_fairseq.models.multilingual import NAME as MULTILINGUAL


def through_a_file(model, **options):
    """A new model with what a file kept of another."""
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = build(seed=2, **options)
    other.load_state_dict(torch.load(file, weights_only=True))
    return other


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", [{}, dict(encoder_normalize_before=True)], ids=["Post", "Pre"])
def test_no_fast_path_comes_in_with_loading(mode, options):
    """4480, 4858, 4899: after loading, without gradients and with padding, fairseq 0.12.2 takes
    another way through the encoder, which knows nothing of residual scores."""
    model = build(residual_attention=mode, **options).eval()
    source, _ = batch()
    loaded = through_a_file(model, residual_attention=mode, **options).eval()
    with torch.no_grad():
        before = build_with_weights_of(model, residual_attention=mode, **options)
        before = without_dropout(before).encoder(source)["encoder_out"][0]
        after = loaded.encoder(source)["encoder_out"][0]
        vanilla = build_with_weights_of(model, arch="transformer", **options).eval()
        theirs = vanilla.encoder(source)["encoder_out"][0]
    present = source.ne(PAD).t()
    torch.testing.assert_close(after[present], before[present], atol=1e-5, rtol=1e-5)
    differ = (after - theirs)[present].abs().max() > 1e-3
    assert differ == (mode != "none")
    for row, sentence in enumerate(source):
        with torch.no_grad():
            alone = loaded.encoder(sentence[sentence.ne(PAD)][None])["encoder_out"][0]
        torch.testing.assert_close(after[sentence.ne(PAD), row], alone[:, 0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_a_model_twice_in_an_ensemble_keeps_its_states_apart(mode):
    """3732: where two users of a layer have one decoding state, keys are cached twice."""
    model = build(residual_attention=mode).eval()
    source, _ = batch()
    twice = generate([model, build_with_weights_of(model, residual_attention=mode).eval()], source)
    assert_forced_scores([model], source, twice)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_source_of_nothing_but_its_end(mode, dtype):
    """pytorch 41508: beside a longer sentence, so that all of it but one token is padding."""
    source, previous = batch()
    source[1] = PAD
    source[1, -1] = EOS
    previous[1] = PAD
    previous[1, 0] = EOS
    model = without_dropout(build(residual_attention=mode, encoder_layers=6)).to(dtype)
    out = logits(model, source, previous)
    out[previous.ne(PAD)].float().pow(2).mean().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    alone = logits(model, source[1:2, -1:], previous[1:2, :1])
    tolerance = 1e-5 if dtype == torch.float32 else 0.1
    torch.testing.assert_close(alone[0, 0], out[1, 0], atol=tolerance, rtol=0)


@pytest.mark.parametrize("mode", ["mean", "sum"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_only_masks_are_infinite_in_half_precision(mode, dtype):
    """1529, 512, 4555: sixty layers, scores that are large already in the first."""
    model = without_dropout(build(residual_attention=mode, encoder_layers=60)).to(dtype)
    carried = []
    for layer in model.encoder.layers:
        with torch.no_grad():
            layer.self_attn.q_proj.weight.mul_(6)
        layer.self_attn.register_forward_hook(lambda _, __, out: carried.append(out[2]))
    out = logits(model, *batch())
    assert len(carried) == 60 and out.isfinite().all()
    assert all(scores.isfinite().all() for scores in carried)
    assert max(scores.abs().max() for scores in carried) > 10


# What the converter of CTranslate2 (python/ctranslate2/converters/fairseq.py) takes.
CONVERTED = {"bart", "multilingual_transformer", "transformer", "transformer_align"}


def test_converters_do_not_take_us_for_a_transformer(trained):
    """CTranslate2 782: they would drop the residual scores and say nothing."""
    ours = {ARCH_MODEL_NAME_REGISTRY[function.__name__] for function in ARCHITECTURES}
    ours.add(ARCH_MODEL_NAME_REGISTRY[MULTILINGUAL])
    assert not ours & CONVERTED
    options = load(trained / "checkpoint_last.pt")["cfg"]["model"]
    assert ARCH_MODEL_NAME_REGISTRY[options.arch] in ours
    assert ARCH_MODEL_NAME_REGISTRY[options._name] in ours


def test_another_copy_of_the_plugin_is_named(tmp_path):
    """3299: fairseq imports --user-dir by its last name alone."""
    utils.import_user_module(argparse.Namespace(user_dir=str(PROJECT / "realformer_fairseq")))
    copy = tmp_path / "realformer_fairseq"
    copy.mkdir()
    (copy / "__init__.py").write_text("")
    with pytest.raises(ImportError, match=f"--user-dir={copy} .*realformer_fairseq.* unique"):
        utils.import_user_module(argparse.Namespace(user_dir=str(copy)))


# fairseq starts one process for each GPU it sees; here they train on the CPU.
TWO_SPAWNED = """
import torch
from fairseq_cli.train import cli_main
if __name__ == "__main__":
    torch.cuda.device_count = lambda: 2
    cli_main()
"""


@pytest.mark.slow
def test_two_spawned_processes_find_the_plugin(prepared, tmp_path):
    """4875: a relative path with a slash at its end; each process imports the plugin anew."""
    (tmp_path / "two.py").write_text(TWO_SPAWNED)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    line = [sys.executable, tmp_path / "two.py", prepared / "data-bin", *TRAINING]
    line += ["--user-dir", "realformer_fairseq/", "--disable-validation", "--max-update", 2]
    line += ["--save-dir", tmp_path / "out", "--ddp-backend", "legacy_ddp"]
    line += ["--distributed-backend", "gloo", "--distributed-world-size", 2]
    line += ["--distributed-init-method", f"tcp://127.0.0.1:{port}"]
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1"}
    result = subprocess.run(
        words(*line), cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=600
    )
    log = result.stderr + result.stdout
    assert result.returncode == 0, log[-3000:]
    assert "distributed_world_size': 2" in log and "num_updates 2" in log
    state = load(tmp_path / "out/checkpoint_last.pt")
    assert state["optimizer_history"][-1]["num_updates"] == 2
