"""The wrappers around each layer of a stack."""

from fairseq.distributed import fsdp_wrap
from fairseq.modules.checkpoint_activations import checkpoint_wrapper


def wrap_layer(layer, cfg):
    """Wrap a layer in activation checkpointing and FSDP, as fairseq's stacks do.

    Offloading implies checkpointing, as with fairseq's own models.
    """
    is_checkpointed = cfg.checkpoint_activations or cfg.offload_activations
    if is_checkpointed:
        layer = checkpoint_wrapper(layer, offload_to_cpu=cfg.offload_activations)
    min_params_to_wrap = 0 if is_checkpointed else cfg.min_params_to_wrap
    return fsdp_wrap(layer, min_num_params=min_params_to_wrap)
