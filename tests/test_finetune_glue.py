"""scripts/finetune_glue.sh: files in GLUE's layout, measures, and a fine-tuning of a tiny model."""

import argparse
import json
import math
import statistics
from unittest import mock

import pytest
import torch
from commands import error_of, outcome
from conftest import write_lines
from fairseq.data import Dictionary
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks.sentence_prediction import SentencePredictionTask
from models import Task, arguments, build

from realformer_checkpoints.reading import load_checkpoint, option_group
from realformer_fairseq.finetuning import finetune_glue, glue_training
from realformer_fairseq.finetuning.glue_data import build_encoder, prepare, shortened
from realformer_fairseq.finetuning.glue_files import Example, read_split
from realformer_fairseq.finetuning.glue_tasks import TASKS, measured
from realformer_fairseq.finetuning.pretrained import read_pretrained
from realformer_runtime.command_line import UserError

PARSES = "sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse"
MNLI = f"index promptID pairID genre {PARSES} sentence1 sentence2".split()
STS_B = "index genre filename year old_index source1 source2 sentence1 sentence2 score".split()
QQP = "id qid1 qid2 question1 question2 is_duplicate".split()
POSITIONS = 12
WORDS = [f"w{number}" for number in range(10)] + ["yes", "no", "perhaps"]


def line(*fields):
    return "\t".join(fields)


# Of each task a file in the layout of the public archive, and the fields that count.
FILES = {
    "CoLA": (
        [line("gj04", "0", "*", "They drank the pub."), line("gj04", "1", "", 'A "b')],
        [("They drank the pub.", "0"), ('A "b', "1")],
    ),
    "SST-2": (
        ["sentence\tlabel", "hide new secretions \t0", "a\t1"],
        [("hide new secretions ", "0"), ("a", "1")],
    ),
    "MRPC": (
        [
            "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String",
            line("1", "702", "703", 'He said , " the witness', '" A , he said .'),
        ],
        [('He said , " the witness', '" A , he said .', "1")],
    ),
    "STS-B": (
        [line(*STS_B), line("0", "g", "f", "2012", "1", "x", "y", "A b.", "A c.", "3.800")],
        [("A b.", "A c.", "3.800")],
    ),
    "QQP": (
        [line(*QQP), line("1", "2", "3", "Why ?", "How ?", "0"), line("4", "5", "6", "Why")],
        [("Why ?", "How ?", "0")],
    ),
    "MNLI": (
        [line(*MNLI, "label1", "gold_label"), line(*"0123abcd", "A.", "B.", *["neutral"] * 2)],
        [("A.", "B.", "neutral")],
    ),
    "QNLI": (
        ["index\tquestion\tsentence\tlabel", "0\tWhy ?\tSo .\tnot_entailment"],
        [("Why ?", "So .", "not_entailment")],
    ),
    "RTE": (
        ["index\tsentence1\tsentence2\tlabel", "0\tA.\tB.\tentailment"],
        [("A.", "B.", "entailment")],
    ),
}


@pytest.mark.parametrize("name", TASKS)
def test_files_of_the_archive_are_read(name, tmp_path):
    lines, expected = FILES[name]
    write_lines(tmp_path / "dev.tsv", lines)
    found = read_split(name, str(tmp_path), "dev")
    assert found.examples == [Example(fields[:-1], fields[-1]) for fields in expected]
    assert found.skipped == (name == "QQP")


@pytest.mark.parametrize(
    ("name", "lines", "words"),
    [
        ("SST-2", ["sentence\tlabel", "a\tb\t1"], ["line 2", "3 fields", "sentence, label"]),
        ("RTE", FILES["RTE"][0][:1] + ["0\tA.\tB."], ["line 2", "3 fields"]),
        ("QQP", [line(*QQP), line(*"1234567")], ["line 2", "7 fields"]),
        ("CoLA", ["sentence\tlabel"], ["line 1", "2 fields", "original mark"]),
        ("MNLI", [line(*MNLI)], ["line 1", "'gold_label'", "promptID"]),
        ("QNLI", FILES["RTE"][0], ["line 1", "'question'", "sentence1"]),
        ("MNLI", FILES["MNLI"][0][:1] + [line(*"0123abcd", "A", "B", "-", "-")], ["2", "'-'"]),
        ("STS-B", FILES["STS-B"][0][:1] + [line(*"012345678", "5.1")], ["line 2", "'5.1'", "5"]),
        ("STS-B", FILES["STS-B"][0][:1] + [line(*"012345678", "nan")], ["line 2", "'nan'"]),
        ("RTE", FILES["RTE"][0][:1], ["no example"]),
        ("RTE", [], ["line 1", "none"]),
        ("RTE", None, ["--data", "no dev.tsv", "RTE"]),
    ],
)
def test_another_layout_is_refused_by_file_line_and_column(name, lines, words, tmp_path):
    if lines is not None:
        write_lines(tmp_path / "dev.tsv", lines)
    with pytest.raises(UserError) as refusal:
        read_split(name, str(tmp_path), "dev")
    assert all(word in str(refusal.value) for word in (*words, str(tmp_path)))


# 3 true positives, 1 false positive, 2 false negatives, 4 true negatives.
CLASSES = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
SCORES = [1, 2, 3, 4], [1.0, 3.0, 2.0, 10.0]
SPREAD = [x - 4.0 for x in SCORES[1]]


@pytest.mark.parametrize(
    ("name", "split", "values", "expected"),
    [
        ("CoLA", "dev", CLASSES, {"matthews": (3 * 4 - 1 * 2) / math.sqrt(4 * 5 * 5 * 6)}),
        ("MRPC", "dev", CLASSES, {"accuracy": 0.7, "f1": 6 / 9}),
        ("QQP", "dev", CLASSES, {"accuracy": 0.7, "f1": 6 / 9}),
        ("MNLI", "dev_mismatched", ([0, 1, 2, 2], [0, 1, 2, 0]), {"accuracy_mismatched": 0.75}),
        (
            "STS-B",
            "dev",
            SCORES,
            {
                "pearson": sum(x * y for x, y in zip((-1.5, -0.5, 0.5, 1.5), SPREAD))
                / math.sqrt(5 * sum(y * y for y in SPREAD)),
                "spearman": 1 - 6 * 2 / (4 * 15),
            },
        ),
        ("STS-B", "dev", (SCORES[0], [2.0] * 4), {"pearson": 0, "spearman": 0}),
        ("CoLA", "dev", (CLASSES[0], [0] * 10), {"matthews": 0}),
        ("MRPC", "dev", (CLASSES[0], [0] * 10), {"accuracy": 0.5, "f1": 0}),
    ],
)
def test_measures_equal_their_formulas(name, split, values, expected):
    found = measured(TASKS[name], split, *values)
    assert found == pytest.approx({key: 100 * value for key, value in expected.items()})


def test_the_longer_sentence_is_shortened_first():
    assert shortened([list("abcd"), list("xy")], 4) == [["a", "b"], ["x", "y"]]
    assert shortened([list("abc"), list("xyz")], 5) == [list("abc"), ["x", "y"]]
    assert shortened([list("abc")], 3) == [list("abc")]


def save_pretrained(folder, arch, **options):
    """A checkpoint with a model and its options alone, and its dictionary beside it."""
    dictionary = Dictionary()
    for word in WORDS:
        dictionary.add_symbol(word)
    folder.mkdir(exist_ok=True)
    dictionary.save(str(folder / "dict.txt"))
    task = Task()
    task.source_dictionary = SentencePredictionTask.load_dictionary(str(folder / "dict.txt"))
    torch.manual_seed(1)
    args = arguments(arch, encoder_layers=2, max_positions=POSITIONS, dropout=0.0, **options)
    model = ARCH_MODEL_REGISTRY[arch].build_model(args, task)
    args._name = arch
    path = folder / "model.pt"
    torch.save({"model": model.state_dict(), "cfg": {"model": args}}, path)
    return path


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """With segments, and with an option that the architecture's default differs from."""
    options = dict(token_types=2, residual_attention="mean")
    return save_pretrained(tmp_path_factory.mktemp("bert"), "realformer_bert_tiny", **options)


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return save_pretrained(tmp_path_factory.mktemp("roberta"), "roberta")


@pytest.fixture(scope="module")
def mnli(tmp_path_factory):
    """The second sentence tells the label, in one set of the two the last one wrongly."""
    folder = tmp_path_factory.mktemp("MNLI")
    words = {"entailment": "yes", "contradiction": "no", "neutral": "perhaps"}
    rows = [
        line(*"0123abcd", f"w{number % 7} w8", f"w9 {word}", label, label)
        for number in range(16)
        for label, word in words.items()
    ]
    header = line(*MNLI, "label1", "gold_label")
    write_lines(folder / "train.tsv", [header, *rows])
    write_lines(folder / "dev_matched.tsv", [header, *rows[:12]])
    # Those who wrote labels are more in the dev sets.
    header = line(*MNLI, "label1", "label2", "gold_label")
    wrong = line(rows[0].replace("entailment", "neutral"), "neutral")
    rows = [line(row, row.split("\t")[-1]) for row in rows[:3]]
    write_lines(folder / "dev_mismatched.tsv", [header, *rows, wrong])
    return folder


@pytest.fixture(scope="module")
def sts_b(tmp_path_factory):
    """Scores that are no numbers of classes; the longest pair is longer than the positions."""
    folder = tmp_path_factory.mktemp("STS-B")
    rows = [
        line(*"0123456", "w1 " * (number * 3) + "w2", "w3 other", f"{number}.250")
        for number in range(4)
    ]
    for split in ("train", "dev"):
        write_lines(folder / f"{split}.tsv", [line(*STS_B), *rows])
    return folder


@pytest.mark.parametrize(
    ("model", "between"), [("bert", "</s>"), ("roberta", "</s> </s>")], ids=["bert", "roberta"]
)
def test_inputs_are_joined_as_the_model_has_learnt_it(model, between, request, sts_b, tmp_path):
    pretrained = read_pretrained(str(request.getfixturevalue(model)))
    settings = {"data": str(sts_b)}
    encode = build_encoder({"tokenizer": None, "bpe": None})
    facts = prepare("STS-B", settings, pretrained, encode, tmp_path)
    data = str(tmp_path / "data-bin")
    args = glue_training.training_options("STS-B", data, pretrained, ["--no-shuffle"])
    cfg = glue_training.configuration(args, pretrained, 1, tmp_path)
    task = SentencePredictionTask.setup_task(cfg.task)
    dataset = task.load_dataset("valid")
    samples = [dataset[number] for number in range(4)]
    texts = [
        " ".join(pretrained.dictionary[token] for token in sample["net_input.src_tokens"])
        for sample in samples
    ]
    assert texts[0] == f"<s> w2 {between} w3 <unk> </s>"
    room = POSITIONS - 3 - len(between.split())
    assert texts[3] == f"<s> {' '.join(['w1'] * (room + 1 - 2))} {between} w3 <unk> </s>"
    assert [sample["target"] for sample in samples] == [[0.25], [1.25], [2.25], [3.25]]
    assert facts["dev"]["examples"] == 4 and facts["dev"]["unknown_words"] == 4
    assert facts["train"]["shortened"] == sum(3 * n + 1 + 2 > room + 1 for n in range(4))


def test_a_data_bin_of_something_else_is_left_alone(bert, sts_b, tmp_path):
    other = tmp_path / "data-bin/train.bin"
    other.parent.mkdir()
    other.touch()
    with pytest.raises(UserError, match="--output .*data-bin is of something else"):
        prepare("STS-B", {"data": str(sts_b)}, read_pretrained(str(bert)), str, tmp_path)
    assert other.exists()


@pytest.mark.parametrize(
    ("further", "updates", "warmup"),
    [
        ("", 3 * 11, 3),
        ("--batch-size 16 --update-freq 2 --max-epoch 2", 2 * 11, 2),
        ("--max-update 20", 20, 2),
        ("--total-num-update 50 --warmup-updates 7", 50, 7),
        ("--lr-scheduler fixed --warmup-updates 4", 3 * 11, 4),
    ],
)
def test_the_schedule_fits_the_number_of_updates(further, updates, warmup, bert):
    pretrained = read_pretrained(str(bert))
    args = glue_training.training_options("CoLA", "data", pretrained, further.split())
    glue_training.set_schedule(args, 10 * 32 + 1)
    # fairseq's parser leaves --total-num-update as text.
    assert (int(args.total_num_update), args.warmup_updates) == (updates, warmup)


SUBWORDS = {"bpe": "subword_nmt", "bpe_codes": "codes", "bpe_separator": "@@"}
STORED = {"_name": "subword_nmt", "bpe_codes": "/moved/codes", "bpe_separator": "@@"}


@pytest.mark.parametrize(
    ("stored", "further", "expected"),
    [
        ({"cfg": {"bpe": STORED}}, "", "ab@@ c w1"),
        ({"cfg": {"tokenizer": {"_name": "space"}, "bpe": {"_name": "characters"}}}, "", "a b c"),
        ({"cfg": {"bpe": {"_name": "characters"}}}, "--bpe subword_nmt --bpe-codes codes", "ab@@"),
        ({"args": SUBWORDS}, "", "ab@@ c w1"),
        ({}, "", "abc  w1"),
    ],
    ids=["stored", "tokenizer", "user", "old", "none"],
)
def test_text_is_encoded_as_the_checkpoint_or_the_user_says(
    stored, further, expected, roberta, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "codes").write_text("#version: 0.2\na b\nw 1</w>\n")
    (tmp_path / "dict.txt").write_text((roberta.parent / "dict.txt").read_text())
    state = torch.load(roberta, weights_only=False)
    state["cfg"].update(stored.get("cfg", {}))
    if "args" in stored:  # as older versions of fairseq have options
        args = vars(state.pop("cfg")["model"])
        args.pop("_name")
        state["args"] = argparse.Namespace(task="masked_lm", **args, **stored["args"])
    torch.save(state, "a.pt")
    pretrained = read_pretrained("a.pt")
    args = glue_training.training_options("RTE", "data", pretrained, further.split())
    cfg = glue_training.configuration(args, pretrained, 1, tmp_path)
    assert build_encoder(cfg)("abc  w1").startswith(expected)


def run_script(*options):
    """The script's Python; its error, its output and its messages."""
    error, output, messages = outcome(finetune_glue, *options)
    return error, output.decode(), messages


def test_fine_tuning_learns_and_a_rerun_repeats_nothing(bert, mnli, tmp_path):
    line = ["--task", "MNLI", "--data", mnli, "--checkpoint", bert, "--output", tmp_path / "out"]
    training = (
        "--lr 2e-2 --batch-size 8 --max-epoch 8 --save-interval 8 --pooler-dropout 0"
        " --num-workers 0 --cpu".split()
    )
    # Stopped once the first seed is trained: the next run goes on from its last checkpoint.
    with mock.patch.object(glue_training, "load_checkpoint", side_effect=UserError("stopped")):
        error, _, _ = run_script(*line, "--seeds", 3, "--", *training)
    assert error == "finetune_glue.sh: stopped"
    error, output, messages = run_script(*line, "--seeds", "3 4", "--", *training)
    assert error is None, messages
    results = json.loads((tmp_path / "out/results.json").read_text())
    assert sorted(results["seeds"]) == ["3", "4"]
    for measures in results["seeds"].values():
        assert measures == pytest.approx({"accuracy_matched": 100, "accuracy_mismatched": 75})
    for name, median in results["median"].items():
        assert median == statistics.median(each[name] for each in results["seeds"].values())
    rows = [row.split()[-2:] for row in output.splitlines()]
    assert rows == [["accuracy_matched", "accuracy_mismatched"]] + [["100.00", "75.00"]] * 3
    log = (tmp_path / "out/seed-3/train.log").read_text()
    assert "checkpoint_last.pt (epoch 9 @ 48 updates)" in log
    assert log.count("end of epoch 8 ") == log.count("end of epoch 1 ") == 1

    assert not list((tmp_path / "out").rglob("checkpoint*"))
    state = load_checkpoint(str(tmp_path / "out/seed-4/model.pt"))
    assert "last_optimizer_state" not in state
    assert option_group(state, "model")["residual_attention"] == "mean"

    with mock.patch.object(glue_training.fairseq_train, "main", side_effect=AssertionError):
        again = run_script(*line, "--seeds", "3 4", "--", *training)
        assert again[:2] == (None, output) and again[2].count("done before") == 2
        error, _, _ = run_script(*line, "--seeds", 3, "--", "--lr", "1")
    assert "--output" in error and "options '--lr 2e-2" in error and "not '--lr 1'" in error


def test_scores_are_a_regression_that_starts_from_the_checkpoint(roberta, sts_b, tmp_path):
    """Without learning the encoder is the pre-trained one, and the seed is in the head alone."""
    options = ["--task", "STS-B", "--data", sts_b, "--checkpoint", roberta, "--output", tmp_path]
    training = "--lr 0 --max-epoch 1 --num-workers 0 --cpu".split()
    error, output, messages = run_script(*options, "--seeds", "1 2", "--", *training)
    assert error is None, messages
    assert output.split()[:3] == ["STS-B", "pearson", "spearman"]
    before = load_checkpoint(str(roberta))["model"]
    models = [load_checkpoint(str(tmp_path / f"seed-{n}/model.pt"))["model"] for n in (1, 2)]
    for name, tensor in before.items():
        torch.testing.assert_close(models[0][name], tensor, msg=name)
    head = "classification_heads.sts_b.out_proj.weight"
    assert models[0][head].shape == (1, 16) and not torch.equal(models[0][head], models[1][head])


@pytest.fixture(scope="module")
def translation(tmp_path_factory):
    path = tmp_path_factory.mktemp("translation") / "a.pt"
    model = build()
    torch.save({"model": model.state_dict(), "cfg": {"model": arguments()}}, path)
    return path


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"--task": "WNLI"}, ["--task", "WNLI", "CoLA"]),
        ({"--data": "/no/such"}, ["--data", "'/no/such'"]),
        ({"--checkpoint": "/no/such"}, ["/no/such"]),
        ({"--checkpoint": "translation"}, ["--checkpoint", "realformer_tiny", "masked"]),
        ({"--dict": "/no/such"}, ["--dict", "'/no/such'"]),
        ({"--dict": "short"}, ["--dict", "6 entries", "18"]),
        ({"--dict": "no words"}, ["--dict", "no words"]),
        ({"--seeds": "1 x"}, ["--seeds", "'x'"]),
        ({"--seeds": "1 1"}, ["--seeds", "'1 1'"]),
        ({"--": ["--seed", "3"]}, ["--seed", "--"]),
        ({"--": ["--no-such"]}, ["--no-such", "fairseq-train"]),
        ({"--": ["--max-epoch", "0"]}, ["--max-update"]),
        ({"--": "--bpe subword_nmt --bpe-codes /no/such".split()}, ["--bpe", "/no/such"]),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    changed, words, translation, bert, sts_b, tmp_path, capsys
):
    (tmp_path / "short").write_text("w1 1\n")
    (tmp_path / "no words").write_text("w1 1 2\nx\n")
    given = {"--task": "STS-B", "--data": sts_b, "--checkpoint": bert, **changed}
    further = ["--", *given.pop("--", []), "--cpu"]
    if given["--checkpoint"] == "translation":
        given["--checkpoint"] = translation
    if "--dict" in given:
        given["--dict"] = tmp_path / given["--dict"]
    options = [word for pair in given.items() for word in pair]
    output = tmp_path / "out"
    error = error_of(finetune_glue, *options, "--output", output, *further)
    message = error if isinstance(error, str) else capsys.readouterr().err.splitlines()[-1]
    assert error and "\n" not in message and all(word in message for word in words), message
    assert not output.exists()
