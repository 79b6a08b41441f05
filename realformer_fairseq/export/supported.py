"""Which models can be exported: what a graph does not know is refused by name."""

from typing import Iterator, Tuple

from fairseq.models.transformer import TransformerModelBase
from torch import nn

from realformer_runtime.command_line import UserError

from .layers import ACTIVATIONS


def check_supported(model: nn.Module) -> None:
    """Refuse a model that cannot be exported; raises UserError with the option's name."""
    if not isinstance(model, TransformerModelBase):
        raise UserError(
            f"a {type(model).__name__} cannot be exported, only realformer, transformer"
        )
    for refused, option in unsupported(model.cfg, model):
        if refused:
            raise UserError(f"a model with {option} cannot be exported")


def unsupported(cfg, model: nn.Module) -> Iterator[Tuple[bool, str]]:
    """Pairs of whether a model has an option, and the option."""
    yield cfg.adaptive_softmax_cutoff is not None, "--adaptive-softmax-cutoff"
    yield bool(cfg.adaptive_input), "--adaptive-input"
    yield bool(cfg.cross_self_attention), "--cross-self-attention"
    yield bool(cfg.no_cross_attention), "--no-cross-attention"
    yield bool(cfg.base_layers), "--base-layers"
    yield cfg.quant_noise.pq > 0, "--quant-noise-pq"
    yield cfg.activation_fn not in ACTIVATIONS, f"--activation-fn {cfg.activation_fn}"
    for name in ("attn", "fc", "heads", "resids"):
        yield bool(getattr(cfg, f"scale_{name}", False)), f"--scale-{name}"
    for side in (cfg.encoder, cfg.decoder):
        yield bool(side.xformers_att_config), "--xformers-att-config"
    specials = [model.encoder.dictionary, model.decoder.dictionary]
    places = {(each.bos(), each.pad(), each.eos(), each.unk()) for each in specials}
    yield places != {(0, 1, 2, 3)}, "a dictionary that does not start with <s> <pad> </s> <unk>"
