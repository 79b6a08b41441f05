"""The tables of results/: made from the figures beside them, and those in the READMEs."""

import csv
import importlib.util
import json
import math
import re

import pytest
from conftest import PROJECT, run
from stand_ins import stand_in_environment

from results import rates as tried_rates
from results import translation_table
from results.rows import read_rows, write_rows

RESULTS = PROJECT / "results"


def module_at(path):
    """A Python file that belongs to no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


compare = module_at(RESULTS / "attention/compare.py")
masked_lm = module_at(RESULTS / "masked-lm/summarize.py")
attention_bins = module_at(RESULTS / "masked-lm/attention_bins.py")

VALID = "1 | INFO | valid | valid on 'valid' subset | nll_loss {loss} | num_updates {update}"
TRAIN = "1 | INFO | train_inner | epoch 001: 5 / 9 nll_loss=8, wps={speed}, num_updates={update}"
TRAIN += ", gnorm={norm}"


def cells(text):
    """The rows of all Markdown tables in a text, however they are set."""
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if "|" in line]
    return [[cell.strip(" *") for cell in row] for row in rows if set("".join(row)) - set(" -:")]


def write_log(path, losses, *speeds):
    """Updates 250, 251, ... with gradient norms 1, 2, ... have these speeds."""
    lines = [TRAIN.format(speed=s, update=249 + i, norm=i) for i, s in enumerate(speeds, 1)]
    lines += [VALID.format(loss=loss, update=update) for update, loss in losses.items()]
    path.write_text("\n".join(lines))


def write_scores(path, values):
    """As ``score_bleu.sh --json`` writes it: by system sacreBLEU, chrF2, p."""
    systems = {
        name: {"sacreBLEU": {"score": bleu}, "chrF2": {"score": chrf}}
        for name, (bleu, chrf, _) in values.items()
    }
    tests = {name: {"p_value": p} if p else {} for name, (_, _, p) in values.items()}
    figures = {"systems": systems, "paired_bootstrap": {"sacreBLEU": {"systems": tests}}}
    path.write_text(json.dumps(figures))


def test_table(tmp_path):
    write_log(tmp_path / "none-1.log", {250: 8.0, 500: 6.0}, 900, 1000, 5000)
    write_log(tmp_path / "mean-1.log", {250: 7.0, 500: 5.0}, 1000)
    write_log(tmp_path / "mean-2.log", {250: 7.0, 500: 5.5}, 1000)
    write_log(tmp_path / "admin-mean-1.log", {250: 9.0, 500: 7.0}, 800)
    write_log(tmp_path / "admin-1.log", {250: 9.0, 500: 6.5}, 900)
    write_log(tmp_path / "sum-1.log", {250: 8.0}, 900)  # not at its end
    (tmp_path / "cross-1.log").write_text("nothing yet")
    scores = {"none-1.fr": (20.04, 40, None), "mean-1.fr": (22, 41.16, 0.0123)}
    write_scores(tmp_path / "scores-none-1.json", scores)
    scores = {"admin-1.fr": (21, 41, None), "admin-mean-1.fr": (22.5, 42, 0.002)}
    write_scores(tmp_path / "scores-admin-1.json", scores)
    points = translation_table.points_of_logs(tmp_path)
    runs = translation_table.runs_of(points)
    names = [f"{run.name}-{run.seed}" for run in runs]
    assert names == ["none-1", "mean-1", "mean-2", "admin-1", "admin-mean-1"]
    assert runs[0].gradient_norms == {250: 1, 500: 3}
    scores = translation_table.read_scores(tmp_path)
    table = cells(translation_table.markdown_table(runs, scores))
    missed = "not reached"
    assert [row[1:] for row in table[1:]] == [
        ["6.000", "20.0", "40.0", "", "", "500", "438", "1000"],
        ["5.250 (5.000, 5.500)", "22.0", "41.2", "0.012", "", "375", "312", "1000"],
        ["6.500", "21.0", "41.0", "", "", missed, "500", "900"],
        ["7.000", "22.5", "42.0", "", "0.002", missed, missed, "800"],
    ]
    assert [row[0] for row in table[1:]] == [
        translation_table.LABELS[name] for name in ("none", "mean", "admin", "admin-mean")
    ]
    write_rows(points, tmp_path / "curves.csv")
    again = translation_table.runs_of(read_rows(translation_table.Point, tmp_path / "curves.csv"))
    assert again == runs


@pytest.mark.parametrize(
    "names, norms, panels, shown",
    [
        (["none", "mean"], {}, 2, ["none", "mean"]),
        (["sum", "admin"], {}, 4, ["sum"]),
        (["admin-mean"], {100: 0.5, 200: 1.5}, 3, ["admin-mean"]),
    ],
)
def test_picture_of_what_is_there(names, norms, panels, shown, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(translation_table, "save", lambda figure, output: drawn.append(figure))
    losses = {100: 9.0, 200: 8.0}
    runs = [translation_table.Run(name, 1, 1000, losses, norms) for name in names]
    translation_table.draw(runs, tmp_path / "loss.png")
    assert len(drawn[0].axes) == panels
    lines = drawn[0].axes[0].lines
    assert [line.get_label() for line in lines] == shown
    assert len({line.get_color() for line in lines}) == len(shown)
    assert norms == {} or [*drawn[0].axes[2].lines[0].get_ydata()] == [*norms.values()]


def test_attention_by_layer(tmp_path, capsys):
    rows = {
        "none": [["entropy", "cross", at, head, 9, at + head] for at in (0, 1) for head in (0, 1)],
        "mean": [["jsd", "encoder", 1, 0, 9, 0.25], ["jsd", "encoder", 1, 1, 9, 0.5]],
    }
    for name, values in rows.items():
        (tmp_path / name).mkdir()
        with open(tmp_path / name / "attention.csv", "w", newline="") as file:
            head = ["measure", "attention", "layer", "head", "count", "mean"]
            csv.writer(file).writerows([head, *values])
    compare.main([str(tmp_path / name) for name in rows])
    assert cells(capsys.readouterr().out) == [
        ["measure", "attention", "model", "layer 0", "layer 1", "mean"],
        ["entropy", "cross-attention", "none", "0.500", "1.500", "1.000"],
        ["JSD to the layer below", "encoder self-attention", "mean", "", "0.375", "0.375"],
    ]


def losses_table(folder):
    runs = translation_table.runs_of(read_rows(translation_table.Point, folder / "curves.csv"))
    return translation_table.markdown_table(runs, translation_table.read_scores(folder))


def accuracies_table(folder):
    points = read_rows(masked_lm.Point, folder / "curves.csv")
    return masked_lm.markdown_table(points, read_rows(masked_lm.Final, folder / "final.csv"))


def attention_table(folder):
    names = dict.fromkeys(row[2] for row in cells((folder / "table.md").read_text("utf-8"))[1:])
    means = {name: compare.means_by_layer(folder / name / "attention.csv") for name in names}
    return compare.markdown(means)


@pytest.mark.parametrize(
    "name, make, readme",
    [
        ("residual-attention", losses_table, True),
        ("residual-attention/lr-2e-3", losses_table, True),
        ("depth", losses_table, True),
        ("masked-lm", accuracies_table, True),
        ("attention", attention_table, True),
        ("attention/seed-2", attention_table, False),
    ],
)
def test_tables_are_those_of_the_figures_beside_them(name, make, readme):
    table = cells(make(RESULTS / name))
    assert table == cells((RESULTS / name / "table.md").read_text("utf-8"))
    if readme:
        shown = cells((RESULTS / name / "README.md").read_text("utf-8"))
        assert [row for row in table if row not in shown] == []


@pytest.mark.parametrize("name", ["demo", "debian-en-fr", "table7-debian-cpu"])
def test_scores_are_those_of_the_file_beside_them(name):
    """Those with a signature, and those by domain, with as many decimals as the README has."""
    figures = json.loads((RESULTS / name / "scores.json").read_text("utf-8"))
    readme = (RESULTS / name / "README.md").read_text("utf-8")
    shown = re.findall(r"^(\S.*?)(?: \(.*\))?  ([\d.]+)  (nrefs:\S+)$", readme, re.M)
    assert len(shown) >= 2
    for measure, score, signature in shown:
        assert signature == figures[measure]["signature"]
        assert score == rounded(figures[measure]["score"], score)
    domains = figures.get("domains", {})
    rows = [row for row in cells(readme) if row[0].split(" (")[0] in domains]
    assert len(rows) == len(domains)
    for domain, pairs, score in rows:
        found = domains[domain.split(" (")[0]]
        assert (pairs, score) == (str(found["lines"]), rounded(found["sacreBLEU"]["score"], score))


def rounded(value, like):
    """A number with as many decimals as ``like`` has."""
    return f"{value:.{len(like.partition('.')[2])}f}"


def test_yardsticks_are_those_of_the_file():
    with open(RESULTS / "debian-en-fr/yardsticks.csv", newline="") as file:
        found = {row["yardstick"]: float(row["sacreBLEU"]) for row in csv.DictReader(file)}
    copied, remembered = found["copying the source"], found["translation memory"]
    for path in (PROJECT / "README.md", RESULTS / "debian-en-fr/README.md"):
        text = " ".join(path.read_text("utf-8").split())
        shown = re.search(
            r"opying the source (?:has )?(\d+\.\d), a translation memory (\d+\.\d)", text
        )
        assert shown.groups() == (f"{copied:.1f}", f"{remembered:.1f}")


ACCURACY = "valid on '{}' subset | loss {} | accuracy {} | ppl 9 | bsz 20 | num_updates {}"


def write_masked_lm(folder, name, curve, masks, classified):
    """The logs of one training of results/masked-lm/run.sh."""
    lines = [ACCURACY.format("valid", 9, accuracy, update) for update, accuracy in curve.items()]
    (folder / f"{name}.log").write_text("\n".join(lines))
    (folder / f"{name}.trained").touch()
    of_fairseq_validate = ACCURACY.partition(" | num_updates")[0]
    lines = [of_fairseq_validate.format("test", loss, accuracy) for loss, accuracy in masks]
    (folder / f"{name}.validated").write_text("\n".join(lines))
    lines = [ACCURACY.format("test", 1, accuracy, 600) for accuracy in (1.0, classified)]
    (folder / f"{name}.classified").write_text("\n".join(lines))


def test_table_of_masked_language_models(tmp_path):
    (tmp_path / "rates").mkdir()
    for name, rate, loss in (
        ("fairseq-post-ln", "1e-3", 8),
        ("sum", "1e-3", 9),
        ("sum", "2e-3", 8),
    ):
        (tmp_path / f"rates/{name}-{rate}.loss").write_text(f"{loss}\n")
    (tmp_path / "en").mkdir()
    curve = {250: 10.0, 500: 20.0}
    write_masked_lm(tmp_path / "en", "fairseq-post-ln-1", curve, [(7, 20), (8, 30)], 70.1)
    write_masked_lm(tmp_path / "en", "sum-1", {250: 15.0, 500: 25.0}, [(6, 40), (6, 41)], 72)
    write_masked_lm(tmp_path / "en", "sum-2", {250: 15.0, 500: 19.0}, [(6, 41), (6, 41)], 73)
    write_masked_lm(tmp_path / "en", "sum-half-1", {250: 15.0}, [(7, 30)], 71)
    rates = tried_rates.rates_of_logs(tmp_path, masked_lm.LABELS)
    points = masked_lm.points_of_logs(tmp_path)
    finals = masked_lm.finals_of_logs(tmp_path, rates)
    rows = cells(masked_lm.markdown_table(points, finals))[1:]
    assert [row[1:] for row in rows] == [
        ["0.001", "7.500", "25.00", "500", "70.1"],
        ["0.002", "6.000 (6.000, 6.000)", "40.75 (40.50, 41.00)", "375", "72.5 (72.0, 73.0)"],
        ["0.002", "7.000", "30.00", "not reached", "71.0"],
    ]
    for kind, own in (
        (masked_lm.Point, points),
        (masked_lm.Final, finals),
        (tried_rates.Rate, rates),
    ):
        write_rows(own, tmp_path / "rows.csv")
        assert read_rows(kind, tmp_path / "rows.csv") == own


def test_heads_in_the_bins_of_the_paper(tmp_path):
    folder = tmp_path / "sum-1.attention"
    folder.mkdir()
    rows = [["entropy", 0, 1.0, 1.0], ["entropy", 0, 2.0, 2.0], ["entropy", 1, 5.0, 4.0]]
    with open(folder / "attention.csv", "w", newline="") as file:
        csv.writer(file).writerows([["measure", "layer", "median", "mean"], *rows])
    assert [row[1:] for row in cells("\n".join(attention_bins.table(tmp_path, "entropy")))[1:]] == [
        ["lower half", "50", "50", "0", "1.500"],
        ["upper half", "0", "0", "100", "4.000"],
    ]


def test_heads_in_the_bins_are_those_of_the_figures_beside_them(capsys, monkeypatch):
    folder = RESULTS / "masked-lm"
    command = ["attention_bins.py", "--runs", str(folder / "attention")]
    monkeypatch.setattr("sys.argv", command)
    attention_bins.main()
    assert capsys.readouterr().out == (folder / "attention.md").read_text("utf-8")


# Two rates diverge, each in another way; with the sum the full training fails, too.
STAND_IN = """#!/bin/bash
case "$* " in
  *"--lr 4e-3 "*) echo "FloatingPointError: gradients are Nan/Inf"; exit 1 ;;
  *"--residual-attention sum "*"--max-update 5000 "*) exit 1 ;;
  *"--lr 1e-3 "*) loss=nan ;;
  *) loss=9.25 ;;
esac
echo "1 | INFO | train_inner | epoch 001: 1 / 9 nll_loss=8, wps=5, gnorm=0.5, num_updates=9, $*"
echo "1 | INFO | valid | valid on 'valid' subset | loss 9 | nll_loss $loss | num_updates 9"
"""


def test_a_rate_that_diverges_is_not_chosen(tmp_path):
    """Nor does a training that fails keep the others from the table."""
    corpus, out = tmp_path / "a corpus", tmp_path / "out"
    for file in ("data-bin/dict.en.txt", "raw/test.en", "raw/test.fr"):
        (corpus / file).parent.mkdir(parents=True, exist_ok=True)
        (corpus / file).touch()
    environment = stand_in_environment(tmp_path / "environment", training=STAND_IN)
    line = [RESULTS / "depth/run.sh", "--corpus", corpus, "--out", out, "--no-translation"]
    line += ["--lr", "1e-3 2e-3 4e-3"]
    result = run(*line, "--seeds", 7, "admin-sum", "admin-mean", env=environment, check=False)
    assert result.returncode == 1 and "admin-sum, seed 7: exit code 1" in result.stderr
    assert "--lr 2e-3 " in (out / "admin-mean-7.log").read_text()
    rates = read_rows(tried_rates.Rate, out / "rates.csv")
    assert [row.loss for row in rates] == 2 * [math.inf, 9.25, math.inf]
    assert "| ADMIN, mean in all three | 9.250 |" in result.stdout
