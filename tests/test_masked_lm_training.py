"""Training of masked language models: ADMIN's profile, stopping, going on, fine-tuning."""

import io
import logging
import os
import shutil
import signal

import pytest
import torch
from conftest import write_lines
from fairseq.checkpoint_utils import load_model_ensemble_and_task
from fairseq.dataclass.initialize import add_defaults, hydra_init
from fairseq.distributed import utils as distributed_utils
from fairseq.trainer import Trainer
from fairseq_cli.train import main
from fairseq_mains import configuration, make_trainer, train
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from models import PAD, batch, build
from sentence_data import command_line, make_data
from training_results import assert_same_training, losses

from realformer_fairseq.modules.sublayer_scaling import ScaledResidual
from realformer_fairseq.training.admin_profile import profile
from realformer_fairseq.training.plan import plan

OURS = "realformer_bert_tiny"
ADMIN = ("--sublayer-scaling", "admin", "--admin-profile-tokens", 100)
LAST = "checkpoint_last.pt"
RESETS = [f"--reset-{what}" for what in ("optimizer", "dataloader", "meters", "lr-scheduler")]
UPDATES = 8
OPTIONS = {OURS: ADMIN, "roberta": ()}
HEAD = "classification_heads.sentence_classification_head"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def train_into(data, caplog):
    """fairseq-train with small models; the log."""

    def train_into(folder, updates, *options, task="masked_lm", arch=OURS):
        caplog.clear()
        line = [*command_line(data, task, arch), "--save-dir", folder, "--max-update", updates]
        return train(*line, "--disable-validation", *options) + caplog.text

    caplog.set_level("INFO")
    return train_into


@pytest.fixture(scope="module")
def pretrained(data, tmp_path_factory):
    """By architecture: the folder of an uninterrupted training, and what we have logged."""
    found = {}
    for arch in (OURS, "roberta"):
        folder, log = tmp_path_factory.mktemp(arch), io.StringIO()
        line = [*command_line(data, "masked_lm", arch), "--save-dir", folder]
        ours, handler = logging.getLogger("realformer_fairseq"), logging.StreamHandler(log)
        ours.addHandler(handler)
        ours.setLevel("INFO")
        train(*line, *OPTIONS[arch], "--max-update", UPDATES, "--disable-validation")
        ours.setLevel("NOTSET")
        ours.removeHandler(handler)
        found[arch] = folder, log.getvalue()
    return found


def test_the_profile_follows_the_recurrence():
    """omega_1 = 1, omega_{i+1} = sqrt(Var(omega_i x_i) + Var(f_i)), without what is at padding."""
    model, (source, _) = build(OURS, sublayer_scaling="admin", max_positions=64).eval(), batch()
    found = profile(model, {"src_tokens": source, "features_only": True})
    seen, present = [], source.t().ne(PAD)
    for module in model.modules():
        if isinstance(module, ScaledResidual):
            module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    with torch.no_grad():
        model(source, features_only=True)
    expected = [1.0]
    for x, residual in seen:
        parts = (expected[-1] * residual[present], x[present])
        expected.append(sum(part.var(unbiased=False).item() for part in parts) ** 0.5)
    assert len(found) == 2 * 3
    assert list(found.values()) == pytest.approx(expected[:-1], rel=1e-5)
    stack = "encoder.sentence_encoder.layers"
    assert list(found)[:2] == [f"{stack}.0.{n}_residual.omega" for n in ("self_attn", "ffn")]


def test_a_training_takes_and_logs_the_profile(pretrained):
    """And fairseq's model, which ours are compared with, has none."""
    assert "ADMIN profile: encoder.sentence_encoder.layers.1.ffn_residual" in pretrained[OURS][1]
    assert "ADMIN profile" not in pretrained["roberta"][1]


@pytest.mark.parametrize("arch", [OURS, "roberta"])
def test_stopped_and_resumed_equals_uninterrupted(
    train_into, pretrained, tmp_path, monkeypatch, arch
):
    """Stopped by SIGTERM in the middle of the second epoch."""
    step = Trainer.train_step

    def step_with_signal(trainer, *args, **kwargs):
        if trainer.get_num_updates() + 1 == 5:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(trainer, *args, **kwargs)

    with monkeypatch.context() as patched, pytest.raises(SystemExit) as stop:
        patched.setattr(Trainer, "train_step", step_with_signal)
        train_into(tmp_path, UPDATES, *OPTIONS[arch], arch=arch)
    assert stop.value.code == 128 + signal.SIGTERM
    log = train_into(tmp_path, UPDATES, *OPTIONS[arch], arch=arch)
    assert list(losses(log)) == [6, 7, 8] and "ADMIN profile" not in log
    assert_same_training(pretrained[arch][0], tmp_path)


def refusal(trainer, path, reset_optimizer=False):
    """The line that a training ends in that is to go on from a checkpoint."""
    with pytest.raises(SystemExit) as stop:
        trainer.load_checkpoint(str(path), reset_optimizer)
    trainer._save_dir_lock.close()
    trainer._save_dir_lock = None
    assert len(stop.value.code.splitlines()) == 1
    return stop.value.code


def test_a_checkpoint_of_other_options_is_refused(pretrained, data, tmp_path):
    shutil.copy(pretrained[OURS][0] / LAST, tmp_path)
    trainer = make_trainer(*command_line(data, "masked_lm"), *ADMIN, "--save-dir", tmp_path)
    for name, given, words in (
        ("token_types", 2, "--token-types was 0, is 2 now"),
        ("layer_norm_eps", 1e-12, "--layer-norm-eps was 1e-05, is 1e-12 now"),
        ("residual_attention", "mean", "--residual-attention was sum, is mean now"),
        ("activation_fn", "relu", "--activation-fn was gelu_accurate, is relu now"),
        ("pooler_activation_fn", "gelu", "--pooler-activation-fn was tanh, is gelu now"),
    ):
        before = getattr(trainer.cfg.model, name)
        setattr(trainer.cfg.model, name, given)
        assert words in refusal(trainer, tmp_path / LAST)
        setattr(trainer.cfg.model, name, before)
    assert trainer.load_checkpoint(str(tmp_path / LAST))["train_iterator"]
    trainer._save_dir_lock.close()


@pytest.mark.parametrize(
    "options, words",
    [
        (("--arch", "roberta"), "--residual-attention was sum, is none now"),
        ((*ADMIN, "--max-positions", 64), "another model: --max-positions was 32, is 64 now (cho"),
        (ADMIN, "another model: its dictionary has 25 entries, that of the data-bin 26 (choose"),
    ],
)
def test_a_checkpoint_of_another_model_or_dictionary_is_refused(
    pretrained, data, tmp_path, options, words
):
    shutil.copy(pretrained[OURS][0] / LAST, tmp_path)
    line = command_line(data, "masked_lm")
    if "dictionary" in words:
        line[0] = shutil.copytree(data / "text", tmp_path / "data")
        with (line[0] / "dict.txt").open("a") as file:
            file.write("another 1\n")
    trainer = make_trainer(*line, *options, "--save-dir", tmp_path)
    assert words in refusal(trainer, tmp_path / LAST, reset_optimizer=options[0] != "--arch")


@pytest.mark.parametrize(
    "base, how, options",
    [
        (OURS, ["--restore-file"], ADMIN),
        ("roberta", ["--finetune-from-model"], ("--residual-attention", "none")),
        ("roberta", ["--restore-file"], (*ADMIN, "--missing-omega", "initial")),
    ],
)
def test_a_classifier_starts_from_a_masked_language_model(
    train_into, pretrained, tmp_path, base, how, options
):
    """As in fairseq's examples/roberta/README.glue.md, with learning rate 0."""
    how = [*how, pretrained[base][0] / LAST, *(RESETS if "--restore-file" in how else ())]
    log = train_into(tmp_path, 1, *how, *options, "--lr", 0, task="sentence_prediction")
    assert ("ADMIN profile" in log) == ("initial" in options)
    before, after = (
        torch.load(folder / LAST, weights_only=True)["model"]
        for folder in (pretrained[base][0], tmp_path)
    )
    assert "encoder.lm_head.dense.weight" in before and before.keys() <= after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    new = {name for name in after.keys() - before.keys() if not name.endswith(".omega")}
    assert len(new) == 4 and all(name.startswith(HEAD) for name in new)


def test_a_classifier_starts_from_one_with_other_classes(train_into, tmp_path):
    """Such as RTE from MNLI. But it does not go on with other classes."""
    train_into(tmp_path, 1, task="sentence_prediction")
    how = ["--restore-file", tmp_path / LAST, *RESETS, "--num-classes", 4]
    train_into(tmp_path / "other", 1, *how, task="sentence_prediction")
    after = torch.load(tmp_path / "other" / LAST, weights_only=True)["model"]
    assert len(after[f"{HEAD}.out_proj.weight"]) == 4
    with pytest.raises(SystemExit, match="out_proj.weight has shape .*, .4, 16. now"):
        train_into(tmp_path, 2, "--num-classes", 4, task="sentence_prediction")


@pytest.mark.parametrize(
    "task, unused", [("masked_lm", set()), ("sentence_prediction", {"encoder.lm_head"})]
)
def test_what_gets_no_gradient(data, tmp_path, task, unused):
    """What has none needs --find-unused-parameters in several processes."""
    trainer = make_trainer(*command_line(data, task), *ADMIN, "--save-dir", tmp_path)
    batches = trainer.get_train_iterator(1).next_epoch_itr(shuffle=False)
    trainer.criterion(trainer.model, next(batches))[0].backward()
    named = trainer.model.named_parameters()
    without = {".".join(name.split(".")[:2]) for name, p in named if p.grad is None}
    assert without == unused


@pytest.mark.parametrize(
    "task, arch, options",
    [
        ("masked_lm", OURS, ("--update-freq", 2, "--sample-break-mode", "complete")),
        ("language_modeling", "transformer_lm", ()),
    ],
)
def test_the_planned_updates_are_those_of_the_training(data, tmp_path, task, arch, options):
    line = [*command_line(data, task, arch), *options, "--max-epoch", 1, "--save-dir", tmp_path]
    train(*line, "--disable-validation")
    history = torch.load(tmp_path / LAST, weights_only=True)["optimizer_history"]
    assert plan(configuration(*line))["updates_an_epoch"] == history[-1]["num_updates"] > 1


YAML = """
common: {{cpu: true, log_format: simple, log_interval: 1}}
checkpoint: {{save_dir: {folder}, no_epoch_checkpoints: true}}
task: {{_name: masked_lm, data: {data}, tokens_per_sample: 32}}
criterion: masked_lm
dataset: {{batch_size: 8, num_workers: 0, required_batch_size_multiple: 1,
  disable_validation: true}}
optimizer: {{_name: adam}}
lr_scheduler: {{_name: inverse_sqrt, warmup_updates: 5}}
optimization: {{lr: [0.01], max_update: 8}}
model: {{_name: {arch}, encoder_layers: 2, encoder_embed_dim: 16, encoder_ffn_embed_dim: 32,
  encoder_attention_heads: 2, max_positions: 32}}
"""


@pytest.fixture
def composed(data, tmp_path):
    """What fairseq-hydra-train makes of YAML and overrides."""

    def composed(arch, *overrides):
        text = YAML.format(folder=tmp_path / "yaml", data=data / "text", arch=arch)
        write_lines(tmp_path / "config/small.yaml", ["# @package _group_", text])
        GlobalHydra.instance().clear()
        hydra_init("small")
        with initialize_config_dir(config_dir=str(tmp_path / "config"), version_base="1.1"):
            cfg = compose("small", list(overrides))
        add_defaults(cfg)
        return cfg

    return composed


@pytest.mark.parametrize("arch", [OURS, "roberta"])
def test_a_yaml_file_trains_what_the_flags_do(composed, pretrained, tmp_path, arch):
    """And its checkpoint, which has the options as a dictionary, can be loaded."""
    options = ["+model.sublayer_scaling=admin", "+model.admin_profile_tokens=100"]
    distributed_utils.call_main(composed(arch, *(options if OPTIONS[arch] else [])), main)
    assert_same_training(tmp_path / "yaml", pretrained[arch][0])
    (model,), _, _ = load_model_ensemble_and_task([str(tmp_path / "yaml" / LAST)])
    assert len(model.encoder.sentence_encoder.layers) == 2


def test_a_misspelt_option_of_a_yaml_file_is_named(composed):
    with pytest.raises(SystemExit, match=r"model.tokn_types: .*.is model.token_types meant"):
        distributed_utils.call_main(composed(OURS, "+model.tokn_types=2"), main)
