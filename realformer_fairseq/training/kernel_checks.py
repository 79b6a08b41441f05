"""``--attention-kernel fused`` where it cannot be used, found before anything is built.

A model that was trained so can still be loaded anywhere: the attention then computes eagerly.
"""

from typing import Any, Iterator, Tuple

import torch

from ..modules.fused_attention import LARGEST_HEAD, lacking


def attention_kernel(cfg: Any) -> Iterator[Tuple[bool, str]]:
    """Pairs of a condition and the message that it leads to."""
    if str(getattr(cfg.model, "attention_kernel", "eager")) != "fused":
        return
    on_cpu = cfg.common.cpu or not torch.cuda.is_available()
    needed = lacking(torch.device("cpu" if on_cpu else "cuda"))
    yield (bool(needed), f"--attention-kernel fused needs {needed}; choose auto or eager")
    for side in ("encoder", "decoder"):
        width = getattr(cfg.model, f"{side}_embed_dim", None)
        heads = getattr(cfg.model, f"{side}_attention_heads", None)
        if width and heads:
            yield (
                width // heads > LARGEST_HEAD,
                f"--attention-kernel fused takes heads of up to {LARGEST_HEAD} dimensions, not "
                f"--{side}-embed-dim {width} by --{side}-attention-heads {heads}",
            )
