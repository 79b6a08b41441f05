"""End to end in small: average, translate, score, align, all through the command line."""

import os
import re
import shlex

import pytest
from conftest import PROJECT, run
from hubs import from_pretrained

from realformer_fairseq.inference import translation

SCRIPT = PROJECT / "scripts/translate.sh"
# Short translations of a model that has learned little; a limit that a test line exceeds.
LIMITS = {"max_len_a": 0, "max_len_b": 20, "max_source_positions": 40}
OPTIONS = [word for name, n in LIMITS.items() for word in (f"--{name.replace('_', '-')}", str(n))]


@pytest.fixture(scope="module")
def averaged(trained, tmp_path_factory):
    output = tmp_path_factory.mktemp("averaged model") / "average.pt"
    run(
        PROJECT / "scripts/average_checkpoints.sh",
        *("--inputs", trained, "--num-update-checkpoints", 2, "--output", output),
    )
    return output


@pytest.fixture(scope="module")
def ensemble(averaged, trained):
    return f"{averaged}:{trained / 'checkpoint_last.pt'}"


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
    command = [SCRIPT, "--checkpoint", ensemble, "--data", prepared / "data-bin", *files]
    result = run(*command, "--", "--cpu", *OPTIONS)
    assert result.stdout == "" and sorted(os.listdir(folder)) == ["in put", "out put"]
    return (folder / "out put").read_text().split("\n")[:-1], result.stderr


def test_lines_out_are_lines_in(translated, lines, tmp_path):
    """Each sentence gives the same wherever it stands; one that is too long is named."""
    translations, said = translated
    assert [bool(line) for line in translations] == [bool(line.strip()) for line in lines]
    assert translations[0] == translations[21]
    assert not any(re.search("@@|&apos;|<unk>|<pad>", line) for line in translations)
    said = said.splitlines()
    assert shlex.split(said[0])[0] == "fairseq-interactive" and said[0].endswith(
        " --beam 5 --lenpen 0.8 --max-len-a 1 --max-len-b 200 --max-tokens 2000 --buffer-size 256"
        " --num-workers 0 --cpu " + " ".join(OPTIONS)
    )
    warning = r"translate.sh: longer than the limit of 39 subwords, translated in parts: "
    assert re.fullmatch(warning + r"line 24 \(\d+ subwords\)", said[1])

    reference = tmp_path / "reference"
    reference.write_text("\n".join(["Un chat dort ici.", *"x" * 23]) + "\n")
    hypothesis = tmp_path / "hypothesis"
    hypothesis.write_text("\n".join(translations) + "\n")
    for file, expected in ((reference, "100.0"), (hypothesis, r"\d\.\d")):
        options = ("--hyp", file, "--ref", reference, "--lang", "fr")
        scored = run(PROJECT / "scripts/score_bleu.sh", *options).stdout
        assert re.search(rf"^sacreBLEU  {expected}  nrefs:1.case:mixed", scored)


def test_generate_aligns_and_agrees_with_translate(ensemble, prepared, translated):
    """fairseq-generate by hand: a valid A- line for each sentence, and the same translations."""
    generated = run(
        "fairseq-generate",
        prepared / "data-bin",
        *("--user-dir", PROJECT / "realformer_fairseq", "--path", ensemble, "--cpu"),
        *("--beam", 5, "--lenpen", 0.8, "--max-len-b", 20, "--remove-bpe", "--print-alignment"),
        *("--required-batch-size-multiple", 1, "--max-tokens", 2000),
    ).stdout
    source, hypothesis, alignment = (
        {int(n): text for n, text in re.findall(rf"^{kind}-(\d+)\t(.*)$", generated, re.M)}
        for kind in ("S", "H", "A")
    )
    assert source.keys() == hypothesis.keys() == alignment.keys() == set(range(20))
    for number, pairs in alignment.items():
        for pair in pairs.split():
            assert re.fullmatch(r"\d+-\d+", pair), (number, pairs)
    joined = [hypothesis[n].split("\t", 1)[1] for n in range(20)]
    assert translated[0][:20] == list(map(translation.line_detokenizer("fr"), joined))


def test_from_pretrained(ensemble, averaged, prepared, lines, translated):
    """As the README shows it, against the script."""
    files = [os.path.relpath(path, averaged.parent) for path in ensemble.split(":")]
    model = from_pretrained(
        averaged.parent,
        prepared,
        ":".join(files),
        max_source_positions=LIMITS["max_source_positions"],
    )
    options = {name: LIMITS[name] for name in ("max_len_a", "max_len_b")}
    assert len(model.models) == 2
    assert model.translate(lines, **options) == translated[0]
    assert model.translate(lines[1], **options) == translated[0][1]
    assert model.translate(["", lines[-1]], overlong="skip") == ["", ""]
    with pytest.raises(translation.UserError, match=r"line 2 \(\d+ subwords\)"):
        model.translate(lines[-2:], overlong="error")
