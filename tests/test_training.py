"""fairseq-train with the plugin, as a user runs it."""

import re

import pytest
import torch
from conftest import PROJECT
from fairseq import options, utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY
from fairseq_mains import log_of_training
from training_results import is_trained, losses

from realformer_fairseq.models.architectures import ARCHITECTURES


def test_loss_falls(trained):
    loss = losses((trained / "train.log").read_text())
    first, last = ([loss[n] for n in updates] for updates in (range(1, 6), range(16, 21)))
    assert max(last) < min(first) and sum(last) < 0.9 * sum(first)


def test_training_with_a_best_bleu_resumes(prepared, tmp_path):
    """Such a checkpoint holds numpy scalars, which torch 2.6 and later refuse by themselves."""
    options = ["--eval-bleu", "--eval-bleu-args", '{"max_len_b": 5}', "--eval-bleu-remove-bpe"]
    options += ["--best-checkpoint-metric", "bleu", "--maximize-best-checkpoint-metric"]
    options += ["--validate-interval-updates", 1, "--no-epoch-checkpoints"]
    for updates in (1, 2):
        further = [*options, "--max-update", updates]
        log = log_of_training(prepared / "data-bin", tmp_path, *further, validate=True)
        assert (tmp_path / "checkpoint_best.pt").is_file()
    assert "best_bleu" in log
    assert min(losses(log)) == 2
    assert (tmp_path / "checkpoint_last.pt").is_file()


def test_vanilla_checkpoint_is_fine_tuned(prepared, tmp_path):
    vanilla = ["--arch", "transformer", "--encoder-attention-heads", 4]
    vanilla += ["--decoder-attention-heads", 4, "--max-update", 1]
    log_of_training(prepared / "data-bin", tmp_path / "vanilla", *vanilla)
    checkpoint = tmp_path / "vanilla/checkpoint_last.pt"
    ours = ["--finetune-from-model", checkpoint, "--residual-attention", "none"]
    ours += ["--max-update", 1, "--lr", 0]
    log = log_of_training(prepared / "data-bin", tmp_path / "ours", *ours)
    assert f"Loaded checkpoint {checkpoint}" in log
    before, after = (
        torch.load(path, weights_only=True)["model"]
        for path in (checkpoint, tmp_path / "ours/checkpoint_last.pt")
    )
    names = set(filter(is_trained, before))
    assert names == set(filter(is_trained, after))
    assert all(torch.equal(before[name], after[name]) for name in names)


@pytest.fixture
def parser(tmp_path, monkeypatch):
    """fairseq-train's parser, for a command line with our --user-dir and without the rest."""
    monkeypatch.chdir(PROJECT)

    def parse(*arguments, user_dir="realformer_fairseq"):
        line = [str(tmp_path), "--user-dir", user_dir, *arguments]
        return options.parse_args_and_arch(options.get_training_parser(), line)

    utils.import_user_module(type("args", (), {"user_dir": "realformer_fairseq"}))
    return parse


def test_options_reach_the_model(parser):
    args = parser("--arch", "realformer_wmt_en_fr_60_12", "--residual-attention", "sum")
    assert (args.residual_attention, args.residual_chains) == ("sum", "encoder,decoder,cross")
    assert (args.encoder_layers, args.decoder_layers) == (60, 12)
    assert (args.sublayer_scaling, args.admin_profile_tokens) == ("admin", 8192)
    args = parser("--arch", "realformer_wmt_en_fr_60_12", "--sublayer-scaling", "none")
    assert args.sublayer_scaling == "none"
    args = parser("--arch", "realformer", "--residual-chains", "cross, encoder", "--dropout", "0.2")
    assert (args.residual_attention, args.residual_chains) == ("mean", "encoder,cross")
    assert args.dropout == 0.2


def test_everything_that_the_transformer_takes_is_taken(parser):
    ours = vars(parser("--arch", "realformer")).keys()
    theirs = vars(parser("--arch", "transformer")).keys()
    own = {"residual_attention", "residual_chains", "sublayer_scaling"}
    own |= {"admin_profile_tokens", "missing_omega", "attention_kernel"}
    assert ours == theirs | own and not theirs & own


@pytest.mark.parametrize("user_dir", ["realformer_fairseq", "./realformer_fairseq/"])
def test_user_dir_after_import(parser, user_dir):
    utils.import_user_module.memo.clear()
    assert parser("--arch", "realformer_tiny", user_dir=user_dir).encoder_embed_dim == 128


def test_architectures_are_listed_where_one_is_not_known(parser, capsys):
    with pytest.raises(SystemExit):
        parser("--arch", "realformer_small")
    message = capsys.readouterr().err
    assert all(re.search(rf"\b{function.__name__}\b", message) for function in ARCHITECTURES)
    assert all(ARCH_MODEL_NAME_REGISTRY[f.__name__] == "realformer" for f in ARCHITECTURES)


@pytest.mark.parametrize(
    "flag, value, accepted",
    [
        ("--residual-attention", "max", ("mean", "sum", "none")),
        ("--residual-chains", "encoder,self", ("'encoder,self'", "encoder, decoder, cross")),
        ("--residual-chains", "", ("''", "--residual-attention none")),
        ("--sublayer-scaling", "post-ln", ("none", "admin", "admin-analytic", "deepnorm")),
        ("--missing-omega", "2", ("one", "initial")),
        ("--attention-kernel", "fast", ("auto", "eager", "fused")),
        ("--encoder-layers-to-keep", "a", ("'a'", "comma-separated list of layers")),
        ("--decoder-layers-to-keep", "1,1", ("'1,1'", "names a layer twice")),
        ("--decoder-layers-to-keep", "-1", ("'-1'", "comma-separated list of layers")),
        ("--admin-profile-tokens", "0", ("'0'", "whole number above 0")),
        ("--admin-profile-tokens", "1e3", ("'1e3'", "whole number above 0")),
    ],
)
def test_bad_values_name_flag_value_and_choices(parser, capsys, flag, value, accepted):
    with pytest.raises(SystemExit) as exit:
        parser("--arch", "realformer", f"{flag}={value}")
    assert exit.value.code == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert flag in message and value in message
    assert all(word in message for word in accepted)
