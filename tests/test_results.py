"""The tables of results/: made from the figures beside them, and those in the READMEs."""

import csv
import importlib.util
import json

import pytest
from conftest import PROJECT, run

RESULTS = PROJECT / "results"
FOLDER = RESULTS / "residual-attention"


def module_at(path):
    """A Python file that belongs to no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


summarize = module_at(FOLDER / "summarize.py")
compare = module_at(RESULTS / "attention/compare.py")

VALID = (
    "2026-01-01 10:00:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 9.5 | "
    "nll_loss {loss} | ppl 500 | wps 4000 | num_updates {update}"
)
TRAIN = (
    "2026-01-01 10:00:00 | INFO | train_inner | epoch 001:  50 / 99 loss=9, nll_loss=8, ppl=256, "
    "wps={speed}, ups=2, num_updates={update}, lr=1e-3"
)


def log_of(losses, speeds):
    lines = [TRAIN.format(speed=speed, update=50 + i) for i, speed in enumerate(speeds)]
    lines += [VALID.format(loss=loss, update=update) for update, loss in losses.items()]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "target, updates",
    [(8.0, 200), (7.0, 250), (6.0, 300), (9.5, 150), (5.9, None)],
)
def test_when_a_loss_is_reached_first(target, updates):
    losses = {100: 11.0, 200: 8.0, 300: 6.0, 400: 7.5, 500: 6.0}
    assert summarize.updates_until(losses, target) == updates


def scores_of(values):
    """As ``score_bleu.sh --json`` writes it: by system sacreBLEU, chrF2, p."""
    systems = {
        name: {"sacreBLEU": {"score": bleu}, "chrF2": {"score": chrf}}
        for name, (bleu, chrf, _) in values.items()
    }
    tests = {name: {"p_value": p} if p else {} for name, (_, _, p) in values.items()}
    return {"systems": systems, "paired_bootstrap": {"sacreBLEU": {"systems": tests}}}


def test_table(tmp_path):
    (tmp_path / "none-1.log").write_text(log_of({250: 8.0, 500: 6.0}, [900, 1000, 5000]))
    (tmp_path / "mean-1.log").write_text(log_of({250: 7.0, 500: 5.0}, [1000]))
    (tmp_path / "mean-2.log").write_text(log_of({250: 7.0, 500: 5.5}, [1000]))
    (tmp_path / "admin-mean-1.log").write_text(log_of({250: 9.0, 500: 7.0}, [800]))
    (tmp_path / "admin-1.log").write_text(log_of({250: 9.0, 500: 6.5}, [900]))
    (tmp_path / "cross-1.log").write_text("nothing yet")
    (tmp_path / "sum-1.log").write_text(log_of({250: 8.0}, [900]))
    runs = summarize.runs_of_logs(tmp_path)
    assert [(run.name, run.seed) for run in runs] == [
        ("none", 1),
        ("mean", 1),
        ("mean", 2),
        ("admin", 1),
        ("admin-mean", 1),
    ]
    values = {"none-1.fr": (20.04, 40, None), "mean-1.fr": (22, 41.16, 0.0123)}
    (tmp_path / "scores-1.json").write_text(json.dumps(scores_of(values)))
    values = {"admin-1.fr": (21, 41, None), "admin-mean-1.fr": (22.5, 42, 0.002)}
    (tmp_path / "scores-admin-1.json").write_text(json.dumps(scores_of(values)))
    scores = summarize.read_scores(tmp_path)
    lines = summarize.markdown_table(runs, scores).splitlines()
    assert lines[2:] == [
        "| ours, no residual scores (Post-LN) | 6.000 | 20.0 | 40.0 |  |  | 500 |  | 1000 |",
        "| mean in all three attentions | 5.250 (5.000, 5.500) | 22.0 | 41.2 "
        "| 0.012 |  | 375 |  | 1000 |",
        "| ADMIN, no residual scores | 6.500 | 21.0 | 41.0 |  |  | not reached | 500 | 900 |",
        "| ADMIN, mean in all three | 7.000 | 22.5 | 42.0 |  | 0.002 | not reached | not reached "
        "| 800 |",
    ]
    summarize.write_curves(runs, tmp_path / "curves.csv")
    assert summarize.read_runs(tmp_path / "curves.csv") == runs


@pytest.mark.parametrize(
    "names, panels", [(["none", "mean"], 2), (["admin", "admin-mean"], 2), (["sum", "admin"], 4)]
)
def test_picture_of_what_is_there(names, panels, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(summarize, "save", lambda figure, output: drawn.append(figure))
    runs = [summarize.Run(name, 1, {100: 9.0, 200: 8.0}, 1000.0) for name in names]
    summarize.draw(runs, tmp_path / "loss.png")
    assert len(drawn[0].axes) == panels
    assert [line.get_label() for line in drawn[0].axes[0].lines] == names[: 1 if panels == 4 else 2]


@pytest.mark.skipif(not (FOLDER / "curves.csv").exists(), reason="no results yet")
def test_readme_has_the_table_of_the_figures_beside_it():
    scores = summarize.read_scores(FOLDER)
    table = summarize.markdown_table(summarize.read_runs(FOLDER / "curves.csv"), scores)
    assert table == (FOLDER / "table.md").read_text("utf-8")
    assert table in (FOLDER / "README.md").read_text("utf-8")


def write_attention(path, rows):
    path.parent.mkdir()
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["measure", "attention", "layer", "head", "count", "mean"])
        table.writerows(rows)


def test_attention_by_layer(tmp_path, capsys):
    rows = [
        ["entropy", "cross", layer, head, 9, layer + head] for layer in (0, 1) for head in (0, 1)
    ]
    write_attention(tmp_path / "none/attention.csv", rows)
    rows = [["jsd", "encoder", 1, 0, 9, 0.25], ["jsd", "encoder", 1, 1, 9, 0.5]]
    write_attention(tmp_path / "mean/attention.csv", rows)
    compare.main([str(tmp_path / "none"), str(tmp_path / "mean")])
    assert capsys.readouterr().out.splitlines() == [
        "| measure | attention | model | layer 0 | layer 1 | mean |",
        "|---|---|---|---|---|---|",
        "| entropy | cross-attention | none | 0.500 | 1.500 | **1.000** |",
        "| JSD to the layer below | encoder self-attention | mean |  | 0.375 | **0.375** |",
    ]


@pytest.mark.parametrize("folder", [RESULTS / "attention", RESULTS / "attention/seed-2"])
def test_tables_of_attention_are_those_of_the_figures(folder):
    table = (folder / "table.md").read_text("utf-8")
    models = list(dict.fromkeys(line.split(" | ")[2] for line in table.splitlines()[2:]))
    means = {name: compare.means_by_layer(folder / name / "attention.csv") for name in models}
    assert compare.markdown(means) == table
    readme = (RESULTS / "attention/README.md").read_text("utf-8")
    assert table in readme or folder.name == "seed-2"


@pytest.mark.parametrize(
    "script, arguments, words",
    [
        ("attention", ["--data", "d", "--out", "o", "a=FILE", "a=FILE"], ["'a'", "twice"]),
        ("attention", ["--data", "d", "--out", "o", "a=/no/such"], ["a", "'/no/such'"]),
        ("residual-attention", ["--corpus", "/no/such"], ["--corpus", "/no/such"]),
        ("residual-attention", ["best"], ["'best'", "admin-mean"]),
        ("depth", ["--data", "/no/such", "admin"], ["--data", "/no/such"]),
    ],
)
def test_mistakes_in_the_commands(script, arguments, words, tmp_path):
    arguments = [argument.replace("FILE", __file__) for argument in arguments]
    script = RESULTS / script / "run.sh"
    result = run(script, *arguments, cwd=tmp_path, check=False)
    assert result.returncode == 1 and not list(tmp_path.iterdir())
    assert all(word in result.stderr for word in words), result.stderr
