"""Faults that users of fairseq met, and their relatives, where no other file has them.

The numbers are of issues at github.com/facebookresearch/fairseq, unless another project is named.
"""

import os
import socket
import sys

import pytest
import torch
from beam_search import assert_forced_scores, generate
from conftest import PROJECT, TRAINING, run
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq_mains import load
from models import MODES, PAD, batch, build, build_with_weights_of, logits, without_dropout


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pre_norm", [False, True], ids=["Post", "Pre"])
def test_no_fast_path_comes_in_with_loading(mode, pre_norm):
    """4480, 4858, 4899: after loading, without gradients and with padding, fairseq 0.12.2 takes
    another way through the encoder, which knows nothing of residual scores."""
    sizes = dict(encoder_normalize_before=pre_norm)
    model = without_dropout(build(residual_attention=mode, **sizes))
    loaded = build_with_weights_of(model, residual_attention=mode, **sizes).eval()
    vanilla = build_with_weights_of(model, arch="transformer", **sizes).eval()
    source, _ = batch()
    present = source.ne(PAD).t()
    with torch.no_grad():
        training, after, theirs = (
            each.encoder(source)["encoder_out"][0] for each in (model, loaded, vanilla)
        )
        torch.testing.assert_close(after[present], training[present], atol=1e-5, rtol=1e-5)
        assert ((after - theirs)[present].abs().max() > 1e-3) == (mode != "none")


@pytest.mark.parametrize("mode", MODES)
def test_a_model_twice_in_an_ensemble_keeps_its_states_apart(mode):
    """3732: where two users of a layer have one decoding state, keys are cached twice."""
    model = build(residual_attention=mode).eval()
    source, _ = batch()
    twice = generate([model, build_with_weights_of(model, residual_attention=mode).eval()], source)
    assert_forced_scores([model], source, twice)


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
CONVERTED = set(
    """
    bart multilingual_transformer transformer transformer_align transformer_lm
""".split()
)


def test_converters_do_not_take_us_for_a_transformer():
    """CTranslate2 782: they would drop the residual scores and say nothing. They look up the name
    of the architecture that fairseq-train has written into the checkpoint."""
    ours = {
        arch: ARCH_MODEL_NAME_REGISTRY[arch]
        for arch, model in ARCH_MODEL_REGISTRY.items()
        if model.__module__.startswith("realformer_fairseq.")
    }
    assert {"realformer", "multilingual_realformer"} <= set(ours.values())
    assert not CONVERTED & {*ours, *ours.values()}
    line = ["data", "--arch", "realformer_tiny"]
    args = options.parse_args_and_arch(options.get_training_parser(), line)
    stored = convert_namespace_to_omegaconf(args).model
    assert stored.arch in ours and stored._name in ours


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
    result = run(*line, cwd=PROJECT, env=environment, timeout=600)
    log = result.stderr + result.stdout
    assert "distributed_world_size': 2" in log and "num_updates 2" in log
    state = load(tmp_path / "out/checkpoint_last.pt")
    assert state["optimizer_history"][-1]["num_updates"] == 2
