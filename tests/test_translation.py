"""End to end in small: average, translate, score, align, all through the command line."""

import re

import pytest
from conftest import run


@pytest.fixture(scope="module")
def averaged(trained, project, tmp_path_factory):
    output = tmp_path_factory.mktemp("averaged model") / "average.pt"
    run(
        project / "scripts/average_checkpoints.sh",
        *("--inputs", trained, "--num-update-checkpoints", 2, "--output", output),
    )
    return output


def translate(project, checkpoint, data, *options, **keywords):
    return run(
        project / "scripts/translate.sh",
        *("--checkpoint", checkpoint, "--data", data / "data-bin"),
        *options,
        "--",
        *("--cpu", "--max-len-b", 20),
        **keywords,
    )


def test_translate_and_score(averaged, prepared, project, tmp_path):
    """Lines out are lines in, in their order: each sentence gives the same wherever it stands."""
    sentences = (prepared / "raw/test.en").read_text().split("\n")[:6]
    lines = [sentences[0], "", *sentences[1:4], "   ", sentences[0], *sentences[4:], ""]
    (tmp_path / "in put").write_text("\n".join(lines) + "\n")
    translate(
        project,
        f"{averaged}:{averaged}",
        prepared,
        *("--input", tmp_path / "in put", "--output", tmp_path / "out put"),
    )
    translated = (tmp_path / "out put").read_text().split("\n")[:-1]
    assert [bool(line) for line in translated] == [bool(line.strip()) for line in lines]
    assert translated[0] == translated[6]
    assert not any(re.search("@@|&apos;|<unk>|<pad>", line) for line in translated)

    reference = tmp_path / "reference"
    reference.write_text("\n".join(["Un chat dort ici.", *"x" * 8]) + "\n")
    for hypothesis, expected in ((reference, "100.0"), (tmp_path / "out put", "0.0")):
        scored = run(
            project / "scripts/score_bleu.sh",
            *("--hyp", hypothesis, "--ref", reference, "--lang", "fr"),
        ).stdout
        assert re.search(rf"^sacreBLEU  {expected}  nrefs:1.case:mixed", scored)


def test_generate_aligns_and_agrees_with_translate(averaged, prepared, project):
    """fairseq-generate by hand: a valid A- line for each sentence, and the same translations."""
    generated = run(
        "fairseq-generate",
        prepared / "data-bin",
        *("--user-dir", project / "realformer_fairseq", "--path", averaged, "--cpu"),
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

    stdin = (prepared / "raw/test.en").read_text()
    translated = translate(project, averaged, prepared, input=stdin).stdout.split("\n")[:-1]
    joined = [hypothesis[n].split("\t", 1)[1] for n in range(20)]
    detokenised = run(
        *("python", "-m", "realformer_fairseq.tokenization", "--lang", "fr", "--detokenize"),
        input="\n".join(joined) + "\n",
        cwd=project,
    ).stdout.split("\n")[:-1]
    assert translated == detokenised


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--data", "d"], ["--checkpoint is missing"]),
        (["--checkpoint", "/no/a.pt", "--data", "d"], ["--checkpoint", "/no/a.pt"]),
        (["--checkpoint", __file__, "--data", "/no"], ["--data", "/no/dict.en.txt"]),
        (["--beams", "5"], ["--beams"]),
        (["--beam"], ["--beam", "value"]),
    ],
)
def test_bad_options(project, arguments, words):
    result = run(project / "scripts/translate.sh", *arguments, check=False)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in words)


def test_a_file_that_is_no_checkpoint_is_named(project, prepared, tmp_path):
    (tmp_path / "broken.pt").write_bytes(b"PK\x03\x04 broken")
    result = run(
        project / "scripts/translate.sh",
        *("--checkpoint", tmp_path / "broken.pt", "--data", prepared / "data-bin"),
        input="A sentence.\n",
        check=False,
    )
    assert result.returncode == 1 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and "translate.sh" in result.stderr
