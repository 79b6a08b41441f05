"""What computes on a GPU, on a device that refuses tensors of the CPU and mixed types."""

import copy
import functools
import itertools

import language_models
import pytest
import torch
from beam_search import generate
from checkpoint_files import average
from commands import error_of
from conftest import TRAINING
from fairseq import utils
from fairseq.distributed import utils as distributed_utils
from fairseq.sequence_generator import SequenceGeneratorWithAlignment
from fairseq.trainer import Trainer
from fairseq_mains import COMMON, configuration, trainer_of
from hubs import from_pretrained, randomize
from models import PAD, TASK, assert_close, batch, build, logits, with_trained_omega
from pretended_device import CPU, DEVICE, DeviceTensor, device_at_hand
from sentence_data import command_line, make_data
from training_results import flat

from realformer_fairseq import RealFormerMaskedLM
from realformer_fairseq.analysis.attention_analysis import measure
from realformer_fairseq.export import onnx_export
from realformer_fairseq.modules import residual_attention
from realformer_fairseq.training.admin_profile import profile_before_training
from realformer_fairseq.training.stop_signals import signals_given_back
from realformer_fairseq.training.trainer import RealFormerTrainer

pytestmark = pytest.mark.usefixtures("at_hand")
FLOAT32, HALF, BFLOAT16 = torch.float32, torch.float16, torch.bfloat16


@pytest.fixture
def at_hand():
    with device_at_hand(), signals_given_back():
        yield


def moved(inputs, device=DEVICE):
    return utils.apply_to_sample(lambda tensor: tensor.to(device), inputs)


def mask_on_cpu(model, monkeypatch):
    """A tensor that is made without a device."""
    mask = residual_attention.additive_mask
    monkeypatch.setattr(residual_attention, "additive_mask", lambda *args: mask(*args).cpu())


def queries_in_float32(model, monkeypatch):
    """A product of two types."""
    own = residual_attention.chained_scores

    def chained_scores(q, *args):
        return own(q.float(), *args)

    monkeypatch.setattr(residual_attention, "chained_scores", chained_scores)


def omega_in_float32(model, monkeypatch):
    """A layer norm of two types, which a CPU would accept."""
    for name, parameter in model.named_parameters():
        if name.endswith(".omega"):
            parameter.data = parameter.data.float()


@pytest.mark.parametrize(
    "plant, message",
    [
        (mask_on_cpu, "tensors of two devices"),
        (queries_in_float32, "dtype"),
        (omega_in_float32, "tensors of two types"),
    ],
)
def test_a_mistake_shows(monkeypatch, plant, message):
    """Else the other tests could not fail."""
    model, inputs = build(sublayer_scaling="admin").half().to(DEVICE), moved(batch())
    assert logits(model, *inputs).isfinite().all()
    plant(model, monkeypatch)
    with pytest.raises(RuntimeError, match=message):
        logits(model, *inputs)


ADMIN = ("--sublayer-scaling", "admin", "--admin-profile-tokens", 200)
RADAM = ("--optimizer", "radam")
OPTIONS = {
    "translation": [*ADMIN, *RADAM, "--residual-attention", "sum"],
    "masked_lm": [*ADMIN, "--criterion", "masked_lm_with_accuracy"],
    "sentence_prediction": [],
    "language_modeling": ["--arch", "realformer_lm", *ADMIN, *RADAM],
}


@pytest.fixture(scope="module")
def settings(prepared, tmp_path_factory):
    """What fairseq makes of the options for each task, of which each call gives a copy."""
    data = make_data(tmp_path_factory.mktemp("sentences"))

    @functools.cache
    def parsed(task):
        line = [prepared / "data-bin", *COMMON, *TRAINING]
        line = line if task == "translation" else command_line(data, task)
        return configuration(*line, *OPTIONS[task])

    return lambda task: copy.deepcopy(parsed(task))


def trainer_on(device, cfg, kind=RealFormerTrainer):
    """A trainer as it is on a device that fairseq knows, and its batches, over and over."""
    trainer = trainer_of(cfg, kind)
    prepare = trainer._prepare_sample
    trainer._prepare_sample = lambda sample, *args: prepare(moved(sample, device), *args)
    trainer.device = device
    for module in (trainer._model, trainer._criterion):
        module.to(device)
    return trainer, itertools.cycle(trainer.get_train_iterator(1).next_epoch_itr(shuffle=False))


def losses(device, cfg):
    """Losses of two updates and of a batch of validation, after ADMIN's profile."""
    trainer, batches = trainer_on(device, cfg)
    profile_before_training(trainer)
    logs = [trainer.train_step([next(batches)]) for _ in range(2)]
    return [float(log["loss"]) for log in (*logs, trainer.valid_step(next(batches)))]


@pytest.mark.parametrize(
    "task, precision",
    [
        ("translation", None),
        ("translation", "fp16"),
        ("translation", "bf16"),
        ("masked_lm", "fp16"),
        ("sentence_prediction", "bf16"),
        ("language_modeling", "fp16"),
    ],
)
def test_training(settings, task, precision):
    """Losses are those of float32 on the CPU; with halves they are near, the dropout is another."""
    cfg = settings(task)
    if not precision:
        cfg.model.dropout = cfg.model.attention_dropout = 0.0
    expected = losses(CPU, copy.deepcopy(cfg))
    if precision:
        cfg.common[precision] = True
    assert losses(DEVICE, cfg) == pytest.approx(expected, rel=0.1 if precision else 1e-4)


def test_saved_there_it_goes_on_there_and_loads_here(settings, tmp_path):
    cfg, path = settings("translation"), str(tmp_path / "saved.pt")
    cfg.common.fp16, cfg.checkpoint.save_dir = True, str(tmp_path)
    trainer, batches = trainer_on(DEVICE, cfg)
    trainer.train_step([next(batches)])
    trainer.consolidate_optimizer()
    trainer.save_checkpoint(path, {"train_iterator": {"epoch": 1}})
    tensors = [each for each in flat(torch.load(path)).values() if isinstance(each, torch.Tensor)]
    assert len(tensors) > 20 and {type(each) for each in tensors} == {torch.Tensor}

    again, _ = trainer_on(DEVICE, cfg)
    again.load_checkpoint(path)
    sample = next(batches)
    one, other = (float(each.train_step([sample])["loss"]) for each in (trainer, again))
    assert one == other


def test_signals_of_other_ranks_cost_nothing(settings, monkeypatch):
    """As many sums over the ranks as in fairseq, and no more waiting for a number of the device."""
    sums, found = [], {}
    for kind in (Trainer, RealFormerTrainer):
        trainer, batches = trainer_on(DEVICE, settings("translation"), kind)
        trainer._wrapped_model, trainer._wrapped_criterion = trainer._model, trainer._criterion
        with monkeypatch.context() as patch:
            patch.setattr(Trainer, "data_parallel_world_size", 2)
            patch.setattr(Trainer, "data_parallel_process_group", None)
            patch.setattr(distributed_utils, "all_reduce", lambda *_, **__: sums.append(1))
            trainer.train_step([next(batches)])
            sums.clear()
            DeviceTensor.reads = 0
            trainer.train_step([next(batches)])
            found[kind] = len(sums), DeviceTensor.reads
    assert found[RealFormerTrainer][0] == found[Trainer][0] > 0
    assert found[RealFormerTrainer][1] <= found[Trainer][1]


@pytest.mark.parametrize(
    "mode, dtype", [("mean", FLOAT32), ("sum", FLOAT32), ("sum", HALF), ("mean", BFLOAT16)]
)
def test_beam_search(mode, dtype):
    """With prefixes, and sentences that are done at different steps."""
    model = with_trained_omega(residual_attention=mode, sublayer_scaling="admin")
    source, previous = batch()
    prefixes = previous[:, 1:3]
    expected = generate([model], source, prefix_tokens=prefixes)
    model.to(DEVICE, dtype)
    found = generate([model], source.to(DEVICE), prefix_tokens=prefixes.to(DEVICE))
    pairs = [pair for one, other in zip(found, expected) for pair in zip(one, other)]
    assert len(pairs) == 15
    for one, other in pairs:
        assert one["positional_scores"].isfinite().all()
        if dtype == FLOAT32:
            assert one["tokens"].tolist() == other["tokens"].tolist()
            assert_close(one["positional_scores"].cpu(), other["positional_scores"])


def test_alignment():
    model, (source, target) = build().eval(), batch()
    sizes = {"src_tokens": source, "src_lengths": source.ne(PAD).sum(1)}
    found = []
    for device in (CPU, DEVICE):
        search = SequenceGeneratorWithAlignment(
            [model.to(device)], TASK.target_dictionary, beam_size=2, max_len_b=8
        )
        sample = moved({"net_input": sizes, "target": target}, device)
        with torch.no_grad():
            found.append(
                [h["alignment"] for each in search.generate([model], sample) for h in each]
            )
    assert found[0] == found[1] and any(found[0])


def from_python(hub, texts, tokens):
    """Translations, their scores, and what is measured of attention."""
    translations = hub.translate(texts, max_len_a=0, max_len_b=8)
    scores = [scored["positional_scores"].tolist() for scored in hub.score(texts, translations)]
    statistics, _ = measure(hub.models[0], hub.task, hub.task.dataset("test"), tokens)
    means = [
        histograms.mean().tolist()
        for layers in statistics.histograms.values()
        for histograms in layers.values()
    ]
    return translations, scores, means


def test_translation_from_python(trained, prepared, tmp_path):
    randomize(trained / "checkpoint_last.pt", tmp_path / "random.pt")
    hub = from_pretrained(tmp_path, prepared, "random.pt")
    hub.task.load_dataset("test")
    texts = (prepared / "raw/test.en").read_text("utf-8").splitlines()[:3]
    expected = from_python(hub, texts, 4000)
    found = from_python(hub.to(DEVICE), texts, 4000)
    assert found[0] == expected[0] and len(set(found[0])) == 3
    for one, other in zip([*found[1], *found[2]], [*expected[1], *expected[2]]):
        assert one == pytest.approx(other, rel=1e-4)


def test_masked_language_model_from_python(tmp_path):
    language_models.write_data(tmp_path)
    language_models.save(tmp_path / "model.pt", tmp_path, "realformer_masked_lm")
    hub = RealFormerMaskedLM.from_pretrained(tmp_path, "model.pt", data_name_or_path=str(tmp_path))
    found = [hub.to(device).fill_mask("w1 w2 <mask> w3", topk=3) for device in (CPU, DEVICE)]
    for (_, probability, word), (_, other, same) in zip(*found):
        assert word == same and probability == pytest.approx(other, rel=1e-4)


def test_a_file_with_tensors_of_a_gpu(trained, prepared, monkeypatch, tmp_path):
    path = str(tmp_path / "gpu.pt")
    state = torch.load(trained / "checkpoint_last.pt")
    with monkeypatch.context() as patch:
        patch.setattr(torch.serialization, "location_tag", lambda _: "cuda:0")
        torch.save(state, path)
    with pytest.raises(RuntimeError, match="on a CUDA device"):
        torch.load(path)
    assert average("--inputs", path, path, "--output", tmp_path / "average.pt") is None
    averaged = torch.load(tmp_path / "average.pt")["model"]
    assert all(torch.equal(value, state["model"][name]) for name, value in averaged.items())
    files = ("--checkpoint", path, "--data", prepared / "data-bin")
    assert error_of(onnx_export, *files, "--output", tmp_path / "exported") is None
