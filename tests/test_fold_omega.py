"""Folding omega away leaves what a model computes as it was."""

import shutil

import fairseq
import pytest
import torch
from conftest import PROJECT, run, train
from fairseq import checkpoint_utils
from fairseq.models import ARCH_MODEL_REGISTRY
from models import TASK, arguments, batch, logits, with_trained_omega

from realformer_fairseq.checkpoints.folding import fold_omega, fold_state
from realformer_runtime.command_line import UserError

VARIANTS = {
    "shared embeddings": dict(share_all_embeddings=True),
    "tied decoder embeddings": dict(share_decoder_input_output_embed=True),
    "no shared embeddings": {},
    "learned positions": dict(encoder_learned_pos=True, decoder_learned_pos=True),
    "no positions": dict(no_token_positional_embeddings=True),
    "layernorm embedding": dict(layernorm_embedding=True, no_scale_embedding=True),
    "narrow decoder": dict(decoder_embed_dim=12, decoder_input_dim=12, decoder_output_dim=12),
    "layernorm embedding, shared": dict(layernorm_embedding=True, share_all_embeddings=True),
    "layernorm embedding, tied": dict(
        layernorm_embedding=True, share_decoder_input_output_embed=True
    ),
    "adaptive softmax": dict(adaptive_softmax_cutoff="10,20"),
    "no cross-attention": dict(no_cross_attention=True),
    "scaled heads and residuals": dict(scale_heads=True, scale_resids=True, scale_attn=True),
}


def folded(model, **options):
    """The same, built again from the folded state and arguments."""
    args = arguments(**options)
    state = dict(model.state_dict())
    fold_omega(state, args)
    args.sublayer_scaling = "none"
    assert not any("omega" in name for name in state)
    other = ARCH_MODEL_REGISTRY[args.arch].build_model(args, TASK)
    other.load_state_dict(state)
    return other.eval(), args


@pytest.mark.parametrize("scaling", ["admin", "deepnorm"])
@pytest.mark.parametrize("mode", ["mean", "none"])
@pytest.mark.parametrize("name", VARIANTS)
def test_logits_stay_the_same(name, mode, scaling):
    options = dict(residual_attention=mode, sublayer_scaling=scaling, **VARIANTS[name])
    model = with_trained_omega(**options)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    other, _ = folded(model, **options)
    source, previous = batch()
    expected = logits(model, source, previous)
    torch.testing.assert_close(logits(other, source, previous), expected, atol=1e-5, rtol=1e-5)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_a_first_omega_of_1_leaves_the_embeddings_alone():
    options = dict(sublayer_scaling="admin", share_all_embeddings=True)
    model = with_trained_omega(**options)
    for stack in (model.encoder, model.decoder):
        torch.nn.init.ones_(stack.layers[0].self_attn_residual.omega)
    other, args = folded(model, **options)
    assert args.share_all_embeddings and not args.encoder_learned_pos
    assert torch.equal(other.encoder.embed_tokens.weight, model.encoder.embed_tokens.weight)
    source, previous = batch()
    expected = logits(model, source, previous)
    torch.testing.assert_close(logits(other, source, previous), expected, atol=1e-5, rtol=1e-5)


def test_the_decoder_stays_tied():
    options = dict(sublayer_scaling="admin", share_all_embeddings=True)
    other, args = folded(with_trained_omega(**options), **options)
    assert not args.share_all_embeddings and args.share_decoder_input_output_embed
    assert other.decoder.output_projection.weight is other.decoder.embed_tokens.weight


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(cross_self_attention=True, no_cross_attention=True), "--cross-self-attention"),
        (dict(decoder_output_dim=12), "--decoder-output-dim"),
    ],
)
def test_what_cannot_be_folded_is_named(options, message):
    model = with_trained_omega(sublayer_scaling="admin", **options)
    with pytest.raises(UserError, match=message):
        folded(model, sublayer_scaling="admin", **options)


def test_several_models_in_one_are_refused():
    """Parameters of ``multilingual_realformer`` have the pair of languages in front."""
    model = with_trained_omega(sublayer_scaling="admin")
    state = {f"models.en-fr.{name}": value for name, value in model.state_dict().items()}
    with pytest.raises(UserError, match="layers of the encoder are missing"):
        fold_omega(state, arguments(sublayer_scaling="admin"))


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_an_omega_of_zero_is_named(value):
    model = with_trained_omega(sublayer_scaling="admin")
    with torch.no_grad():
        model.decoder.layers[1].ffn_residual.omega[3] = value
    with pytest.raises(UserError, match="decoder.layers.1.ffn_residual.omega is zero or not fin"):
        folded(model, sublayer_scaling="admin")


def test_the_average_of_weights_belongs_to_the_training_before():
    args = arguments(sublayer_scaling="admin")
    model = with_trained_omega(sublayer_scaling="admin")
    state = dict(
        cfg={"model": args, "common": {}},
        model=dict(model.state_dict()),
        last_optimizer_state={},
        extra_state={"ema": {}, "epoch": 3},
    )
    fold_state(state)
    assert "last_optimizer_state" not in state and state["extra_state"] == {"epoch": 3}


def generate(data, checkpoint, *options):
    command = ["fairseq-generate", data, "--path", checkpoint, "--gen-subset", "test", "--cpu"]
    command += ["--beam", 2, "--max-len-b", 10, "--required-batch-size-multiple", 1]
    result = run(*command, *options)
    return [line for line in result.stdout.splitlines() if line.startswith(("H-", "P-"))]


def scores(lines):
    """Numbers of H- and P- lines, and the rest of each."""
    values = [[float(x) for x in line.split("\t")[1].split()] for line in lines]
    words = [(line.split("\t")[0], line.split("\t")[2:]) for line in lines]
    return values, words


@pytest.fixture(scope="module")
def trained_with_admin(prepared, tmp_path_factory):
    """After ten updates with a large learning rate omega is no longer constant."""

    def make(mode):
        folder = tmp_path_factory.mktemp("admin " + mode)
        options = ["--sublayer-scaling", "admin", "--residual-attention", mode]
        train(prepared / "data-bin", folder, *options, "--max-update", 10, "--no-epoch-checkpoints")
        state = torch.load(folder / "checkpoint_last.pt", weights_only=True)["model"]
        omegas = [value for name, value in state.items() if name.endswith(".omega")]
        assert len(omegas) == 10 and all(len(omega.unique()) > 10 for omega in omegas)
        return folder / "checkpoint_last.pt"

    return make


@pytest.mark.parametrize("mode", ["none", pytest.param("mean", marks=pytest.mark.slow)])
def test_command_line(trained_with_admin, prepared, tmp_path, mode):
    """With --residual-attention none, fairseq needs nothing of ours for the result."""
    checkpoint, output = trained_with_admin(mode), tmp_path / "folded model.pt"
    result = run(PROJECT / "scripts/fold_admin.sh", "--checkpoint", checkpoint, "--output", output)
    assert "no longer share embeddings" in result.stdout
    assert ("plain fairseq transformer" in result.stdout) == (mode == "none")
    if mode == "none" and fairseq.__version__ == "0.12.2":
        checkpoint_utils.load_model_ensemble([str(output)])
        pytest.skip("its own Transformer does not translate: 'Mask Type should be defined'")
    ours = ["--user-dir", PROJECT / "realformer_fairseq"]
    expected = generate(prepared / "data-bin", checkpoint, *ours)
    actual = generate(prepared / "data-bin", output, *([] if mode == "none" else ours))
    assert len(actual) == 40
    (expected_scores, expected_words), (actual_scores, words) = scores(expected), scores(actual)
    assert [word for word in words if "H-" in word[0]] == [
        word for word in expected_words if "H-" in word[0]
    ]
    for one, other in zip(actual_scores, expected_scores):
        assert one == pytest.approx(other, abs=2e-4)  # printed with four digits


def test_mistakes_are_one_line(trained, tmp_path):
    script = PROJECT / "scripts/fold_admin.sh"
    checkpoint = trained / "checkpoint_last.pt"
    output = tmp_path / "out.pt"
    result = run(script, "--checkpoint", checkpoint, "--output", output, check=False)
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        f"fold_admin.sh: --checkpoint {checkpoint}: there is no omega in it "
        "(--sublayer-scaling none)"
    ]
    assert list(tmp_path.iterdir()) == []
    truncated = tmp_path / "truncated.pt"
    shutil.copy(checkpoint, truncated)
    truncated.write_bytes(truncated.read_bytes()[:5000])
    result = run(script, "--checkpoint", truncated, "--output", output, check=False)
    assert result.returncode == 1 and "truncated" in result.stderr
    assert not output.exists()
