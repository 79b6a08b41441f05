"""Throughput of fairseq-train itself, from its log: ours against ``--arch transformer``.

    python -m benchmarks.throughput [--shapes small-d128,d256,d512,d128,d64,long] [--threads 2]

The same command for each contender but for the model, in a process of its own, in turns, on the
same random sentences in the same order. fairseq's own runs without the plugin. The speed of a
training is the median over the lines of its log, the first of which is left out. Needs a quiet
machine.
"""

import functools
import os
import random
import statistics
import tempfile
from pathlib import Path
from typing import Dict, List, Sequence

from benchmarks.options import PROJECT, SHAPES, Shape, listed, new_parser
from benchmarks.processes import called
from benchmarks.rounds import in_turns
from benchmarks.tables import add_case, new_report
from realformer_checkpoints.training_log import read_curves
from realformer_runtime.command_line import UserError, run_main, whole_number_above_0

# Rates of residual dropout, of attention's and of activations'. Where fairseq's attention has no
# dropout, it is torch's fused kernel.
EVERYWHERE, RESIDUAL, NOWHERE = (0.1, 0.1, 0.1), (0.1, 0, 0), (0, 0, 0)
DROPOUT = {
    "small-d128": RESIDUAL,
    "d256": EVERYWHERE,
    "d512": EVERYWHERE,
    "d128": EVERYWHERE,
    "d64": EVERYWHERE,
    "long": NOWHERE,
    "tiny": EVERYWHERE,
}
NAMES = {EVERYWHERE: "dropout 0.1", RESIDUAL: "residual dropout 0.1", NOWHERE: "no dropout"}
PLUGIN = ["--user-dir", str(PROJECT / "realformer_fairseq"), "--arch", "realformer"]
CONTENDERS = {
    "fairseq": ["--arch", "transformer"],
    "mean": [*PLUGIN, "--residual-attention", "mean"],
    "sum": [*PLUGIN, "--residual-attention", "sum"],
    "none": [*PLUGIN, "--residual-attention", "none"],
}
LOG_INTERVAL = 5  # updates


def make_data(shape: Shape, args, folder: Path) -> None:
    """Binarise as many pairs of random words as a training takes, all of a shape's length."""
    choice = random.Random(1)
    for side in ("source", "target"):
        with open(folder / f"train.{side}", "w", encoding="utf-8") as file:
            for _ in range(shape.sentences * args.updates):
                line = (f"w{choice.randrange(args.types)}" for _ in range(shape.length - 1))
                print(*line, file=file)
    words = "".join(f"w{number} 1\n" for number in range(args.types))
    (folder / "words").write_text(words, "utf-8")
    command = ["fairseq-preprocess", "--source-lang", "source", "--target-lang", "target"]
    command += ["--trainpref", str(folder / "train"), "--destdir", str(folder / "data-bin")]
    called(*command, "--srcdict", str(folder / "words"), "--joined-dictionary")


def training(shape: Shape, dropout: Sequence[float], args, folder: Path) -> List[str]:
    """The words of the command that all contenders share."""
    sizes = {"embed-dim": shape.width, "ffn-embed-dim": shape.ffn, "attention-heads": shape.heads}
    layers = {"encoder": shape.encoder_layers, "decoder": shape.decoder_layers}
    options = {f"{side}-{name}": size for side in layers for name, size in sizes.items()}
    options.update({f"{side}-layers": number for side, number in layers.items()})
    kinds = ("dropout", "attention-dropout", "activation-dropout")
    options.update(zip(kinds, dropout))
    options.update({"batch-size": shape.sentences, "max-update": args.updates})
    text = """
        --task translation --source-lang source --target-lang target --share-all-embeddings
        --criterion label_smoothed_cross_entropy --label-smoothing 0.1
        --optimizer adam --adam-betas (0.9,0.98) --clip-norm 0 --lr 1e-4 --lr-scheduler fixed
        --required-batch-size-multiple 1 --num-workers 0 --seed 1 --cpu --disable-validation
        --no-save --log-format simple
    """
    words = ["fairseq-train", str(folder / "data-bin"), *text.split()]
    words += ["--log-interval", str(LOG_INTERVAL)]
    return words + [word for name, value in options.items() for word in (f"--{name}", str(value))]


def measure(command: List[str], tokens: float, threads: int) -> Dict[str, float]:
    """Seconds of an update in a training of its own."""
    log = called(*command, OMP_NUM_THREADS=str(threads), PYTHONWARNINGS="ignore")
    (_, *speeds) = (speed for _, speed in read_curves(log.splitlines(), "speed")["train"])
    return {"seconds": tokens / statistics.median(speeds)}


def parse_args():
    parser = new_parser("throughput", __doc__, rounds=3)
    add = parser.add_argument
    shapes = "small-d128,d256,d512,d128,d64,long"
    add("--shapes", type=listed(DROPOUT), default=shapes, help=f"of {', '.join(DROPOUT)}")
    names = ", ".join(CONTENDERS)
    add("--contenders", type=listed(CONTENDERS), default="fairseq,mean,none", help=f"of {names}")
    add("--updates", type=whole_number_above_0, default=40, metavar="N", help="of each training")
    add("--types", type=whole_number_above_0, default=8000, metavar="N", help="of the dictionary")
    add("--threads", type=whole_number_above_0, default=os.cpu_count(), metavar="N")
    args = parser.parse_args()
    if args.updates < 2 * LOG_INTERVAL:
        raise UserError(f"--updates {args.updates}: at least {2 * LOG_INTERVAL} are needed")
    if "fairseq" not in args.contenders:
        args.contenders.insert(0, "fairseq")
    return args


def main() -> None:
    args = parse_args()
    with new_report("throughput", args, "fairseq", "target tokens a second") as report:
        for name in args.shapes:
            shape, dropout = SHAPES[name], DROPOUT[name]
            tokens = shape.sentences * shape.length
            with tempfile.TemporaryDirectory(prefix="throughput-") as folder:
                make_data(shape, args, Path(folder))
                command = training(shape, dropout, args, Path(folder))
                runs = {
                    contender: functools.partial(measure, command + own, tokens, args.threads)
                    for contender, own in CONTENDERS.items()
                    if contender in args.contenders
                }
                figures = in_turns(runs, args.rounds)
            case = f"{shape}, {shape.sentences} x {shape.length} tokens, {NAMES[dropout]}"
            add_case(report, case, figures, tokens)


if __name__ == "__main__":
    run_main(main)
