"""Entropy and divergence of attention, and the command that measures them."""

import csv
import math

import language_models
import pytest
import torch
from commands import error_of, outcome
from fairseq_mains import load
from models import PAD, batch, build, build_with_weights_of, eager_scores, logits

from realformer_checkpoints import figures
from realformer_fairseq.analysis import (
    attention_analysis,
    attention_map,
    residual_scores_figure,
)
from realformer_fairseq.analysis.attention_plots import COLOURS, MEDIAN_BINS
from realformer_fairseq.analysis.attention_recorder import recorded_attention
from realformer_fairseq.analysis.attention_statistics import (
    BINS,
    LN_2,
    AttentionStatistics,
    HeadHistograms,
    entropy,
    jensen_shannon_divergence,
)
from realformer_fairseq.analysis.trained_model import load_model, load_split
from realformer_runtime.command_line import UserError

PNG = b"\x89PNG"


def random_probabilities(*shape):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(shape, generator=generator).mul(2).softmax(-1)


def read_table(path):
    """Numbers by measure, attention, layer and head."""
    with open(path, newline="") as file:
        _, *rows = csv.reader(file)
    return {(*row[:2], *map(int, row[2:4])): list(map(float, row[4:])) for row in rows}


def test_entropy_of_uniform_and_one_hot():
    assert entropy(torch.full((7,), 1 / 7)).item() == pytest.approx(math.log(7), rel=1e-6)
    assert entropy(torch.eye(7)).tolist() == [0] * 7


def test_divergence_of_equal_and_disjoint():
    p = random_probabilities(5, 9)
    assert jensen_shannon_divergence(p, p).tolist() == [0] * 5
    halves = torch.tensor([[0.5, 0.5, 0, 0], [0, 0, 0.3, 0.7]])
    assert jensen_shannon_divergence(*halves).item() == pytest.approx(LN_2, rel=1e-6)
    pair = torch.tensor([[1.0, 0.0], [0.5, 0.5]])  # whose mean is (3/4, 1/4)
    expected = math.log(4) - 0.75 * math.log(3) - LN_2 / 2
    for order in (pair, pair.flip(0)):
        assert jensen_shannon_divergence(*order).item() == pytest.approx(expected, rel=1e-5)


def test_histograms_against_sorted_values():
    generator = torch.Generator().manual_seed(1)
    values = torch.rand(3, 1001, generator=generator) * torch.tensor([[0.1], [1.0], [2.0]])
    histograms = HeadHistograms(3, upper=1.5)
    for part in values.split(400, dim=1):
        histograms.add(part)
    assert histograms.count() == 1001
    assert torch.allclose(histograms.mean(), values.double().mean(1))
    # What is above the histogram's end counts as its last bin.
    for share in (0.25, 0.5):
        exact = values.quantile(share, dim=1).double()
        assert (histograms.quantile(share) - exact).abs().max() <= 1.5 / BINS
    assert histograms.quantile(1)[0].item() == pytest.approx(values[0].max().item(), abs=1.5 / BINS)
    equal = HeadHistograms(1, upper=1.0)
    equal.add(torch.full((1, 9), 0.3))
    assert equal.quantile(0.5).item() == torch.tensor(0.3).item()  # exactly


def table_of(statistics, tmp_path):
    attention_analysis.write_table(statistics, tmp_path / "table.csv")
    return read_table(tmp_path / "table.csv")


def test_masked_keys_and_padded_queries_count_for_nothing(tmp_path):
    """Whatever stands there, as if the batch had no padding."""
    small = random_probabilities(2, 2, 3, 3, 5)  # layers, heads, B, T, S
    large = torch.full((2, 2, 3, 6, 9), float("nan"))
    large[..., :3, 4:] = small
    attendable = torch.zeros(3, 6, 9, dtype=torch.bool)
    attendable[..., 4:] = True
    queries = torch.zeros(3, 6, dtype=torch.bool)
    queries[:, :3] = True
    padded = AttentionStatistics()
    for layer in range(2):
        padded.add("cross", layer, large[layer], attendable, queries)
    found = table_of(padded, tmp_path)
    assert len(found) == 10  # 2 x 2 entropies, as many normalised ones, and 2 divergences
    expected = {("jsd", 1): jensen_shannon_divergence(*small)}
    expected |= {("entropy", layer): entropy(small[layer]) for layer in range(2)}
    for (measure, layer), values in expected.items():
        for head, mean in enumerate(values.mean((1, 2)).tolist()):
            row = found[measure, "cross", layer, head]
            assert row[:2] == pytest.approx([9, mean], rel=1e-4)
    with pytest.raises(FloatingPointError, match="cross attention of layer 3"):
        padded.add("cross", 3, large[0], torch.ones(3, 6, 9, dtype=torch.bool), queries)


def test_queries_without_a_choice_are_left_out(tmp_path):
    """The first position of a decoder; uniform attention then has normalised entropy 1."""
    attendable = torch.ones(1, 4, 4, dtype=torch.bool).tril()
    uniform = attendable / attendable.sum(-1, keepdim=True)
    statistics = AttentionStatistics()
    statistics.add("decoder", 0, uniform.unsqueeze(0), attendable, attendable[:, :, 0])
    found = table_of(statistics, tmp_path)
    logarithms = [math.log(keys) for keys in (2, 3, 4)]
    expected = [3, sum(logarithms) / 3, *logarithms]  # count, mean and quartiles
    assert found["entropy", "decoder", 0, 0] == pytest.approx(expected, rel=1e-5)
    assert found["normalised_entropy", "decoder", 0, 0] == pytest.approx([3, 1, 1, 1, 1], rel=1e-5)


def recorded(model, source, previous):
    found = {}

    def receive(attention, layer, probabilities, attendable):
        found[attention, layer] = probabilities, attendable

    with recorded_attention(model, receive), torch.no_grad():
        output = logits(model, source, previous)
    return found, output


@pytest.mark.parametrize("arch", ["realformer_tiny", "transformer"])
@pytest.mark.parametrize("pre_norm", [False, True])
def test_recording_reads_distributions_and_changes_nothing(arch, pre_norm):
    options = dict(encoder_normalize_before=pre_norm, decoder_normalize_before=pre_norm)
    model, (source, previous) = build(arch, **options).eval(), batch()
    with torch.no_grad():
        expected = logits(model, source, previous)
    found, output = recorded(model, source, previous)
    assert torch.allclose(output, expected, atol=1e-5)
    with torch.no_grad():
        assert torch.equal(logits(model, source, previous), expected)  # all is as it was
    assert not any(module._forward_hooks for module in model.modules())

    assert found.keys() == {(a, n) for a in ("encoder", "decoder", "cross") for n in range(3)}
    padding = {"encoder": (source, source), "decoder": (previous, previous)}
    padding["cross"] = (previous, source)
    for (attention, _), (probabilities, attendable) in found.items():
        queries, keys = padding[attention]
        visible = keys.ne(PAD).unsqueeze(1).expand(-1, queries.size(1), -1)
        if attention == "decoder":
            visible = visible & torch.ones_like(visible[0]).tril()
        assert torch.equal(attendable, visible)
        real = queries.ne(PAD)
        rows = probabilities[:, real]
        assert torch.allclose(rows.sum(-1), torch.ones(()), atol=1e-5)
        assert rows[:, ~visible[real]].eq(0).all()


def test_probabilities_are_those_of_attention_written_out():
    """Of our encoder in each layer; of fairseq's with the same weights at the bottom."""
    theirs = build("transformer").eval()
    ours = build_with_weights_of(theirs, residual_attention="mean").eval()
    source, previous = batch()
    real = source.ne(PAD)
    found, fairseqs = (recorded(model, source, previous)[0] for model in (ours, theirs))
    scores = eager_scores(ours, "encoder", "self_attn", source, real.sum(1), previous)
    for layer, unmasked in enumerate(scores):
        masked = unmasked.masked_fill(~real[:, None, None], -math.inf)
        expected = masked.softmax(-1).transpose(0, 1)[:, real]
        assert torch.allclose(found["encoder", layer][0][:, real], expected, atol=1e-5)
        same = torch.allclose(fairseqs["encoder", layer][0][:, real], expected, atol=1e-4)
        assert same == (layer == 0)


def test_colours_are_those_of_the_papers_bins():
    entropies = map(MEDIAN_BINS["entropy"].colour, (1.49, 1.5, 4.5, 4.51))
    assert list(entropies) == [COLOURS[colour] for colour in (0, 1, 1, 2)]
    divergences = map(MEDIAN_BINS["jsd"].colour, (0.2 * LN_2, 0.9 * LN_2))
    assert list(divergences) == [COLOURS[0], COLOURS[2]]


@pytest.fixture(scope="module")
def options(prepared, trained):
    checkpoint = trained / "checkpoint_last.pt"
    return ["--checkpoint", checkpoint, "--data", prepared / "data-bin", "--cpu"]


@pytest.fixture(scope="module")
def analysed(options, tmp_path_factory):
    """What the command writes for the trained model; a path with spaces."""
    out = tmp_path_factory.mktemp("analysis") / "my attention"
    error, _, said = outcome(attention_analysis, *options, "--out", out, "--title", "T")
    assert error is None and said == "analyze_attention.sh: 20 of 20 sentences\n"
    return out


def test_command_writes_table_and_pictures(analysed, prepared):
    found = read_table(analysed / "attention.csv")
    # 2 layers of 4 heads, 3 kinds of attention; entropy twice, a divergence in the upper layer.
    assert len(found) == 3 * 2 * 2 * 4 + 3 * 4
    lengths = {}
    for lang in ("en", "fr"):
        text = (prepared / f"bpe/test.{lang}").read_text("utf-8").splitlines()
        lengths[lang] = sum(len(line.split()) + 1 for line in text)  # and </s>
    expected = {"encoder": lengths["en"], "cross": lengths["fr"], "decoder": lengths["fr"] - 20}
    for (measure, attention, _, _), (count, mean, lower, median, upper) in found.items():
        assert count == expected[attention]
        assert 0 <= lower <= median <= upper and mean <= {"jsd": LN_2}.get(measure, 5)
    pictures = [f"{m}-{a}.png" for m in ("entropy", "jsd") for a in ("encoder", "decoder", "cross")]
    assert sorted(path.name for path in analysed.iterdir()) == sorted(["attention.csv", *pictures])
    assert all((analysed / name).read_bytes().startswith(PNG) for name in pictures)


def test_batches_make_no_difference(analysed, options, tmp_path):
    """Of a sentence at a time, without padding, or of many."""
    arguments = [*options, "--out", tmp_path, "--max-tokens", 80]
    assert error_of(attention_analysis, *arguments, "--no-pictures") is None
    assert [path.name for path in tmp_path.iterdir()] == ["attention.csv"]
    found = read_table(tmp_path / "attention.csv")
    expected = read_table(analysed / "attention.csv")
    assert found.keys() == expected.keys()
    for place, numbers in found.items():
        assert numbers[:2] == pytest.approx(expected[place][:2], rel=1e-4), place
        assert numbers[2:] == pytest.approx(expected[place][2:], abs=0.0042), place


def test_transformer_of_fairseq_is_measured_like_ours(options, tmp_path):
    """The same weights, once as our model without chains and once as fairseq's."""
    state, tables = load(options[1]), []
    for arch in ("realformer", "transformer"):
        model = state["cfg"]["model"]
        model.arch, model._name, model.residual_attention = arch, arch, "none"
        torch.save(state, tmp_path / "model.pt")
        arguments = [*options, "--no-pictures"]
        arguments[1] = tmp_path / "model.pt"
        assert error_of(attention_analysis, *arguments, "--out", tmp_path / arch) is None
        tables.append(read_table(tmp_path / arch / "attention.csv"))
    ours, theirs = tables
    assert ours.keys() == theirs.keys()
    for place, numbers in ours.items():
        assert numbers[:2] == pytest.approx(theirs[place][:2], rel=1e-3), place


def test_map_of_a_sentence(prepared, options, tmp_path):
    english = (prepared / "bpe/test.en").read_text("utf-8").splitlines()
    shortest = min(range(20), key=lambda number: len(english[number]))  # is drawn soonest
    arguments = [*options, "--out", tmp_path, "--sentence", shortest]
    assert error_of(attention_analysis, *arguments) is None
    assert error_of(attention_analysis, *arguments, "--layer", 0) is None
    pictures = sorted(tmp_path.iterdir())
    assert [path.name for path in pictures] == [
        f"sentence-{shortest}-{attention}-layer-{layer}.png"
        for attention in ("cross", "decoder", "encoder")
        for layer in (0, 1)
    ]
    assert all(path.read_bytes().startswith(PNG) for path in pictures)


def test_names_in_a_map(prepared, options):
    model, task = load_model(*map(str, options[1:4:2]))
    dataset = load_split(task, "test")
    source, target = (
        (prepared / f"bpe/test.{lang}").read_text("utf-8").splitlines()[7].split()
        for lang in ("en", "fr")
    )
    assert attention_map.tokens_of_sentence(task, dataset, 7) == {
        "encoder": ([*source, "</s>"], [*source, "</s>"]),
        "decoder": (["</s>", *target], ["</s>", *target]),
        "cross": ([*target, "</s>"], [*source, "</s>"]),
    }
    found = attention_map.attention_of_sentence(model, dataset, 7)
    assert found["cross", 1].shape == (4, len(target) + 1, len(source) + 1)
    assert attention_map.plain("$a$") == r"\$a\$"
    # With the encoder before the decoder:
    names = {"encoder": (["a", "b"], ["a", "b"]), "decoder": (["</s>", "x"], ["</s>", "x"])}
    for keys, expected in ((2, ["</s>", "x"]), (4, ["a", "b", "</s>", "x"])):
        assert attention_map.names_of_map(names, "decoder", keys) == (["</s>", "x"], expected)


@pytest.mark.parametrize(
    "extra, words",
    [
        (["--checkpoint", "/no/such.pt"], ["/no/such.pt"]),
        (["--data", "/no/data"], ["--data /no/data", "dict.en.txt"]),
        (["--gen-subset", "test7"], ["--gen-subset test7", "en-fr"]),
        (["--max-tokens", "5"], ["--max-tokens 5"]),
        (["--sentence", "20"], ["--sentence 20", "0 to 19"]),
        (["--sentence", "1", "--layer", "2"], ["--layer 2", "0 to 1"]),
        (["--layer", "1"], ["--layer needs --sentence"]),
        (["--sentence", "1", "--no-pictures"], ["--no-pictures"]),
        (["--data", "small"], ["--data small", "size mismatch"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_mistakes_get_one_line(extra, words, options, tmp_path, monkeypatch):
    (tmp_path / "small").mkdir()
    for lang in ("en", "fr"):
        (tmp_path / f"small/dict.{lang}.txt").write_text("cat 1\n")
    monkeypatch.chdir(tmp_path)
    given = [word for word in ("--checkpoint", "--data") if word not in extra]
    given = [word for name in given for word in options[options.index(name) :][:2]]
    error = error_of(attention_analysis, *given, "--cpu", "--out", "out", *extra)
    assert error.startswith("analyze_attention.sh: ") and "\n" not in error
    assert all(word in error for word in words), error
    # Some are found in the data, for whose table there is a folder by then.
    is_late = words[0] in ("--max-tokens 5", "--sentence 20", "--layer 2")
    assert [*tmp_path.glob("out"), *tmp_path.glob("out/*")] == [tmp_path / "out"] * is_late


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Data of language models."""
    return language_models.write_data(tmp_path_factory.mktemp("text"))


def table_of_checkpoint(data, path, *options):
    arguments = ["--checkpoint", path, "--data", data, "--cpu", "--no-pictures", *options]
    assert error_of(attention_analysis, *arguments, "--out", path.parent / "table") is None
    return read_table(path.parent / "table/attention.csv")


@pytest.mark.parametrize("ours, theirs", language_models.PAIRS)
def test_language_models_are_measured_like_fairseqs(ours, theirs, text, tmp_path):
    """The same weights with and without chains, fairseq's, and from a training of another seed."""
    none, scores = ["--residual-attention", "none"], ["--residual-attention", "sum"]
    state, _ = language_models.new_state(text, ours, *none)
    tables = []
    for arch, options in ((ours, none), (theirs, []), (theirs, ["--seed", 7]), (ours, scores)):
        other, _ = language_models.new_state(text, arch, *options)
        torch.save({**other, "model": state["model"]}, tmp_path / "model.pt")
        tables.append(table_of_checkpoint(text, tmp_path / "model.pt", "--max-tokens", 30))
    measured, *same, carried = tables
    attention = "encoder" if theirs == "roberta" else "decoder"
    words = sum(language_models.LENGTHS) + 2 * len(language_models.LENGTHS)  # with <s> and </s>
    count = words if attention == "encoder" else words - 2 * len(language_models.LENGTHS)
    assert {place[1] for place in measured} == {attention} and len(measured) == (2 * 3 + 2) * 2
    for place, row in measured.items():
        assert row[0] == count
        for table in same:
            assert table[place][:2] == pytest.approx(row[:2], rel=1e-4), place
        at_the_bottom = place[2] == 0
        assert (carried[place][1] == pytest.approx(row[1], rel=1e-4)) == at_the_bottom, place


@pytest.mark.parametrize("arch", [*language_models.OURS, "roberta"])
def test_pictures_of_language_models(arch, text, tmp_path):
    residual = ["--residual-attention", "mean"] if arch in language_models.OURS else []
    language_models.save(tmp_path / "model.pt", text, arch, *residual)
    given = ["--checkpoint", tmp_path / "model.pt", "--data", text, "--sentence", 2]
    assert error_of(attention_analysis, *given, "--cpu", "--out", tmp_path / "maps") is None
    (picture,) = (tmp_path / "maps").iterdir()
    attention = "encoder" if language_models.TASKS[arch] == "masked_lm" else "decoder"
    assert picture.name == f"sentence-2-{attention}-layer-2.png"
    error = error_of(residual_scores_figure, *given, "--output", tmp_path / "scores.png")
    if residual:
        assert error is None and (tmp_path / "scores.png").read_bytes().startswith(PNG)
    else:
        assert f"--attention {attention}: this model carries no scores" in error


def test_what_a_masked_language_model_reads(text, tmp_path):
    """A sample of the split in its order, with <s> and some words masked."""
    language_models.save(tmp_path / "model.pt", text, "roberta", "--mask-prob", 0.5)
    _, task = load_model(str(tmp_path / "model.pt"), str(text))
    tokens, _ = attention_map.tokens_of_sentence(task, load_split(task, "test"), 3)["encoder"]
    assert len(tokens) == language_models.LENGTHS[3] + 2
    assert tokens[0] == "<s>" and "<mask>" in tokens


def test_other_tasks_and_models_are_refused_by_name(text, tmp_path):
    state, _ = language_models.new_state(text, "roberta")
    cases = (
        ("task", "sentence_prediction", "its task is sentence_prediction", "masked_lm"),
        ("model", "unheard_of", "neither a realformer_masked_lm nor a roberta"),
        ("model", "lstm", "neither a realformer_masked_lm nor a roberta"),
    )
    for group, name, *words in cases:
        options = state["cfg"][group]
        options = dict(options) if isinstance(options, dict) else dict(vars(options))
        options = {**options, "_name": name, "arch": name}
        torch.save({**state, "cfg": {**state["cfg"], group: options}}, tmp_path / "model.pt")
        given = ["--checkpoint", tmp_path / "model.pt", "--data", text, "--out", tmp_path / "out"]
        error = error_of(attention_analysis, *given)
        assert all(word in error for word in words) and "\n" not in error, error
    given[3] = tmp_path
    assert f"--data {tmp_path}: there is no dict.txt" in error_of(attention_analysis, *given)


def test_without_matplotlib_there_is_a_way_on(monkeypatch):
    monkeypatch.setattr(figures.importlib.util, "find_spec", lambda _: None)
    arguments = ["--checkpoint", "c.pt", "--data", "d", "--out", "o"]
    error = error_of(attention_analysis, *arguments)
    assert "matplotlib" in error and "--no-pictures" in error and "\n" not in error
    assert "c.pt" in error_of(attention_analysis, *arguments, "--no-pictures")


def test_xformers_are_refused():
    model = build()
    model.encoder.layers[0].self_attn.use_xformers = True
    with pytest.raises(UserError, match="xFormers"):
        recorded_attention(model, lambda *_: None)
