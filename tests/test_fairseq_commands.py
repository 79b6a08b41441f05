"""fairseq's commands on a RealFormer: against fairseq's Transformer with the same weights, and
against forward passes over what was generated."""

import math

import pytest
import torch
from beam_search import forced_scores
from conftest import TRAINING
from fairseq.checkpoint_utils import load_model_ensemble_and_task
from fairseq.logging.progress_bar import SimpleProgressBar
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks.language_modeling import LanguageModelingTask
from fairseq_cli import eval_lm
from fairseq_mains import (
    COMMON,
    generate,
    generate_each,
    interactive_each,
    load,
    numbers,
    printed,
    train,
    validate,
)
from hubs import randomize
from models import arguments

# Two unit intervals of the last printed digit.
PRINTED = 2e-4


@pytest.fixture(scope="module")
def checkpoints(trained, tmp_path_factory):
    """One set of weights as a RealFormer, as one without residual scores, and as a Transformer.

    Random weights, since those of a short training say the same of every sentence.
    """
    folder = tmp_path_factory.mktemp("same weights")
    state = load(randomize(trained / "checkpoint_last.pt", folder / "random.pt"))
    paths = {}
    for name, mode in (("mean", "mean"), ("none", "none"), ("vanilla", "none")):
        model = state["cfg"]["model"]
        model.residual_attention = mode
        if name == "vanilla":
            model.arch = model._name = "transformer"
        paths[name] = folder / f"{name}.pt"
        torch.save(state, paths[name])
    return paths


@pytest.fixture(scope="module")
def data(prepared):
    return prepared / "data-bin"


def soft(text):
    """The probabilities of a soft alignment."""
    return [float(value) for row in text.split() for value in row.split(",")]


def assert_same(one, other):
    """The same words and alignments, and scores within what is printed."""
    assert one.keys() == other.keys()
    for kind, sentences in one.items():
        assert sentences.keys() == other[kind].keys()
        for number, texts in sentences.items():
            expected = other[kind][number]
            if kind in "HDP":
                for found, value in zip(numbers(texts), numbers(expected)):
                    assert found == pytest.approx(value, abs=PRINTED), (kind, number)
            if kind == "A" and "," in texts[0]:
                for text, value in zip(texts, expected):
                    assert soft(text) == pytest.approx(soft(value), abs=PRINTED)
            elif kind != "P":
                words = [[text.split("\t")[-1] for text in group] for group in (texts, expected)]
                assert words[0] == words[1], (kind, number)


def is_same(one, other):
    try:
        assert_same(one, other)
    except AssertionError:
        return False
    return True


class Forced:
    """Log-probabilities, to base 2, of given words under models, from forward passes."""

    def __init__(self, paths, data):
        names = [str(path) for path in paths]
        models, _, task = load_model_ensemble_and_task(names, {"data": str(data)})
        self.models = [model.eval() for model in models]
        self.source, self.target = task.source_dictionary, task.target_dictionary

    def __call__(self, source, target):
        """Of each word of a target and of ``</s>``; sentences of BPE units."""
        source, target = (
            torch.tensor([*map(dictionary.index, text.split(" ")), dictionary.eos()])
            for dictionary, text in ((self.source, source), (self.target, target))
        )
        return (forced_scores(self.models, source[None], target) / math.log(2)).tolist()

    def check(self, lines):
        """Every hypothesis has the scores that forcing it gives."""
        checked = 0
        for number, hypotheses in lines["H"].items():
            for text, scores in zip(hypotheses, numbers(lines["P"][number])):
                words = text.split("\t")[1].replace("<<unk>>", "<unk>")
                if len(words.split(" ")) + 1 < len(scores):
                    continue  # <s> was sampled, which fairseq does not print
                assert scores == pytest.approx(self(lines["S"][number][0], words), abs=PRINTED)
                checked += 1
        assert checked > 0.75 * sum(map(len, lines["H"].values()))


@pytest.fixture(scope="module")
def forced(checkpoints, data):
    return Forced([checkpoints["mean"]], data)


SAMPLED = ("--nbest", 4, "--seed", 3, "--sampling")
KEEP_NUMBERS = "{'encoder_layers_to_keep': [0], 'decoder_layers_to_keep': 1}"
KEEP = "{'encoder_layers_to_keep': '0', 'decoder_layers_to_keep': '1'}"
# Options of fairseq-generate whose scores are log-probabilities of the words.
SEARCHES = {
    "beam": (),
    "greedy": ("--beam", 1),
    "n-best": ("--nbest", 4),
    "prefix": ("--prefix-size", 2),
    "sampling": SAMPLED,
    "sampling from 5": (*SAMPLED, "--sampling-topk", 5),
    "nucleus sampling": (*SAMPLED, "--sampling-topp", 0.5),
    "score-reference": ("--score-reference",),
    "batches of 7": ("--batch-size", 7),
    "right-padded": ("--left-pad-source",),  # fairseq's way to say that it is off
}
# And others.
CHANGED_SCORES = {
    "diverse beams": ("--diverse-beam-groups", 2, "--diverse-beam-strength", 1, "--nbest", 4),
    "alignment": ("--print-alignment",),
    "soft alignment": ("--print-alignment", "soft"),
    "layers to keep": ("--model-overrides", KEEP),
}


@pytest.mark.parametrize("name", [*SEARCHES, *CHANGED_SCORES])
def test_generate(name, checkpoints, data, forced):
    arguments = {**SEARCHES, **CHANGED_SCORES}[name]
    mean, none, vanilla = generate_each(data, checkpoints.values(), *arguments)
    assert vanilla["H"].keys() == set(range(20))
    assert len(set(map(str, vanilla["H"].values()))) == 20  # something else for each sentence
    assert_same(none, vanilla)
    assert is_same(mean, vanilla) == (name == "layers to keep")  # one layer has none below it
    if name in SEARCHES:
        forced.check(mean)


def test_layers_to_keep_may_be_text_or_numbers(checkpoints, data):
    one, other = (
        generate(data, checkpoints["mean"], "--model-overrides", overrides)
        for overrides in (KEEP, KEEP_NUMBERS)
    )
    assert one == other


def test_retained_dropout_is_on_and_repeatable(checkpoints, data):
    """With the same seed, and different with another."""
    path = checkpoints["mean"]
    arguments = ("--retain-dropout", "--retain-dropout-modules", "['RealFormerDecoderLayer']")
    one, again, other = (generate(data, path, *arguments, "--seed", seed) for seed in (3, 3, 4))
    assert one == again and one["H"] != other["H"]
    assert one["H"] != generate(data, path)["H"]


def test_a_tokenizer_without_languages_names_the_flags(checkpoints, data):
    with pytest.raises(ValueError, match="needs --source-lang and --target-lang"):
        generate(data, checkpoints["mean"], "--tokenizer", "realformer_moses")


def test_an_ensemble_with_fairseqs_transformer(checkpoints, data):
    paths = checkpoints["mean"], checkpoints["vanilla"]
    Forced(paths, data).check(generate(data, ":".join(map(str, paths)), "--nbest", 4))


@pytest.mark.parametrize("order", ["ordered", "unordered"])
def test_constrained_decoding(order, checkpoints, data, tmp_path, forced):
    sources = (data.parent / "bpe/test.en").read_text().splitlines()[:2]
    constraints = ["vous pas", "la"]
    text = "".join(f"{s}\t" + c.replace(" ", "\t") + "\n" for s, c in zip(sources, constraints))
    (tmp_path / "input").write_text(text)
    arguments = ("--constraints", order, "--input", tmp_path / "input", "--nbest", 2)
    mean, none, vanilla = interactive_each(data, checkpoints.values(), *arguments)
    assert_same(none, vanilla)
    assert not is_same(mean, vanilla)
    for number, hypotheses in mean["H"].items():
        for hypothesis in hypotheses:
            words = hypothesis.split("\t")[1].split()
            places = [words.index(word) for word in constraints[number].split()]
            assert order == "unordered" or places == sorted(places)
    forced.check(mean)


def test_validate(checkpoints, data, forced, monkeypatch):
    found = {}
    for name, path in checkpoints.items():
        kept = []
        keep = lambda _, stats, kept=kept, **__: kept.append(stats)  # noqa: E731
        monkeypatch.setattr(SimpleProgressBar, "print", keep)
        validate(data, path, "--valid-subset", "test", "--log-format", "simple")
        (found[name],) = map(dict, kept)
    assert found["none"] == pytest.approx(found["vanilla"], rel=1e-4)
    assert found["none"] != pytest.approx(found["mean"], rel=1e-4)
    references = generate(data, checkpoints["mean"], "--score-reference")
    targets = (data.parent / "bpe/test.fr").read_text().splitlines()
    scores = [s for n in range(20) for s in forced(references["S"][n][0], targets[n])]
    assert found["mean"]["nll_loss"] == pytest.approx(-sum(scores) / len(scores), abs=1e-2)


def test_too_long_a_sentence_is_named_or_left_out(checkpoints, data, caplog):
    limit = ("--max-source-positions", 25)
    with pytest.raises(Exception, match=r"sample #\d+ .* max_positions=.25, "):
        generate(data, checkpoints["mean"], *limit)
    with caplog.at_level("WARNING"):
        lines = generate(data, checkpoints["mean"], *limit, "--skip-invalid-size-inputs-valid-test")
    left_out = set(range(20)) - lines["H"].keys()
    assert 0 < len(left_out) < 20 and str(sorted(left_out)[0]) in caplog.text
    assert f"{len(left_out)} samples have invalid sizes" in caplog.text


def test_a_language_model_is_refused(checkpoints, data, tmp_path):
    (tmp_path / "dict.txt").write_text((data / "dict.fr.txt").read_text())
    with pytest.raises(ValueError, match="--task language_modeling needs --arch realformer_lm"):
        printed(eval_lm, tmp_path, "--path", checkpoints["mean"], *COMMON)
    task = object.__new__(LanguageModelingTask)
    with pytest.raises(ValueError, match="--task language_modeling"):
        ARCH_MODEL_REGISTRY["realformer"].build_model(arguments(), task)


def without_languages(training):
    """For tasks that have --lang-pairs, and without dropout."""
    at = training.index("--source-lang")
    return [*training[:at], *training[at + 4 :], "--dropout", "0", "--attention-dropout", "0"]


PAIRS = ("--lang-pairs", "en-fr,fr-en")
DIRECTION = ("--source-lang", "fr", "--target-lang", "en")
MULTI = ("--task", "multilingual_translation", *PAIRS)
HEADS = ("--encoder-attention-heads", 4, "--decoder-attention-heads", 4, "--decoder-embed-dim", 32)


def train_pairs(data, folder, *arguments):
    shared = ["--disable-validation", "--max-update", 3, "--no-epoch-checkpoints"]
    train(data, *COMMON, *without_languages(TRAINING), *shared, "--save-dir", folder, *arguments)
    return folder / "checkpoint_last.pt"


def test_multilingual_translation(data, tmp_path):
    """Shared stacks; without residual scores it is fairseq's multilingual Transformer."""
    paths = {}
    for name, options in (("vanilla", ()), ("ours", ("--sublayer-scaling", "admin-analytic"))):
        arch = "multilingual_realformer" if options else "multilingual_transformer"
        options = ("--arch", arch, *HEADS, "--share-encoders", "--share-decoders", *options)
        paths[name] = train_pairs(data, tmp_path / name, *MULTI, *options)
    state = load(paths["vanilla"])
    for mode in ("none", "mean"):
        model = state["cfg"]["model"]
        model.arch = model._name = "multilingual_realformer"
        model.residual_attention = mode
        paths[mode] = tmp_path / f"{mode}.pt"
        torch.save(state, paths[mode])
    state = load(paths["ours"])
    state["model"] = {k: v for k, v in state["model"].items() if not k.endswith(".omega")}
    paths["without omega"] = tmp_path / "without omega.pt"
    torch.save(state, paths["without omega"])
    found = dict(zip(paths, generate_each(data, paths.values(), *MULTI, *DIRECTION)))
    assert_same(found["none"], found["vanilla"])
    assert not is_same(found["mean"], found["vanilla"])
    assert all(lines["H"].keys() == set(range(20)) for lines in found.values())
    ours = load(paths["ours"])["model"]
    omega = "encoder.layers.0.self_attn_residual.omega"
    assert torch.equal(ours[f"models.fr-en.{omega}"], ours[f"models.en-fr.{omega}"])
    for missing_omega, is_1 in (("one", True), ("initial", False)):
        path, overrides = (
            str(paths["without omega"]),
            dict(missing_omega=missing_omega, data=str(data)),
        )
        (model,), *_ = load_model_ensemble_and_task([path], overrides)
        found = model.state_dict()[f"models.fr-en.{omega}"]
        assert torch.equal(found, torch.ones_like(found)) == is_1


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--arch", "realformer_tiny"), "multilingual_translation needs --arch multilingual_real"),
        (
            ("--arch", "multilingual_realformer", "--sublayer-scaling", "admin", *HEADS),
            "--sublayer-scaling admin cannot be used .* --sublayer-scaling admin-analytic can",
        ),
        (
            ("--arch", "multilingual_realformer", "--encoder-layers-to-keep", 1, *HEADS),
            "--encoder-layers-to-keep cannot be used with --arch multilingual_realformer",
        ),
    ],
)
def test_multilingual_refusals(arguments, message, data, tmp_path):
    with pytest.raises(SystemExit, match=message):
        train_pairs(data, tmp_path, *MULTI, *arguments)


def test_one_model_for_several_languages(data, tmp_path):
    """--task translation_multi_simple_epoch, which takes any realformer, and ADMIN's profile."""
    task = ("--task", "translation_multi_simple_epoch", *PAIRS, "--decoder-langtok")
    options = ("--sampling-method", "temperature", "--sublayer-scaling", "admin")
    path = train_pairs(data, tmp_path, *task, *options, "--admin-profile-tokens", 200)
    assert load(path)["model"]["encoder.layers.1.ffn_residual.omega"].mean() > 1.1
    assert generate(data, path, *task, *DIRECTION)["H"].keys() == set(range(20))
