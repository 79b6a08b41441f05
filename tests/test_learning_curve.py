"""Curves from the lines that fairseq-train writes."""

import pytest
from commands import error_of

from realformer_checkpoints import learning_curve
from realformer_checkpoints.training_log import log_lines, read_curves, read_speeds

LOG = """\
2026-01-01 10:00:00 | INFO | train_inner | epoch 001:     50 / 2655 loss=12.5, nll_loss=12.4, \
ppl=5406.52, wps=1414.4, num_updates=50, lr=0.0001, gnorm=1.5e-05
2026-01-01 10:01:00 | INFO | train_inner | epoch 001:    100 / 2655 loss=9.1, nll_loss=8.25, \
ppl=300, wps=1414.4, num_updates=100, lr=0.0002, gnorm=2.217
2026-01-01 10:02:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 8.9 | \
nll_loss 7.976 | ppl 251 | wps 4247.5 | num_updates 100
2026-01-01 10:03:00 | INFO | train | epoch 001 | loss 10 | nll_loss 9.9 | num_updates 100
2026-01-01 11:00:00 | INFO | train_inner | epoch 001:    100 / 2655 loss=9.0, nll_loss=8, \
ppl=256, wps=1414.4, num_updates=100, lr=0.0002, gnorm=2.217
"""


def test_curves():
    curves = read_curves(LOG.splitlines())
    assert curves == {"train": [(50, 12.4), (100, 8.0)], "valid": [(100, 7.976)]}
    gradient_norms = read_curves(LOG.splitlines(), "gradient-norm")
    assert gradient_norms == {"train": [(50, 1.5e-5), (100, 2.217)]}
    assert read_speeds(LOG.splitlines()) == [1414.4, 1414.4]
    epoch = "epoch 001 | loss 6.721 | nll_loss 6.039 | wps 5183.5 | ups 5.53 | num_updates 211"
    assert read_speeds([epoch]) == [5183.5]


def test_curves_of_language_models():
    """Their loss is a likelihood; that of a classifier, without a perplexity, is none."""
    inner = "epoch 001: 1 / 9 loss=9.5, {}ppl=724, wps=5, num_updates=50"
    valid = "epoch 1 | valid on 'valid' subset | loss 5.4 | {}wps 0 | num_updates 90 | best_loss 5"
    masked = [inner.format("accuracy=1.5, "), valid.format("accuracy 20 | ppl 41 | ")]
    assert read_curves(masked) == {"train": [(50, 9.5)], "valid": [(90, 5.4)]}
    assert read_curves(masked, "accuracy") == {"train": [(50, 1.5)], "valid": [(90, 20.0)]}
    assert read_curves([inner.format(""), valid.format("ppl 41 | ")], "accuracy") == {"train": []}
    assert read_curves([valid.format("accuracy 20 | ")]) == {"train": []}


def test_a_very_long_line_is_left_out(tmp_path):
    log = tmp_path / "train.log"
    long = "epoch 001: " + "num_updates=1 " * 1000
    log.write_bytes(f"{long}\n{LOG}".encode() + b"\xff\n")
    assert list(log_lines(log)) == [*LOG.splitlines(keepends=True), "\ufffd\n"]


def test_picture(tmp_path):
    (tmp_path / "my run.log").write_text(LOG)
    picture, pictures = tmp_path / "curve.png", []
    for options in ([], ["--quantity", "gradient-norm"]):
        options = [*options, "--title", "T", "--output", picture]
        assert error_of(learning_curve, "--logs", tmp_path / "my run.log", *options) is None
        pictures.append(picture.read_bytes())
        assert pictures[-1].startswith(b"\x89PNG")
    assert pictures[0] != pictures[1]


DIVERGED = LOG.replace("gnorm=2.217", "gnorm=nan").replace("1.5e-05", "0")


@pytest.mark.parametrize(
    "log, logs, output, message",
    [
        ("nothing\n", "my run.log", "a.png", "no gradient-norm in it; is it a log of --log-format"),
        (DIVERGED, "my run.log", "a.png", "no gradient-norm in it that can be drawn, only NaN and"),
        (LOG, "my run.log", "my run.log", "is one of the inputs, and would be lost"),
        (LOG, "my run.log", "link", "is one of the inputs, and would be lost"),
        (LOG, "my run.log/link/my run.log", "a.png", "two files are called my run"),
    ],
)
def test_what_cannot_be_drawn_is_named(tmp_path, log, logs, output, message):
    """A log is never replaced by its picture."""
    path = tmp_path / "my run.log"
    path.write_text(log)
    (tmp_path / "link").symlink_to(path)
    words = ["--logs", *(tmp_path / name for name in logs.split("/"))]
    words += ["--output", tmp_path / output, "--quantity", "gradient-norm"]
    error = error_of(learning_curve, *words)
    assert error.startswith("plot_learning_curve.sh: --") and message in error
    assert path.read_text() == log and not (tmp_path / "a.png").exists()
