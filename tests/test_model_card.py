"""scripts/model_card.sh: every figure from a file, and nothing in a file taken for markup."""

import argparse
import json
import re
import struct

import pytest
import torch
import yaml
from checkpoint_files import fairseq_state
from commands import error_of
from conftest import PROJECT, run
from fairseq.data.indexed_dataset import make_builder
from models import arguments, build

from realformer_checkpoints.model_card import command as model_card
from realformer_checkpoints.model_card.data import sentences

SCRIPT = PROJECT / "scripts/model_card.sh"
SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
SCORES = {"lang": "fr", "lines": 3628, "sacreBLEU": {"score": 34.688, "signature": SIGNATURE}}
LOG = """\
1 | INFO | fairseq.utils | rank   0: capabilities =  8.0  ; total memory = 39.586 GB ; name = A100
1 | INFO | fairseq.utils | rank   1: capabilities =  8.0  ; total memory = 39.586 GB ; name = A100
1 | INFO | train_inner | epoch 001: 1 / 9 loss=3, nll_loss=2, wps=100, ups=1, num_updates=50
1 | INFO | train_inner | epoch 001: 2 / 9 loss=3, nll_loss=2, wps=1300, ups=1, num_updates=100
1 | INFO | train_inner | epoch 001: 3 / 9 loss=3, nll_loss=2, wps=1200, ups=1, num_updates=150
1 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 4 | nll_loss 2.5 | num_updates 100
1 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 4 | nll_loss 2.75 | num_updates 150
1 | INFO | train | epoch 001 | loss 3 | nll_loss 2 | wps 7 | ups 1 | num_updates 150
"""
# As in a file of someone who means harm; the second ends a table, a code block and the YAML.
HOSTILE = "a|b`c*d_ <img src=x> [e](http://f) $name\n---\n```\n# g: {h}\x1b[31m\u202e\udcff"


def cells(card):
    """The rows of two columns: ``{"layers": "2 in ...", ...}``."""
    return dict(re.findall(r"^\| ([^|]+) \| ((?:[^|\\\n]|\\.)*) \|$", card, re.M))


def front_matter(card):
    return yaml.safe_load(card.split("---\n")[1])


def card_of(capsys, *options):
    assert error_of(model_card, *options) is None
    return capsys.readouterr().out


def saved(path, state):
    torch.save(state, path)
    return path


def state_of(arch="realformer_tiny", **options):
    """A checkpoint of a small model, translating en into fr."""
    state = fairseq_state(build(arch, **options).state_dict(), epoch=3)
    state["cfg"]["model"] = arguments(arch, **options)
    state["cfg"]["task"] = {"_name": "translation", "source_lang": "en", "target_lang": "fr"}
    return state


def test_a_trained_model_on_the_command_line(trained, prepared, tmp_path):
    (tmp_path / "scores.json").write_text(json.dumps(SCORES))
    files = ["--checkpoint", trained / "checkpoint_last.pt", "--data", prepared / "data-bin"]
    files += ["--log", trained / "train.log", "--scores", tmp_path / "scores.json"]
    card_file = tmp_path / "my card.md"
    result = run(SCRIPT, *files, "--licence", "mit", "--output", card_file)
    assert result.stdout == result.stderr == ""
    card = card_file.read_text()
    head = {"language": ["en", "fr"], "license": "mit", "library_name": "fairseq"}
    assert head.items() <= front_matter(card).items()
    rows = cells(card)
    log = (trained / "train.log").read_text()
    assert f"num. shared model params: {rows['parameters']} " in log
    expected = {
        "architecture": "realformer_tiny",
        "layers": "2 in the encoder, 2 in the decoder",
        "width": "32 in the encoder, 32 in the decoder",
        "attention heads": "4 in the encoder, 4 in the decoder",
        "layer normalisation": "Post-LN in the encoder, Post-LN in the decoder",
        "residual attention": "mean, in encoder, decoder, cross",
        "embeddings": "one table for source, target and output",
        "optimizer": "adam, betas (0.9,0.98), epsilon 1e-08, weight decay 0",
        "learning rate": "0.005",
        "warm-up updates": "5",
        "loss": "label_smoothed_cross_entropy, label smoothing 0.1",
        "processes": "1, on CPUs (--cpu)",
        "precision": "float32",
        "seed": "1",
        "updates": "20",
        "averaged": "no average",
        "GPUs": "not recorded",
        "started from": "random",
    }
    assert {name: rows[name] for name in expected} == expected
    assert rows["batch"].startswith("300 x 1 x 1 = at most 300 tokens")
    assert re.search(r"^\| train \| 200 \| [\d,]+ \| [\d,]+ \|$", card, re.M)
    assert f"* sacreBLEU 34.7, signature `{SIGNATURE}`" in card
    for path in (PROJECT, trained, prepared, tmp_path):
        assert str(path) not in card


def test_its_commands_work(trained, prepared, tmp_path, capsys):
    """Where checkpoint and data are side by side."""
    (tmp_path / "data-bin").symlink_to(prepared / "data-bin")
    checkpoint = tmp_path / "-my model.pt"
    checkpoint.symlink_to(trained / "checkpoint_last.pt")
    card = card_of(capsys, "--checkpoint", checkpoint, "--data", tmp_path / "data-bin")
    translate, generate = re.findall(r"```bash\n(.*?)```", card, re.S)
    line = translate.strip().replace("scripts/", f"'{PROJECT}'/scripts/")
    text = run("bash", "-c", f"{line} --beam 2 -- --cpu", cwd=tmp_path).stdout
    assert text.count("\n") == 1
    assert "--user-dir realformer_fairseq" in generate and "'./-my model.pt'" in generate


@pytest.mark.parametrize(
    "arch, options",
    [
        ("realformer_tiny", {"share_all_embeddings": True}),
        ("realformer_tiny", {"sublayer_scaling": "admin-analytic"}),
        ("realformer_tiny", {"sublayer_scaling": "deepnorm"}),
        ("transformer", {"share_decoder_input_output_embed": True}),
        ("transformer", {"encoder_normalize_before": True}),
    ],
)
def test_parameters_are_counted_as_fairseq_does(arch, options, tmp_path, capsys):
    state = state_of(arch, **options)
    card = card_of(capsys, "--checkpoint", saved(tmp_path / "c.pt", state))
    rows = cells(card)
    count = sum(parameter.numel() for parameter in build(arch, **options).parameters())
    assert rows["parameters"] == f"{count:,}"
    ours = arch != "transformer"
    assert rows["scaling of sub-layers' inputs"] == options.get("sublayer_scaling", "none")
    assert ("realformer" in front_matter(card)["tags"]) == ours
    assert ("he-etal-2021-realformer" in card) == ours == ("--user-dir" in card)
    assert ("liu-etal-2020" in card) == ("admin" in options.get("sublayer_scaling", ""))
    assert ("wang-etal-2022" in card) == (options.get("sublayer_scaling") == "deepnorm")
    if "encoder_normalize_before" in options:
        assert rows["layer normalisation"] == "Pre-LN in the encoder, Post-LN in the decoder"


def test_arguments_of_older_versions_and_of_hydra(tmp_path, capsys):
    """The same facts, wherever a version of fairseq puts them."""
    hydra = state_of()
    training = {
        "optimization": {"lr": [0.5], "update_freq": [4], "clip_norm": 0.0},
        "optimizer": {"_name": "radam", "adam_betas": "(0.9, 0.98)"},
        "lr_scheduler": {"_name": "inverse_sqrt", "warmup_updates": 8000},
        "dataset": {"max_tokens": 3584},
        "distributed_training": {"distributed_world_size": 16},
        "common": {"seed": 7, "fp16": True, "cpu": False},
        "criterion": {"_name": "cross_entropy"},
    }
    hydra["cfg"].update(training, model=vars(hydra["cfg"]["model"]))
    older = dict(hydra, cfg=None)
    flat = {key: value for group in training.values() for key, value in group.items()}
    kinds = {group: options.get("_name") for group, options in training.items()}
    groups = {**hydra["cfg"]["model"], **hydra["cfg"]["task"], **flat, **kinds}
    older["args"] = argparse.Namespace(**groups)
    one, other = (
        card_of(capsys, "--checkpoint", saved(tmp_path / "c.pt", s)) for s in (hydra, older)
    )
    assert one == other
    rows = cells(one)
    assert rows["batch"].startswith("3,584 x 4 x 16 = at most 229,376 tokens")
    assert (rows["optimizer"], rows["warm-up updates"]) == ("radam, betas (0.9, 0.98)", "8,000")
    assert (rows["precision"], rows["seed"]) == ("float16 (--fp16)", "7")
    assert (rows["processes"], rows["gradient norm clipped at"]) == ("16", "none")
    assert (rows["updates"], rows["epochs"]) == ("300", "2 whole ones")


def test_what_no_file_says_is_not_recorded(tmp_path, capsys):
    model = {"encoder.embed_tokens.weight": torch.ones(3, 2)}
    card = card_of(capsys, "--checkpoint", saved(tmp_path / "c.pt", {"model": model}))
    known = {"parameters": "6", "averaged": "no average", "residual attention": "none"}
    known["scaling of sub-layers' inputs"] = "none"
    for name, value in cells(card).items():
        if name.strip("-") and "not recorded" not in value:
            assert known.pop(name) == value
    assert not known and "license" not in front_matter(card) and "# not recorded" in card


def test_an_average_and_a_log(tmp_path, capsys):
    state = state_of()
    state.update(averaged_from=["/home/me/c1.pt", "c2.pt"], averaged_with_weights=[1.0, 0.5])
    (tmp_path / "train.log").write_text(LOG)
    path = saved(tmp_path / "c.pt", state)
    rows = cells(card_of(capsys, "--checkpoint", path, "--log", tmp_path / "train.log"))
    assert rows["averaged"] == "mean of 2: `c1.pt  weight 1`, `c2.pt  weight 0.5`"
    assert rows["target tokens a second, median"] == "1,200"
    assert rows["GPUs"] == "2 x A100"
    validation = "valid: best 2.5 after 100 updates, last 2.75 after 150"
    assert rows["validation loss, bits a subword"] == validation


def replaced(value):
    """Every text and number within a checkpoint's settings by one that means harm."""
    if isinstance(value, argparse.Namespace):
        return argparse.Namespace(**replaced(vars(value)))
    if isinstance(value, dict):
        return {key: replaced(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner) for inner in value]
    return HOSTILE


@pytest.mark.parametrize("attack", [replaced, lambda _: 10**500, lambda _: torch.ones(2)])
def test_nothing_in_a_file_is_taken_for_markup(attack, tmp_path, capsys):
    state = state_of()
    state["averaged_from"] = ["c1.pt"]
    plain = card_of(capsys, "--checkpoint", saved(tmp_path / "c.pt", state))
    for part in ("cfg", "averaged_from", "optimizer_history", "extra_state"):
        state[part] = replaced(state[part])
    if attack is not replaced:
        for group in state["cfg"].values():
            options = vars(group) if isinstance(group, argparse.Namespace) else group
            options.update({key: attack(value) for key, value in options.items()})
    scores = {**SCORES, "lang": HOSTILE, HOSTILE: {"score": 1.0, "signature": HOSTILE}}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    options = ["--name", HOSTILE, "--licence", HOSTILE, "--scores", tmp_path / "scores.json"]
    card = card_of(capsys, "--checkpoint", saved(tmp_path / "c.pt", state), *options)
    assert card.isprintable() is False and all(c.isprintable() or c == "\n" for c in card)
    head = front_matter(card)
    assert head.keys() | {"language"} == front_matter(plain).keys() | {"license", "language"}
    assert cells(card).keys() == cells(plain).keys()
    starts = r"^(#+ \w+|---$|\| ---|```$)"
    assert len(re.findall(starts, card, re.M)) + 3 >= len(re.findall(starts, plain, re.M))
    assert [line for line in card.splitlines() if line.startswith("## ")] == [
        line for line in plain.splitlines() if line.startswith("## ")
    ]
    outside = re.sub(r"```.*?\n```|`[^`\n]*`", "", card.split("---\n", 2)[2], flags=re.S)
    assert not re.search(r"(?<!\\)[<\[]|https?:", outside)


def test_a_template_of_ones_own(tmp_path, capsys):
    path, template = saved(tmp_path / "c.pt", state_of()), tmp_path / "t.md"
    template.write_text("$$5 for ${name}: $layers\n")
    options = ["--checkpoint", path, "--template", template, "--name", "$layers"]
    assert card_of(capsys, *options) == "$5 for \\$layers: 3 in the encoder, 3 in the decoder\n"
    for content, message in (("$depth", "no field $depth"), ("$ 5", "line 1"), ("é", "UTF-8")):
        template.write_text(content, "latin-1")
        error = error_of(model_card, *options)
        assert error.startswith(f"model_card.sh: --template {template}: ") and message in error


@pytest.mark.parametrize("kind", ["mmap", "cached"])
def test_sentences_are_counted_in_the_index(kind, tmp_path):
    builder = make_builder(str(tmp_path / "x.bin"), kind, vocab_size=100)
    for length in (3, 1, 7):
        builder.add_item(torch.ones(length, dtype=torch.int64))
    builder.finalize(str(tmp_path / "x.idx"))
    assert sentences(str(tmp_path / "x.idx")) == 3
    (tmp_path / "x.idx").write_bytes(b"MMIDIDX\0\0" + struct.pack("<Q", 1))
    assert sentences(str(tmp_path / "x.idx")) is None


@pytest.mark.parametrize(
    "option, content, message",
    [
        ("--scores", "{", "not a JSON file"),
        ("--scores", "[" * 100_000, "not a JSON file"),
        ("--scores", '{"systems": {}}', "scores of several systems"),
        ("--scores", '{"sacreBLEU": {"score": 1.0}}', "no scores in it"),
        ("--log", "nothing\n", "no log of fairseq-train"),
        ("--data", None, "there is no dict.en.txt in it"),
        ("--data", "a 1\nb 1\n", "dict.en.txt has 6 entries, the model of --checkpoint 44"),
    ],
)
def test_mistakes_are_named(option, content, message, tmp_path):
    given = tmp_path / "given"
    if option == "--data":
        given.mkdir()
        if content is not None:
            (given / "dict.en.txt").write_text(content)
    else:
        given.write_text(content)
    output = tmp_path / "card.md"
    files = ["--checkpoint", saved(tmp_path / "c.pt", state_of()), "--output", output]
    error = error_of(model_card, *files, option, given)
    assert error.startswith(f"model_card.sh: {option} {given}: ") and message in error
    assert "\n" not in error and not output.exists()
