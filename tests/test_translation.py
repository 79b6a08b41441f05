"""The command, Python and fairseq's own command give the same translations."""

import io
import os
import re
import shlex

import pytest
from checkpoint_files import average
from commands import error_of
from conftest import PROJECT, run
from fairseq_cli import interactive
from fairseq_mains import lines_by_kind, printed
from hubs import from_pretrained, randomize

from realformer_fairseq.inference import translation
from realformer_runtime.command_line import UserError
from realformer_runtime.text.tokenization import line_detokenizer

# Short translations of a model that has learned little; a limit that a test line exceeds.
LIMITS = {"max_len_a": 0, "max_len_b": 20, "max_source_positions": 40}
OPTIONS = [word for name, n in LIMITS.items() for word in (f"--{name.replace('_', '-')}", str(n))]


@pytest.fixture(scope="module")
def ensemble(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("two models")
    average("--inputs", trained, "--num-update-checkpoints", 2, "--output", folder / "average.pt")
    other = randomize(trained / "checkpoint_last.pt", folder / "random.pt")
    return f"{folder / 'average.pt'}:{other}"


@pytest.fixture(scope="module")
def lines(prepared):
    """The test set, an empty line, one of white space, and one that is too long."""
    sentences = (prepared / "raw/test.en").read_text().split("\n")[:-1]
    return [*sentences, "", sentences[0], " \t", " ".join(sentences[:8])]


@pytest.fixture(scope="module")
def translated(ensemble, prepared, lines, tmp_path_factory):
    """The script's translation of an ensemble, and what it said."""
    folder = tmp_path_factory.mktemp("trans lation")
    (folder / "in put").write_text("\n".join(lines) + "\n")
    files = ["--input", folder / "in put", "--output", folder / "out put"]
    files += ["--checkpoint", ensemble, "--data", prepared / "data-bin"]
    result = run(PROJECT / "scripts/translate.sh", *files, "--", "--cpu", *OPTIONS)
    assert result.stdout == "" and sorted(os.listdir(folder)) == ["in put", "out put"]
    return (folder / "out put").read_text().split("\n")[:-1], result.stderr.splitlines()


def test_lines_out_are_lines_in(translated, lines):
    """Each sentence gives the same wherever it stands; one that is too long is named."""
    translations, (_, *said) = translated
    assert [bool(line) for line in translations] == [bool(line.strip()) for line in lines]
    assert translations[0] == translations[21] and len(set(translations)) > 10
    assert not any(re.search("@@|&apos;|<unk>|<pad>", line) for line in translations)
    assert shlex.split(said[0])[0] == "fairseq-interactive" and said[0].endswith(
        " --beam 5 --lenpen 0.8 --max-len-a 1 --max-len-b 200 --max-tokens 2000 --buffer-size 256"
        " --num-workers 0 --cpu " + " ".join(OPTIONS)
    )
    warning = r"translate.sh: longer than the limit of 39 subwords, translated in parts: "
    assert re.fullmatch(warning + r"line 24 \(\d+ subwords\)", said[1]) and len(said) == 2


@pytest.mark.parametrize(
    "options", ["", "--diverse-beam-groups 5 --max-tokens 60", "--sampling --nbest 5 --seed 2"]
)
def test_the_command_that_is_printed_does_the_same(
    options, ensemble, prepared, monkeypatch, capsys, tmp_path
):
    """fairseq-interactive, with the subwords that preparation made of the same text."""
    files = ["--checkpoint", ensemble, "--data", prepared / "data-bin"]
    files += ["--input", prepared / "raw/test.en", "--output", tmp_path / "out"]
    words = ["--", "--cpu", *OPTIONS, *options.split()]
    assert error_of(translation, *files, *words) is None
    command = shlex.split(capsys.readouterr().err.splitlines()[1])  # after the languages
    sentences = (prepared / "bpe/test.en").read_text("utf-8").splitlines()
    order = sorted(range(len(sentences)), key=lambda number: -len(sentences[number].split()))
    text = "".join(f"{sentences[number]}\n" for number in order)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    hypotheses = lines_by_kind(printed(interactive, *command[1:]))["H"]
    found = {
        order[n]: line_detokenizer("fr")(best.split("\t")[1])
        for n, (best, *_) in hypotheses.items()
    }
    assert (tmp_path / "out").read_text("utf-8").splitlines() == [found[n] for n in sorted(found)]
    assert len(found) == 20


def test_from_pretrained(ensemble, prepared, lines, translated):
    """As the README shows it, against the script."""
    folder = os.path.dirname(ensemble.split(":")[0])
    names = ":".join(os.path.relpath(path, folder) for path in ensemble.split(":"))
    position = LIMITS["max_source_positions"]
    model = from_pretrained(folder, prepared, names, max_source_positions=position)
    options = {name: LIMITS[name] for name in ("max_len_a", "max_len_b")}
    assert len(model.models) == 2
    assert model.translate(lines, **options) == translated[0]
    assert model.translate(lines[1], **options) == translated[0][1]
    assert model.translate(["", lines[-1]], overlong="skip") == ["", ""]
    with pytest.raises(UserError, match=r"line 2 \(\d+ subwords\)"):
        model.translate(lines[-2:], overlong="error")
