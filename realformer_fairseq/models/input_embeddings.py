"""The input embeddings of the language model: of words, of characters or adaptive.

fairseq's ``transformer_lm.py`` chooses in the middle of a function that also builds its decoder.
"""

import ast
from typing import Any, List

from fairseq.modules import AdaptiveInput, CharacterTokenEmbedder
from torch import nn

from realformer_runtime.command_line import flag

from .config import RefusedOption, cutoffs


def check_embeddings(args, words: int) -> None:
    """Refuse what fairseq asserts without a word, or fails at.

    Args:
        words: how many the dictionary has

    Raises:
        RefusedOption: naming the flags that do not go together
    """
    for name in ("adaptive_input_cutoff", "adaptive_softmax_cutoff"):
        if max(cutoffs(args, name) or [0]) > words:
            raise RefusedOption(
                f"{flag(name)} {getattr(args, name)}: the dictionary has {words} words"
            )
    if args.adaptive_input and not cutoffs(args, "adaptive_input_cutoff"):
        raise RefusedOption("--adaptive-input needs --adaptive-input-cutoff")
    for kind in ("adaptive_input", "character_embeddings"):
        if args.share_decoder_input_output_embed and getattr(args, kind):
            raise RefusedOption(
                f"--share-decoder-input-output-embed cannot be used with {flag(kind)}"
            )
    if not args.tie_adaptive_weights:
        return
    if not args.adaptive_input or args.character_embeddings:
        raise RefusedOption("--tie-adaptive-weights needs --adaptive-input")
    for one, other in (
        ("adaptive_input_factor", "adaptive_softmax_factor"),
        ("adaptive_input_cutoff", "adaptive_softmax_cutoff"),
        ("decoder_input_dim", "decoder_output_dim"),
    ):
        values = getattr(args, one), getattr(args, other)
        if values[0] != values[1]:
            raise RefusedOption(
                f"--tie-adaptive-weights needs the same {flag(one)} and {flag(other)}, "
                f"not {values[0]} and {values[1]}"
            )


def filters(value: Any) -> List:
    """Widths of the convolutions over characters, and how many there are of each."""
    try:
        return [(int(width), int(number)) for width, number in ast.literal_eval(value)]
    except (SyntaxError, TypeError, ValueError):
        raise RefusedOption(
            f"--character-filters {value}: is not a list of pairs, such as [(1, 64), (2, 128)]"
        ) from None


def build_input_embeddings(args, dictionary, of_words) -> nn.Module:
    """Build what ``fairseq/models/transformer_lm.py`` chooses.

    Args:
        args: the model's options in a flat namespace
        of_words: fairseq's ``build_embedding``
    """
    check_embeddings(args, len(dictionary))
    if args.character_embeddings:
        return CharacterTokenEmbedder(
            dictionary,
            filters(args.character_filters),
            args.character_embedding_dim,
            args.decoder_embed_dim,
            args.char_embedder_highway_layers,
        )
    if args.adaptive_input:
        return AdaptiveInput(
            len(dictionary),
            dictionary.pad(),
            args.decoder_input_dim,
            args.adaptive_input_factor,
            args.decoder_embed_dim,
            cutoffs(args, "adaptive_input_cutoff"),
            args.quant_noise_pq,
            args.quant_noise_pq_block_size,
        )
    return of_words(args, dictionary, args.decoder_input_dim)
