"""The subwords of what is translated, and how many of them a model can read."""

from typing import Callable, List, Sequence

from realformer_runtime.command_line import ArgumentParser, UserError
from realformer_runtime.text.bpe_encoding import read_codes
from realformer_runtime.text.tokenization import line_function

POSITIONS = 1024  # fairseq's default of --max-source-positions, for task and model


def subword_encoder(lang: str, codes: str, moses: bool = False) -> Callable[[str], List[str]]:
    """A function from a raw line to its subwords.

    Args:
        codes: file of subword-nmt
        moses: tokenise as WMT'14 preparation does the training part: punctuation normalised, then
            exactly as Moses

    Raises:
        UserError: not such a file
    """
    bpe = read_codes(codes, "--bpe-codes")
    tokenize = line_function(lang, moses=moses, normalize_punctuation=moses)
    return lambda line: bpe.process_line(tokenize(line)).split()


def subword_limit(checkpoints: Sequence[str], max_tokens: int, extra: Sequence[str]) -> int:
    """The largest number of subwords, without ``</s>``, that all models and a batch can take.

    Raises:
        UserError: naming a file that is no checkpoint
    """
    # Importing torch takes seconds, in which the search is already starting.
    from realformer_checkpoints.reading import load_checkpoint, stored_option
    from realformer_checkpoints.safe_types import allow_fairseq_checkpoints

    allow_fairseq_checkpoints()
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--max-source-positions", type=int, default=POSITIONS)
    parser.add_argument("--max-tokens", type=int, default=max_tokens)
    given, _ = parser.parse_known_args(list(extra))
    limits = [given.max_source_positions, given.max_tokens]
    for path in checkpoints:
        state = load_checkpoint(path)
        limit = stored_option(state, "model", "max_source_positions") or POSITIONS
        if not isinstance(limit, int) or limit < 2:
            raise UserError(f"{path}: its max_source_positions is no number above 1")
        limits.append(limit)
    return min(limits) - 1
