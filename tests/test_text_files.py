"""What files of text may start with, and lines that show nothing."""

import gzip
import io
import os
import sys
import unicodedata
from pathlib import Path

import pytest
import regex
from commands import outcome
from conftest import MERGES, PROJECT, fails, run
from public_corpora import dictionary_check, extraction
from translations import score_bleu, write

from realformer_runtime.atomic_output import check_output
from realformer_runtime.command_line import UserError
from realformer_runtime.scores import hypothesis_files
from realformer_runtime.text import byte_pair_encoding, tokenization, utf8_lines
from realformer_runtime.text.bpe_encoding import read_codes
from realformer_runtime.text.utf8_lines import drop_byte_order_mark, shows_nothing

MARK = b"\xef\xbb\xbf"
CODES = b"#version: 0.2\na b\nab c</w>\n"


def tokenised(text, *options):
    return outcome(tokenization, "--lang", "fr", *options, text=text)


def bpe(text, *options):
    return outcome(byte_pair_encoding, *options, text=text)


@pytest.mark.parametrize("text", [b"abc abd abc\n", b"", b"\n", b"abc"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_byte_order_mark_at_the_start_of_a_stream_is_dropped(text, jobs, tmp_path):
    (tmp_path / "codes").write_bytes(CODES)
    for options in ([], ["--moses"], ["--detokenize"]):
        plain = tokenised(text, "--jobs", jobs, *options)
        assert plain[0] is None and tokenised(MARK + text, "--jobs", jobs, *options) == plain
    apply = ["apply", "--codes", tmp_path / "codes", "--jobs", jobs]
    plain = bpe(text, *apply)
    assert plain[0] is None and bpe(MARK + text, *apply) == plain


@pytest.fixture
def marked(tmp_path, monkeypatch):
    """The same files without and with a byte order mark; the names of the others begin with m."""
    monkeypatch.chdir(tmp_path)
    texts = {"ref": "l'été\nnon\n", "hyp": "l'été, non\nnon\n", "labels": "a\nb\n"}
    texts |= {"codes": CODES.decode(), "counts": "abc 5\nabd 3\n", "dict": "l&apos; 3\n"}
    texts["log"] = "D-0\t-1\tl'été\nH-0\t-1\tl&apos; été\nD-1\t-1\tnon\nH-1\t-1\tnon\n"
    for name, text in texts.items():
        for path, content in ((name, text.encode()), (f"m{name}", MARK + text.encode())):
            (tmp_path / path).write_bytes(content)
            (tmp_path / f"{path}.gz").write_bytes(gzip.compress(content))
    return tmp_path


@pytest.mark.parametrize("hyp", ["hyp", "log"])
@pytest.mark.parametrize("end", ["", ".gz"])
def test_scores_do_not_see_it(marked, hyp, end):
    found = []
    for mark in ("", "m"):
        files = [f"{mark}{name}{end}" for name in (hyp, "ref", "labels")]
        files = [word for pair in zip(("--hyp", "--ref", "--domains"), files) for word in pair]
        assert score_bleu(*files, "--lang", "fr", "--json", "json") is None
        found.append((marked / "json").read_text("utf-8"))
    assert found[0] == found[1] and '"a": {' in found[0]


def test_codes_counts_and_dictionaries_do_not_have_it(marked):
    assert read_codes("mcodes").bpe_codes == read_codes("codes").bpe_codes
    assert read_codes("mcodes").version == (0, 2)
    learn = ["learn", "--merges", "2", "--word-counts"]
    assert bpe(b"", *learn, "mcounts")[:2] == bpe(b"", *learn, "counts")[:2]
    assert dictionary_check.read_dictionary(marked / "mdict") == {"l&apos;"}
    assert drop_byte_order_mark("\ufeff\ufeffa\ufeff") == "\ufeffa\ufeff"


def test_archives_of_the_preparation_do_not_have_it():
    def lines(text):
        return list(extraction.bounded_lines(io.BytesIO(text), "file"))

    segment = '<seg id="1"> Où ? </seg>\n'.encode()
    assert lines(MARK + segment) == lines(segment) and lines(MARK) == []
    assert list(extraction.segments(lines(MARK + segment))) == ["Où ?\n".encode()]
    with pytest.raises(UserError, match="^file: UTF-16"):
        lines("ab\n".encode("utf-16"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_is_named(encoding, tmp_path):
    (tmp_path / "file").write_bytes("Bonjour.\n".encode(encoding))
    path = str(tmp_path / "file")
    errors = [tokenised((tmp_path / "file").read_bytes())[0]]
    errors += [bpe(b"", "learn", "--merges", "2", "--word-counts", path)[0]]
    errors += [bpe(b"", "apply", "--codes", path)[0]]
    errors += [bpe((tmp_path / "file").read_bytes(), "learn", "--merges", "2")[0]]
    errors += [score_bleu("--hyp", path, "--ref", path, "--lang", "fr")]
    name = "UTF-32" if encoding == "utf-32" else "UTF-16"
    assert all(name in error and "\n" not in error for error in errors)
    assert [path in error for error in errors] == [False, True, True, False, True]


# One of each kind, alone; and together, with white space.
INVISIBLE = "\x00 \x1f \x7f \u00ad \u034f \u061c \u115f \u1160 \u17b4 \u17b5 \u180b \u180e".split(
    " "
)
INVISIBLE += "\u200b \u200c \u200d \u200e \u200f \u202e \u2060 \u2064 \u206f \u2800".split(" ")
INVISIBLE += "\u3164 \ufe00 \ufe0f \ufeff \uffa0 \U000e0001 \U000e0020 \U000e0100".split(" ")
INVISIBLE += ["\t", "\u00a0", "\u2028", "\u3000", "\u200b \u00ad\t\ufe0f \u2003\u200d", "\u2065"]
VISIBLE = [
    "a\u200b",
    "\u200b.",
    "\u0301",
    "\u06dd",
    "\u0600",
    "\ufffd",
    "\ue000",
    "👨\u200d👩",
    "❤\ufe0f",
]
TEXT = "".join(f"{line}\n" for line in [*INVISIBLE, *VISIBLE]).encode()


@pytest.mark.parametrize(
    "options", ["", "--moses", "--moses --normalize-punctuation --remove-non-printing", "--jobs 2"]
)
def test_a_line_that_shows_nothing_becomes_empty(options):
    error, out, _ = tokenised(TEXT, *options.split())
    lines = out.decode("utf-8").split("\n")[:-1]
    assert error is None and lines[: len(INVISIBLE)] == [""] * len(INVISIBLE)
    # Moses removes all format characters, also those that are seen.
    removed = "\u06dd\u0600\ue000" if "--remove" in options else ""
    kept = lines[len(INVISIBLE) :]
    assert [bool(line) for line in kept] == [line not in removed for line in VISIBLE]
    if options in ("", "--moses"):  # nothing else is lost inside text
        left = [line if options else line.replace("\u200b", "") for line in VISIBLE]
        assert ["".join(line.split()) for line in kept] == left


def test_what_shows_nothing_in_unicode():
    """Categories of Unicode; of format characters, signs before Arabic numbers are seen."""
    for number in range(0x110000):
        char = chr(number)
        category = unicodedata.category(char)
        if category in ("Cc", "Zs", "Zl", "Zp"):
            assert shows_nothing(char), hex(number)
        elif category == "Cf":
            seen = regex.match(r"\p{Prepended_Concatenation_Mark}", char)
            assert shows_nothing(char) == (not seen), hex(number)
        elif category[0] in "PS" or category in ("Lu", "Ll", "Nd"):
            assert shows_nothing(char) == (char == "\u2800"), hex(number)
    assert shows_nothing("") and not shows_nothing("\u200bx\u200b")


SCRIPT = PROJECT / "data-prep/prepare-debian-en2fr.sh"


def test_the_preparation_copies_text_without_it_and_names_what_is_wrong(raw_corpus, tmp_path):
    """What was wrong can be put right, and the same command goes on."""
    corpus, out = tmp_path / "my corpus", tmp_path / "out"
    corpus.mkdir()
    texts = {path.name: path.read_bytes() for path in raw_corpus.iterdir()}
    for name, text in texts.items():
        (corpus / name).write_bytes(MARK + text)
    packed = corpus / "valid.fr.gz"
    packed.write_bytes(gzip.compress((corpus / "valid.fr").read_bytes()))
    (corpus / "valid.fr").unlink()
    command = [SCRIPT, "--corpus", corpus, "--out", out, "--bpe-merges", MERGES, "--jobs", 1]
    wrong = [(texts["train.en"].decode().encode("utf-16"), "train.en: UTF-16")]
    wrong += [(texts["train.en"] + b"caf\xe9\n", "train.en, line 201: not UTF-8")]
    for content, message in wrong:
        (corpus / "train.en").write_bytes(content)
        result = run(*command, check=False)
        assert result.returncode == 1 and message in result.stderr
    (corpus / "train.en").write_bytes(MARK + texts["train.en"])
    (out / "tok").touch()  # the stages that follow are not looked at here
    fails(*command)
    assert {path.name: path.read_bytes() for path in (out / "raw").iterdir()} == texts


def test_a_file_is_copied_byte_by_byte(tmp_path):
    text = "a\r\nb\u2028c\x00\r\r\n\n é".encode()
    for name, content in (("a", MARK + text), ("a.gz", gzip.compress(text)), ("empty", MARK)):
        (tmp_path / name).write_bytes(content)
        error, out, _ = outcome(utf8_lines, tmp_path / name)
        assert error is None and out == (b"" if name == "empty" else text + b"\n")
    (tmp_path / "b.gz").write_bytes(text)
    assert "b.gz: Not a gzipped file" in outcome(utf8_lines, tmp_path / "b.gz")[0]


def test_a_log_is_still_one_with_a_byte_order_mark(tmp_path):
    path = write(tmp_path / "log", ["\ufeffD-0\t-1\toui", "H-0\t-1\toui ."])
    assert hypothesis_files.read_hypotheses(path, "fr", 1) == ["oui"]


ENVIRONMENT = {
    **{"PYTHONIOENCODING": "latin-1:replace", "PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2"},
    **{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONUNBUFFERED": "1"},
}
COMMANDS = [
    ["text.tokenization", "--lang", "fr", "--word-counts", "counts"],
    ["text.byte_pair_encoding", "learn", "--merges", "3"],
    ["text.utf8_lines", "été.fr"],
    "scores.scoring --hyp été.fr b --ref été.fr --lang fr --ter --bootstrap-samples 2".split()
    + ["--json", "figures", "--domains", "été.fr"],
    ["scores.scoring", "--hyp", "été.fr", "--ref", "no été", "--lang", "fr"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_environment_changes_no_text(command, tmp_path):
    results = []
    text = "L'été, c’est l'ami 漢字 ‘x’ …\n\u200b\nL'été « là »\n"
    for number, changes in enumerate([{}, ENVIRONMENT]):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in ("été.fr", "b"):
            (folder / name).write_text(text, "utf-8")
        module = [sys.executable, "-m", f"realformer_runtime.{command[0]}", *command[1:]]
        env = {**os.environ, "PYTHONPATH": str(PROJECT), **changes}
        options = {"cwd": folder, "env": env, "input": text.encode(), "text": None}
        result = run(*module, check=False, **options)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        results.append((result.returncode, result.stdout, result.stderr, files))
    assert results[0][0] == ("no été" in command)
    assert results[0] == results[1]


def test_an_output_is_written_beside_the_file_that_is_there(tmp_path, monkeypatch):
    """So a file that may be written to, in a folder that may not, is refused before the work."""
    monkeypatch.setattr(os, "access", lambda place, _: not Path(place).is_dir())
    (tmp_path / "out.fr").touch()
    with pytest.raises(UserError, match="--output: '.*out.fr' cannot be written"):
        check_output("--output", str(tmp_path / "out.fr"))
    check_output("--output", "/dev/null")
