"""Trainings of masked language models that cannot work: one line that says why, at the start."""

import argparse
import copy
import shutil
from types import SimpleNamespace

import pytest
from fairseq_mains import configuration, train
from omegaconf import open_dict
from sentence_data import command_line, make_data

from realformer_fairseq.training import validation_checks
from realformer_fairseq.training.option_checks import check_settings
from realformer_fairseq.training.task_checks import REPORTS, check_fit
from realformer_runtime.command_line import UserError

SENTENCE, RANKING, TEXT = "sentence_prediction", "sentence_ranking", "language_modeling"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data of sentences"))


@pytest.fixture(scope="module")
def options_of(data):
    """fairseq's configuration of a training that can work, by task; reading one takes 0.4 s."""
    tasks = ("masked_lm", SENTENCE, RANKING)
    adaptive = [*command_line(data, TEXT, "transformer_lm"), "--criterion", "adaptive_loss"]
    adaptive += ["--adaptive-softmax-cutoff", 9, "--ddp-backend", "legacy_ddp"]
    adaptive += ["--max-target-positions", 32]
    found = {task: configuration(*command_line(data, task)) for task in tasks}
    return {**found, TEXT: configuration(*adaptive)}


@pytest.fixture
def check(options_of, monkeypatch):
    """The refusal of changed options, or None; ``changes`` as ``name=value``, with spaces."""

    def check(task, changes="", **further):
        cfg = options_of[task]
        groups = [vars(g) if isinstance(g, argparse.Namespace) else g for g in cfg.values()]
        with monkeypatch.context() as patched:
            for name, value in [*(word.split("=") for word in changes.split()), *further.items()]:
                holders = [group for group in groups if hasattr(group, "get") and name in group]
                assert holders, name
                for group in holders:
                    was = group[name]
                    new = type(was)(value) if isinstance(was, (int, float)) else value
                    patched.setitem(group, name, new)
            try:
                check_settings(cfg)
            except UserError as error:
                assert len(str(error).splitlines()) == 1
                return str(error)
        return None

    return check


@pytest.mark.parametrize(
    "task, changes",
    [
        ("masked_lm", ""),
        ("masked_lm", "tokens_per_sample=64 sample_break_mode=eos"),
        (SENTENCE, "report_mcc=1 best_checkpoint_metric=mcc"),
        (SENTENCE, "distributed_world_size=2 find_unused_parameters=1"),
        (SENTENCE, "distributed_world_size=2 ddp_backend=legacy_ddp"),
        (RANKING, "best_checkpoint_metric=accuracy"),
        (TEXT, ""),
    ],
)
def test_what_can_work_is_not_refused(check, task, changes):
    assert check(task, changes, maximize_best_checkpoint_metric="metric" in changes) is None


@pytest.mark.parametrize(
    "task, group, names",
    [("masked_lm", "task", ["d2v2_multi"]), (SENTENCE, "criterion", REPORTS)],
)
def test_fairseq_0_12_2_lacks_options(options_of, task, group, names):
    cfg = copy.deepcopy(options_of[task])
    with open_dict(cfg):
        for name in names:
            cfg[group].pop(name, None)
    check_settings(cfg)


@pytest.mark.parametrize(
    "task, changes, words",
    [
        # Masking and lengths.
        ("masked_lm", "mask_prob=0", "--mask-prob 0.0: a number between 0 and 1"),
        ("masked_lm", "mask_prob=1", "--mask-prob 1.0: a number between 0 and 1"),
        ("masked_lm", "leave_unmasked_prob=0.6 random_token_prob=0.6", "more than 1 together"),
        ("masked_lm", "random_token_prob=-1", "--random-token-prob -1.0: 0 to 1"),
        ("masked_lm", "mask_multiple_length=0", "--mask-multiple-length 0: 1 or more"),
        ("masked_lm", "mask_whole_words=1", "--mask-whole-words does not work"),
        ("masked_lm", "tokens_per_sample=1", "--tokens-per-sample 1: 2 or more"),
        ("masked_lm", "tokens_per_sample=64", "--tokens-per-sample 64: the model has --max-pos"),
        ("masked_lm", "train_subset=dev valid_subset=dev data=no/such", "no/such: no such folder"),
        (TEXT, "max_target_positions=8", "--tokens-per-sample 32: the model has --max-target-pos"),
        (TEXT, "ddp_backend=pytorch_ddp", "adaptive_loss cannot be used with --ddp-backend pytor"),
        (TEXT, "past_target=1", "--past-target: these models predict the next word alone"),
        ("masked_lm", "quant_noise_scalar=1", "--quant-noise-scalar 1: fairseq has none for"),
        # Labels.
        (SENTENCE, "num_classes=-1", "--task sentence_prediction needs --num-classes"),
        (RANKING, "num_classes=0", "--task sentence_ranking needs --num-classes"),
        (SENTENCE, "num_classes=1", "label/train.bin has the label"),
        (RANKING, "num_classes=1", "number from 0 to 0 (--num-classes 1)"),
        (RANKING, "num_classes=3", "ranked/input3/train.bin and .idx: not there"),
        (SENTENCE, "regression_target=1", "label/train.label: not there"),
        (SENTENCE, "report_mcc=1 num_classes=3", "3 whole numbers as labels, 'madeupword0000' is"),
        (SENTENCE, "report_acc_and_f1=1 num_classes=3", "--report-acc-and-f1 is for two classes"),
        (SENTENCE, "report_mcc=1 regression_target=1", "--report-mcc is for classes"),
        (SENTENCE, "init_token=99", "--init-token 99: the dictionary has the entries 0 to"),
        (RANKING, "separator_token=-1", "--separator-token -1: the dictionary has"),
        # The model.
        (SENTENCE, "pooler_dropout=2", "--pooler-dropout 2.0: 0 to 1"),
        (SENTENCE, "max_positions=0", "--max-positions 0: 1 or more"),
        (SENTENCE, "classification_head_name=a.b", "--classification-head-name a.b: a name witho"),
        (RANKING, "ranking_head_name=a.b", "--ranking-head-name a.b: a name without a dot"),
        (SENTENCE, "spectral_norm_classification_head=1", "--spectral-norm-classification-head"),
        ("masked_lm", "mha_heads_to_keep=1", "--mha-heads-to-keep 1: each layer would keep"),
        # Several processes.
        (SENTENCE, "distributed_world_size=2", "in 2 processes needs --find-unused-parameters"),
        (SENTENCE, "distributed_world_size=2 report_mcc=1", "--report-mcc needs --distributed-wo"),
        # Validation.
        ("masked_lm", "best_checkpoint_metric=accuracy", "validation computes loss, ppl"),
        (SENTENCE, "best_checkpoint_metric=f1", "f1 needs --report-acc-and-f1"),
        (SENTENCE, "best_checkpoint_metric=ppl", "validation computes loss, nll_loss, accuracy"),
        (RANKING, "best_checkpoint_metric=mcc", "validation computes loss, nll_loss, accuracy"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(check, task, changes, words):
    assert words in str(check(task, changes))


@pytest.mark.parametrize(
    "task, name, content, words",
    [
        ("masked_lm", "text/dict.txt", None, "--task masked_lm: no dict.txt in"),
        ("masked_lm", "text/dict.txt", "a 1\n", "words that are not among the 5 of its dictionary"),
        ("masked_lm", "text/train.bin", "", "train.bin: damaged, 0 bytes instead of"),
        (SENTENCE, "classes/input0/dict.txt", None, "no input0/dict.txt in"),
        (SENTENCE, "classes/label/dict.txt", None, "no label/dict.txt in"),
        (SENTENCE, "classes/label/dict.txt", "0 1\n", "words that are not among the 5 of its"),
        (SENTENCE, "classes/input0/train.bin", None, "input0/train.bin and .idx: not there"),
        (SENTENCE, "classes/label/valid.idx", None, "label/valid.bin and .idx: not there"),
        (
            RANKING,
            "ranked/label/valid.label",
            "1\n",
            "sentences differ, input0 has 10, label has 1",
        ),
        (RANKING, "ranked/label/train.label", "x\n", "train.label, line 1: a number from 0 to 1"),
    ],
)
def test_files_that_are_missing_or_damaged(check, data, tmp_path, task, name, content, words):
    shutil.copytree(data, tmp_path / "data")
    path = tmp_path / "data" / name
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    assert words in str(check(task, data=str(tmp_path / "data" / name.partition("/")[0])))


def test_labels_of_a_regression_are_numbers(check, data, tmp_path):
    shutil.copytree(data / "classes", tmp_path / "scores")
    regression = dict(data=str(tmp_path / "scores"), regression_target=True, num_classes=1)
    for split, size in (("train", 60), ("valid", 10)):
        (tmp_path / f"scores/label/{split}.label").write_text("0.5\n" * size)
    assert check(SENTENCE, **regression) is None
    assert "validation computes" in check(SENTENCE, "best_checkpoint_metric=accuracy", **regression)
    (tmp_path / "scores/label/valid.label").write_text("0.5 0.5\n" * 10)
    assert "valid.label, line 1: 1 numbers" in check(SENTENCE, **regression)


@pytest.mark.parametrize(
    "metric, words", [("nll_loss", "needs --sentence-avg"), ("accuracy", "computes loss, ppl")]
)
def test_cross_entropy_has_a_metric_less(metric, words):
    cfg = SimpleNamespace(
        checkpoint=SimpleNamespace(
            best_checkpoint_metric=metric, maximize_best_checkpoint_metric=metric == "accuracy"
        ),
        criterion=SimpleNamespace(_name="cross_entropy", sentence_avg=False),
        task=SimpleNamespace(_name=TEXT),
    )
    with pytest.raises(UserError, match=words):
        validation_checks.check_metric(cfg)
    cfg.criterion.sentence_avg, cfg.checkpoint.best_checkpoint_metric = True, "ppl"
    validation_checks.check_metric(cfg)


@pytest.mark.parametrize(
    "changes, words",
    [
        ("num_classes=3", "--num-classes 3: "),
        ("best_checkpoint_metric=accuracy", "without --maximize-best-checkpoint-metric: "),
        ("maximize_best_checkpoint_metric=1", "loss with --maximize-best-checkpoint-metric: "),
    ],
)
def test_what_is_likely_to_be_a_mistake_is_logged(check, caplog, changes, words):
    caplog.set_level("WARNING")  # commands that other tests run leave another
    validation_checks.warn_once.cache_clear()
    assert check(SENTENCE, changes) is None and words in caplog.text


@pytest.mark.parametrize(
    "task, criterion, arch, words",
    [
        ("masked_lm", "masked_lm", "realformer_tiny", "realformer_tiny: --task masked_lm needs"),
        (RANKING, RANKING, "transformer", "such as --arch realformer_masked_lm"),
        (TEXT, "cross_entropy", "realformer_bert_tiny", "--arch realformer_lm"),
        ("translation", "cross_entropy", "realformer_bert_tiny", "such as --arch realformer"),
        ("masked_lm", "cross_entropy", "roberta", "choose one of masked_lm, masked_lm_with_acc"),
        (RANKING, SENTENCE, "roberta", "--criterion sentence_prediction is for another task"),
        (TEXT, "masked_lm", "transformer_lm", "choose one of cross_entropy, label"),
        ("translation", "masked_lm_with_accuracy", "transformer", "is for another task"),
    ],
)
def test_a_task_has_models_and_criterions(task, criterion, arch, words):
    with pytest.raises(UserError, match=words):
        check_fit(task, criterion, arch)


@pytest.mark.parametrize(
    "task, criterion, arch",
    [
        ("masked_lm", "a criterion of the user's", "roberta"),
        ("a task of the user's", "a criterion of the user's", "roberta"),
        ("translation", "label_smoothed_cross_entropy_with_alignment", "realformer_tiny"),
    ],
)
def test_what_fits_is_not_refused(task, criterion, arch):
    check_fit(task, criterion, arch)


def test_another_criterion_is_refused_before_fairseq_looks_for_its_options(data, tmp_path, capsys):
    """The task of sentences reads options of its criterion, which others do not have."""
    line = [*command_line(data, SENTENCE), "--save-dir", tmp_path, "--criterion", "masked_lm"]
    with pytest.raises(SystemExit) as stop:
        train(*line)
    message = capsys.readouterr().err.splitlines()[-1]
    assert stop.value.code == 1 and message.startswith(
        "fairseq-train: --criterion masked_lm is for"
    )
