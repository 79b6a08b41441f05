"""One encoder layer that takes the attention scores of the layer below and returns its own."""

from typing import Optional, Tuple

import torch
from fairseq.modules.transformer_layer import TransformerEncoderLayerBase
from torch import Tensor

from .residual_attention import ResidualMultiheadAttention
from .sublayer_scaling import build_residual, initialize_deepnorm

# fairseq 0.12.2 keeps a second copy of each layer's weights for an inference path of its own.
# Training never gives them a gradient, and that path would bypass the residual scores.
FAST_PATH_PARAMETERS = tuple(
    f"{module}_{parameter}"
    for module in ("in_proj", "out_proj", "fc1", "fc2")
    for parameter in ("weight", "bias")
)


def leave_fast_path(model: torch.nn.Module) -> None:
    """Keep the layers of fairseq 0.12.2's own models from that path, which calls no module."""
    for module in model.modules():
        if hasattr(module, "can_use_fastpath"):
            module.can_use_fastpath = False


class RealFormerEncoderLayer(TransformerEncoderLayerBase):
    """fairseq's encoder layer with residual scores in its self-attention.

    Args:
        cfg: ``RealFormerConfig``
    """

    def __init__(self, cfg):
        super().__init__(cfg)
        for name in FAST_PATH_PARAMETERS:
            self._parameters.pop(name, None)
        self.self_attn_residual = build_residual(cfg, "encoder")
        self.ffn_residual = build_residual(cfg, "encoder")
        if str(cfg.sublayer_scaling) == "deepnorm":
            initialize_deepnorm(self, cfg, "encoder")

    def build_self_attention(self, embed_dim, cfg):
        return ResidualMultiheadAttention(
            embed_dim,
            cfg.encoder.attention_heads,
            residual_attention=cfg.residual_attention_of("encoder"),
            attention_kernel=str(cfg.attention_kernel),
            dropout=cfg.attention_dropout,
            self_attention=True,
            q_noise=self.quant_noise,
            qn_block_size=self.quant_noise_block_size,
            xformers_att_config=cfg.encoder.xformers_att_config,
        )

    def forward(
        self,
        x: Tensor,
        encoder_padding_mask: Optional[Tensor],
        previous_scores: Optional[Tensor] = None,
        layers_traversed: int = 0,
        is_last: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        """One layer: the forward of ``fairseq/modules/transformer_layer.py`` with scores.

        Args:
            x: ``(T, B, C)``
            encoder_padding_mask: ``(B, T)``, true at padding
            previous_scores: of the layer below, ``(B * heads, T, T)``, or None
            layers_traversed: encoder layers computed before this one
            is_last: no layer above takes the scores

        Returns:
            output ``(T, B, C)`` and scores ``(B * heads, T, T)``, or None as of the attention
        """
        # Departs from fairseq: no attn_mask, which no encoder gives.
        residual = x
        if self.normalize_before:
            x = self.self_attn_layer_norm(x)
        # Departs from fairseq: attention takes and returns scores.
        x, _, scores = self.self_attn(
            query=x,
            key=x,
            value=x,
            key_padding_mask=encoder_padding_mask,
            need_weights=False,
            previous_scores=previous_scores,
            layers_traversed=layers_traversed,
            is_last=is_last,
        )
        # Departs from fairseq: omega scales the residual, here and below.
        x = self.self_attn_residual(self.dropout_module(x), residual)
        if not self.normalize_before:
            x = self.self_attn_layer_norm(x)

        residual = x
        if self.normalize_before:
            x = self.final_layer_norm(x)
        x = self.activation_dropout_module(self.activation_fn(self.fc1(x)))
        x = self.ffn_residual(self.dropout_module(self.fc2(x)), residual)
        if not self.normalize_before:
            x = self.final_layer_norm(x)
        # Departs from fairseq: no fc_result.
        return x, scores

    def _load_from_state_dict(self, *args, **kwargs):
        """Load as any module does. fairseq 0.12.2 would first add its second set of weights."""
        torch.nn.Module._load_from_state_dict(self, *args, **kwargs)

    def upgrade_state_dict_named(self, state_dict, name):
        """Accept old checkpoints of fairseq, also with the second set of weights of 0.12.2."""
        super().upgrade_state_dict_named(state_dict, name)
        for parameter in FAST_PATH_PARAMETERS:
            state_dict.pop(f"{name}.{parameter}", None)
