"""data-prep/prepare-corpus.sh: text of one's own in any two languages, until it trains."""

import gzip
import os
import shlex
import shutil

import corpus_languages
import pytest
from commands import outcome
from conftest import PROJECT, fails, run
from fairseq import options
from fairseq.data import Dictionary, data_utils

from realformer_runtime.text.sentence_pieces import line_encoder
from realformer_runtime.text.subword_files import PIECES

SCRIPT = PROJECT / "data-prep/prepare-corpus.sh"
LIBRARIES = 'source "$0/scripts/lib/common.sh"; source "$0/data-prep/lib/text_pipeline.sh"'
SPLITS = ("train", "valid", "test")
# What no training can use: a side that shows nothing, or is 9 times as long as the other.
DROPPED = [("", "vide"), ("rien", "\u200b\u00ad"), ("short", "long " * 40)]
KEPT = [("one | two", "un | deux"), ("a\u2028b", "a\u0085b")]


def lines(path):
    return path.read_text("utf-8").split("\n")[:-1]


@pytest.fixture(scope="module")
def texts(raw_corpus, tmp_path_factory):
    """Files of two languages: a packed one, one with a byte order mark, one without a last end."""
    folder = tmp_path_factory.mktemp("texts of mine")
    strange = [*zip(*DROPPED, *KEPT)]
    for lang, more in zip(("en", "fr"), strange):
        read = {split: (raw_corpus / f"{split}.{lang}").read_text("utf-8") for split in SPLITS}
        train = read["train"] + "".join(f"{line}\n" for line in more)
        (folder / f"a.{lang}.gz").write_bytes(gzip.compress(train.encode()))
        (folder / f"b.{lang}").write_text(read["valid"], "utf-8-sig")
        (folder / f"c.{lang}").write_text(read["test"].rstrip("\n"), "utf-8")
    return folder


def files(folder, *changes):
    """Options that name the texts. ``changes`` are of names."""
    names = dict(zip("abc", ("a.en.gz a.fr.gz", "b.en b.fr", "c.en c.fr")))
    names.update(changes)
    chosen = zip(SPLITS, names.values())
    return [
        word
        for split, both in chosen
        for word in (f"--{split}", *(folder / name for name in both.split()))
    ]


@pytest.fixture(scope="module")
def prepared_pieces(texts, tmp_path_factory):
    """The folder that the script makes with SentencePiece, and the command that it prints."""
    pytest.importorskip("sentencepiece")
    out = tmp_path_factory.mktemp("own corpus") / "en fr"
    pieces = ["--sentencepiece", "--vocabulary", 300]
    result = run(SCRIPT, *files(texts), "--out", out, *pieces, "--jobs", 1)
    return out, shlex.split(result.stdout)


def test_texts_become_data_that_trains(prepared_pieces, raw_corpus):
    out, command = prepared_pieces
    encode = line_encoder(str(out / "data-bin" / PIECES))
    words = Dictionary.load(str(out / "data-bin/dict.en.txt"))
    assert words == Dictionary.load(str(out / "data-bin/dict.fr.txt")) and 100 < len(words) < 310
    for split in SPLITS:
        for side, lang in enumerate(("en", "fr")):
            expected = lines(raw_corpus / f"{split}.{lang}")
            expected += [pair[side] for pair in KEPT] if split == "train" else []
            path = str(out / f"data-bin/{split}.en-fr.{lang}")
            data = data_utils.load_indexed_dataset(path, words)
            encoded = [words.encode_line(encode(line), add_if_not_exist=False) for line in expected]
            assert [ids.tolist() for ids in data] == [ids.tolist() for ids in encoded]
    assert command[0] == "fairseq-train" and not list(out.rglob("*.tmp"))
    args = options.parse_args_and_arch(options.get_training_parser(), command[1:])
    assert (args.data, args.source_lang, args.target_lang) == (str(out / "data-bin"), "en", "fr")


def test_only_what_is_missing_or_changed_needs_disk(prepared_pieces, texts, tmp_path):
    """On a full disk, what is done is done; other texts and languages stop before much is made."""
    out = shutil.copytree(prepared_pieces[0], tmp_path / "en fr")
    (out / "checkpoints").mkdir()
    os.utime(out / "checkpoints", (0, 0))
    (tmp_path / "df").write_text("#!/bin/sh\nprintf 'h\\nfs 10 7 0 70%% /\\n'\n")
    (tmp_path / "df").chmod(0o755)
    options = ["--out", out, "--sentencepiece", "--vocabulary", 300, "--jobs", 1]
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    done = run(SCRIPT, *files(texts), *options, env=env)
    assert shlex.split(done.stdout)[1:] == [
        word.replace(str(prepared_pieces[0]), str(out)) for word in prepared_pieces[1][1:]
    ]
    assert done.stderr.count("done before") == 5
    assert f"'{out}/checkpoints' is older than the data" in done.stderr

    swapped = files(texts, ("b", "c.en c.fr"), ("c", "b.en b.fr"))
    assert "there are 0 MB" in fails(SCRIPT, *swapped, *options, env=env)
    assert lines(out / "raw/valid.en") == lines(prepared_pieces[0] / "raw/test.en")

    in_britain = [*swapped, "--source-lang", "en_GB"]
    assert "there are 0 MB" in fails(SCRIPT, *in_britain, *options, env=env)
    assert sorted(path.name for path in (out / "raw").iterdir()) == sorted(
        f"{split}.{lang}" for split in SPLITS for lang in ("en_GB", "fr")
    )


def with_libraries(command, folder, **options):
    """Run a line of shell after data-prep/lib is sourced; OUT is the folder."""
    env = {**os.environ, "OUT": str(folder), "SOURCE_LANG": "en", "TARGET_LANG": "fr"}
    script = f"set -euo pipefail; {LIBRARIES}; {command}"
    return run("bash", "-c", script, PROJECT, env=env, check=False, timeout=20, **options)


def test_disk_is_needed_for_what_is_not_there_yet(tmp_path):
    """Four times 2 MB of text, with what folders take; 5 MB are there."""
    for name, size in (("raw", 2), ("tok", 5)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.en").write_bytes(os.urandom(size << 20))
    command = "df() { printf 'h\nfs 10 7 7 70%% /\n'; }; need_disk_for_text"
    assert with_libraries(command, tmp_path).returncode == 0
    shutil.rmtree(tmp_path / "tok")
    halted = with_libraries(command, tmp_path)
    assert halted.returncode == 1 and "there are 7 MB" in halted.stderr


def test_a_missing_dictionary_is_an_error(tmp_path):
    (tmp_path / "train.en").write_text("a\n")
    result = with_libraries('say_done "$OUT"; echo "went on"', tmp_path)
    assert result.returncode == 1 and "dict.fr.txt" in result.stderr
    assert "done" not in result.stderr and result.stdout == ""


@pytest.mark.slow
def test_it_trains_and_translates_and_is_made_again_with_bpe(prepared_pieces, texts, tmp_path):
    out, command = prepared_pieces
    small = "--encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 16 --decoder-embed-dim 16"
    run(*command, "--max-update", 2, "--cpu", *small.split())
    files_of = ["--checkpoint", out / "checkpoints/checkpoint_last.pt", "--data", out / "data-bin"]
    translate = [PROJECT / "scripts/translate.sh", *files_of, "--", "--cpu", "--max-len-b", 3]
    assert run(*translate, input="a b\n\nc\n").stdout.count("\n") == 3
    before = (out / "raw/train.en").stat().st_mtime_ns
    result = run(SCRIPT, *files(texts), "--out", out, "--bpe-merges", 100, "--jobs", 1)
    assert "bpe: was made with 'pieces', now 'joint'" in result.stderr
    assert (out / "raw/train.en").stat().st_mtime_ns == before
    assert (out / "data-bin/code").is_file() and not (out / "data-bin" / PIECES).exists()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--train", "{b.en}"], ["--train", "two files"]),
        (["--train", "{b.en}", "/no/b.fr"], ["--train", "/no/b.fr"]),
        (["--train", "{b.en}", "{b.fr}", "--valid", "{b.en}", "{b.fr}"], ["--test FILE FILE"]),
        (["{all}", "--bpe-merges", "9", "--sentencepiece"], ["--bpe-merges", "--sentencepiece"]),
        (["{all}", "--vocabulary", "9"], ["--vocabulary", "--sentencepiece"]),
        (["{all}", "--source-lang", "xx"], ["--source-lang", "'xx'"]),
        (["{all}", "--train", "{b.en}", "{b.fr}"], ["--train", "twice"]),
        (["{swapped}"], ["--test", "c.fr'", "'fr'", "'en'", "--source-lang"]),
    ],
)
def test_what_cannot_be_prepared_is_refused_in_one_line(texts, tmp_path, arguments, words):
    places = {"{all}": files(texts), "{swapped}": files(texts, ("c", "c.fr c.en"))}
    places |= {f"{{{path.name}}}": [path] for path in texts.iterdir()}
    given = [word for name in arguments for word in places.get(name, [name])]
    error = fails(SCRIPT, *given, "--out", tmp_path / "out")
    assert error.startswith("prepare-corpus.sh: ") and not (tmp_path / "out").exists()
    assert all(word in error for word in words), error


@pytest.mark.parametrize(
    "languages, words",
    [
        (("fr", "fr_CA"), ["--source-lang fr", "--target-lang fr_CA", "one language"]),
        (("ja", "en"), ["'ja'", "--sentencepiece"]),
        (("en", "tha"), ["'tha'", "--sentencepiece"]),
        (("zh", "tr"), None),
    ],
)
def test_languages_that_byte_pair_encoding_cannot_do(languages, words):
    options = [word for pair in zip(("--source-lang", "--target-lang"), languages) for word in pair]
    error, _, said = outcome(corpus_languages, *options)
    assert all(word in error for word in words) if words else error is None
    assert ("'tr': Moses has no list of abbreviations" in said) == (words is None)


def test_what_the_names_say_or_do_not_say(texts, tmp_path):
    """A folder's name is no --valid; an ending that is no language is none that was asked for."""
    folder = tmp_path / "my valid text"
    folder.mkdir()
    names = [folder / f"x.{lang}.txt" for lang in ("en", "fr")]
    for name in names:
        name.write_text("a\n")
    given = ["--train", *names, "--test", *names]
    assert "--valid FILE FILE is needed" in fails(SCRIPT, *given, "--out", tmp_path / "out")
    error = fails(SCRIPT, *given, "--valid", *names, "--out", tmp_path / "out")
    endings = [f"txt (the ending of '{name}')" for name in names]
    assert " and ".join(endings) in error
    assert error.endswith("are one language: say --source-lang and --target-lang")
    error, _, _ = outcome(
        corpus_languages,
        "--source-lang",
        "fr",
        "--target-lang",
        "fr_CA",
        "--target-name",
        "x.fr_CA",
    )
    assert "--source-lang fr and" in error and error.endswith(": say --target-lang")


def test_unequal_sides_and_names_without_a_language_are_named(texts, tmp_path):
    (tmp_path / "c.txt").write_text("one\n")
    given = files(texts)
    given[-1] = tmp_path / "c.txt"
    error = fails(SCRIPT, *given, "--target-lang", "fr", "--out", tmp_path / "out")
    assert f"'{texts}/c.en' has 20 lines, but '{tmp_path}/c.txt' has 1" in error
    given[-1] = (tmp_path / "c.txt").rename(tmp_path / "text")
    error = fails(SCRIPT, *given, "--out", tmp_path / "out")
    assert "text': its name does not end in the code of a language, say --target-lang" in error
