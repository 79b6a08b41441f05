"""``--bpe realformer_wordpiece``: BERT's rules (google-research/bert, ``tokenization.py``)."""

import pytest
from fairseq import options
from fairseq.data import encoders

from realformer_fairseq.inference import wordpiece
from realformer_runtime.command_line import UserError

VOCABULARY = """
    [PAD] [UNK] [CLS] [SEP] [MASK] [unused0] un ##aff ##able want ##want ##ed wa runn ##ing , .
    ' [ ] mask the low ##er cafe Café É ß 猫 犬 < > / s pad ##s a ##b
""".split()


@pytest.fixture
def vocabulary(tmp_path):
    file = tmp_path / "vocab.txt"
    file.write_text("".join(f"{word}\n" for word in VOCABULARY), "utf-8")
    return file


def build(vocabulary, *flags):
    """As fairseq's commands build it."""
    parser = options.get_training_parser()
    words = [".", f"--bpe={wordpiece.NAME}", f"--wordpiece-vocab={vocabulary}", *flags]
    args = options.parse_args_and_arch(
        parser, [*words, "--task=masked_lm", "--criterion=masked_lm", "--arch=roberta"]
    )
    return encoders.build_bpe(args)


@pytest.mark.parametrize(
    "text, pieces",
    [
        ("UNwantéd,running", "un ##want ##ed , runn ##ing"),  # Google's own test
        ("unaffable", "un ##aff ##able"),
        ("lower LOWS.", "low ##er low ##s ."),
        ("unx", "<unk>"),
        ("Cafe\u0301 café", "cafe cafe"),
        ("the猫犬the", "the 猫 犬 the"),
        ("[MASK] <s>", "[ mask ] < s >"),
        ("the\u00a0the\tthe\x00\ufffd\u200b the\r\n", "the the the the"),
        ("a" + "b" * 199, "a " + " ".join(["##b"] * 199)),
        ("a" + "b" * 200, "<unk>"),
        ("[unused0]", "[ <unk> ]"),
        ("", ""),
    ],
)
def test_text_becomes_berts_pieces(text, pieces, vocabulary):
    pytest.importorskip("tokenizers")
    assert build(vocabulary).encode(text) == pieces


def test_case_and_accents_are_kept_if_asked_for(vocabulary):
    pytest.importorskip("tokenizers")
    bpe = build(vocabulary, "--wordpiece-cased")
    assert bpe.encode("Café cafe the The É") == "Café cafe the <unk> É"


def test_pieces_become_words(vocabulary):
    bpe = build(vocabulary)
    assert bpe.decode("un ##want ##ed , runn ##ing") == "unwanted , running"
    assert [bpe.is_beginning_of_word(piece) for piece in ("un", "##ed")] == [True, False]


def test_what_is_missing_is_named(vocabulary, tmp_path, monkeypatch):
    bpe = build(tmp_path / "none.txt")  # a model computes without
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "tokenizers", None)
        with pytest.raises(UserError, match=r"needs the library tokenizers: .*\[wordpiece\]"):
            bpe.encode("the")
    pytest.importorskip("tokenizers")
    with pytest.raises(UserError, match="--wordpiece-vocab '.*none.txt': No such file"):
        bpe.encode("the")
    vocabulary.write_text("the\n")
    with pytest.raises(UserError, match=r"has no \[UNK\]"):
        build(vocabulary).encode("the")
