"""ADMIN's profile: the recurrence, and when fairseq-train takes it."""

import copy
import re

import numpy as np
import pytest
import torch
from conftest import TRAINING
from fairseq_mains import log_of_training, make_trainer
from hubs import from_pretrained
from models import PAD
from training_results import losses

from realformer_fairseq.modules.sublayer_scaling import ScaledResidual
from realformer_fairseq.training.admin_profile import first_sentences, profile

PROFILED = re.compile(r"ADMIN profile: (\S+) = ([\d.]+)")
ADMIN = ("--sublayer-scaling", "admin", "--admin-profile-tokens", 200)


def constants(model):
    """The value of each omega, which is the same in all dimensions, by its name."""
    found = {}
    for name, parameter in model.named_parameters():
        if name.endswith(".omega"):
            assert len(parameter.unique()) == 1, name
            found[name] = parameter[0].item()
    return found


class HandSet(torch.nn.Module):
    """A stack of sub-layers with known outputs and no layer norm."""

    def __init__(self, outputs):
        super().__init__()
        self.padding_idx = PAD
        self.outputs = outputs
        ones = [torch.ones(output.size(-1)) for output in outputs]
        self.residuals = torch.nn.ModuleList(map(ScaledResidual, ones))

    def forward(self, x):
        for output, residual in zip(self.outputs, self.residuals):
            x = residual(output, x)
        return x


class HandSetModel(torch.nn.Module):
    """An encoder and a decoder with inputs that depend on no tokens."""

    stacks = {"encoder": "encoder", "decoder": "decoder"}

    def __init__(self, encoder, decoder, *inputs):
        super().__init__()
        self.encoder, self.decoder, self.inputs = encoder, decoder, inputs

    def forward(self, src_tokens, prev_output_tokens):
        self.encoder(self.inputs[0])
        self.decoder(self.inputs[1])


def test_a_hand_set_net_follows_the_recurrence():
    """Worked out by hand. The encoder's input is +-1, its first f +-2 and its second +-0.5, so
    the second sub-layer has the input +-3 and omega sqrt(1 + 4), the third sqrt(5 * 9 + 0.25). The
    decoder starts at 1 again. What is at padding does not count."""
    sign = torch.tensor([1.0, -1.0]).repeat(3, 1, 4)  # (T, B, C) = (3, 1, 8)
    padded = sign.clone()
    padded[2] = 1000.0
    encoder, decoder = HandSet([2 * sign, 0.5 * sign, sign]), HandSet([3 * sign, sign])
    model = HandSetModel(encoder, decoder, padded, sign)
    source, previous = torch.tensor([[7, 8, PAD]]), torch.tensor([[2, 7, 8]])
    found = profile(model, dict(src_tokens=source, prev_output_tokens=previous))
    omegas = {"encoder": [1, 5**0.5, (5 * 9 + 0.25) ** 0.5], "decoder": [1, (1 + 9) ** 0.5]}
    expected = {f"{s}.residuals.{n}.omega": o for s in omegas for n, o in enumerate(omegas[s])}
    assert list(found) == list(expected)
    assert found == pytest.approx(expected) and constants(model) == pytest.approx(expected)
    assert not any(module._forward_pre_hooks for module in model.modules())


@pytest.fixture(scope="module")
def trainer_with(prepared):
    line = [prepared / "data-bin", *TRAINING, *ADMIN, "--save-dir", prepared / "none"]
    return lambda *options: make_trainer(*line, *options)


def load_nothing(trainer):
    """The constants of a training that starts."""
    assert trainer.load_checkpoint("/no/such/checkpoint.pt") is None
    return constants(trainer._model)


def test_only_omega_changes_and_random_numbers_go_on_as_without(trainer_with):
    trainer = trainer_with()
    before = copy.deepcopy(trainer._model.state_dict())
    torch.manual_seed(5), np.random.seed(5)
    expected = torch.rand(3), np.random.rand(3)
    torch.manual_seed(5), np.random.seed(5)
    omegas = load_nothing(trainer)
    assert torch.equal(torch.rand(3), expected[0]) and (np.random.rand(3) == expected[1]).all()
    for name, value in trainer._model.state_dict().items():
        assert name in omegas or torch.equal(value, before[name]), name
    assert len(set(omegas.values())) > len(omegas) / 2
    assert trainer._optimizer is None and trainer._wrapped_model is None
    assert trainer._model.training


def test_the_profile_is_repeatable_and_has_dropout_in_it(trainer_with):
    first, again = load_nothing(trainer_with()), load_nothing(trainer_with())
    without = load_nothing(trainer_with("--dropout", 0, "--attention-dropout", 0))
    other_seed = load_nothing(trainer_with("--seed", 2))
    assert first == again
    assert first != without and first != other_seed
    # Dropout with probability p makes a variance 1 / (1 - p) times as large.
    last = "encoder.layers.1.ffn_residual.omega"
    assert first[last] > without[last]


def test_the_sentences_are_those_that_training_begins_with(trainer_with):
    trainer = trainer_with("--admin-profile-tokens", 1000)
    load_nothing(trainer)
    chosen = first_sentences(trainer, 1000)
    dataset = trainer.task.dataset("train")
    tokens = [dataset.num_tokens(index) for index in chosen]
    assert sum(tokens) <= 1000 < sum(tokens) + 60
    iterator = trainer.get_train_iterator(epoch=1, load_dataset=False)
    batches = iterator.next_epoch_itr(shuffle=True)
    seen = []
    while len(seen) < len(chosen):
        seen += next(batches)["id"].tolist()
    assert set(chosen) <= set(seen)
    assert len(first_sentences(trainer, 1)) == 1  # whatever the limit


def test_layerdrop_leaves_no_layer_without_omega(trainer_with):
    trainer = trainer_with("--encoder-layerdrop", 0.9, "--decoder-layerdrop", 0.9)
    omegas = load_nothing(trainer)
    assert [name for name, omega in omegas.items() if omega == 1] == [
        "encoder.layers.0.self_attn_residual.omega",
        "decoder.layers.0.self_attn_residual.omega",
    ]
    assert trainer._model.encoder.layers.p == 0.9


@pytest.mark.parametrize("scaling", ["none", "admin-analytic", "deepnorm"])
def test_no_other_scaling_takes_a_profile(trainer_with, scaling, caplog):
    trainer = trainer_with("--sublayer-scaling", scaling)
    before = copy.deepcopy(trainer._model.state_dict())
    with caplog.at_level("INFO"):
        load_nothing(trainer)
    assert "ADMIN profile" not in caplog.text
    after = trainer._model.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def logged(log):
    """Omegas by name, as the log of fairseq-train has them."""
    return {name: float(value) for name, value in PROFILED.findall(log)}


@pytest.fixture(scope="module")
def admin_trained(prepared, tmp_path_factory):
    """One update with learning rate 0, so that the checkpoint has the profile; it, as logged."""
    folder = tmp_path_factory.mktemp("admin")
    options = [*ADMIN, "--max-update", 1, "--lr", 0]
    return folder, logged(log_of_training(prepared / "data-bin", folder, *options))


def test_the_log_and_the_checkpoint_have_the_profile(admin_trained, prepared, caplog):
    """And building a model from Python takes none."""
    folder, found = admin_trained
    assert len(found) == 2 * 2 + 2 * 3
    assert found["encoder.layers.0.self_attn_residual.omega"] == 1
    assert found["decoder.layers.0.self_attn_residual.omega"] == 1
    with caplog.at_level("INFO"):
        hub = from_pretrained(folder, prepared)
    assert "ADMIN profile" not in caplog.text
    assert constants(hub.models[0]) == pytest.approx(found, abs=1e-4)


def test_resuming_takes_no_profile_and_keeps_omega(admin_trained, prepared, tmp_path):
    checkpoint = tmp_path / "checkpoint_last.pt"
    state = torch.load(admin_trained[0] / checkpoint.name, weights_only=True)
    for name in admin_trained[1]:
        state["model"][name] += 3
    torch.save(state, checkpoint)
    options = [*ADMIN, "--max-update", 2, "--lr", 0, "--reset-lr-scheduler"]
    assert logged(log_of_training(prepared / "data-bin", tmp_path, *options)) == {}
    after = torch.load(checkpoint, weights_only=True)["model"]
    for name in admin_trained[1]:
        assert torch.equal(after[name], state["model"][name]), name


@pytest.mark.parametrize("scaling", ["admin", "admin-analytic", "deepnorm"])
def test_omega_that_a_checkpoint_lacks(trainer_with, trained, scaling, caplog):
    """It is 1 and the log says so, or what it is at the start of a training from scratch."""
    checkpoint, found = str(trained / "checkpoint_last.pt"), {}
    caplog.set_level("INFO")
    for choice in ("one", "initial"):
        trainer = trainer_with("--sublayer-scaling", scaling, "--missing-omega", choice)
        state = trainer._model.state_dict()
        initial = {name: state[name].mean().item() for name in state if name.endswith(".omega")}
        caplog.clear()
        trainer.load_checkpoint(checkpoint, reset_optimizer=True)
        state = trainer._model.state_dict()
        found[choice] = {name: state[name].mean().item() for name in initial}
        assert (f"{checkpoint} has no omega: it is 1" in caplog.text) == (choice == "one")
    assert set(found["one"].values()) == {1}
    if scaling == "admin":
        assert len(set(found["initial"].values())) > len(initial) / 2
        assert "ADMIN profile" in caplog.text
    else:
        assert found["initial"] == pytest.approx(initial)
        assert 1 not in found["initial"].values()


def test_omega_that_the_model_has_no_place_for(admin_trained, trainer_with):
    trainer = trainer_with("--sublayer-scaling", "none")
    with pytest.raises(SystemExit, match="--sublayer-scaling was admin, .*scripts/fold_admin.sh"):
        trainer.load_checkpoint(str(admin_trained[0] / "checkpoint_last.pt"), reset_optimizer=True)


def test_unbalanced_depths_train(prepared, tmp_path):
    """18-2: users of Transformer-Clinic saw such models diverge (its issue 9)."""
    layers = ["--encoder-layers", 18, "--decoder-layers", 2, "--lr", 2e-3]
    options = [*ADMIN, *layers, "--max-update", 20]
    log = log_of_training(prepared / "data-bin", tmp_path, *options)
    found = list(losses(log).values())
    assert len(found) == 20 and max(found[-5:]) < min(found[:5])
    assert len(logged(log)) == 18 * 2 + 2 * 3


def test_omega_of_a_profile_after_loading_is_that_of_the_optimizer(trainer_with, trained):
    """In bfloat16, where the optimizer has a copy of each parameter in float32."""
    options = ["--bf16", "--missing-omega", "initial"]
    trainer = trainer_with(*options)
    trainer.load_checkpoint(str(trained / "checkpoint_last.pt"), reset_optimizer=True)
    expected = sum(p.float().sum() for p in trainer._model.parameters()).item()
    copies = trainer.optimizer.fp32_params
    assert sum(p.sum() for p in copies).item() == pytest.approx(expected, rel=1e-4)
