"""What the plugin changes in fairseq: at both entry points, once, for our models, removable."""

import os

import pytest
import torch
from conftest import PROJECT, TRAINING, run
from fairseq import checkpoint_utils, utils
from fairseq.criterions.ctc import CtcCriterion, CtcCriterionConfig
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.trainer import Trainer
from fairseq_mains import make_trainer
from models import TASK, arguments, build

from realformer_fairseq import RealFormerModel, fairseq_patches
from realformer_fairseq.fairseq_patches import PATCHES, is_ours
from realformer_fairseq.training.affected_models import is_one_of_ours, is_trained_by_us
from realformer_fairseq.training.trainer import RealFormerTrainer
from realformer_runtime.command_line import UserError

# A second --user-dir, which says what fairseq-train does to a trainer and with which functions.
WITNESS = """
import atexit
import sys
from fairseq.trainer import Trainer
from realformer_fairseq.fairseq_patches import PATCHES, is_ours

trainers = []
build_optimizer = Trainer._build_optimizer

def remember(self):
    trainers.append(type(self).__name__)
    return build_optimizer(self)

Trainer._build_optimizer = remember

@atexit.register
def tell():
    wrapped = (p for p in PATCHES if is_ours(getattr(p.owner, p.name)))
    print("WITNESS", set(trainers), "sacremoses" in sys.modules, *(p.name for p in wrapped))
"""


def functions():
    return [getattr(patch.owner, patch.name) for patch in PATCHES]


@pytest.fixture(autouse=True)
def installed():
    fairseq_patches.install()
    yield
    fairseq_patches.install()


def test_the_table_says_why_and_for_whom():
    assert len({(patch.owner, patch.name) for patch in PATCHES}) == len(PATCHES)
    for patch in PATCHES:
        assert patch.reason and "realformer" in patch.models


def test_a_second_time_wraps_nothing_twice_and_uninstalling_restores_fairseqs_own():
    own = [getattr(function, fairseq_patches.MARK)[1] for function in functions()]
    assert not any(hasattr(function, fairseq_patches.MARK) for function in own)
    fairseq_patches.install()
    assert all(map(is_ours, functions()))
    assert [getattr(function, fairseq_patches.MARK)[1] for function in functions()] == own
    for _ in range(2):
        fairseq_patches.uninstall()
        assert functions() == own


def test_what_others_wrap_around_ours_stays(monkeypatch):
    patch = next(patch for patch in PATCHES if patch.name == "save_checkpoint")

    def theirs(*args, **kwargs):
        return ours(*args, **kwargs)

    ours = getattr(patch.owner, patch.name)
    theirs.__dict__.update(vars(ours))  # as functools.wraps does
    monkeypatch.setattr(patch.owner, patch.name, theirs)
    fairseq_patches.install()
    fairseq_patches.uninstall()
    assert getattr(patch.owner, patch.name) is theirs


@pytest.mark.parametrize(
    "name, ours",
    [
        *((arch, True) for arch in ("realformer_wmt_en_fr", "multilingual_realformer")),
        *((arch, True) for arch in ("transformer", "transformer_iwslt_de_en")),
        *((arch, True) for arch in ("realformer_lm_tiny", "transformer_lm", "transformer_lm_gpt")),
        *((arch, False) for arch in ("fconv", "transformer_align", "lstm_lm", None)),
    ],
)
def test_models_concerned(name, ours):
    assert is_trained_by_us(name) is ours


@pytest.mark.parametrize(
    "arch, option, further",
    [
        ("transformer", "adaptive_softmax_cutoff", {}),
        ("transformer", "encoder_xformers_att_config", {}),
        ("transformer_lm", "character_filters", dict(character_embeddings=True)),
        ("realformer_tiny", "adaptive_softmax_cutoff", {}),
        ("fconv", "encoder_layers", {}),
    ],
)
def test_options_of_a_checkpoint_are_not_run(arch, option, further, tmp_path):
    """fairseq evaluates them while it builds the model."""
    code = f"open('{tmp_path}/marker', 'w').close()"
    args = arguments(arch, **{option: code}, decoder_layers_to_keep=None, **further)
    with pytest.raises(UserError, match="open.*accepted are|open.*comma-separated"):
        ARCH_MODEL_REGISTRY[arch].build_model(args, TASK)
    with pytest.raises(UserError, match="open.*accepted are"):  # as fairseq-validate does
        CtcCriterion(CtcCriterionConfig(wer_args=code), TASK)
    assert not list(tmp_path.iterdir())
    assert utils.eval_str_list("10,20", int) == [10, 20] and utils.eval_bool("True")
    assert utils.eval_str_list("[3] * 2") == [3.0, 3.0]


def test_wrapped_models_and_those_that_build_on_ours_are_concerned():
    """FSDP wraps a model twice where it flattens parameters."""
    model = build()
    for _ in range(3):
        assert is_one_of_ours(model)
        wrapper = torch.nn.Module()
        wrapper.module = model
        model = wrapper
    model = build()
    model.__class__ = type("Theirs", (RealFormerModel,), {})
    assert is_one_of_ours(model) and not is_one_of_ours(torch.nn.Linear(1, 1))


@pytest.mark.parametrize("arch", ["realformer_tiny", "transformer", "fconv"])
def test_only_trainers_of_our_models_become_ours(prepared, tmp_path, arch):
    line = [prepared / "data-bin", *TRAINING, "--save-dir", tmp_path, "--arch", arch]
    if arch == "fconv":  # which has other options for its sizes
        line = [prepared / "data-bin", "--task", "translation", "--arch", arch, "--cpu"]
        line += ["--optimizer", "adam", "--lr", 0.1, "--max-tokens", 300, "--save-dir", tmp_path]
    trainer = make_trainer(*line, kind=Trainer)
    checkpoint_utils.load_checkpoint(trainer.cfg.checkpoint, trainer)
    assert type(trainer) is (Trainer if arch == "fconv" else RealFormerTrainer)
    assert (tmp_path / ".training.lock").exists() is (arch != "fconv")


def test_saving_for_others_is_fairseqs_own(tmp_path, monkeypatch):
    """Called by no trainer of ours, each wrapper hands its arguments to what it wraps."""
    calls = []
    for patch in PATCHES:
        if patch.name in ("save_checkpoint", "torch_persistent_save", "copy", "broadcast_object"):
            wrapper = patch.wrapper(lambda *args, **kwargs: calls.append((args, kwargs)))
            wrapper({"cfg": 1, "optimizer_history": []}, str(tmp_path / "a"), 3)
    assert calls == [(({"cfg": 1, "optimizer_history": []}, str(tmp_path / "a"), 3), {})] * 4
    assert not list(tmp_path.iterdir())


def test_fairseq_train_trains_with_our_trainer(prepared, tmp_path):
    """fairseq-hydra-train, too: see test_hydra.py."""
    (tmp_path / "witness").mkdir()
    (tmp_path / "witness/__init__.py").write_text(WITNESS)
    line = [prepared / "data-bin", "--user-dir", tmp_path / "witness", *TRAINING]
    line += ["--save-dir", tmp_path, "--max-update", 1, "--disable-validation"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    output = run("fairseq-train", *line, env=environment).stdout
    (line,) = [line for line in output.splitlines() if line.startswith("WITNESS")]
    trained_by, has_sacremoses = "{'RealFormerTrainer'}", "False"  # whose import takes long
    names = [patch.name for patch in PATCHES]
    assert line == " ".join(["WITNESS", trained_by, has_sacremoses, *names])
    state = torch.load(tmp_path / "checkpoint_last.pt", weights_only=True)
    assert state["optimizer_history"][-1]["num_updates"] == 1
