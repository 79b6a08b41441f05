"""What fairseq is told about: models, architectures, an optimizer, a tokenizer, checkpoints."""

from fairseq.models import ARCH_MODEL_REGISTRY, register_model_architecture

from .architectures import ARCHITECTURES
from .checkpoints.checkpoint_loading import allow_fairseq_checkpoints
from .model import RealFormerModel  # noqa: F401
from .multilingual import MultilingualRealFormerModel  # noqa: F401
from .text.fairseq_tokenizer import RealFormerMosesTokenizer  # noqa: F401  registers itself
from .training.radam import FairseqRAdam  # noqa: F401


def register_with_fairseq() -> None:
    """Make our architectures known, and checkpoints loadable; importing this did the rest.

    Commands that need fairseq call it, as importing the package does not import fairseq for them.
    """
    for architecture in ARCHITECTURES:
        if architecture.__name__ not in ARCH_MODEL_REGISTRY:
            register_model_architecture("realformer", architecture.__name__)(architecture)
    allow_fairseq_checkpoints()
