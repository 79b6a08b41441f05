"""``--bf16`` on GPUs and CPUs.

fairseq assumes a TPU with ``--bf16`` and stops with 'NoneType' has no attribute 'xla_device'. Its
trainer works without a TPU: model and gradients in bfloat16, a master copy of the parameters in
float32 in the optimizer, no loss scaling.
"""

import functools
import importlib.util
import sys
from typing import Any, Callable

from .affected_models import is_trained_by_us


def no_tpu_without_its_library(parse: Callable[..., Any]) -> Callable[..., Any]:
    """``parse_args_and_arch`` of fairseq, which assumes no TPU if torch_xla is not installed."""

    @functools.wraps(parse)
    def parse_with_bf16(parser, input_args=None, *args, **kwargs):
        parsed = parse(parser, input_args, *args, **kwargs)
        asked_for = "--tpu" in (sys.argv if input_args is None else input_args)
        namespace = parsed[0] if isinstance(parsed, tuple) else parsed
        no_library = importlib.util.find_spec("torch_xla") is None
        arch = getattr(namespace, "arch", None)  # none where a model is only loaded
        ours = arch is None or is_trained_by_us(arch)
        if ours and getattr(namespace, "bf16", False) and no_library and not asked_for:
            namespace.tpu = False
        return parsed

    return parse_with_bf16
