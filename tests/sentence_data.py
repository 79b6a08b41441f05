"""Small data of the tasks of masked language models, and the options of their trainings."""

import contextlib
import random
import sys

from conftest import write_lines
from fairseq import options
from fairseq_cli import preprocess
from fairseq_mains import COMMON

SENTENCES = {"train": 60, "valid": 10}
TASKS = {
    "masked_lm": "text --tokens-per-sample 32 --max-positions 32 --criterion masked_lm",
    "language_modeling": "text --tokens-per-sample 32 --criterion cross_entropy",
    "sentence_prediction": """classes --criterion sentence_prediction --num-classes 2
        --init-token 0 --separator-token 2 --max-positions 32""",
    "sentence_ranking": """ranked --criterion sentence_ranking --num-classes 2 --init-token 0
        --separator-token 2 --max-positions 32""",
}
SIZES = "layers 2 embed-dim 16 ffn-embed-dim 32 attention-heads 2".split()
SHARED = """
    --batch-size 8 --required-batch-size-multiple 1 --num-workers 0 --seed 1 --optimizer adam
    --lr 1e-2 --lr-scheduler inverse_sqrt --warmup-updates 5 --no-epoch-checkpoints
    --log-format simple --log-interval 1
""".split()


def binary(text, name, folder, *further):
    """fairseq-preprocess of ``train`` and ``valid``, in this process."""
    line = ["--only-source", "--destdir", folder, *further]
    line += [f"--{split}pref={text / split}{name}" for split in SENTENCES]
    args = options.get_preprocessing_parser().parse_args([str(word) for word in line])
    with contextlib.redirect_stdout(sys.stderr):
        preprocess.main(args)


def make_data(folder):
    """Text, pairs of sentences of two classes, and groups of three, of which one of two follows."""
    draw, text = random.Random(1), folder / "raw"
    for split, size in SENTENCES.items():
        lines = [draw.choices("abcdefghijklmnop", k=draw.randint(3, 12)) for _ in range(size)]
        write_lines(text / split, map(" ".join, lines))
        write_lines(text / f"{split}.label", draw.choices("01", k=size))
    binary(text, "", folder / "text")
    words = ("--srcdict", folder / "text/dict.txt")
    for name in ("classes/input0", "classes/input1", *(f"ranked/input{n}" for n in range(3))):
        binary(text, "", folder / name, *words)
    binary(text, ".label", folder / "classes/label")
    for split in SENTENCES:
        labels = (text / f"{split}.label").read_text().split()
        write_lines(folder / f"ranked/label/{split}.label", labels)
    return folder


def command_line(data, task, arch="realformer_bert_tiny"):
    """Of a training, without --save-dir."""
    name, *own = TASKS[task].split()
    side = "decoder" if task == "language_modeling" else "encoder"
    sizes = [f"--{side}-{word}" if word[0].isalpha() else word for word in SIZES]
    line = [data / name, *COMMON, *SHARED, "--task", task, "--arch", arch, *own, *sizes]
    return [str(word) for word in line]
