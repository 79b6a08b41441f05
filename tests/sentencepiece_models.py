"""A small SentencePiece model, and a translation model of its pieces."""

import shutil

import torch
from fairseq.data import Dictionary
from hubs import randomize

from realformer_runtime.text.sentence_pieces import learn, line_encoder
from realformer_runtime.text.subword_files import PIECES


def learn_model(raw_corpus, path):
    """Learn a model of the raw corpus' training text, in both languages.

    Returns:
        the path
    """
    lines = [
        (raw_corpus / f"train.{lang}").read_text("utf-8").splitlines() for lang in ("en", "fr")
    ]
    path.write_bytes(learn(iter([*lines[0], *lines[1]]), 300, ["en", "fr"]))
    return path


def model_of_pieces(raw_corpus, trained, folder):
    """A checkpoint with random weights, and dictionaries of pieces with as many entries.

    Returns:
        options of ``translate.sh``
    """
    model = learn_model(raw_corpus, folder / PIECES)
    checkpoint = randomize(trained / "checkpoint_last.pt", folder / "model.pt")
    entries = len(torch.load(checkpoint)["model"]["encoder.embed_tokens.weight"])
    words, encode = Dictionary(), line_encoder(str(model))
    for lang in ("en", "fr"):
        for line in (raw_corpus / f"train.{lang}").read_text("utf-8").splitlines():
            words.encode_line(encode(line), append_eos=False)
    words.finalize(nwords=entries, padding_factor=1)
    assert len(words) == entries
    for lang in ("en", "fr"):
        words.save(str(folder / f"dict.{lang}.txt"))
    return ["--checkpoint", checkpoint, "--data", folder]


def copy_without_model(folder, copy):
    """The same folder with no SentencePiece model in it."""
    return shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(PIECES))
