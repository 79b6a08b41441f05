"""Folding omega away leaves what a model computes as it was."""

import argparse
import functools
import json
import math
import sys

import fairseq
import language_models
import pytest
import torch
from commands import error_of, outcome
from conftest import PROJECT, run
from fairseq import checkpoint_utils
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq_mains import SEARCH, generate, lines_by_kind, log_of_training, numbers
from hubs import randomize
from models import TASK, arguments, assert_close, batch, logits, with_trained_omega

from realformer_fairseq.checkpoints import folding
from realformer_fairseq.checkpoints.folding import fold_omega, fold_state
from realformer_runtime.command_line import UserError

SHARED = dict(share_all_embeddings=True)
VARIANTS = {
    "shared embeddings": SHARED,
    "tied decoder embeddings": dict(share_decoder_input_output_embed=True),
    "no shared embeddings": {},
    "learned positions": dict(encoder_learned_pos=True, decoder_learned_pos=True),
    "no positions": dict(no_token_positional_embeddings=True),
    "layernorm embedding": dict(layernorm_embedding=True, no_scale_embedding=True),
    "narrow decoder": dict(decoder_embed_dim=12, decoder_input_dim=12, decoder_output_dim=12),
    "layernorm embedding, shared": dict(layernorm_embedding=True, **SHARED),
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
    fold_omega(state, args, model.stacks)
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
    assert_close(logits(other, *batch()), logits(model, *batch()))
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


MASKED, LM = "realformer_masked_lm", "realformer_lm"
LANGUAGE_MODELS = [
    (MASKED, {}),
    (MASKED, dict(layernorm_embedding=False, token_types=2)),
    (MASKED, dict(layernorm_embedding=False, untie_weights_roberta=True)),
    (MASKED, dict(layernorm_embedding=False, encoder_learned_pos=False, token_types=2)),
    (LM, {}),
    (LM, dict(share_decoder_input_output_embed=True)),
    (LM, dict(layernorm_embedding=True, decoder_learned_pos=True)),
    (LM, dict(adaptive_softmax_cutoff="10,20")),
]


@pytest.mark.parametrize(
    "arch, variant", [v for v in LANGUAGE_MODELS if v[0] in language_models.ALL]
)
@pytest.mark.parametrize("mode", ["mean", "none"])
def test_language_models_stay_the_same(arch, variant, mode):
    """A masked one by its prediction: its output is also tied to the embeddings."""
    options = dict(arch=arch, residual_attention=mode, sublayer_scaling="admin", **variant)
    options["max_positions"] = 64
    model = with_trained_omega(**options)
    other, args = folded(model, **options)
    source = batch()[0].flip(1)
    assert_close(other.eval()(source)[0], model(source)[0])
    if arch == MASKED:
        head, embeddings = other.encoder.lm_head, other.encoder.sentence_encoder.embed_tokens
        assert (head.weight is embeddings.weight) != variant.get("untie_weights_roberta", False)


PREDICT = """\
import json, sys, torch
from fairseq import checkpoint_utils
for path in sys.argv[2:]:
    (model,), _ = checkpoint_utils.load_model_ensemble([path], {"data": sys.argv[1]})
    source = torch.tensor([[4, 9, 7, 2]])
    print(json.dumps([type(model).__name__, model.eval()(source)[0].tolist()]))
assert not any(name.startswith("realformer") for name in sys.modules)
"""


@pytest.mark.slow
def test_without_scores_language_models_are_fairseqs(tmp_path):
    """fairseq loads them without this plugin, with the same output."""
    data, expected, paths = language_models.write_data(tmp_path, splits=()), [], []
    for arch, theirs in language_models.PAIRS:
        given, output = tmp_path / "given.pt", tmp_path / f"{arch}.pt"
        options = ["--sublayer-scaling", "admin", "--residual-attention", "none"]
        options += ["--optimizer", "radam"]
        if arch == MASKED:
            options += ["--criterion", "masked_lm_with_accuracy"]
        model = language_models.save(given, data, arch, *options)
        error, said, _ = outcome(folding, "--checkpoint", given, "--output", output)
        assert error is None and f"is a plain fairseq {theirs}: no" in said.decode()
        expected.append(model(torch.tensor([[4, 9, 7, 2]]))[0])
        paths.append(output)
    printed = run(sys.executable, "-c", PREDICT, data, *paths, cwd=tmp_path).stdout.splitlines()
    names, outputs = zip(*map(json.loads, printed))
    assert names == ("RobertaModel", "TransformerLanguageModel")[: len(paths)]
    for output, logits_before in zip(outputs, expected):
        assert_close(torch.tensor(output), logits_before)


@pytest.mark.parametrize(
    "options, remark",
    [
        (["--token-types", 2], "stays ours: fairseq's roberta has no --token-types"),
        (["--layer-norm-eps", 1e-12], "stays ours: fairseq's roberta has no --layer-norm-eps"),
    ],
)
def test_masked_language_models_that_stay_ours(options, remark, tmp_path):
    data = language_models.write_data(tmp_path, splits=())
    scaling = ["--sublayer-scaling", "admin", "--residual-attention", "none", *options]
    model = language_models.save(tmp_path / "a.pt", data, MASKED, *scaling)
    files = ["--checkpoint", tmp_path / "a.pt", "--output", tmp_path / "b.pt"]
    error, said, _ = outcome(folding, *files)
    assert error is None and remark in said.decode() and "plain" not in said.decode()
    overrides = {"data": str(data)}
    (other,), _ = checkpoint_utils.load_model_ensemble([str(tmp_path / "b.pt")], overrides)
    source = torch.tensor([[4, 9, 2, 7, 2]])
    assert type(other) is type(model) and other.cfg.sublayer_scaling == "none"
    assert_close(other.eval()(source)[0], model(source)[0])


@pytest.mark.parametrize("first", [1, 2])
def test_a_first_omega_of_1_leaves_the_embeddings_shared(first):
    """Else the decoder's own stay tied."""
    model = with_trained_omega(sublayer_scaling="admin", **SHARED)
    for stack in (model.encoder, model.decoder):
        torch.nn.init.constant_(stack.layers[0].self_attn_residual.omega, first)
    other, args = folded(model, sublayer_scaling="admin", **SHARED)
    assert_close(logits(other, *batch()), logits(model, *batch()))
    assert other.decoder.output_projection.weight is other.decoder.embed_tokens.weight
    assert (args.share_all_embeddings, args.encoder_learned_pos) == (first == 1, first != 1)
    assert first == 1 or args.share_decoder_input_output_embed
    same = torch.equal(other.encoder.embed_tokens.weight, model.encoder.embed_tokens.weight)
    assert same == (first == 1)


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
    state = with_trained_omega(sublayer_scaling="admin").state_dict()
    state = {f"models.en-fr.{name}": value for name, value in state.items()}
    with pytest.raises(UserError, match="layers of the encoder are missing"):
        fold_omega(state, arguments(sublayer_scaling="admin"))


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_an_omega_of_zero_is_named(value):
    model = with_trained_omega(sublayer_scaling="admin")
    with torch.no_grad():
        model.decoder.layers[1].ffn_residual.omega[3] = value
    with pytest.raises(UserError, match="decoder.layers.1.ffn_residual.omega is zero or not fin"):
        folded(model, sublayer_scaling="admin")


def test_numbers_that_folding_makes_too_large_are_named():
    model = with_trained_omega(sublayer_scaling="admin").half().state_dict()
    model["encoder.layers.1.fc1.weight"].fill_(6e4)
    with pytest.raises(UserError, match=r"layers.1.fc1.weight is too large for torch.float16 with"):
        fold_omega(model, arguments(sublayer_scaling="admin"))
    model = with_trained_omega(sublayer_scaling="admin").state_dict()
    model["encoder.layers.1.fc1.weight"][0, 0] = float("nan")
    with pytest.raises(UserError, match="layers.1.fc1.weight is not finite"):
        fold_omega(model, arguments(sublayer_scaling="admin"))


def test_options_that_a_checkpoint_lacks_are_fairseqs_defaults():
    model = dict(with_trained_omega(sublayer_scaling="admin").state_dict())
    fold_state({"model": model, "cfg": {"model": argparse.Namespace()}})
    assert (
        len(model["encoder.embed_positions.weight"])
        == len(model["decoder.embed_positions.weight"])
        == 1024 + 2
    )
    model = dict(with_trained_omega(sublayer_scaling="admin").state_dict())
    state = {"model": model, "cfg": {"model": argparse.Namespace(max_source_positions="x")}}
    with pytest.raises(UserError, match="trained with x positions in the encoder"):
        fold_state(state)


def test_the_average_of_weights_belongs_to_the_training_before():
    model = with_trained_omega(sublayer_scaling="admin")
    state = {"cfg": {"model": arguments(sublayer_scaling="admin"), "common": {}}}
    state |= {"model": dict(model.state_dict()), "last_optimizer_state": {}}
    state["extra_state"] = {"ema": {}, "ema_fp32_params": {}, "epoch": 3}
    assert any("EMA weights are left out" in remark for remark in fold_state(state))
    assert "last_optimizer_state" not in state and state["extra_state"] == {"epoch": 3}


@pytest.fixture(scope="module")
def fold(prepared, tmp_path_factory):
    """Makes ``(checkpoint, folded, what the command printed)`` by the name of residual attention.

    Random weights give each sentence a translation of its own. After ten updates with a large
    learning rate omega is no longer constant.
    """

    @functools.cache
    def make(mode):
        folder = tmp_path_factory.mktemp("fold")
        options = ["--sublayer-scaling", "admin", "--residual-attention", mode, "--max-update", 10]
        # What only the plugin has must not be left in a plain transformer.
        options += ["--optimizer", "radam", "--tokenizer", "realformer_moses"]
        log_of_training(prepared / "data-bin", folder, *options, "--no-epoch-checkpoints")
        checkpoint = randomize(folder / "checkpoint_last.pt", folder / "random.pt")
        output = folder / "folded model.pt"
        error, said, _ = outcome(folding, "--checkpoint", checkpoint, "--output", output)
        assert error is None
        return checkpoint, output, said.decode()

    return make


@pytest.mark.parametrize("mode", ["none", pytest.param("mean", marks=pytest.mark.slow)])
def test_command_line(fold, prepared, mode):
    """With --residual-attention none, fairseq needs nothing of ours for the result."""
    checkpoint, output, said = fold(mode)
    state = torch.load(checkpoint, weights_only=True)["model"]
    omegas = [value for name, value in state.items() if name.endswith(".omega")]
    assert len(omegas) == 10 and all(len(omega.unique()) > 10 for omega in omegas)
    assert "no longer share embeddings" in said
    assert ("plain fairseq transformer" in said) == (mode == "none")
    if mode == "none" and fairseq.__version__ == "0.12.2":
        checkpoint_utils.load_model_ensemble([str(output)])
        pytest.skip("its own Transformer does not translate: 'Mask Type should be defined'")
    expected = generate(prepared / "data-bin", checkpoint)
    if mode == "mean":
        actual = generate(prepared / "data-bin", output)
    else:
        command = ["fairseq-generate", prepared / "data-bin", "--path", output, "--cpu"]
        actual = lines_by_kind(run(*command, *SEARCH).stdout)
    assert len(actual["H"]) == 20
    for kind in "HP":
        for number, texts in actual[kind].items():
            for one, other in zip(numbers(texts), numbers(expected[kind][number])):
                assert one == pytest.approx(other, abs=2e-4)  # printed with four digits
    assert actual["D"].keys() == expected["D"].keys()
    for number, (text,) in actual["D"].items():
        assert text.split("\t")[1] == expected["D"][number][0].split("\t")[1]


USER_DIR = ("--user_dir", PROJECT / "realformer_fairseq")


@pytest.fixture
def convert(prepared, tmp_path, monkeypatch):
    """ct2-fairseq-converter of a checkpoint, in this process, into ``converted``."""
    reason = "not the extra converters"
    converter = pytest.importorskip("ctranslate2.converters.fairseq", reason=reason)

    def convert(checkpoint):
        line = ["--model_path", checkpoint, "--data_dir", prepared / "data-bin", *USER_DIR]
        line += ["--output_dir", tmp_path / "converted"]
        monkeypatch.setattr(sys, "argv", ["ct2-fairseq-converter", *map(str, line)])
        converter.main()

    return convert


def test_ctranslate2_translates_with_a_folded_model(fold, prepared, convert, tmp_path):
    """CTranslate2 781: it looks for the options in ``args``, as attributes, or in ``cfg``."""
    import ctranslate2

    checkpoint, output, _ = fold("none")
    convert(output)
    greedy = generate(prepared / "data-bin", checkpoint, "--beam", 1)
    sources = [greedy["S"][number][0].split() for number in greedy["S"]]
    targets = [greedy["H"][number][0].split("\t")[1].split() for number in greedy["S"]]
    assert len(set(map(tuple, targets))) > 10
    translator = ctranslate2.Translator(str(tmp_path / "converted"), intra_threads=1)
    found = translator.translate_batch(sources, beam_size=1, max_decoding_length=12)
    assert [hypothesis.hypotheses[0] for hypothesis in found] == targets
    for number, scores in zip(greedy["S"], translator.score_batch(sources, targets)):
        (expected,) = numbers(greedy["P"][number])  # to base 2
        assert [p / math.log(2) for p in scores.log_probs] == pytest.approx(expected, abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), USER_DIR, ("--unsafe_deserialization",)], ids=str)
def test_ctranslate2_converts_a_folded_model_by_itself(fold, prepared, tmp_path, options):
    """In a process that has not imported the plugin."""
    pytest.importorskip("ctranslate2", reason="not the extra converters")
    line = ["--model_path", fold("none")[1], "--data_dir", prepared / "data-bin", *options]
    module = [sys.executable, "-m", "ctranslate2.converters.fairseq"]
    run(*module, *line, "--output_dir", tmp_path / "converted")
    assert (tmp_path / "converted/model.bin").stat().st_size > 50_000


def test_ctranslate2_refuses_residual_scores_by_the_name_of_the_model(trained, convert, tmp_path):
    """CTranslate2 782."""
    words = "Model 'realformer' used by architecture 'realformer_tiny' is not supported"
    with pytest.raises(ValueError, match=words):
        convert(trained / "checkpoint_last.pt")
    assert not (tmp_path / "converted").exists()


def test_a_checkpoint_without_omega_is_named(trained, tmp_path):
    """Damaged ones are in test_bad_input.py."""
    checkpoint = trained / "checkpoint_last.pt"
    error = error_of(folding, "--checkpoint", checkpoint, "--output", tmp_path / "out.pt")
    assert error.startswith(f"fold_admin.sh: --checkpoint {checkpoint}: there is no omega in it")
    assert "\n" not in error and list(tmp_path.iterdir()) == []
