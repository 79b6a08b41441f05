"""Generation: beam search by fairseq's SequenceGenerator, against fairseq's own Transformer.

    python -m benchmarks.generation [--shapes d512,d128] [--batches 1,16] [--beam 5]

The models have the same random weights; ``none`` (no residual scores) must find the same hypotheses
as fairseq's model, with the same scores, which is checked. No search ends early: every hypothesis
has ``--length`` tokens and the end of the sentence. Each model generates once a round in turns.
"""

import argparse
import statistics
import sys

import torch
from fairseq.sequence_generator import SequenceGenerator

from benchmarks.contenders import Task, build, make_batch
from benchmarks.options import add_device, check_device, listed
from benchmarks.rounds import print_versions, seconds_in_turns, speed_ratios, with_spread
from benchmarks.training import SHAPES

MODELS = ("fairseq", "none", "mean")
PRECISIONS = {"float32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def make_generators(shape, task: Task, args):
    """A generator for each model, all with the weights of fairseq's."""
    models = {name: build(name, shape, task, dropout=0.0) for name in MODELS}
    weights = models["fairseq"].state_dict()
    generators = {}
    for name, model in models.items():
        model.load_state_dict(weights)
        model = model.to(args.device, PRECISIONS[args.precision])
        # As fairseq-generate does it. It does not want the attention of every layer.
        model.make_generation_fast_(beamable_mm_beam_size=args.beam, need_attn=False)
        generators[name] = SequenceGenerator(
            [model],
            task.target_dictionary,
            beam_size=args.beam,
            max_len_a=0,
            max_len_b=args.length,
            min_len=args.length,
        )
    return generators


def same_hypotheses(first, second) -> bool:
    """All beams of all sentences: the same tokens, and scores that are equal to rounding."""
    return len(first) == len(second) and all(
        len(ours) == len(theirs)
        and all(
            torch.equal(a["tokens"], b["tokens"])
            and torch.allclose(a["positional_scores"], b["positional_scores"], atol=1e-4)
            for a, b in zip(ours, theirs)
        )
        for ours, theirs in zip(first, second)
    )


def measure(name: str, sentences: int, task: Task, args) -> bool:
    """Print one row of Markdown a model; whether ``none`` found what fairseq's model found."""
    shape = SHAPES[name]._replace(sentences=sentences)
    generators = make_generators(shape, task, args)
    source, _ = make_batch(shape, task, args.device)
    lengths = source.ne(task.source_dictionary.pad()).sum(1)
    sample = {"net_input": {"src_tokens": source, "src_lengths": lengths}}
    found = {}

    def run(model):
        found[model] = generators[model].generate(None, sample)

    runs = {model: lambda model=model: run(model) for model in MODELS}
    seconds = seconds_in_turns(runs, args.rounds, warm_up=1)
    same = same_hypotheses(found["fairseq"], found["none"])
    for model in MODELS:
        speed = sentences / statistics.median(seconds[model])
        ratio = with_spread(speed_ratios(seconds, "fairseq", model))
        remark = {"none": "yes" if same else "NO"}.get(model, "")
        label = f"d {shape.width}, {shape.encoder_layers}-{shape.decoder_layers}"
        print(f"| {label} | {sentences} | {model} | {speed:.2f} | {ratio} | {remark} |", flush=True)
    return same


def parse_args():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.generation", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add("--shapes", default="d512,d128", help=f"of {', '.join(SHAPES)}")
    add("--batches", default="1,16", metavar="LIST", help="sentences in a batch")
    add("--beam", type=int, default=5, metavar="N")
    add("--length", type=int, default=25, metavar="N", help="tokens generated")
    add("--rounds", type=int, default=9, metavar="N")
    add("--types", type=int, default=8000, metavar="N", help="size of the dictionary")
    add_device(parser, PRECISIONS)
    args = parser.parse_args()
    args.shapes = listed(parser, "--shapes", args.shapes, SHAPES)
    try:
        args.batches = [int(number) for number in args.batches.split(",")]
    except ValueError:
        parser.error(f"--batches: '{args.batches}' is not a list of whole numbers")
    if min(args.batches + [args.rounds, args.beam, args.length]) < 1:
        parser.error("--batches, --rounds, --beam and --length are whole numbers above 0")
    check_device(parser, args.device)
    return args


def main() -> int:
    args = parse_args()
    task = Task(args.types)
    print_versions(args.device)
    print(f"beam {args.beam}, {args.length} tokens, {args.precision}, {args.rounds} rounds\n")
    print(
        "| shape | sentences | model | sentences/s | times as fast as fairseq | same hypotheses |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    results = [measure(name, n, task, args) for name in args.shapes for n in args.batches]
    return 0 if all(results) or args.precision != "float32" else 1


if __name__ == "__main__":
    sys.exit(main())
