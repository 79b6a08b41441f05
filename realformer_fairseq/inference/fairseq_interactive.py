"""What fairseq-interactive does with its options, for text that is subwords already."""

import ast
import contextlib
import io
import tempfile
import traceback
from pathlib import Path
from typing import Dict, Iterator, List, Sequence

import numpy
import torch
from fairseq import checkpoint_utils, options, tasks, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.hub_utils import GeneratorHubInterface
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from tqdm import tqdm

from realformer_checkpoints.reading import load_checkpoint, stored_option
from realformer_runtime.command_line import UserError, flag
from realformer_runtime.engine.search_options import check_range
from realformer_runtime.text.overlong_sentences import check_limit

from ..models.generation_options import WITHOUT_EFFECT
from ..models.hub_interface import TranslationHub

# What fairseq-interactive would do with text, and with nothing else.
NOT_FOR_SUBWORDS = ("bpe", "constraints", "input", "replace_unk", "tokenizer")
# What --post-process may say, by what the subwords are.
POST_PROCESSES = {"subword-nmt": ("@@ ", "subword_nmt"), "SentencePiece": ("sentencepiece",)}
# What text and files were chosen by, before fairseq's own options could change it.
BEFORE_EXTRA = ("path", "source_lang", "target_lang")
LONG_FILE = 100  # sentences, from which on there is a progress bar
LONG_REASON = 400  # characters; fairseq quotes whole configurations


def interactive_command(args) -> List[str]:
    """The command for options of ``translate.sh``; ``args.extra`` comes last, so that it wins.

    ``--max-len-a 1``: by fairseq's default a translation ends after 200 subwords, however long its
    source is.
    """
    # Lines come sorted by length: more than a batch has sentences gains nothing.
    buffer = 1 if args.interactive else max(256, args.max_tokens // 10)
    user_dir = str(Path(__file__).resolve().parents[1])
    files = ["--path", args.checkpoint, "--user-dir", user_dir, "--task", "translation"]
    languages = ["--source-lang", args.source_lang, "--target-lang", args.target_lang]
    search = (
        f"--beam {args.beam} --lenpen {args.lenpen} --max-len-a 1 --max-len-b 200"
        f" --max-tokens {args.max_tokens} --buffer-size {buffer} --num-workers 0"
    ).split()
    subwords = "=sentencepiece" if args.sentencepiece_model else ""
    words = [args.data, f"--remove-bpe{subwords}", *files, *languages, *search]
    cpu = ["--cpu"] if args.int8 else []
    return ["fairseq-interactive", *words, *cpu, *args.extra]


@contextlib.contextmanager
def errors_in_one_line(about: str) -> Iterator[None]:
    """Turn what fairseq or torch raises, of whatever type, into one line.

    Args:
        about: the options that fairseq fails with, for the line

    Raises:
        UserError: with the name of a file that the traceback is in
    """
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        with tempfile.NamedTemporaryFile(
            "w", prefix="translate-", suffix=".log", delete=False, errors="backslashreplace"
        ) as log:
            traceback.print_exc(file=log)
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:LONG_REASON]
        raise UserError(f"fairseq failed with {about}: {reason} (log: '{log.name}')") from error


def read_options(command: Sequence[str]):
    """fairseq's configuration, from a command of :func:`interactive_command`.

    Raises:
        UserError: with fairseq's words about an option, or an option makes no sense here
    """
    complaint = io.StringIO()
    try:
        with errors_in_one_line("the options after --"), contextlib.redirect_stderr(complaint):
            parser = options.get_interactive_generation_parser()
            args = options.parse_args_and_arch(parser, list(command[1:]))
    except SystemExit as stop:
        if not stop.code:  # --help
            raise
        reason = complaint.getvalue().split("error: ")[-1].removeprefix("fairseq-train: ").strip()
        raise UserError(f"fairseq-interactive: {reason}") from None
    for name in NOT_FOR_SUBWORDS:
        if getattr(args, name) not in (None, "-"):
            raise UserError(f"-- {flag(name)}: fairseq searches with subwords, not with the text")
    if args.sampling:
        args.nbest = 1  # fairseq-interactive wants as many as the beam, and has the best first
    for name in (*WITHOUT_EFFECT, "results_path"):
        if getattr(args, name) not in (None, parser.get_default(name)):
            raise UserError(f"-- {flag(name)}: has no effect here, where a line becomes a line")
    ours = next(word for word in command if word.startswith("--remove-bpe"))
    kind = "SentencePiece" if ours.endswith("=sentencepiece") else "subword-nmt"
    if args.post_process not in POST_PROCESSES[kind]:
        raise UserError(f"-- --post-process '{args.post_process}': subwords here are {kind}'s")
    check_range("lenpen", args.lenpen, "--lenpen")
    for name in BEFORE_EXTRA:
        if getattr(args, name) != command[command.index(flag(name)) + 1]:
            raise UserError(f"-- {flag(name)}: name it before --, for the text is prepared by it")
    check_limit(min(args.max_tokens, getattr(args, "max_source_positions", args.max_tokens)) - 1)
    return convert_namespace_to_omegaconf(args)


def check_architecture(path: str) -> None:
    """Raise UserError for a model that is unknown; fairseq's own message is an IndexError."""
    state = load_checkpoint(path)
    names = [stored_option(state, "model", name) for name in ("_name", "arch")]
    if not any(name in ARCH_MODEL_REGISTRY or name in MODEL_REGISTRY for name in names):
        name = next(filter(None, names), None)
        raise UserError(
            f"--checkpoint '{path}': neither fairseq nor this plugin has an architecture '{name}'"
            " (of another plugin? -- --user-dir DIR)"
        )


class Ensemble(TranslationHub):
    """Models that search as fairseq-interactive does, with one buffer of text after the other."""

    about = ""  # the options that it was made with

    def translate_sentences(self, sentences: Sequence[Sequence[Sequence[str]]]) -> List[str]:
        return super().translate_sentences(sentences, self.cfg.generation.beam)

    def translate_parts(self, parts: Sequence[Sequence[str]], *args, **generation) -> List[str]:
        """The longest first: if memory is short, that is seen at once."""
        order = sorted(range(len(parts)), key=lambda number: -len(parts[number]))
        buffer = max(1, self.cfg.interactive.buffer_size)
        texts: Dict[int, str] = {}
        bar_off = True if len(parts) < LONG_FILE else None  # None: off unless on a terminal
        with tqdm(total=len(parts), unit="sentence", disable=bar_off) as bar:
            for start in range(0, len(parts), buffer):
                numbers = order[start : start + buffer]
                chosen = [parts[number] for number in numbers]
                with errors_in_one_line(self.about):
                    texts.update(zip(numbers, super().translate_parts(chosen, *args, **generation)))
                bar.update(len(numbers))
        return [texts[number] for number in range(len(parts))]


def load_ensemble(cfg, about: str) -> Ensemble:
    """Models as fairseq-interactive loads them, on a GPU if there is one.

    Args:
        cfg: of :func:`read_options`
        about: the options, for a message

    Raises:
        UserError: with the reason why fairseq cannot load them
    """
    for path in utils.split_paths(cfg.common_eval.path):
        check_architecture(path)
    on_gpu = torch.cuda.is_available() and not cfg.common.cpu
    with errors_in_one_line(about):
        if not cfg.generation.no_seed_provided:
            numpy.random.seed(cfg.common.seed)
            utils.set_torch_seed(cfg.common.seed)
        models, _, task = checkpoint_utils.load_model_ensemble_and_task(
            utils.split_paths(cfg.common_eval.path),
            ast.literal_eval(cfg.common_eval.model_overrides),
            tasks.setup_task(cfg.task),
            strict=cfg.checkpoint.checkpoint_shard_count == 1,
            suffix=cfg.checkpoint.checkpoint_suffix,
            num_shards=cfg.checkpoint.checkpoint_shard_count,
        )
        for model in models:
            if cfg.common.fp16:
                model.half()
            if on_gpu:
                model.cuda()
        ensemble = Ensemble.of(GeneratorHubInterface(cfg, task, models))
        ensemble.about = about
        return ensemble.cuda() if on_gpu else ensemble
