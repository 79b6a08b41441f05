"""fairseq-hydra-train with the files of ``realformer_fairseq/config``."""

import argparse

import pytest
import torch
from conftest import PROJECT, TRAINING, run
from fairseq import options
from fairseq.dataclass import utils
from fairseq.dataclass.initialize import add_defaults, hydra_init
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY, build_model
from fairseq_mains import COMMON, configuration, generate, words
from hydra import compose, experimental, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from models import TASK, arguments, batch, logits, with_trained_omega
from omegaconf import OmegaConf
from omegaconf.errors import ValidationError
from recipe_scripts import ROWS, command
from training_results import assert_same_training

from realformer_fairseq.checkpoints.folding import fold_state

CONFIG = PROJECT / "realformer_fairseq/config"
# tiny.yaml made into the training of conftest.py.
LIKE_TRAINED = """
    +model.encoder_layers=2 +model.decoder_layers=2 +model.encoder_embed_dim=32
    +model.encoder_ffn_embed_dim=64 +model.decoder_ffn_embed_dim=64 lr_scheduler.warmup_updates=5
    optimization.lr=[0.005] optimization.max_epoch=0 optimization.max_update=20
    dataset.max_tokens=300 dataset.disable_validation=true checkpoint.save_interval_updates=10
    checkpoint.no_epoch_checkpoints=true
""".split()


def test_the_training_is_that_of_the_same_flags(trained, prepared, tmp_path):
    """By our trainer, into a folder whose name has a space, with paths relative to the project.

    The checkpoint also translates the same, and the configuration is kept beside it.
    """
    folder, data = tmp_path / "check points", prepared / "data-bin"
    command = ["fairseq-hydra-train", "--config-dir", CONFIG.relative_to(PROJECT)]
    command += ["--config-name", "tiny", f"task.data={data}", f"checkpoint.save_dir={folder}"]
    before = sorted(PROJECT.iterdir())
    run(*command, *LIKE_TRAINED, cwd=PROJECT)
    assert sorted(PROJECT.iterdir()) == before
    assert_same_training(folder, trained)
    assert (folder / ".training.lock").exists()  # which only our trainer makes
    one, other = (generate(data, path / "checkpoint_last.pt") for path in (folder, trained))
    assert len(one["H"]) == 20 and one == other
    kept = OmegaConf.load(folder / ".hydra/config.yaml")
    assert (kept.model._name, kept.model.encoder_layers) == ("realformer_tiny", 2)
    assert "done training" in (folder / "hydra_train.log").read_text()


@pytest.mark.parametrize("mode, name", [("mean", "realformer_tiny"), ("none", "transformer")])
def test_omega_is_folded_out_of_its_checkpoints(mode, name):
    """They hold the options of the model as a dictionary."""
    given = dict(residual_attention=mode, sublayer_scaling="admin", share_all_embeddings=True)
    model = with_trained_omega(**given)
    stored = {**vars(arguments(**given)), "_name": "realformer_tiny"}
    state = {"cfg": {"model": stored, "common": {}}, "model": dict(model.state_dict())}
    fold_state(state)
    folded = OmegaConf.create(state["cfg"]["model"])
    assert folded._name == name and folded.get("sublayer_scaling", "none") == "none"
    other = ARCH_MODEL_REGISTRY[name].build_model(argparse.Namespace(**folded), TASK)
    other.load_state_dict(state["model"])
    source, previous = batch()
    expected = logits(model, source, previous)
    torch.testing.assert_close(logits(other.eval(), source, previous), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "key, message",
    [
        ("residual_atention", "model.residual_atention: .* no such option .is model.residual_att"),
        ("zzz", "model.zzz: a realformer model has no such option$"),
    ],
)
def test_a_misspelt_option_of_the_model_is_named(key, message):
    cfg = OmegaConf.create({"_name": "realformer_tiny", key: "sum"})
    with pytest.raises(ValueError, match=message):
        build_model(cfg, TASK)


@pytest.mark.parametrize(
    "name, values",
    [
        ("encoder_layers_to_keep", ([0, 2], "0,2", "2,0", "[0, 2]")),
        ("decoder_layers_to_keep", ([1], 1, "1")),
        ("residual_chains", (["cross", "encoder"], "cross, encoder", "encoder,cross")),
        ("adaptive_softmax_cutoff", ([5, 9], "5,9")),
    ],
)
def test_lists_may_be_lists_or_text(name, values):
    """As flags, overrides and YAML files have them; the model has the same parameters."""
    models = []
    for value in values:
        cfg = OmegaConf.create({"_name": "realformer_tiny", name: value})
        models.append(build_model(cfg, TASK))
        assert models[-1].cfg.residual_chains == models[0].cfg.residual_chains
    states = [{key: tuple(v.shape) for key, v in model.state_dict().items()} for model in models]
    assert all(state == states[0] for state in states)


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("encoder_layers_to_keep", [0, 3], "--encoder-layers-to-keep 0,3: the layers are 0 to 2"),
        ("decoder_layers_to_keep", [1, 1], "--decoder-layers-to-keep: '1,1' names a layer twice"),
        ("decoder_layers_to_keep", [-1], "'-1' is not a comma-separated list of layers"),
        ("residual_chains", ["self"], "--residual-chains: 'self' is not"),
    ],
)
def test_lists_that_cannot_be_are_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        build_model(OmegaConf.create({"_name": "realformer_tiny", name: value}), TASK)


def composed(name, *overrides):
    """The configuration that fairseq-hydra-train gets, with what fairseq adds."""
    GlobalHydra.instance().clear()
    hydra_init(name)
    with initialize_config_dir(config_dir=str(CONFIG), version_base="1.1"):
        cfg = compose(name, list(overrides))
    add_defaults(cfg)
    return cfg


def without_files(cfg):
    """Values by group and name, but for what a script or a reader of a log sets."""
    groups = "common optimization dataset checkpoint task criterion optimizer lr_scheduler".split()
    groups += ["distributed_training"]
    found = {group: OmegaConf.to_container(cfg[group], resolve=True) for group in groups}
    for name in ("user_dir", "tensorboard_logdir"):
        found["common"].pop(name)
    found["checkpoint"].pop("save_dir")
    found["distributed_training"].pop("distributed_world_size")
    return found


def file_of(pair, row):
    return f"wmt14_{pair}_{row.replace('-', '_')}".replace("_6_6", "")


def test_every_file_is_a_row_or_for_trying_things():
    files = {path.stem for path in CONFIG.glob("*.yaml")}
    assert files == {"tiny", *(file_of(*names) for names in ROWS)}


@pytest.mark.parametrize("pair, row", ROWS)
def test_a_row_of_table_7_is_that_of_the_script_in_every_default(pair, row):
    gpus, cfg = ROWS[pair, row][0], composed(file_of(pair, row), "lr_scheduler.total_num_update=77")
    assert cfg.task.data.endswith(f"wmt14-{pair.replace('_', '2')}/data-bin")
    assert cfg.distributed_training.distributed_world_size == gpus
    words, _ = command(pair, "--row", row, "--gpus", gpus)
    words = words[words.index("fairseq-train") + 2 :]
    words += ["--user-dir", str(PROJECT / "realformer_fairseq"), "--total-num-update", "77"]
    flags = configuration(cfg.task.data, *words)
    assert without_files(cfg) == without_files(flags)
    model = cfg.model
    ARCH_CONFIG_REGISTRY[model._name](model)
    assert len(model) > 40
    assert {key: getattr(flags.model, key) for key in model} == dict(model)


def test_the_number_of_updates_is_asked_for():
    with pytest.raises(ValidationError, match="'the updates of 50 epochs'.*[^$]*total_num_update"):
        composed("wmt14_en_fr_60_12")


def configured(parser, *arguments):
    args = options.parse_args_and_arch(parser, words(*arguments))
    return utils.convert_namespace_to_omegaconf(args)


@pytest.mark.parametrize(
    "parser, line",
    [
        (options.get_training_parser, [*TRAINING, "--save-dir", "a'b\"c, {d}=[e]: 50%"]),
        (options.get_training_parser, [*TRAINING, "--arch", "transformer", "--optimizer", "radam"]),
        (options.get_generation_parser, ["--log-file", "null", "--model-overrides", "{'a': 'b'}"]),
    ],
)
def test_what_the_tests_keep_of_hydra_changes_no_configuration(parser, line, monkeypatch):
    """hydra_composition.py: equal in all values, types and their order."""
    assert utils.compose is not experimental.compose
    kept = configured(parser(), "data", *COMMON, *line)
    monkeypatch.setattr(utils, "compose", experimental.compose)
    expected = configured(parser(), "data", *COMMON, *line)
    assert OmegaConf.to_yaml(kept) == OmegaConf.to_yaml(expected)
