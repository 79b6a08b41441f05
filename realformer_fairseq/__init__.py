"""RealFormer for fairseq: ``--user-dir realformer_fairseq --arch realformer_wmt_en_fr``."""

from fairseq.models import register_model_architecture

from .architectures import ARCHITECTURES
from .checkpoint_loading import allow_fairseq_checkpoints
from .model import RealFormerModel

__version__ = "0.1.0"
__all__ = ["RealFormerModel"]

for architecture in ARCHITECTURES:
    register_model_architecture("realformer", architecture.__name__)(architecture)
allow_fairseq_checkpoints()
