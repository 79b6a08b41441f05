"""The picture of omega by depth."""

import torch
from commands import error_of

from realformer_checkpoints import omega_by_depth
from realformer_checkpoints.omega_by_depth import of_stack, read_omegas

LOG = """\
2026-01-01 10:00:00 | INFO | realformer_fairseq.training.admin_profile | ADMIN profile of 3
2026-01-01 10:00:00 | INFO | realformer_fairseq.training.admin_profile | ADMIN profile: \
encoder.layers.0.self_attn_residual.omega = 1.0000
2026-01-01 10:00:00 | INFO | realformer_fairseq.training.admin_profile | ADMIN profile: \
encoder.layers.0.ffn_residual.omega = 1.3255
"""
DECODER = "decoder.layers.0.ffn_residual.omega"


def checkpoint(path, names):
    model = {f"{name}_residual.omega": torch.tensor([1.0, 2.0, 4.0]) for name in names}
    torch.save({"model": {**model, "encoder.version": torch.tensor([3.0])}}, path)


def test_sublayers_are_sorted_by_depth():
    names = [
        f"decoder.layers.{layer}.{sublayer}_residual.omega"
        for layer in (0, 2, 10)
        for sublayer in ("self_attn", "encoder_attn", "ffn")
    ]
    assert of_stack([*reversed(names), "encoder.layers.0.ffn_residual.omega"], "decoder") == names


def test_a_run_is_read(tmp_path):
    checkpoint(tmp_path / "c.pt", ["encoder.layers.0.self_attn", "encoder.layers.0.ffn"])
    (tmp_path / "admin.log").write_text(LOG)
    found = read_omegas(str(tmp_path / "c.pt"), str(tmp_path / "admin.log"))
    assert found.name == "admin"
    assert list(found.profile.values()) == [1.0, 1.3255]
    assert found.trained.keys() == found.profile.keys()


def test_a_masked_language_model_has_one_stack(tmp_path):
    names = [f"encoder.sentence_encoder.layers.0.{kind}" for kind in ("self_attn", "ffn")]
    checkpoint(tmp_path / "c.pt", names)
    (tmp_path / "admin.log").write_text(LOG.replace("encoder.", "encoder.sentence_encoder."))
    found = read_omegas(str(tmp_path / "c.pt"), str(tmp_path / "admin.log"))
    assert found.profile == dict(zip(of_stack(found.trained, "encoder"), (1.0, 1.3255)))
    widths = []
    for model in (found, found._replace(trained={**found.trained, DECODER: torch.ones(3)})):
        omega_by_depth.draw_omegas([model], "", str(tmp_path / "a.png"))
        widths.append(int.from_bytes((tmp_path / "a.png").read_bytes()[16:20], "big"))
    assert 2 * widths[0] == widths[1]


def test_command_line(tmp_path):
    log, picture = tmp_path / "my admin.log", tmp_path / "omega.png"
    output = [log, "--title", "T", "--output", picture]
    log.write_text(LOG)
    both = ["encoder.layers.0.self_attn", "encoder.layers.0.ffn", "decoder.layers.0.ffn"]
    checkpoint(tmp_path / "c.pt", both)
    assert error_of(omega_by_depth, "--run", tmp_path / "c.pt", *output) is None
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()
    checkpoint(tmp_path / "plain.pt", [])
    error = error_of(omega_by_depth, "--run", tmp_path / "plain.pt", *output)
    assert error == f"plot_omega.sh: --run {tmp_path}/plain.pt: there is no omega in it"
    assert not picture.exists()


def test_a_log_of_another_kind_is_named(tmp_path):
    """Without a profile the log is that of a training at least, or the picture would lack it."""
    checkpoint(tmp_path / "c.pt", ["encoder.layers.0.self_attn"])
    (tmp_path / "dict.en.txt").write_text("a 3\nb 2\n")
    for log in ("dict.en.txt", "c.pt"):
        error = error_of(
            omega_by_depth, "--run", tmp_path / "c.pt", tmp_path / log, "--output", "/none.png"
        )
        assert error == f"plot_omega.sh: --run {tmp_path / log}: no log of fairseq-train"
    (tmp_path / "analytic.log").write_text("num_updates=50\n")
    assert read_omegas(str(tmp_path / "c.pt"), str(tmp_path / "analytic.log")).profile == {}


def test_no_input_is_lost_and_no_curve_has_the_name_of_another(tmp_path):
    run_of = ["--run", tmp_path / "c.pt", tmp_path / "admin.log"]
    checkpoint(tmp_path / "c.pt", ["encoder.layers.0.self_attn"])
    (tmp_path / "admin.log").write_text(LOG)
    for path in run_of[1:]:
        before = path.read_bytes()
        error = error_of(omega_by_depth, *run_of, "--output", path)
        assert error == f"plot_omega.sh: --output {path}: is one of the inputs, and would be lost"
        assert path.read_bytes() == before
    error = error_of(omega_by_depth, *run_of, *run_of, "--output", tmp_path / "a.png")
    assert "two logs are called admin" in error
