"""SentencePiece: what is learnt and encoded, and models of its pieces wherever models translate."""

import shutil
import sys
from unittest import mock

import pytest
from commands import error_of, outcome
from nasty_lines import COMMANDS_AND_SPACES, nasty_lines
from sentencepiece_models import copy_without_model, learn_model, model_of_pieces
from translations import score_bleu, write

from realformer_checkpoints.model_card.file_facts import segmentation
from realformer_fairseq import RealFormerModel
from realformer_fairseq.export import comparison, onnx_export
from realformer_fairseq.inference import translation
from realformer_runtime.command_line import UserError
from realformer_runtime.engine import translation as with_onnx
from realformer_runtime.text import sentence_pieces
from realformer_runtime.text.sentence_pieces import join_pieces, line_encoder
from realformer_runtime.text.subword_files import PIECES

sentencepiece = pytest.importorskip("sentencepiece")


@pytest.fixture(scope="module")
def model(raw_corpus, tmp_path_factory):
    return learn_model(raw_corpus, tmp_path_factory.mktemp("a model") / PIECES)


@pytest.fixture(scope="module")
def files(raw_corpus, trained, tmp_path_factory):
    """Options of a model of pieces; a path with a space."""
    return model_of_pieces(raw_corpus, trained, tmp_path_factory.mktemp("of pieces") / ".")


def test_text_becomes_pieces_and_text_again(model, raw_corpus):
    encode = line_encoder(str(model))
    for line in (raw_corpus / "test.fr").read_text("utf-8").splitlines():
        assert join_pieces(encode(line)) == line
        assert max(map(len, encode(line).split())) > 1  # more than characters
    assert encode("a\u2028b\t c\u00a0d") == encode("a b c d")
    assert encode("a\ufeff\u00adb") == encode("ab")
    assert encode("") == encode(" \u200b\u00ad") == encode("\u3164\ufe0f") == ""


def test_lines_stay_lines_and_pieces_are_apart(model):
    lines = [*COMMANDS_AND_SPACES, *nasty_lines(200, seed=1)]
    text = "\n".join(lines).encode() + b"\n"
    error, out, _ = outcome(sentence_pieces, "apply", "--model", model, text=b"\xef\xbb\xbf" + text)
    assert error is None and out.count(b"\n") == len(lines)
    encode = line_encoder(str(model))
    assert out.decode() == "".join(f"{encode(line)}\n" for line in lines)
    for line in out.decode().split("\n"):
        assert line.split(" ") == line.split() or line == ""
        assert not {"<s>", "</s>", "<pad>", "<unk>"} & set(line.split())


def test_the_vocabulary_is_what_was_asked_for_or_less(raw_corpus):
    text = (raw_corpus / "train.en").read_bytes()
    for asked, said in ((100, ""), (5000, "pieces, not 5000: the text has no more\n")):
        command = ["learn", "--vocabulary", asked, "--lang", "en", "fr"]
        error, learnt, err = outcome(sentence_pieces, *command, text=text)
        size = sentencepiece.SentencePieceProcessor(model_proto=learnt).vocab_size()
        assert error is None and err.endswith(said) and (size == asked) == (not said)
        assert outcome(sentence_pieces, *command, text=text)[1] == learnt


@pytest.mark.parametrize(
    "lang, all_characters", [("en", True), ("th", True), ("ja", False), ("ko", False)]
)
def test_rare_characters_are_pieces_but_of_scripts_with_thousands(lang, all_characters):
    lines = iter(["which words are these here"] * 1000 + ["\u4e00"])
    learnt = sentence_pieces.learn(lines, 40, [lang])
    processor = sentencepiece.SentencePieceProcessor(model_proto=learnt)
    assert (not processor.is_unknown(processor.piece_to_id("\u4e00"))) == all_characters


def test_lines_that_are_too_long_to_learn_from_are_counted():
    """In bytes, of which ``é`` has two."""
    longest, too_long = "é" * 2096, "é" * 2096 + "z"
    text = "which words are these here\n" * 100 + f"{longest}\n{too_long}\n{too_long}\n"
    command = ["learn", "--vocabulary", 20, "--lang", "en"]
    error, learnt, said = outcome(sentence_pieces, *command, text=text.encode())
    processor = sentencepiece.SentencePieceProcessor(model_proto=learnt)
    unknown = [processor.is_unknown(processor.piece_to_id(char)) for char in "éz"]
    assert error is None and unknown == [False, True]
    assert "not learnt from 2 lines of over 4192 bytes" in said
    error, _, _ = outcome(sentence_pieces, *command, text=f"{too_long}\n".encode())
    assert "no text to learn from but lines of over 4192 bytes: 1" in error


@pytest.mark.parametrize(
    "vocabulary, text, words",
    [(8, b"a b c d e f g h\n", ["--vocabulary 8:"]), (9, b" \n", ["--vocabulary 9: no text"])],
)
def test_what_cannot_be_learnt_is_said_in_one_line(vocabulary, text, words):
    command = ["learn", "--vocabulary", vocabulary, "--lang", "en"]
    error, out, _ = outcome(sentence_pieces, *command, text=text)
    assert error.startswith("sentence_pieces: ") and "\n" not in error and out == b""
    assert all(word in error for word in words)


def test_other_files_and_a_missing_library_are_named(model, prepared, tmp_path):
    (tmp_path / "empty").touch()
    for path in (prepared / "code", tmp_path / "empty"):
        with pytest.raises(UserError, match=f"--model {path}: not a model of SentencePiece"):
            line_encoder(str(path))
    with (
        mock.patch.dict(sys.modules, sentencepiece=None),
        pytest.raises(UserError, match=r"needs the library sentencepiece: .*\[sentencepiece\]"),
    ):
        line_encoder(str(model))


SENTENCES = ["The cat sleeps.", "", "Who is\u200e there?", "A dog 日本"]
SHORT = ["--", "--max-len-a", 0, "--max-len-b", 8]  # random weights never end a sentence


def translations(module, *options):
    error, out, said = outcome(module, *options, text="\n".join(SENTENCES).encode())
    assert error is None, error
    return out.decode().split("\n")[:-1], said


def test_a_checkpoint_the_engine_and_python_agree(files, tmp_path, monkeypatch):
    expected, said = translations(translation, *files, *SHORT, "--cpu")
    assert len(set(expected)) > 2 and expected[1] == "" and "--remove-bpe=sentencepiece" in said
    assert "\u2581" not in "".join(expected) and "another model" not in said
    monkeypatch.setattr(comparison, "SENTENCES", 2)
    assert error_of(onnx_export, *files, "--output", tmp_path / "onnx") is None
    assert (tmp_path / "onnx" / PIECES).is_file()
    assert translations(with_onnx, "--onnx", tmp_path / "onnx", *SHORT)[0] == expected
    folder = files[-1]
    found = RealFormerModel.from_pretrained(folder, "model.pt", bpe="sentencepiece")
    assert found.translate(SENTENCES, max_len_a=0, max_len_b=8) == expected


def test_a_model_card_names_it(files):
    assert PIECES in segmentation(files[-1])["segmentation"]


def test_where_python_finds_the_model(files, tmp_path):
    elsewhere, folder = copy_without_model(files[-1], tmp_path / "checkpoints"), str(files[-1])
    encoded = []
    for options in (
        {"data_name_or_path": folder},
        {"sentencepiece_model": str(files[-1] / PIECES)},
    ):
        hub = RealFormerModel.from_pretrained(elsewhere, "model.pt", bpe="sentencepiece", **options)
        encoded.append(hub.encode("The cat sleeps.").tolist())
    assert encoded[0] == encoded[1] and len(encoded[0]) > 4
    for options, named in (({}, "name it"), ({"sentencepiece_model": "/no/m"}, "file: '/no/m'")):
        with pytest.raises(UserError, match=f"sentencepiece_model: .*{named}"):
            RealFormerModel.from_pretrained(elsewhere, "model.pt", bpe="sentencepiece", **options)


def test_what_does_not_go_together_is_refused(files, prepared, tmp_path):
    both = shutil.copytree(files[-1], tmp_path / "both")
    shutil.copy(prepared / "code", both)
    for options, words in (
        (["--data", both], ["both/code", f"both/{PIECES}", "--bpe-codes"]),
        ([*files[2:], "--moses"], ["--moses", "SentencePiece"]),
        ([*files[2:], "--sentencepiece-model", prepared / "code"], ["--sentencepiece-model"]),
        ([*files[2:], "--", "--remove-bpe"], ["-- --post-process", "SentencePiece's"]),
        (
            [*files[2:], "--", "--remove-bpe"],
            ["-- --post-process 'subword_nmt'", "SentencePiece's"],
        ),
    ):
        error, out, _ = outcome(translation, *files[:2], *options, text=b"a\n")
        assert error.startswith("translate.sh: ") and "\n" not in error and out == b""
        assert all(word in error for word in words), error


def test_a_model_of_other_pieces_is_said(files, tmp_path):
    lines = iter([f"zz{number} qqzz yyqq xxyy wwxx" for number in range(400)])
    (tmp_path / PIECES).write_bytes(sentence_pieces.learn(lines, 40, ["en"]))
    option = ["--sentencepiece-model", tmp_path / PIECES]
    _, said = translations(translation, *files, *option, *SHORT, "--cpu")
    assert f"--sentencepiece-model {tmp_path / PIECES}: of another model?" in said


def test_pieces_in_a_log_are_joined_and_in_a_text_refused(tmp_path, capsys):
    pieces = ["\u2581L ' ami \u2581dort .", "\u2581Bon jour \u2581à \u2581tous \u2581ici ."]
    reference = write(tmp_path / "ref", ["L'ami dort.", "Bonjour à tous ici."])
    log = [f"{kind}-{n}\t-0.1\t{line}" for n, line in enumerate(pieces) for kind in "HD"]
    command = ["--ref", reference, "--lang", "fr", "--hyp"]
    assert score_bleu(*command, write(tmp_path / "log", log)) is None
    assert "100.0" in capsys.readouterr().out
    assert "has subwords" in score_bleu(*command, write(tmp_path / "hyp", pieces))
