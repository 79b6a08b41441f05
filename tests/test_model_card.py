"""scripts/model_card.sh: every figure from a file, and nothing in a file taken for markup."""

import argparse
import json
import re
import shlex
import struct

import language_models
import pytest
import torch
import yaml
from checkpoint_files import fairseq_state
from commands import error_of, outcome
from conftest import PROJECT
from models import arguments, build

from realformer_checkpoints.model_card import __main__ as model_card
from realformer_checkpoints.model_card.file_facts import counts
from realformer_fairseq.inference import translation

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
# As in a file of someone who means harm; the second line ends a table, a code block and the YAML.
HOSTILE = "a|b`c*d_ <img src=x> [e](http://f) $name\n---\n```\n# g: {h}\x1b[31m\u202e\udcff"


def cells(card):
    """The rows of two columns: ``{"layers": "2 in ...", ...}``."""
    return dict(re.findall(r"^\| ([^|]+) \| ((?:[^|\\\n]|\\.)*) \|$", card, re.M))


def front_matter(card):
    return yaml.safe_load(card.split("---\n")[1])


@pytest.fixture
def card_of(tmp_path, capsys):
    """The card of the state of a checkpoint, with further options."""

    def make(state, *options):
        torch.save(state, tmp_path / "c.pt")
        assert error_of(model_card, "--checkpoint", tmp_path / "c.pt", *options) is None
        return capsys.readouterr().out

    return make


def state_of(arch="realformer_tiny", **options):
    """A checkpoint of a small model, translating en into fr."""
    state = fairseq_state(build(arch, **options).state_dict(), epoch=3)
    state["cfg"]["model"] = arguments(arch, **options)
    state["cfg"]["task"] = {"_name": "translation", "source_lang": "en", "target_lang": "fr"}
    return state


def test_a_trained_model_on_the_command_line(trained, prepared, tmp_path, monkeypatch):
    (tmp_path / "scores.json").write_text(json.dumps(SCORES))
    (tmp_path / "data-bin").symlink_to(prepared / "data-bin")
    (tmp_path / "-my model.pt").symlink_to(trained / "checkpoint_last.pt")
    files = ["--checkpoint", tmp_path / "-my model.pt", "--data", tmp_path / "data-bin"]
    files += ["--log", trained / "train.log", "--scores", tmp_path / "scores.json"]
    output = tmp_path / "my card.md"
    files += ["--licence", "mit", "--output", output]
    assert outcome(model_card, *files) == (None, b"", "")
    card = output.read_text()
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
        "residual attention": "mean, in encoder, decoder, cross",
        "embeddings": "one table for source, target and output",
        "optimizer": "adam, betas (0.9,0.98), epsilon 1e-08, weight decay 0",
        "batch": "300 tokens x 1 batches x 1 processes = at most 300 tokens",
        "loss": "label_smoothed_cross_entropy, label smoothing 0.1",
        "processes": "1, on CPUs (--cpu)",
        "precision": "float32",
        "started from": "random",
    }
    assert {name: rows[name] for name in expected} == expected
    logged = (prepared / "data-bin/preprocess.log").read_text()
    sizes = re.findall(r"train\.(?:en|fr): 200 sents, (\d+) tokens", logged)
    assert "| train | 200 | {:,} | {:,} |".format(*map(int, sizes)) in card
    assert f"* sacreBLEU 34.7, signature `{SIGNATURE}`" in card
    for path in (PROJECT, trained, prepared, tmp_path):
        assert str(path) not in card
    translate, generate = re.findall(r"```bash\n(.*?)```", card, re.S)
    assert "--user-dir realformer_fairseq" in generate and "'./-my model.pt'" in generate
    _, text, pipe, script, *words = shlex.split(translate.replace("\\\n", ""))
    assert (pipe, script) == ("|", "scripts/translate.sh")
    monkeypatch.chdir(tmp_path)
    search = ["--beam", 2, "--", "--cpu", "--max-len-b", 8]
    error, out, _ = outcome(translation, *words, *search, text=text.encode())
    assert (error, out.count(b"\n")) == (None, 1)


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
def test_parameters_are_counted_as_fairseq_does(arch, options, card_of):
    card = card_of(state_of(arch, **options))
    rows, scaling = cells(card), options.get("sublayer_scaling", "none")
    count = sum(parameter.numel() for parameter in build(arch, **options).parameters())
    assert rows["parameters"] == f"{count:,}"
    ours = arch != "transformer"
    assert rows["scaling of sub-layers' inputs"] == scaling
    assert ("realformer" in front_matter(card)["tags"]) == ours
    assert ("he-etal-2021-realformer" in card) == ours == ("--user-dir" in card)
    assert ("liu-etal-2020" in card) == ("admin" in scaling)
    assert ("wang-etal-2022" in card) == (scaling == "deepnorm")
    encoder = "Pre-LN" if "encoder_normalize_before" in options else "Post-LN"
    assert rows["layer normalisation"] == f"{encoder} in the encoder, Post-LN in the decoder"


def test_every_version_of_fairseq_and_the_log(card_of, tmp_path):
    """The same facts, wherever a version of fairseq puts them."""
    training = {
        "optimization": {"lr": [0.5], "update_freq": [4], "clip_norm": 0.0},
        "optimizer": {"_name": "radam", "adam_betas": "(0.9, 0.98)"},
        "lr_scheduler": {"_name": "inverse_sqrt", "warmup_updates": 8000},
        "dataset": {"max_tokens": 3584},
        "distributed_training": {"distributed_world_size": 16},
        "common": {"seed": 7, "fp16": True, "cpu": False},
        "criterion": {"_name": "cross_entropy"},
        "checkpoint": {
            "restore_file": "/home/me/checkpoint_last.pt",
            "best_checkpoint_metric": "bleu",
        },
    }
    hydra = {**state_of(), "averaged_from": ["/home/me/c1.pt", "c2.pt"]}
    hydra["averaged_with_weights"] = [1.0, 0.5]
    hydra["cfg"].update(training, model=vars(hydra["cfg"]["model"]))
    flat = {key: value for group in training.values() for key, value in group.items()}
    kinds = {group: options.get("_name") for group, options in training.items()}
    args = {**hydra["cfg"]["model"], **hydra["cfg"]["task"], **flat, **kinds}
    older = {**hydra, "cfg": None, "args": argparse.Namespace(**args)}
    (tmp_path / "train.log").write_text(LOG)
    card = card_of(hydra, "--log", tmp_path / "train.log")
    assert card == card_of(older, "--log", tmp_path / "train.log")
    expected = {
        "learning rate": "0.5",
        "batch": "3,584 tokens x 4 batches x 16 processes = at most 229,376 tokens",
        "optimizer": "radam, betas (0.9, 0.98)",
        "schedule": "inverse_sqrt",
        "warm-up updates": "8,000",
        "precision": "float16 (--fp16)",
        "seed": "7",
        "processes": "16",
        "gradient norm clipped at": "none",
        "started from": "`checkpoint_last.pt`",
        "best of the validation": "2.5 (bleu)",
        "updates": "300",
        "epochs": "2 whole ones",
        "averaged": "mean of 2: `c1.pt  weight 1`, `c2.pt  weight 0.5`",
        "target tokens a second, median": "1,200",
        "GPUs": "2 x A100",
        "validation loss, bits a subword": "valid: best 2.5 after 100 updates, last 2.75 after 150",
    }
    assert expected.items() <= cells(card).items()


LANGUAGE_MODEL_LOG = """\
1 | INFO | train_inner | epoch 001: 1 / 1 loss=9, accuracy=1.5, ppl=512, wps=500, num_updates=1
1 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 4 | accuracy 41.5 | ppl 16 | wps 0 \
| num_updates 100
1 | INFO | valid | epoch 002 | valid on 'valid' subset | loss 3 | accuracy 40 | ppl 8 | wps 0 \
| num_updates 200
"""


@pytest.mark.parametrize("arch", language_models.ALL)
def test_a_language_model(arch, card_of, tmp_path, monkeypatch, capsys):
    """Nothing about translation, and what the card says about loading it works."""
    (tmp_path / "data-bin").mkdir()
    data = language_models.write_data(tmp_path / "data-bin")
    (data / "code").write_text("#version: 0.2\nw 1</w>\n")
    (tmp_path / "train.log").write_text(LANGUAGE_MODEL_LOG)
    masked, ours = language_models.TASKS[arch] == "masked_lm", arch.startswith("realformer")
    options = ["--residual-attention", "sum"] if ours else []
    options += ["--token-types", 2] if ours and masked else []
    state, model = language_models.new_state(data, arch, *options)
    card = card_of(state, "--data", data, "--log", tmp_path / "train.log")
    assert not re.search("[Tt]ranslat|BLEU|[Ss]ource", card)
    assert front_matter(card)["tags"][0] == ("fill-mask" if masked else "text-generation")
    measured = "perplexity{}: valid: best 8 after 200 updates, last 8 after 200"
    assert f"* {measured.format(' of the masked words' if masked else '')}\n" in card
    best = (
        "* accuracy of the masked words, percent: valid: best 41.5 after 100 updates, last 40 after"
    )
    assert (best in card) == masked
    assert ("he-etal-2021-realformer" in card) == ours and ("roberta," in card) == masked
    rows = cells(card)
    count = sum(parameter.numel() for parameter in model.parameters())
    segments = ", 2 for segments" if "--token-types" in options else ""
    expected = {
        "architecture": arch,
        "parameters": f"{count:,}",
        "layers": "3",
        "attention heads": "2",
        "residual attention": "sum" if ours else "none",
        "embeddings": f"one table for input and output{segments}",
        "longest input": "32 subwords",
        "dictionaries": f"{45 if masked else 44} entries",
        "subwords": "byte pair encoding of subword-nmt, 1 merges (`code`)",
        "tokens a second, median": "500",
        "validation loss, bits a subword": "valid: best 3 after 200 updates, last 3 after 200",
    }
    assert {name: rows[name] for name in expected} == expected
    assert "| train | 4 | 33 |" in card
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", card, re.S)
    exec(code, {})
    assert capsys.readouterr().out.strip()


def test_a_classifier_and_scores_of_translations(card_of, tmp_path):
    data = language_models.write_data(tmp_path)
    state, _ = language_models.new_state(data, "roberta")
    (tmp_path / "scores.json").write_text(json.dumps(SCORES))
    torch.save(state, tmp_path / "c.pt")
    given = ["--checkpoint", tmp_path / "c.pt", "--scores", tmp_path / "scores.json"]
    assert "scores of translations, but the model of --checkpoint is for masked_lm" in error_of(
        model_card, *given
    )
    (tmp_path / "train.log").write_text(LANGUAGE_MODEL_LOG)
    state["cfg"]["task"]["_name"] = "sentence_prediction"
    state["cfg"]["bpe"] = {"_name": "gpt2"}
    state["cfg"]["criterion"] = {"_name": "x", "classification_head_name": "a head"}
    card = card_of(state, "--log", tmp_path / "train.log")
    assert 'model.predict("a head", model.encode' in card and "perplexity" not in card
    assert 'bpe="gpt2"\n' in card
    assert "* accuracy, percent: valid: best 41.5 after 100 updates, last 40 after 200" in card
    assert cells(card)["validation loss, bits a subword"] == "not recorded"


def test_what_no_file_says_is_not_recorded(card_of):
    card = card_of({"model": {"encoder.embed_tokens.weight": torch.ones(3, 2)}})
    known = {"parameters": "6", "averaged": "no average", "residual attention": "none"}
    known["scaling of sub-layers' inputs"] = "none"
    rows = {k: v for k, v in cells(card).items() if k.strip("-") and v != "not recorded"}
    assert rows == known and "license" not in front_matter(card) and "# not recorded" in card


def replaced(value, attack):
    """Every text and number within a checkpoint's settings by one that means harm."""
    if isinstance(value, argparse.Namespace):
        return argparse.Namespace(**replaced(vars(value), attack))
    if isinstance(value, dict):
        return {key: replaced(inner, attack) for key, inner in value.items()}
    return [replaced(x, attack) for x in value] if isinstance(value, list) else attack


@pytest.mark.parametrize("attack", [HOSTILE, 10**500, torch.ones(2), [[HOSTILE]], {HOSTILE: 1}])
def test_nothing_in_a_file_is_taken_for_markup(attack, card_of, tmp_path):
    state = {**state_of(), "averaged_from": ["c1.pt"]}
    state["averaged_from"] *= 1000
    plain = card_of(state)
    assert cells(plain)["averaged"] == f"mean of 1000: {'`c1.pt`, ' * 49}`c1.pt` and 950 more"
    for part in ("cfg", "averaged_from", "optimizer_history", "extra_state"):
        state[part] = replaced(state[part], attack)
    scores = {**SCORES, "lang": HOSTILE, "lines": 10**500, "domains": {HOSTILE: SCORES}}
    scores[HOSTILE] = {"score": 1.0, "signature": HOSTILE}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    options = ["--name", HOSTILE, "--licence", HOSTILE, "--scores", tmp_path / "scores.json"]
    card = card_of(state, *options)
    assert all(char.isprintable() or char == "\n" for char in card)
    head = front_matter(card).keys() | {"language"}
    assert head == front_matter(plain).keys() | {"license", "language"}
    assert cells(card).keys() == cells(plain).keys()
    assert re.findall("^## .*", card, re.M) == re.findall("^## .*", plain, re.M)
    assert re.findall("^```.+", card, re.M) in (re.findall("^```.+", plain, re.M), ["```bibtex"])
    assert len(re.findall("^(?:---|# .*)$", card, re.M)) == 3
    outside = re.sub(r"```.*?\n```|`[^`\n]*`", "", card.split("---\n", 2)[2], flags=re.S)
    assert not re.search(r"(?<!\\)[<\[]|https?:", outside)


def test_a_template_of_ones_own(card_of, tmp_path):
    template = tmp_path / "t.md"
    template.write_text("$$5 for ${name}: $layers\n")
    options = ["--template", template, "--name", "$layers"]
    card = card_of(state_of(), *options)
    assert card == "$5 for \\$layers: 3 in the encoder, 3 in the decoder\n"
    for content, message in (("$depth", "no field $depth"), ("$ 5", "line 1"), ("é", "UTF-8")):
        template.write_text(content, "latin-1")
        error = error_of(model_card, "--checkpoint", tmp_path / "c.pt", *options)
        assert error.startswith(f"model_card.sh: --template {template}: ") and message in error


def test_a_damaged_index_has_no_sentences(tmp_path):
    head = b"MMIDIDX\0\0" + struct.pack("<QB", 1, 4)
    for content in (b"", head, head + struct.pack("<Q", 2**60), head[1:] + bytes(100)):
        (tmp_path / "x.idx").write_bytes(content)
        assert counts(tmp_path / "x.idx") == (None, None)


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
    given, output, checkpoint = (tmp_path / name for name in ("given", "card.md", "c.pt"))
    if option == "--data":
        given.mkdir()
    if content is not None:
        (given / "dict.en.txt" if option == "--data" else given).write_text(content)
    torch.save(state_of(), checkpoint)
    error = error_of(model_card, "--checkpoint", checkpoint, "--output", output, option, given)
    assert error.startswith(f"model_card.sh: {option} {given}: ") and message in error
    assert "\n" not in error and not output.exists()


def test_no_input_is_lost(tmp_path):
    """Under whatever name."""
    torch.save(state_of(), tmp_path / "a.pt")
    before = (tmp_path / "a.pt").read_bytes()
    (tmp_path / "link").symlink_to("a.pt")
    error = error_of(model_card, "--checkpoint", tmp_path / "a.pt", "--output", tmp_path / "link")
    assert error.endswith(f"--output {tmp_path / 'link'}: is one of the inputs, and would be lost")
    assert (tmp_path / "a.pt").read_bytes() == before
