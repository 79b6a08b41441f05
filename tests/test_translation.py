"""End to end in small: average, translate, score, align, all through the command line."""

import re
import sys
from pathlib import Path

import pytest
from conftest import PROJECT, run


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
    reference.write_text("\n".join(["Un chat dort ici.", *"x" * 9]) + "\n")
    for hypothesis, expected in ((reference, "100.0"), (tmp_path / "out put", r"\d\.\d")):
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
    assert len(result.stderr.splitlines()) == 1 and "broken.pt" in result.stderr


# Stands in for fairseq-interactive: numbered lines, two hypotheses each, in a strange order.
SEARCH = """#!/usr/bin/env python3
import sys
lines = sys.stdin.read().split("\\n")[:-1]
for number in sorted(range(len(lines)), key=lambda n: (n * 7) % 5):
    if lines[number] != "lost":
        print(f"S-{number}\\t{lines[number]}")
        print(f"H-{number}\\t-0.1\\t{lines[number]} {number}")
        print(f"H-{number}\\t-0.2\\tsecond")
"""


@pytest.fixture
def fake_search(tmp_path, monkeypatch):
    """An environment as the one that runs the tests, but for fairseq-interactive."""
    venv, real = tmp_path / "venv", Path(sys.prefix)
    (venv / "bin").mkdir(parents=True)
    for entry in real.iterdir():
        if entry.name != "bin":
            (venv / entry.name).symlink_to(entry)
    for entry in (real / "bin").iterdir():
        if entry.name != "fairseq-interactive":
            (venv / "bin" / entry.name).symlink_to(entry)
    search = venv / "bin/fairseq-interactive"
    search.write_text(SEARCH)
    search.chmod(0o755)
    monkeypatch.setenv("VENV", str(venv))


def search_with_fake(project, prepared, text, *options, **keywords):
    (prepared.parent / "any.pt").write_bytes(b"")
    return run(
        project / "scripts/translate.sh",
        *("--checkpoint", prepared.parent / "any.pt", "--data", prepared / "data-bin"),
        *options,
        input=text,
        **keywords,
    )


def test_order_is_kept(project, prepared, fake_search):
    """Every line gets the first hypothesis of its own number, and empty lines stay."""
    words = [str(number) for number in range(23)]
    text = "\n".join([*words[:5], "", "", *words[5:], ""]) + "\n"
    out = search_with_fake(project, prepared, text).stdout.split("\n")[:-1]
    expected = [f"{word} {number}" for number, word in enumerate(words)]
    joined = [re.sub("@@ ", "", line) for line in out]
    assert joined == [*expected[:5], "", "", *expected[5:], ""]


def test_a_lost_sentence_is_said_and_nothing_is_written(project, prepared, fake_search, tmp_path):
    (tmp_path / "out").write_text("before")
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\nl o\nlo s\nlos t</w>\n")
    options = ["--bpe-codes", codes, "--output", tmp_path / "out"]
    result = search_with_fake(project, prepared, "1\nlost\n2\n", *options, check=False)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1 and "of 3 sentences 2 came out" in result.stderr
    assert (tmp_path / "out").read_text() == "before"


def test_output_that_is_no_file_is_written_to(project, prepared, fake_search):
    result = search_with_fake(project, prepared, "1\n", "--output", "/dev/stdout")
    assert result.stdout == "1 0\n"


@pytest.mark.parametrize(
    "options, words",
    [
        (["--output", "/no/such/place"], ["--output", "/no/such"]),
        (["--bpe-codes", __file__], ["--bpe-codes", __file__]),
        (["--lenpen", "high"], ["--lenpen", "high"]),
    ],
)
def test_bad_files_and_values(project, prepared, fake_search, options, words):
    result = search_with_fake(project, prepared, "1\n", *options, check=False)
    assert result.returncode == 1 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in words)


def test_from_pretrained(averaged, prepared):
    """As the README shows it, against the script."""
    import realformer_fairseq

    model = realformer_fairseq.RealFormerModel.from_pretrained(
        str(averaged.parent),
        averaged.name,
        data_name_or_path=str(prepared / "data-bin"),
        tokenizer="realformer_moses",
        source_lang="en",
        target_lang="fr",
        bpe="subword_nmt",
        bpe_codes=str(prepared / "data-bin/code"),
    )
    sentences = (prepared / "raw/test.en").read_text().split("\n")[:4]
    translated = model.translate(sentences, beam=5, lenpen=0.8, max_len_b=20)
    script = translate(PROJECT, averaged, prepared, input="\n".join(sentences) + "\n").stdout
    assert translated == script.split("\n")[:-1]
