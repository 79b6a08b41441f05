"""Make the checkpoint that later versions must load, and what it answers today.

    python tests/data/make_pinned_checkpoint.py tests/data/realformer-0.1.0

Run it with a released version, into a folder named after that version; never over an older one.
The corpus has each English word translated by one French word, in reverse order, so that a model
of a few thousand parameters learns something in half a minute on a CPU.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Sequence

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT), str(PROJECT / "tests")]

from pinned_checkpoints import EXPECTED, load, outputs  # noqa: E402

WORDS = {
    "one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq",
    "six": "six", "seven": "sept", "eight": "huit", "nine": "neuf", "ten": "dix",
}  # fmt: skip
OPTIONS = """
    data-bin --user-dir realformer_fairseq --save-dir checkpoints
    --arch realformer_tiny --encoder-embed-dim 16 --encoder-ffn-embed-dim 32
    --decoder-ffn-embed-dim 32 --encoder-attention-heads 2 --decoder-attention-heads 2
    --share-all-embeddings --residual-attention mean --residual-chains encoder,decoder,cross
    --sublayer-scaling admin --task translation --source-lang en --target-lang fr
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam
    --adam-betas (0.9,0.98) --lr 1e-2 --lr-scheduler inverse_sqrt --warmup-updates 40
    --max-tokens 400 --max-update 400 --dropout 0.0 --seed 1 --cpu --num-workers 0
    --required-batch-size-multiple 1 --no-epoch-checkpoints --no-save-optimizer-state
    --log-format simple --log-interval 100
""".split()


def write_corpus(folder: Path) -> None:
    """400 pairs to train on, 20 to validate with, of 2 to 7 words."""
    generator = random.Random(1)
    for split, size in (("train", 400), ("valid", 20)):
        sources = [generator.choices(list(WORDS), k=generator.randint(2, 7)) for _ in range(size)]
        targets = [[WORDS[word] for word in reversed(source)] for source in sources]
        for lang, sentences in (("en", sources), ("fr", targets)):
            text = "".join(" ".join(sentence) + "\n" for sentence in sentences)
            (folder / f"{split}.{lang}").write_text(text, "utf-8")


def run_commands(folder: Path, *commands: Sequence[str]) -> None:
    """Run fairseq's commands. Paths are relative to ``folder``: the checkpoint keeps them."""
    (folder / "realformer_fairseq").symlink_to(PROJECT / "realformer_fairseq")
    bin_folder = Path(sys.executable).parent
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "OMP_NUM_THREADS": "1"}
    for program, *options in commands:
        command = [str(bin_folder / program), *options]
        subprocess.run(command, cwd=folder, env=environment, check=True)


def rounded(values):
    """The same with six decimals, far below the tolerance."""
    return json.loads(json.dumps(values), parse_float=lambda text: round(float(text), 6))


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder)
        preparation = "-s en -t fr --trainpref train --validpref valid --joined-dictionary".split()
        run_commands(folder, ["fairseq-preprocess", *preparation], ["fairseq-train", *OPTIONS])
        shutil.copy(folder / "checkpoints/checkpoint_last.pt", out / "checkpoint.pt")
        for lang in ("en", "fr"):
            shutil.copy(folder / f"data-bin/dict.{lang}.txt", out)
    (out / EXPECTED).write_text(json.dumps(rounded(outputs(*load(out)))) + "\n", "utf-8")


if __name__ == "__main__":
    main()
