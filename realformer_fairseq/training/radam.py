"""``--optimizer radam``: rectified Adam (Liu et al. 2020, arXiv 1908.03265), used with ADMIN.

The optimizer is ``torch.optim.RAdam``; the options are those of fairseq's ``adam``.
"""

from dataclasses import dataclass, field
from typing import List

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from fairseq.optim.adam import FairseqAdam
from omegaconf import II


@dataclass
class FairseqRAdamConfig(FairseqDataclass):
    """``--adam-betas``, ``--adam-eps`` and ``--weight-decay``, as for ``adam``."""

    adam_betas: str = field(default="(0.9, 0.999)", metadata={"help": "betas for RAdam"})
    adam_eps: float = field(default=1e-8, metadata={"help": "epsilon for RAdam"})
    weight_decay: float = field(default=0.0, metadata={"help": "weight decay"})
    lr: List[float] = II("optimization.lr")


@register_optimizer("radam", dataclass=FairseqRAdamConfig)
class FairseqRAdam(FairseqAdam):
    """Rectified Adam with decoupled weight decay, as in fairseq's ``adam``."""

    def __init__(self, cfg: FairseqRAdamConfig, params):
        FairseqOptimizer.__init__(self, cfg)
        self._optimizer = torch.optim.RAdam(
            params, decoupled_weight_decay=True, **self.optimizer_config
        )

    @property
    def supports_flat_params(self):
        """True: all operations are element-wise, so ``--fp16`` may flatten the parameters."""
        return True
