"""Generation: beam search by fairseq's SequenceGenerator, against fairseq's own Transformer.

    python -m benchmarks.generation [--shapes d512,d128] [--batches 1,16] [--beam 5]

The models have the same random weights; ``none`` (no residual scores) must find the same hypotheses
as fairseq's model, with the same scores, which is checked. No search ends early: every hypothesis
has ``--length`` tokens and the end of the sentence. Each model generates once a round in turns.
"""

import functools

import torch
from fairseq.sequence_generator import SequenceGenerator

from benchmarks.contenders import Task, build, make_batch
from benchmarks.options import (
    PRECISIONS,
    SHAPES,
    Shape,
    add_model_options,
    check_device,
    counts,
    new_parser,
)
from benchmarks.rounds import in_turns, timed
from benchmarks.tables import Report, add_case, new_report
from realformer_runtime.command_line import run_main, whole_number_above_0

MODELS = ("fairseq", "none", "mean")


def make_generators(shape: Shape, task: Task, args):
    """A generator for each model, all with the weights of fairseq's."""
    models = {name: build(name, shape, task, dropout=0.0) for name in MODELS}
    weights = models["fairseq"].state_dict()
    generators = {}
    for name, model in models.items():
        model.load_state_dict(weights)
        model = model.to(args.device, getattr(torch, PRECISIONS[args.precision]))
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
    return [len(beams) for beams in first] == [len(beams) for beams in second] and all(
        torch.equal(a["tokens"], b["tokens"])
        and torch.allclose(a["positional_scores"], b["positional_scores"], atol=1e-4)
        for ours, theirs in zip(first, second)
        for a, b in zip(ours, theirs)
    )


def measure(report: Report, shape: Shape, task: Task, args) -> None:
    """The seconds of each round, and whether ``none`` found what fairseq's model found."""
    generators = make_generators(shape, task, args)
    source, _ = make_batch(shape, task, args.device)
    lengths = source.ne(task.source_dictionary.pad()).sum(1)
    sample = {"net_input": {"src_tokens": source, "src_lengths": lengths}}
    found = {}

    def run(model: str) -> None:
        found[model] = generators[model].generate(None, sample)

    runs = {model: timed(functools.partial(run, model), args.device) for model in MODELS}
    case = f"{shape}, {shape.sentences} x {args.length} tokens"
    add_case(report, case, in_turns(runs, args.rounds, warm_up=1), shape.sentences)
    same = same_hypotheses(found["fairseq"], found["none"])
    if args.precision != "float32":  # rounding may change their order: no mistake
        same = f"{'yes' if same else 'no'}, in {args.precision}"
    report["checks"][f"{case}: none has fairseq's hypotheses"] = same


def parse_args():
    parser = new_parser("generation", __doc__, rounds=9)
    add = parser.add_argument
    count = whole_number_above_0
    add("--batches", default="1,16", type=counts, metavar="LIST", help="sentences in a batch")
    add("--beam", type=count, default=5, metavar="N")
    add("--length", type=count, default=25, metavar="N", help="tokens generated")
    add_model_options(parser, "d512,d128")
    args = parser.parse_args()
    check_device(args.device)
    return args


def main() -> None:
    args = parse_args()
    task = Task(args.types)
    with new_report("generation", args, "fairseq", "sentences a second") as report:
        for name in args.shapes:
            for sentences in args.batches:
                measure(report, SHAPES[name]._replace(sentences=sentences), task, args)


if __name__ == "__main__":
    run_main(main)
