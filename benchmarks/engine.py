"""The engine: beam search of an exported RealFormer, against a plain Transformer of the same size
in CTranslate2 and in fairseq.

    python -m benchmarks.engine [--shapes small-d512] [--batches 1,16] [--beam 5] [--threads 2]

Random weights. No search ends early: every hypothesis has ``--length`` tokens and the end of the
sentence. fairseq uses as many threads. Each contender translates once a round, in turns.
"""

import functools
import tempfile
from pathlib import Path
from typing import Callable, Dict

import torch
from fairseq.sequence_generator import SequenceGenerator

from benchmarks.contenders import Task, build, make_batch, save_for_converters
from benchmarks.options import SHAPES, Shape, counts, listed, new_parser
from benchmarks.rounds import in_turns, timed
from benchmarks.tables import Report, add_case, new_report
from realformer_fairseq.export.int8 import quantize_graphs
from realformer_fairseq.export.onnx_export import limits_of, write_model
from realformer_runtime.command_line import UserError, run_main, whole_number_above_0
from realformer_runtime.engine.model_folder import Manifest
from realformer_runtime.engine.translator import Translator

PRECISIONS = ("float32", "int8")


def engine(shape: Shape, task: Task, args, folder: Path, int8: bool) -> Translator:
    """A RealFormer with the mean of scores."""
    model = build("mean", shape, task, dropout=0.0).eval()
    folder.mkdir()
    write_model(model, folder)
    if int8:
        quantize_graphs(folder)
    facts = dict(source_lang="en", target_lang="fr", moses=False)
    Manifest(**facts, **limits_of(model)).write(folder)
    return Translator(folder, args.threads, int8)


def ctranslate2(shape: Shape, task: Task, args, folder: Path, precision: str):
    """fairseq's Transformer as CTranslate2 converts it."""
    try:
        from ctranslate2 import Translator as Peer
        from ctranslate2.converters import FairseqConverter
    except ImportError:
        raise UserError("needs ctranslate2: pip install '.[benchmarks]'") from None
    save_for_converters(shape, task, folder)
    FairseqConverter(
        str(folder / "model.pt"),
        str(folder),
        source_lang="en",
        target_lang="fr",
        unsafe_deserialization=True,
    ).convert(str(folder / "converted"))
    return Peer(
        str(folder / "converted"),
        compute_type=precision,
        inter_threads=1,
        intra_threads=args.threads,
    )


def contenders(
    shape: Shape, task: Task, args, precision: str, folder: Path
) -> Dict[str, Callable[[], object]]:
    """What each does once a round."""
    source, _ = make_batch(shape._replace(length=args.length), task, "cpu")
    dictionary = task.source_dictionary
    lines = [[dictionary[word] for word in row if word > dictionary.unk()] for row in source]
    search = dict(beam=args.beam, min_len=args.length, max_len_b=args.length, max_tokens=10**6)
    limits = dict(min_decoding_length=args.length, max_decoding_length=args.length)
    peer = ctranslate2(shape, task, args, folder, precision)
    found: Dict[str, Callable[[], object]] = {
        "CTranslate2": functools.partial(
            peer.translate_batch, lines, beam_size=args.beam, max_batch_size=0, **limits
        )
    }
    for name in ("engine, int8", "engine") if precision == "int8" else ("engine",):
        own = engine(shape, task, args, folder / name, "int8" in name)
        found[name] = functools.partial(own.translate_tokens, lines, **search)
    if precision == "float32":
        generator = SequenceGenerator(
            [build("fairseq", shape, task, dropout=0.0).eval()],
            dictionary,
            beam_size=args.beam,
            max_len_b=args.length,
            min_len=args.length,
        )
        lengths = source.ne(dictionary.pad()).sum(1)
        sample = {"net_input": {"src_tokens": source, "src_lengths": lengths}}
        found["fairseq"] = functools.partial(generator.generate, None, sample)
    return found


def measure(report: Report, shape: Shape, task: Task, args, precision: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = contenders(shape, task, args, precision, Path(folder))
        timed_runs = {name: timed(run) for name, run in runs.items()}
        figures = in_turns(timed_runs, args.rounds, warm_up=1)
    case = f"{shape}, {shape.sentences} x {args.length} tokens, {precision}"
    add_case(report, case, figures, shape.sentences)


def parse_args():
    parser = new_parser("engine", __doc__, rounds=9)
    add = parser.add_argument
    count = whole_number_above_0
    add("--shapes", type=listed(SHAPES), default="small-d512,small-d256,small-d128")
    add("--batches", default="1,16", type=counts, metavar="LIST", help="sentences in a batch")
    add("--precisions", type=listed(PRECISIONS), default="float32,int8")
    add("--beam", type=count, default=5, metavar="N")
    add("--length", type=count, default=30, metavar="N", help="tokens of a sentence")
    add("--threads", type=count, default=2, metavar="N")
    add("--types", type=count, default=8000, metavar="N", help="of the dictionary")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    torch.set_num_threads(args.threads)
    task = Task(args.types)
    with new_report("engine", args, "CTranslate2", "sentences a second") as report:
        for precision in args.precisions:
            for name in args.shapes:
                for sentences in args.batches:
                    shape = SHAPES[name]._replace(sentences=sentences)
                    measure(report, shape, task, args, precision)


if __name__ == "__main__":
    run_main(main)
