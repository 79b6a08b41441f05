"""``realformer_lm`` against fairseq's ``transformer_lm``, and what language models are used for."""

import argparse
import copy
import math

import pytest
import torch
from checkpoint_files import average
from conftest import preprocess_text, write_lines
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY, build_model
from fairseq.models.transformer_lm import base_lm_architecture, transformer_lm_baevski_wiki103
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.masked_lm import MaskedLMTask
from fairseq.tasks.sentence_prediction import SentencePredictionTask
from fairseq.tasks.translation import TranslationTask
from fairseq_cli import eval_lm
from fairseq_mains import COMMON, configuration, load, train, words
from models import EOS, PAD, TASK, arguments, assert_close, build, without_dropout
from omegaconf import OmegaConf

from realformer_fairseq import RealFormerLanguageModel
from realformer_fairseq.modules.sublayer_scaling import deepnorm
from realformer_runtime.command_line import UserError

ARCH = "realformer_lm"
CHAINED = ("mean", "sum")
CUTOFFS = dict.fromkeys(("adaptive_input_cutoff", "adaptive_softmax_cutoff"), "10,20")
ADAPTIVE = dict(adaptive_input=True, adaptive_input_factor=2, adaptive_softmax_factor=2, **CUTOFFS)
CHARACTERS = dict(character_embeddings=True, character_filters="[(1, 4), (2, 8)]")
SHARED = dict(share_decoder_input_output_embed=True)
VARIANTS = {
    "Pre-LN": {},
    "Pre-LN without the last norm": dict(no_decoder_final_norm=True),
    "Post-LN": dict(decoder_normalize_before=False),
    "adaptive input and softmax": ADAPTIVE,
    "tied": dict(**ADAPTIVE, tie_adaptive_weights=True, tie_adaptive_proj=True),
    "shared embeddings": SHARED,
    "narrow shared embeddings": dict(**SHARED, decoder_input_dim=12, decoder_output_dim=12),
    "characters": CHARACTERS,
    "learned positions": dict(decoder_learned_pos=True),
    "LayerDrop": dict(decoder_layerdrop=0.5, decoder_layers=6),
}


def build_vanilla(**given):
    torch.manual_seed(1)
    args = arguments(ARCH, **given)
    args.arch = "transformer_lm"
    return build_model(args, TASK)


def sentences():
    """``(3, 7)``, each after ``</s>``; the last two end in padding."""
    tokens = torch.randint(4, 44, (3, 7), generator=torch.Generator().manual_seed(3))
    tokens[:, 0] = EOS
    tokens[1, 5:] = tokens[2, 2:] = PAD
    return tokens


def outputs(model, tokens):
    """What a loss is computed of: the logits, without those at padding, in one dimension."""
    found, softmax = model(tokens)[0], model.decoder.adaptive_softmax
    parts = [found[tokens.ne(PAD)]] if softmax is None else softmax(found, tokens.clone())[0]
    return torch.cat([part.flatten() for part in parts if part is not None])


def log_probabilities(model, tokens):
    return model.get_normalized_probs(model(tokens), log_probs=True)


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("given", VARIANTS.values(), ids=VARIANTS.keys())
def test_none_equals_fairseqs_and_the_same_seed_gives_the_same_parameters(given, training):
    vanilla, ours = build_vanilla(**given), build(ARCH, residual_attention="none", **given)
    state = ours.state_dict()
    assert state.keys() == vanilla.state_dict().keys()
    for name, value in vanilla.state_dict().items():
        if not name.endswith("_float_tensor"):  # of fairseq 0.12.2: only its type is used
            assert torch.equal(state[name], value), name
    tokens, found = sentences(), []
    for model in (vanilla, ours):
        without_dropout(model).train(training)
        if given.get("decoder_layerdrop"):
            model.decoder.layers.p = 0.5
        torch.manual_seed(2)
        found.append(outputs(model, tokens))
        found[-1].pow(2).mean().backward()
    assert_close(found[1], found[0])
    gradients = dict(ours.named_parameters())
    for name, parameter in vanilla.named_parameters():
        assert (parameter.grad is None) == (gradients[name].grad is None), name
        if parameter.grad is not None:
            expected = parameter.grad
            torch.testing.assert_close(gradients[name].grad, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("mode", CHAINED)
def test_scores_are_carried_and_every_parameter_is_trained(mode):
    none, ours = (build(ARCH, residual_attention=m).eval() for m in ("none", mode))
    found = [log_probabilities(model, sentences()) for model in (none, ours)]
    assert (found[0] - found[1]).abs().max() > 1e-3
    found[1].pow(2).mean().backward()
    assert all(parameter.grad is not None for parameter in ours.parameters())


def test_deepnorm_is_that_of_a_decoder_alone():
    """Its paper: alpha is (2M)^(1/4), beta (8M)^(-1/4), of Xavier's normal distribution."""
    sizes = dict(decoder_embed_dim=64, decoder_ffn_embed_dim=96, decoder_layers=4)
    model = build(ARCH, sublayer_scaling="deepnorm", **sizes)
    alpha, beta = 8**0.25, 32**-0.25
    assert deepnorm("decoder", 0, 4) == pytest.approx((alpha, beta))
    for layer in model.decoder.layers:
        assert not layer.normalize_before
        assert layer.self_attn_residual.omega == pytest.approx(alpha)
        for weight, gain in (
            (layer.fc1.weight, beta),
            (layer.self_attn.v_proj.weight, beta),
            (layer.self_attn.q_proj.weight, 1),
        ):
            assert weight.std().item() == pytest.approx(gain * (2 / sum(weight.shape)) ** 0.5, 0.1)


def test_the_analytic_omega_counts_two_sublayers_a_layer():
    omega = build(ARCH, sublayer_scaling="admin-analytic").decoder.layers[0].ffn_residual.omega
    assert_close(omega, torch.full((16,), math.sqrt(7 / math.log(7) - 1)))


@pytest.mark.parametrize("name", ["Pre-LN", "Post-LN", "tied", "characters"])
@pytest.mark.parametrize("mode", CHAINED)
def test_token_by_token_equals_the_full_pass_and_padding_changes_nothing(mode, name):
    """States are permuted, one doubled and one dropped, between the steps."""
    model = build(ARCH, residual_attention=mode, **VARIANTS[name]).eval()
    tokens, order = sentences(), torch.tensor([2, 0, 2])
    with torch.no_grad():
        together = model(tokens)[0]
        for row, expected in zip(tokens, together):
            length = int(row.ne(PAD).sum())
            assert_close(model(row[None, :length])[0][0], expected[:length])
        tokens = tokens.where(tokens.ne(PAD), torch.tensor(7))
        state, before = {}, torch.empty(3, 0, dtype=torch.long)
        for step in tokens.split(1, dim=1):
            before = torch.cat([before, step], dim=1)
            output = model.decoder(before, incremental_state=state)[0]
            assert_close(output[:, -1], model(before)[0][:, -1])
            model.decoder.reorder_incremental_state_scripting(state, order)
            before = before[order]


@pytest.mark.parametrize("mode", CHAINED)
def test_beams_that_go_on_from_prefixes_have_the_scores_of_full_passes(mode):
    """Also after fairseq has prepared the model for generation."""
    model = build(ARCH, residual_attention=mode).eval()
    prepared = build(ARCH, residual_attention=mode)
    prepared.make_generation_fast_()
    prefixes = sentences()[:, 1:]
    sample = {"net_input": {"src_tokens": prefixes, "src_lengths": prefixes.ne(PAD).sum(1)}}
    search = SequenceGenerator([prepared], TASK.target_dictionary, beam_size=3, max_len_b=9)
    for prefix, beams in zip(prefixes, search.generate([prepared], sample, prefix_tokens=prefixes)):
        prefix = prefix[prefix.ne(PAD)]
        assert len(beams) == 3
        for beam in beams:
            tokens = beam["tokens"]
            assert torch.equal(tokens[: len(prefix)], prefix)
            previous = torch.cat([torch.tensor([EOS]), tokens[:-1]])[None]
            expected = log_probabilities(model, previous)[0].gather(1, tokens[:, None])[:, 0]
            assert_close(beam["positional_scores"], expected.detach())


@pytest.mark.parametrize("mode", CHAINED)
def test_torchscript_of_the_decoder(mode):
    """As fairseq's, the whole model does not script: its forward takes any arguments."""
    decoder = build(ARCH, residual_attention=mode).eval().decoder
    assert_close(torch.jit.script(decoder)(sentences())[0], decoder(sentences())[0])


@pytest.mark.parametrize("kept", ["0,2", [0, 2]], ids=str)
def test_layers_to_keep_are_taken_from_a_deeper_checkpoint(kept):
    deep = build(ARCH)
    args = arguments(ARCH, decoder_layers_to_keep=kept)
    pruned = RealFormerLanguageModel.build_model(args, TASK)
    assert (args.decoder_layers, args.decoder_layers_to_keep) == (2, None)
    pruned.load_state_dict(deep.state_dict())
    for layer, number in zip(pruned.decoder.layers, (0, 2)):
        assert torch.equal(layer.fc1.weight, deep.decoder.layers[number].fc1.weight)


@pytest.mark.parametrize("kind", [lambda sizes: argparse.Namespace(**sizes), OmegaConf.create])
def test_options_that_a_checkpoint_lacks_are_filled_in(kind):
    sizes = dict(decoder_embed_dim=16, decoder_ffn_embed_dim=24, decoder_attention_heads=2)
    model = RealFormerLanguageModel.build_model(kind({**sizes, "tokens_per_sample": 32}), TASK)
    assert (str(model.cfg.residual_attention), model.max_positions()) == ("mean", 32)
    assert len(model.decoder.layers) == 6 and model.decoder.layers[0].normalize_before


def test_yaml():
    """A list may be a list or text; the task has its own options; a misspelt one is named."""
    given = {"_name": "realformer_lm_tiny", "tokens_per_sample": 9, **ADAPTIVE}
    given["adaptive_input_cutoff"] = [10, 20]
    assert build_model(OmegaConf.create(given), TASK).max_positions() == 9
    task, of_model = copy.copy(TASK), {**given}
    task.args = argparse.Namespace(tokens_per_sample=7, max_target_positions=None)
    del of_model["tokens_per_sample"]
    assert build_model(OmegaConf.create(of_model), task).max_positions() == 7
    with pytest.raises(UserError, match="model.decoder_layer: .*is model.decoder_layers meant"):
        build_model(OmegaConf.create({**given, "decoder_layer": 3}), TASK)
    with pytest.raises(UserError, match="--residual-chains encoder: this model has one chain"):
        build_model(OmegaConf.create({**given, "residual_chains": "encoder"}), TASK)
    normformer = build_model(OmegaConf.create({**given, "scale_heads": True}), TASK)
    assert normformer.decoder.layers[0].c_attn is not None


FAIRSEQS = {
    "realformer_lm": base_lm_architecture,
    "realformer_lm_wiki103": transformer_lm_baevski_wiki103,
}


@pytest.mark.parametrize("name", FAIRSEQS)
def test_architectures_are_fairseqs(name):
    ours, vanilla = argparse.Namespace(), argparse.Namespace()
    ARCH_CONFIG_REGISTRY[name](ours)
    FAIRSEQS[name](vanilla)
    assert vars(ours).items() >= vars(vanilla).items()
    assert (ours.residual_attention, ours.sublayer_scaling) == ("mean", "none")


@pytest.mark.parametrize(
    "flags, pre_ln",
    [
        ((), True),
        (("--decoder-normalize-after",), False),
        (("--sublayer-scaling", "admin"), False),
        (("--sublayer-scaling", "admin", "--decoder-normalize-before"), True),  # is refused later
    ],
)
@pytest.mark.parametrize("arch", ["realformer_lm_wiki103", "realformer_lm_tiny"])
def test_where_the_norms_are(arch, flags, pre_ln):
    cfg = configuration("data", "--task", "language_modeling", "--arch", arch, *flags)
    assert cfg.model.decoder_normalize_before is pre_ln


@pytest.mark.parametrize(
    "given, message",
    [
        (dict(base_layers=1), "--base-layers 1"),
        (dict(decoder_attention_heads=3), "--decoder-attention-heads 3: does not divide"),
        (dict(residual_attention="max"), "--residual-attention max: choose one of mean, sum, none"),
        (dict(decoder_layers_to_keep="0,7"), "--decoder-layers-to-keep 0,7: the layers are 0 to 2"),
        (
            dict(sublayer_scaling="admin", decoder_normalize_before=True),
            "--sublayer-scaling admin cannot be used with --decoder-normalize-before",
        ),
        (dict(adaptive_input=True), "--adaptive-input needs --adaptive-input-cutoff"),
        (dict(adaptive_softmax_cutoff="exit(3)"), r"--adaptive-softmax-cutoff exit\(3\): is not a"),
        ({**ADAPTIVE, "adaptive_input_cutoff": "a"}, "--adaptive-input-cutoff a: is not a comma"),
        ({**ADAPTIVE, "adaptive_input_cutoff": "20,10"}, "--adaptive-input-cutoff 20,10: .* rise"),
        (dict(adaptive_softmax_cutoff="10,900"), "-softmax-cutoff 10,900: the dictionary has 44 w"),
        ({**CHARACTERS, "character_filters": "exit(3)"}, r"--character-filters exit\(3\): is not"),
        (dict(**SHARED, **ADAPTIVE), "--share-decoder-input-output-embed .* --adaptive-input"),
        (dict(**SHARED, decoder_output_dim=12), "--decoder-output-dim 12: .* --decoder-input-dim"),
        (dict(tie_adaptive_weights=True), "--tie-adaptive-weights needs --adaptive-input"),
        (
            {**ADAPTIVE, "tie_adaptive_weights": True, "adaptive_input_cutoff": "10"},
            "the same --adaptive-input-cutoff and --adaptive-softmax-cutoff, not 10 and 10,20",
        ),
    ],
)
def test_what_cannot_work_is_refused(given, message):
    with pytest.raises(UserError, match=message):
        build(ARCH, **given)


@pytest.mark.parametrize(
    "arch, task, message",
    [
        (ARCH, TranslationTask, "--task translation: a realformer_lm is for --task language_model"),
        (ARCH, MaskedLMTask, "--task masked_lm: a realformer_lm is for --task language_modeling"),
        ("realformer", MaskedLMTask, "--task masked_lm needs --arch realformer_masked_lm"),
        (
            "realformer",
            SentencePredictionTask,
            "--task sentence_prediction needs --arch realformer_masked_lm",
        ),
    ],
)
def test_the_task_of_another_model_is_refused(arch, task, message):
    with pytest.raises(UserError, match=message):
        ARCH_MODEL_REGISTRY[arch].build_model(arguments(arch), object.__new__(task))


TRAINING = """
    --task language_modeling --sample-break-mode eos --tokens-per-sample 32 --max-tokens 200
    --decoder-layers 2 --decoder-embed-dim 16 --decoder-ffn-embed-dim 24 --decoder-attention-heads 2
    --decoder-output-dim 16 --decoder-input-dim 16 --optimizer adam --lr 0.01 --num-workers 0
    --max-update 4 --save-interval-updates 2 --no-epoch-checkpoints --seed 1
""".split()
ARCHITECTURES = {
    "realformer_lm_tiny": (),
    "realformer_lm_wiki103": (
        *("--adaptive-input-cutoff", "15,30", "--adaptive-softmax-cutoff", "15,30"),
        *("--adaptive-input-factor", 2, "--adaptive-softmax-factor", 2),
        *("--criterion", "adaptive_loss", "--ddp-backend", "legacy_ddp"),
    ),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    generator = torch.Generator().manual_seed(1)
    for split, size in (("train", 60), ("valid", 12)):
        lengths = torch.randint(2, 9, (size,), generator=generator).tolist()
        lines = [torch.randint(40, (n,), generator=generator).tolist() for n in lengths]
        write_lines(folder / split, (" ".join(f"w{n}" for n in line) for line in lines))
    preprocess_text(folder, folder / "data bin")
    return folder / "data bin"


@pytest.fixture(scope="module", params=ARCHITECTURES)
def trained_lm(request, corpus, tmp_path_factory):
    """A folder with checkpoints of the updates 2 and 4, and with the dictionary."""
    folder = tmp_path_factory.mktemp("language model")
    given = ("--save-dir", folder, "--arch", request.param, *ARCHITECTURES[request.param])
    train(corpus, *COMMON, *TRAINING, *given)
    (folder / "dict.txt").write_bytes((corpus / "dict.txt").read_bytes())
    return folder


def perplexity(corpus, path):
    """As fairseq-eval-lm prints it."""
    line = words(corpus, "--path", path, *COMMON, "--gen-subset", "valid", "--num-workers", 0)
    line += ["--sample-break-mode", "eos", "--max-tokens", "100"]
    cfg = convert_namespace_to_omegaconf(
        options.parse_args_and_arch(options.get_eval_lm_parser(), line)
    )
    return eval_lm.main(cfg)["perplexity"]


def test_trained_averaged_evaluated_and_asked_from_python(trained_lm, corpus, monkeypatch):
    averaged = trained_lm / "average.pt"
    inputs = [trained_lm / name for name in ("checkpoint_1_2.pt", "checkpoint_last.pt")]
    assert average("--inputs", *inputs, "--output", averaged) is None
    one, other, mean = (load(path)["model"] for path in (*inputs, averaged))
    name = "decoder.layers.1.fc1.weight"
    assert_close(mean[name], (one[name] + other[name]) / 2)

    monkeypatch.chdir(trained_lm.parent)
    hub = RealFormerLanguageModel.from_pretrained(trained_lm.name, "average.pt")
    (model,), scores = hub.models, []
    lines = (corpus.parent / "valid").read_text().splitlines()
    for line in lines:
        target = hub.encode(line)
        previous = torch.cat([torch.tensor([EOS]), target[:-1]])[None]
        found = log_probabilities(model, previous)[0].gather(1, target[:, None])[:, 0]
        scores.append(found.detach())
    expected = math.exp(-torch.cat(scores).mean())
    assert float(perplexity(corpus, averaged)) == pytest.approx(expected, rel=1e-4)
    for found, expected in zip(hub.score(lines), scores):
        assert_close(found["positional_scores"], expected[:-1])  # fairseq leaves </s> out

    prefixes = ["w1 w2 w3", "w4"]
    torch.manual_seed(1)
    sampled = hub.sample(prefixes, sampling=True, sampling_topk=5, max_len_b=12)
    assert all(text.startswith(prefix) for text, prefix in zip(sampled, prefixes))
    hub.cfg.dataset.max_tokens = 4  # a batch each
    apart = dict(beam=4, diverse_beam_groups=2, max_len_b=12)
    beams = hub.generate([hub.encode(prefix) for prefix in prefixes], **apart)
    assert [len(hypotheses) for hypotheses in beams] == [4, 4]


@pytest.mark.parametrize(
    "name, message",
    [
        ("checkpoint_file", "checkpoint_file: no such file: '.*none.pt'"),
        ("data_name_or_path", "data_name_or_path: no such file: '.*/nowhere/dict.txt'"),
    ],
)
def test_what_is_missing_is_named(name, message, tmp_path):
    args = arguments(ARCH)
    state = {"cfg": {"model": vars(args), "task": {}}, "model": build(ARCH).state_dict()}
    torch.save(state, tmp_path / "model.pt")
    given = {name: "none.pt" if name == "checkpoint_file" else "./nowhere"}
    with pytest.raises(UserError, match=message):
        RealFormerLanguageModel.from_pretrained(tmp_path, **given)
