"""Averaging of checkpoints: exact, repeatable, and it runs no code from a file."""

import itertools
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import language_models
import pytest
import torch
from checkpoint_files import average, fairseq_state, random_model, save
from commands import error_of, outcome
from conftest import PROJECT, run
from fairseq.checkpoint_utils import load_checkpoint_to_cpu, load_model_ensemble
from fairseq_mains import log_of_training
from omegaconf import OmegaConf

from benchmarks.processes import anonymous_bytes
from realformer_checkpoints import averaging, parameter_mean
from realformer_checkpoints.model_card import __main__ as model_card


@pytest.fixture
def three(tmp_path):
    """Paths of checkpoint8.pt, checkpoint9.pt and checkpoint10.pt, with models 8, 9 and 10."""
    return [save(tmp_path / f"checkpoint{n}.pt", random_model(n), n) for n in (8, 9, 10)]


@pytest.mark.parametrize("output", ["out.pt", "2.0.pt"], ids=["another file", "an input"])
def test_the_mean_in_closed_form(tmp_path, output):
    inputs = [
        save(tmp_path / f"{value}.pt", {"w": torch.tensor([value, -value]), "n": torch.tensor(n)})
        for value, n in ((1.0, 3), (2.0, 4), (6.0, 4))
    ]
    assert average("--inputs", *inputs, "--output", tmp_path / output) is None
    model = load_checkpoint_to_cpu(str(tmp_path / output))["model"]
    assert model["w"].tolist() == [3.0, -3.0]
    assert model["n"].item() == 3  # 11 / 3, rounded down as in fairseq


def plain(value):
    """Not omegaconf's: that of fairseq 0.12.2 cannot compare a namespace."""
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value


def test_the_mean_of_three(three, tmp_path):
    """The bits are those of fairseq's script, and the rest of the state is the last input's."""
    outputs = [tmp_path / "out.pt", tmp_path / "a second name.pt"]
    for output in outputs:
        assert average("--inputs", *three, "--output", output) is None
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    state = load_checkpoint_to_cpu(str(outputs[0]))
    first, second, third = (random_model(n) for n in (8, 9, 10))
    for key, tensor in state["model"].items():
        # It adds the models up in float32, the first file first, and divides.
        assert torch.equal(tensor, (first[key] + second[key] + third[key]) / 3), key
    stored = torch.load(outputs[0], weights_only=True)["model"]
    pointers = {tensor.data_ptr() for key, tensor in stored.items() if "version" not in key}
    assert len(pointers) == 2  # the shared embedding and fc1
    expected = load_checkpoint_to_cpu(three[-1])
    for key in expected.keys() - {"model", "last_optimizer_state"}:
        assert plain(state[key]) == plain(expected[key]), key
    assert "last_optimizer_state" not in state
    assert state["averaged_from"] == ["checkpoint8.pt", "checkpoint9.pt", "checkpoint10.pt"]
    assert os.path.getsize(outputs[0]) < os.path.getsize(three[-1])


def test_weights_take_a_checkpoint_into_an_average(tmp_path):
    """The mean of three and one more, three to one, is that of four: to float32's last bit."""
    models = [{"w": torch.randn(1000, generator=torch.manual_seed(n))} for n in range(4)]
    paths = [save(tmp_path / f"{n}.pt", model) for n, model in enumerate(models)]
    assert average("--inputs", *paths[:3], "--output", tmp_path / "three.pt") is None
    options = ["--weights", "3", "1", "--output", tmp_path / "four.pt"]
    assert average("--inputs", tmp_path / "three.pt", paths[3], *options) is None
    state = torch.load(tmp_path / "four.pt", weights_only=True)
    three = load_checkpoint_to_cpu(str(tmp_path / "three.pt"))["model"]["w"]
    exact = (three.double() * 3 + models[3]["w"].double()) / 4
    assert torch.equal(state["model"]["w"], exact.float())
    mean = torch.stack([model["w"].double() for model in models]).mean(0)
    assert torch.allclose(state["model"]["w"].double(), mean, rtol=0, atol=3e-7)
    assert state["averaged_with_weights"] == [3.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float32_and_kept(dtype):
    tensors = [torch.randn(100, generator=torch.manual_seed(n)).to(dtype) for n in range(5)]
    tensors = [torch.cat([tensor, torch.tensor([61440.0], dtype=dtype)]) for tensor in tensors]
    averaged = parameter_mean.average_models([{"omega": tensor} for tensor in tensors])["omega"]
    assert torch.equal(averaged, torch.stack(tensors).double().mean(0).float().to(dtype))


def test_parameters_larger_than_a_part_keep_their_places(monkeypatch):
    monkeypatch.setattr(parameter_mean, "CHUNK_SIZE", 7)
    first, second = torch.arange(60.0).view(6, 10), torch.arange(60.0).view(10, 6).t()
    result = parameter_mean.average_models([{"w": first}, {"w": second}])["w"]
    assert torch.equal(result, (first + second) / 2)


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_checkpoint_averaged_with_itself_is_unchanged(tmp_path, dtype, zipped):
    model = random_model(1, dtype)
    path = save(tmp_path / "one.pt", model, _use_new_zipfile_serialization=zipped)
    assert average("--inputs", path, path, path, "--output", tmp_path / "out.pt") is None
    averaged = load_checkpoint_to_cpu(str(tmp_path / "out.pt"))["model"]
    assert list(averaged) == list(model)
    for key, tensor in averaged.items():
        assert tensor.dtype == model[key].dtype
        assert torch.equal(tensor, model[key]), key


def test_tensors_shared_in_one_checkpoint_only_are_averaged_apart():
    tied = torch.tensor([1.0])
    apart = {"a": torch.tensor([3.0]), "b": torch.tensor([5.0])}
    for models in ([apart, {"a": tied, "b": tied}], [{"a": tied, "b": tied}, apart]):
        result = parameter_mean.average_models(models)
        assert (result["a"].item(), result["b"].item()) == (2.0, 3.0)


def test_module_versions_survive():
    model = torch.nn.LayerNorm(4).state_dict()
    assert parameter_mean.average_models([model, model])._metadata == model._metadata


def test_what_went_into_an_average_can_be_shown(three, tmp_path, capsys):
    output = tmp_path / "out.pt"
    assert average("--inputs", *three[:2], "--weights", 2, 0.5, "--output", output) is None
    assert f"{three[0]}  weight 2" in capsys.readouterr().out
    assert average("--show", output) is None
    shown = capsys.readouterr().out
    assert shown == "checkpoint8.pt  weight 2\ncheckpoint9.pt  weight 0.5\n"
    # An average of averages tells its own inputs, without weights if it has none.
    assert average("--inputs", three[0], output, "--output", output) is None
    capsys.readouterr()
    assert average("--show", output) is None
    assert capsys.readouterr().out == "checkpoint8.pt\nout.pt\n"
    assert average("--show", three[0]).endswith("checkpoint8.pt: is not an average of checkpoints")


@pytest.mark.parametrize("arch", language_models.OURS)
def test_the_best_of_a_language_model(arch, tmp_path):
    """fairseq loads the mean, with what is tied in it, of the highest accuracies."""
    data, states = language_models.write_data(tmp_path, splits=()), []
    for seed, accuracy in enumerate(("9.5", "40.25", "41.0")):
        options = ["--maximize-best-checkpoint-metric"]
        state, model = language_models.new_state(data, arch, *options, seed=seed)
        if language_models.TASKS[arch] == "masked_lm":
            model.register_classification_head("topic", num_classes=3)
        state["model"] = model.state_dict()
        state["extra_state"]["ema"] = {k: v + 1 for k, v in state["model"].items()}
        torch.save(state, tmp_path / f"checkpoint.best_accuracy_{accuracy}.pt")
        states.append(state["model"])
    given = ["--inputs", tmp_path, "--num-best-checkpoints", 2, "--output", tmp_path / "out.pt"]
    for options, added in ((["--ema"], 1), ([], 0)):
        assert average(*given, *options) is None
        overrides = {"data": str(data), "load_checkpoint_heads": True}
        (model,), _ = load_model_ensemble([str(tmp_path / "out.pt")], overrides)
        for name, value in model.state_dict().items():
            mean = (states[1][name] + states[2][name]) / 2
            if mean.is_floating_point():
                torch.testing.assert_close(value, mean + added, msg=name)
    stored = torch.load(tmp_path / "out.pt", weights_only=True)["model"]
    assert stored.keys() == states[2].keys()
    pointers = [
        len({tensor.data_ptr() for tensor in each.values()}) for each in (stored, states[2])
    ]
    assert pointers[0] == pointers[1] < len(stored)


def most_memory(work):
    """What some work returns, and how many MiB it needed at most."""
    before, measured = anonymous_bytes(os.getpid()), [0]
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(work)
        while not result.done():
            measured.append(anonymous_bytes(os.getpid()) - before)
            time.sleep(0.001)
    return result.result(), max(measured) / 2**20


@pytest.mark.skipif(not anonymous_bytes(os.getpid()), reason="Linux measures it")
def test_memory_is_that_of_one_model(tmp_path):
    """3 models of 40 MiB with the state of Adam, 360 MiB of files."""
    numbers = 10 << 20  # large enough for the memory to go back to the system when freed
    paths, output = [tmp_path / f"{number}.pt" for number in range(3)], tmp_path / "out.pt"
    for number, path in enumerate(paths):
        state = fairseq_state({"w": torch.full((numbers,), float(number))})
        state["last_optimizer_state"]["state"] = {0: [torch.ones(numbers), torch.ones(numbers)]}
        torch.save(state, path)
    del state
    error, most = most_memory(lambda: average("--inputs", *paths, "--output", output))
    assert error is None
    assert load_checkpoint_to_cpu(str(output))["model"]["w"].eq(1).all()
    # One model is 40; all that is read is 120, and all that is there 360.
    assert 30 < most < 80


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": torch.ones(1)}, "{first}: has no parameter extra, which {last} has"),
        ({"encoder.version": None}, "{last}: has no parameter encoder.version, which {first} has"),
        (
            {"encoder.fc1.weight": torch.ones(16, 9)},
            "{first}: encoder.fc1.weight has shape (16, 8), but (16, 9) in {last}",
        ),
    ],
)
def test_unequal_models_are_refused(tmp_path, change, message):
    first = save(tmp_path / "first.pt", random_model(1))
    model = {k: v for k, v in {**random_model(2), **change}.items() if v is not None}
    last = save(tmp_path / "last.pt", model)
    error = average("--inputs", first, last, "--output", tmp_path / "out.pt")
    assert error == "average_checkpoints.sh: " + message.format(first=first, last=last)
    assert sorted(os.listdir(tmp_path)) == ["first.pt", "last.pt"]


@pytest.mark.parametrize(
    "group, one, other, named",
    [
        ("model", {"residual_attention": "none"}, {}, None),  # fairseq's Transformer
        ("model", {}, {"residual_attention": "mean"}, "residual-attention none, but {1} with mean"),
        ("model", {"decoder_attention_heads": 4}, {"decoder_attention_heads": 8}, "heads 4, but"),
        ("model", {"residual_chains": "cross"}, {"residual_chains": "encoder,cross"}, "s cross, "),
        ("model", {"layer_norm_eps": 1e-12}, {}, "layer-norm-eps 1e-12, but {1} with 1e-05"),
        ("task", {"source_lang": "en"}, {"source_lang": "fr"}, "source-lang en, but {1} with fr"),
        ("task", {"source_lang": "en"}, {}, None),
        ("model", {"dropout": 0.1}, {"dropout": 0.3}, None),
    ],
)
def test_models_that_compute_something_else_are_refused(tmp_path, group, one, other, named):
    """They may have the same parameters."""
    paths = []
    for number, options in enumerate((one, other)):
        state = fairseq_state(random_model(number))
        state["cfg"][group] = {"_name": "x", **options}
        paths.append(tmp_path / f"{number}.pt")
        torch.save(state, paths[-1])
    error = average("--inputs", *paths, "--output", tmp_path / "out.pt")
    if named is None:
        assert error is None
        return
    assert f"{paths[0]}: was trained with --" in error and named.format(*paths) in error
    assert not (tmp_path / "out.pt").exists()


def test_names_that_need_care(tmp_path):
    """A byte that is not UTF-8, by which torch opens no file; a line break; two names of a file."""
    path = tmp_path / "a\udcff\n.pt"
    os.link(save(tmp_path / "a.pt", random_model(1)), path)
    files = ["--inputs", tmp_path / "a.pt", path, "--output", tmp_path / "o\n.pt"]
    error, said, _ = outcome(averaging, *files)
    lines = said.decode("utf-8", "surrogateescape").splitlines()
    assert error is None and lines[0] == f"averaged into {tmp_path}/o\\n.pt:" and len(lines) == 4
    assert lines[3].startswith(f"{tmp_path}/a.pt counts more than once")
    assert load_checkpoint_to_cpu(str(tmp_path / "o\n.pt"))["averaged_from"][1] == path.name
    for empty in ("--inputs", "--output"):
        options = {"--inputs": path, "--output": tmp_path / "x.pt", empty: ""}
        assert f"{empty}: '' is empty" in average(*itertools.chain(*options.items()))
    ends = os.pipe()
    error = average("--inputs", tmp_path / "a.pt", "--output", f"/dev/fd/{ends[1]}")
    assert error.endswith(f"/dev/fd/{ends[1]}: exists and is not a file")
    for end in ends:
        os.close(end)


NAN, INFINITY = float("nan"), float("inf")
MASK = torch.tensor([0.0, -INFINITY])


@pytest.mark.parametrize(
    "values, message",
    [
        ([[1, 2], [1, NAN], [NAN, 2]], "{1}: decoder.w has NaN or infinity in it"),
        ([[1, 2], [1, 2], [1, INFINITY]], "{2}: decoder.w has NaN or infinity in it"),
        ([[1, INFINITY], [1, -INFINITY]], "{0}: decoder.w has NaN or infinity in it"),
        ([[1, -INFINITY], [1, -INFINITY]], "{0}: decoder.w has NaN or infinity in it"),
        ([[NAN, 1]], "{0}: decoder.w has NaN or infinity in it"),
        ([[3e38, 1], [3e38, 2]], "the mean of decoder.w is too large for float32, its type in {1}"),
        ([[1e9, 1], torch.ones(2).half()], "the mean of decoder.w is too large for float16"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_what_has_no_finite_mean_is_named(tmp_path, values, message, weighted):
    if weighted and "float32" in message:
        pytest.skip("weighted sums are in float64")
    paths = []
    for number, value in enumerate(values):
        model = {"a": torch.ones(3), "decoder.w": torch.as_tensor(value)}
        paths.append(save(tmp_path / f"checkpoint{number}.pt", model))
    options = ["--weights", *range(1, len(paths) + 1)] if weighted else []
    error = average("--inputs", *paths, *options, "--output", tmp_path / "out.pt")
    assert error.startswith("average_checkpoints.sh: " + message.format(*paths))
    assert "\n" not in error and not (tmp_path / "out.pt").exists()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_numbers_and_masks_that_may_be_large_are_averaged(tmp_path, dtype):
    """A sum of half precision overflows long before a number does; masks hold -infinity; NaN in the
    state of a training is not looked at."""
    model = {"w": torch.full((100,), 6e4).to(dtype), "mask": MASK.to(dtype), "n": torch.tensor(3)}
    model["none"] = torch.ones(0, 5)
    state = fairseq_state(model)
    state["last_optimizer_state"]["state"][0]["exp_avg"][0] = NAN
    state["extra_state"] |= {"val_loss": NAN, "gradients": torch.tensor(NAN)}
    torch.save(state, tmp_path / "a.pt")
    other = save(tmp_path / "b.pt", {**model, "w": model["w"] / 2})
    assert average("--inputs", tmp_path / "a.pt", other, "--output", tmp_path / "out.pt") is None
    averaged = load_checkpoint_to_cpu(str(tmp_path / "out.pt"))["model"]
    assert averaged["w"].eq(torch.tensor(4.5e4).to(dtype)).all()
    assert torch.equal(averaged["mask"], model["mask"])


@pytest.fixture(scope="module")
def with_ema(prepared, tmp_path_factory):
    """Checkpoints of 4, 8 and 12 updates, with EMA weights that differ from the model."""
    folder = tmp_path_factory.mktemp("ema")
    options = ["--store-ema", "--ema-fp32", "--ema-decay", 0.5, "--max-update", 12]
    options += ["--save-interval-updates", 4, "--no-epoch-checkpoints"]
    log_of_training(prepared / "data-bin", folder, *options)
    return folder


def test_ema_weights_are_averaged_in_place_of_the_model(with_ema, prepared, tmp_path, capsys):
    output, plain = tmp_path / "ema.pt", tmp_path / "plain.pt"
    options = ["--inputs", with_ema, "--num-update-checkpoints", 3]
    assert average(*options, "--ema", "--output", output) is None
    states = [load_checkpoint_to_cpu(str(with_ema / f"checkpoint_1_{n}.pt")) for n in (4, 8, 12)]
    for name, tensor in load_checkpoint_to_cpu(str(output))["model"].items():
        one, two, three = (state["extra_state"]["ema"][name] for state in states)
        assert torch.equal(tensor, (one + two + three) / 3), name
    capsys.readouterr()
    assert average("--show", output) is None
    assert capsys.readouterr().out.splitlines()[0] == "checkpoint_1_4.pt  EMA weights"
    assert error_of(model_card, "--checkpoint", output) is None
    assert "`checkpoint_1_12.pt  EMA weights`" in capsys.readouterr().out
    # Without --ema none is left, since it would be that of the last input alone.
    assert average(*options, "--output", plain) is None
    assert "EMA weights of the inputs are left out" in capsys.readouterr().out
    assert not {"ema", "ema_fp32_params"} & torch.load(plain)["extra_state"].keys()
    assert abs(os.path.getsize(plain) - os.path.getsize(output)) < 10_000
    # An average is an input, too.
    last = with_ema / "checkpoint_last.pt"
    assert average("--inputs", output, last, "--ema", "--output", output) is None
    # A training starts from it, and goes on with its EMA.
    start = ["--finetune-from-model", output, "--store-ema", "--ema-seed-model", output]
    log_of_training(prepared / "data-bin", tmp_path / "tuned", *start, "--max-update", 1)


def test_a_file_without_ema_weights_is_named(with_ema, trained, tmp_path):
    without = trained / "checkpoint_last.pt"
    options = ["--ema", "--output", tmp_path / "out.pt"]
    error = average("--inputs", without, with_ema / "checkpoint_last.pt", *options)
    assert error == (
        f"average_checkpoints.sh: {without}: has no EMA weights, which fairseq-train --store-ema "
        "writes"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "ema",
    [None, 3, [1], {"w": 3}, {"w": torch.ones(1).expand(10**9)}],
    ids=lambda ema: str(type(ema)),
)
def test_hostile_ema_weights_are_refused(tmp_path, ema):
    state = fairseq_state({"w": torch.ones(1)})
    state["extra_state"]["ema"] = ema
    torch.save(state, tmp_path / "a.pt")
    error = average("--inputs", tmp_path / "a.pt", "--ema", "--output", tmp_path / "out.pt")
    assert error.startswith(f"average_checkpoints.sh: {tmp_path / 'a.pt'}: refused: ")
    assert not (tmp_path / "out.pt").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--num-epoch-checkpoints 4", "found 3 checkpoint<epoch>.pt, asked for 4"),
        (
            "--num-epoch-checkpoints 3 --checkpoint-upper-bound 9",
            "found 2 checkpoint<epoch>.pt up to epoch 9, asked for 3",
        ),
        ("--num-update-checkpoints 1", "found 0 checkpoint_<epoch>_<update>.pt, asked for 1"),
        ("--num-epoch-checkpoints 2 --num-update-checkpoints 2", "not allowed with argument"),
        ("--num-epoch-checkpoints 2 --best-is lowest", "--best-is needs --num-best-checkpoints"),
        ("--num-epoch-checkpoints 2 --weights 1", "--weights: 1 weights for 2 files"),
        ("--num-epoch-checkpoints 2 --weights 1 0", "--weights: 0 is not a number above 0"),
        ("--num-epoch-checkpoints 2 --weights 1 nan", "--weights: nan is not a number above 0"),
        ("--show {here}/checkpoint8.pt", "--show goes without --inputs and --output"),
        ("--num-epoch-checkpoints 0", "'0' is not a whole number above 0"),
        ("", "--num-epoch-checkpoints, --num-update-checkpoints or --num-best-checkpoints"),
        ("--num-epochs 2", "unrecognized arguments: --num-epochs 2"),
        ("--inputs {here}/missing.pt", "{here}/missing.pt: No such file"),
        ("--num-epoch-checkpoints 2 --output {here}/no/out.pt", "no such folder"),
        ("--num-epoch-checkpoints 2 --output {here}", "exists and is not a file"),
    ],
)
def test_options_that_cannot_work(three, tmp_path, arguments, message):
    arguments, message = arguments.format(here=tmp_path).split(), message.format(here=tmp_path)
    for option, value in (("--inputs", tmp_path), ("--output", tmp_path / "out.pt")):
        arguments += [option, value] if option not in arguments else []
    error = average(*arguments)
    assert error.startswith("average_checkpoints.sh: ") and message in error
    assert "\n" not in error
    assert sorted(os.listdir(tmp_path)) == sorted(map(os.path.basename, three))


def test_the_script_from_another_folder(tmp_path):
    """Relative paths with spaces, beside folders whose names must not be imported."""
    folder = tmp_path / "my runs"
    (folder / "check points").mkdir(parents=True)
    for name in ("fairseq", "torch") if sys.version_info >= (3, 11) else ():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise ImportError('the wrong one')\n")
    for n in (1, 2, 3):
        save(folder / "check points" / f"checkpoint{n}.pt", {"w": torch.tensor([n / 2])}, n)
    arguments = ["--num-epoch-checkpoints", 2, "--output", "an average.pt"]
    script = PROJECT / "scripts/average_checkpoints.sh"
    result = run(script, *arguments, "--inputs", "check points", cwd=folder)
    assert "check points/checkpoint3.pt" in result.stdout
    umask = os.umask(0)
    os.umask(umask)
    assert (folder / "an average.pt").stat().st_mode & 0o777 == 0o666 & ~umask
    assert load_checkpoint_to_cpu(str(folder / "an average.pt"))["model"]["w"].item() == 1.25
