"""The engine: beam search of an exported RealFormer, against a plain Transformer of the same size
in CTranslate2 and in fairseq.

    python -m benchmarks.engine [--shapes small-d512] [--batches 1,16] [--beam 5] [--threads 2]

Random weights. No search ends early: every hypothesis has ``--length`` tokens and the end of the
sentence. Each contender translates once a round, in turns, in a process of its own with
``--threads``: in one process the threads of one disturb those of another.
"""

import functools
import multiprocessing
import tempfile
import time
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Callable, Dict, List

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
PAUSE = 0.3  # seconds; threads of the contender before may still spin


def write_engine(shape: Shape, task: Task, folder: Path, int8: bool) -> None:
    """Export a RealFormer with the mean of scores."""
    model = build("mean", shape, task, dropout=0.0).eval()
    folder.mkdir()
    write_model(model, folder)
    if int8:
        quantize_graphs(folder)
    facts = dict(source_lang="en", target_lang="fr", moses=False)
    Manifest(**facts, **limits_of(model)).write(folder)


def write_ctranslate2(shape: Shape, task: Task, folder: Path) -> None:
    """Convert fairseq's Transformer."""
    try:
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


def write_models(shape: Shape, task: Task, precision: str, folder: Path) -> List[str]:
    """The names of the contenders, whose models are in the folder now."""
    write_ctranslate2(shape, task, folder)
    engines = ("engine, int8", "engine") if precision == "int8" else ("engine",)
    for name in engines:
        write_engine(shape, task, folder / name, "int8" in name)
    return ["CTranslate2", *engines, *(["fairseq"] if precision == "float32" else [])]


def load(name: str, shape: Shape, precision: str, folder: Path, args) -> Callable[[], object]:
    """What a contender does once a round."""
    torch.set_num_threads(args.threads)
    task = Task(args.types)
    source, _ = make_batch(shape._replace(length=args.length), task, "cpu")
    dictionary = task.source_dictionary
    lines = [[dictionary[word] for word in row if word > dictionary.unk()] for row in source]
    if name == "fairseq":
        sizes = dict(beam_size=args.beam, min_len=args.length, max_len_b=args.length)
        model = build("fairseq", shape, task, dropout=0.0).eval()
        # As fairseq-generate does it.
        model.make_generation_fast_(beamable_mm_beam_size=args.beam, need_attn=False)
        generator = SequenceGenerator([model], dictionary, **sizes)
        lengths = source.ne(dictionary.pad()).sum(1)
        sample = {"net_input": {"src_tokens": source, "src_lengths": lengths}}
        return functools.partial(generator.generate, None, sample)
    if name == "CTranslate2":
        from ctranslate2 import Translator as Peer

        threads = dict(inter_threads=1, intra_threads=args.threads)
        peer = Peer(str(folder / "converted"), compute_type=precision, **threads)
        limits = dict(min_decoding_length=args.length, max_decoding_length=args.length)
        search = dict(beam_size=args.beam, max_batch_size=0, **limits)
        return functools.partial(peer.translate_batch, lines, **search)
    own = Translator(folder / name, args.threads, "int8" in name)
    search = dict(beam=args.beam, min_len=args.length, max_len_b=args.length, max_tokens=10**6)
    return functools.partial(own.translate_tokens, lines, **search)


def contender(pipe: Connection, *what) -> None:
    """A process: translates whenever it is asked to, and answers what that took."""
    run = timed(load(*what))
    with suppress(EOFError):
        while pipe.recv():
            start = time.process_time()
            figures = run()
            pipe.send({**figures, "processor_seconds": time.process_time() - start})


def ask(name: str, pipe: Connection) -> Dict[str, float]:
    time.sleep(PAUSE)
    try:
        pipe.send(True)
        return pipe.recv()
    except (ConnectionError, EOFError):
        raise UserError(f"{name} has failed") from None


def measure(report: Report, shape: Shape, task: Task, args, precision: str) -> None:
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as pipes:
        asked = {}
        for name in write_models(shape, task, precision, Path(folder)):
            pipe, other = processes.Pipe()
            what = (other, name, shape, precision, Path(folder), args)
            processes.Process(target=contender, args=what, daemon=True).start()
            other.close()
            asked[name] = functools.partial(ask, name, pipes.enter_context(pipe))
        figures = in_turns(asked, args.rounds, warm_up=1)
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
    task = Task(args.types)
    with new_report("engine", args, "CTranslate2", "sentences a second") as report:
        for precision in args.precisions:
            for name in args.shapes:
                for sentences in args.batches:
                    shape = SHAPES[name]._replace(sentences=sentences)
                    measure(report, shape, task, args, precision)


if __name__ == "__main__":
    run_main(main)
