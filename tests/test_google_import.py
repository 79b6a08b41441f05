"""scripts/import_google_bert.sh: Google's released weights compute what they did."""

import json
import logging

import numpy as np
import pytest
import torch
from commands import error_of
from conftest import PROJECT
from google_checkpoints import CONFIG, VOCABULARY, random_weights, write_example, write_release

from realformer_fairseq import RealFormerMaskedLM
from realformer_fairseq.checkpoints import google_import
from realformer_runtime.command_line import UserError

EXAMPLES = ("sum", "mean", "tiny-sum", "tiny-mean")
RELEASED = [
    folder / "google-realformer" for folder in (PROJECT / "shared", PROJECT.parent / "shared")
]


def import_release(monkeypatch, release, output, *options, **files):
    """The command, in this process. ``files`` replace those of the release."""
    paths = {
        name: release / f for name, f in zip(("config", "vocab"), ("bert_config.json", "vocab.txt"))
    }
    words = ["import_google_bert.sh", f"--checkpoint={release / 'bert_model.ckpt'}"]
    words += [f"--{name}={path}" for name, path in {**paths, **files}.items()]
    monkeypatch.setattr("sys.argv", [*words, f"--output={output}", *options])
    root = logging.getLogger()
    before = root.level
    try:
        google_import.main()
    finally:
        root.setLevel(before)  # the command's is for its own process
    return output


@pytest.fixture(scope="module", params=EXAMPLES)
def imported(request, tmp_path_factory):
    """A release with expected outputs, the hub of what was made of it, and its options."""
    folder = tmp_path_factory.mktemp("google")
    if request.param.startswith("tiny"):
        found = [path / request.param for path in RELEASED if path.is_dir()]
        if not found:
            pytest.skip("without shared/google-realformer")
        release = found[0]
    else:
        options = {"use_running_mean": True} if request.param == "mean" else {}
        release = write_example(folder / "release", **options)
    with pytest.MonkeyPatch.context() as patch:
        output = import_release(patch, release, folder / "out")
    return release, RealFormerMaskedLM.from_pretrained(output).eval()


def test_every_output_is_that_of_googles_code(imported):
    release, hub = imported
    with np.load(release / "expected.npz") as file:
        expected = {name: torch.from_numpy(file[name]) for name in file.files}
    words = (release / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    special = dict(
        zip(
            ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"),
            ("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
        )
    )
    dictionary = hub.task.source_dictionary
    assert len(dictionary) == len(words)
    ours = torch.tensor([dictionary.indices[special.get(word, word)] for word in words])
    tokens, segments = ours[expected["input_ids"]], expected["token_type_ids"]
    present = expected["input_mask"].bool()

    def assert_equal(found, name):
        actual, wanted = found.double(), expected[name].double()
        if name != "pooled":
            actual, wanted = actual[present], wanted[present]
        torch.testing.assert_close(actual, wanted, atol=1e-4, rtol=0, msg=lambda m: f"{name}: {m}")

    with torch.no_grad():
        layers = hub.extract_features(tokens, return_all_hiddens=True, token_types=segments)[1:]
        logits, _ = hub.model(tokens, token_types=segments)
        head = hub.model.classification_heads["next_sentence"]
        pooled = torch.tanh(head.dense(layers[-1][:, 0]))
    for number, layer in enumerate(layers):
        assert_equal(layer, f"layer_{number}")
    assert f"layer_{len(layers)}" not in expected
    assert_equal(pooled, "pooled")
    assert_equal(logits[..., ours], "logits")
    if not release.name.startswith("tiny"):  # these change segments where no [SEP] is
        counted, _ = hub.model(tokens)
        torch.testing.assert_close(counted[present], logits[present], atol=0, rtol=0)


def test_the_next_sentence_is_predicted_as_by_google(imported):
    release, hub = imported
    checkpoint = google_import.TensorFlowCheckpoint(str(release / "bert_model.ckpt"))
    name = "cls/seq_relationship/output_"
    weight, bias = (torch.tensor(checkpoint.tensor(name + part)) for part in ("weights", "bias"))
    with np.load(release / "expected.npz") as file:
        pooled, ids = torch.from_numpy(file["pooled"]).float(), file["input_ids"]
        segments = torch.from_numpy(file["token_type_ids"][:1])
    words = (release / "vocab.txt").read_text("utf-8").split("\n")
    dictionary = hub.task.source_dictionary
    line = " ".join({"[CLS]": "<s>", "[SEP]": "</s>"}.get(words[i], words[i]) for i in ids[0])
    tokens = dictionary.encode_line(line, append_eos=False, add_if_not_exist=False).long()
    with torch.no_grad():
        found = hub.predict("next_sentence", tokens, token_types=segments)
    torch.testing.assert_close(
        found, torch.log_softmax(pooled[:1] @ weight.T + bias, -1), atol=1e-4, rtol=0
    )


def test_words_are_spelt_as_in_the_vocabulary_and_options_are_the_configuration(imported):
    release, hub = imported
    config = json.loads((release / "bert_config.json").read_text())
    kept = [
        w
        for w in (release / "vocab.txt").read_text("utf-8").split("\n")[:-1]
        if w not in ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
    ]
    assert hub.task.source_dictionary.symbols[4:-1] == kept
    model = hub.cfg.model
    assert model.residual_attention == ("mean" if config.get("use_running_mean") else "sum")
    assert (model.layer_norm_eps, model.activation_fn) == (1e-12, "gelu_accurate")
    assert (model.max_positions, model.dropout) == (config["max_position_embeddings"], 0.1)


def changed(**options):
    return {**CONFIG, **options}


def without(name):
    return {key: value for key, value in CONFIG.items() if key != name}


@pytest.mark.parametrize(
    "config, message",
    [
        (without("hidden_size"), "has no hidden_size"),
        (changed(directionality="bidi"), "no option 'directionality'"),
        (changed(hidden_act="swish"), "hidden_act 'swish': accepted are gelu"),
        (changed(hidden_act=["gelu"]), r"hidden_act \['gelu'\]: accepted are gelu"),
        (changed(num_attention_heads=5), "does not divide hidden_size"),
        (changed(num_hidden_layers=0), "num_hidden_layers 0"),
        (changed(hidden_dropout_prob=True), "hidden_dropout_prob True"),
        (changed(use_running_mean="yes"), "use_running_mean 'yes': accepted are true and false"),
        (changed(num_hidden_layers=4), "has no bert/encoder/layer_3/attention/self/query/kernel"),
        (changed(num_hidden_layers=2), "layer_2/.*: the model has no such weight"),
        (
            changed(intermediate_size=21),
            r"intermediate/dense/kernel is float32 \(12, 20\).*\(12, 21\)",
        ),
        (changed(vocab_size=60), "19 words, but vocab_size of --config is 60"),
        ([], "no options"),
    ],
    ids=str,
)
def test_a_configuration_that_does_not_fit_is_named(
    config, message, release, tmp_path, monkeypatch
):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    with pytest.raises(UserError, match=message):
        import_release(monkeypatch, release, tmp_path / "out", config=file)
    assert [*tmp_path.iterdir()] == [file]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return write_release(tmp_path_factory.mktemp("release"))


@pytest.mark.parametrize(
    "words, message",
    [
        ([*VOCABULARY[:-1], "the"], "line 19: 'the' is there twice"),
        ([*VOCABULARY[:-1], "a b"], "line 19: 'a b' is not one word"),
        ([*VOCABULARY[:-1], ""], "line 19: '' is not one word"),
        ([*VOCABULARY[:-1], "</s>"], "line 19: '</s>' is a special word of fairseq's"),
        (VOCABULARY[1:], r"has no \[PAD\]"),
        (VOCABULARY[:-1], "18 words, but vocab_size of --config is 19"),
    ],
)
def test_a_vocabulary_that_fairseq_cannot_have_is_named(
    words, message, release, tmp_path, monkeypatch
):
    file = tmp_path / "vocab.txt"
    file.write_text("".join(f"{word}\n" for word in words), "utf-8")
    with pytest.raises(UserError, match=message):
        import_release(monkeypatch, release, tmp_path / "out", vocab=file)
    assert [*tmp_path.iterdir()] == [file]


def test_an_unknown_type_and_damaged_data_are_named_and_nothing_is_left(tmp_path, monkeypatch):
    weights = random_weights()
    bias = "cls/predictions/output_bias"
    whole = {**weights, bias: weights[bias].astype("i8")}
    release = write_release(tmp_path / "release", weights=whole)
    with pytest.raises(UserError, match=f"{bias} is int64 .*it is float32"):
        import_release(monkeypatch, release, tmp_path / "out")
    write_release(release)
    data = release / "bert_model.ckpt.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-100])
    with pytest.raises(UserError, match="seq_relationship/output_weights: truncated"):
        import_release(monkeypatch, release, tmp_path / "out")
    assert [*tmp_path.iterdir()] == [release]


def test_what_the_files_of_a_plain_bert_do_not_tell_is_said(release, tmp_path, monkeypatch, capsys):
    import_release(monkeypatch, release, tmp_path / "sum")
    assert "A plain BERT has the same files" in capsys.readouterr().err
    import_release(monkeypatch, release, tmp_path / "plain", "--residual-attention=none")
    assert capsys.readouterr().err == ""
    assert torch.load(tmp_path / "plain/model.pt")["cfg"]["model"].residual_attention == "none"
    told = tmp_path / "told.json"
    told.write_text(json.dumps(changed(use_running_mean=True)))
    with pytest.raises(
        UserError, match="--residual-attention none: .* use_running_mean true: mean"
    ):
        import_release(
            monkeypatch, release, tmp_path / "x", "--residual-attention=none", config=told
        )


def test_an_output_that_is_there_is_not_replaced(release, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match="is there already"):
        import_release(monkeypatch, release, tmp_path / "out")


def test_the_folder_takes_text_from_anywhere(release, tmp_path, monkeypatch):
    pytest.importorskip("tokenizers")
    folder = import_release(monkeypatch, release, tmp_path / "out")
    folder.rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    hub = RealFormerMaskedLM.from_pretrained("../moved").eval()
    dictionary = hub.task.source_dictionary
    with torch.no_grad():
        hub.model.encoder.lm_head.bias[dictionary.index("##s")] = 1e4
    assert hub.fill_mask("The walk <mask>.", topk=1)[0][0] == "The walks."
    tokens = hub.encode("Unaffable Café 犬", "cat", no_separator=True)
    assert " ".join(dictionary[token] for token in tokens) == (
        "<s> un ##aff ##able cafe <unk> </s> cat </s>"
    )


def test_what_is_missing_is_named_in_one_line(release, tmp_path):
    options = ["--config", release / "bert_config.json", "--vocab", release / "vocab.txt"]
    options += ["--checkpoint", "/no/such", "--output", tmp_path / "out"]
    error = error_of(google_import, *options)
    assert error == "import_google_bert.sh: --checkpoint: no such file: '/no/such.index'"
