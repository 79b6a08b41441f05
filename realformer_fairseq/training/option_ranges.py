"""Numbers that ``fairseq-train`` would take whatever they are.

Some end in a traceback. Others train something else without a word, such as a negative learning
rate, or nothing at all.
"""

import argparse
import math
from typing import Any, Iterator, Mapping

from realformer_runtime.command_line import UserError, flag

# The lowest and the highest accepted value.
RANGES = {
    **dict.fromkeys(
        """dropout attention_dropout activation_dropout encoder_layerdrop decoder_layerdrop
        label_smoothing quant_noise_pq ema_decay pooler_dropout leave_unmasked_prob
        random_token_prob""".split(),
        (0, 1),
    ),
    **dict.fromkeys(
        """encoder_attention_heads decoder_attention_heads encoder_embed_dim decoder_embed_dim
        encoder_ffn_embed_dim decoder_ffn_embed_dim log_interval save_interval validate_interval
        required_batch_size_multiple total_num_update distributed_world_size tokens_per_sample
        max_positions max_source_positions max_target_positions mask_multiple_length""".split(),
        (1, math.inf),
    ),
    **dict.fromkeys(
        """encoder_layers decoder_layers num_workers lr weight_decay adam_eps warmup_updates
        max_update max_epoch save_interval_updates validate_interval_updates mask_stdev""".split(),
        (0, math.inf),
    ),
    "seed": (0, 2**32 - 1),
}


def check_ranges(cfg: Mapping[str, Any]) -> None:
    """Refuse numbers out of range.

    Args:
        cfg: fairseq's configuration

    Raises:
        UserError: naming the flag and what is accepted
    """
    for group in cfg.values():
        options = vars(group) if isinstance(group, argparse.Namespace) else group
        for name in RANGES if hasattr(options, "get") else ():
            low, high = RANGES[name]
            for number in numbers(options.get(name)):
                if not low <= number <= high:
                    accepted = f"{low} to {high}" if high < math.inf else f"{low} or more"
                    raise UserError(f"{flag(name)} {number}: {accepted} is accepted")


def numbers(value: Any) -> Iterator[float]:
    """The numbers of an option, which may be a list, one number, or none."""
    values = [value] if isinstance(value, (int, float, str, type(None))) else value
    return (each for each in values if isinstance(each, (int, float)))
