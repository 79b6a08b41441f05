"""RealFormer for fairseq: ``--user-dir realformer_fairseq --arch realformer_wmt_en_fr``.

Importing this package registers the models, their architectures, an optimizer and a tokenizer with
fairseq, makes fairseq's checkpoints loadable, and installs what ``fairseq_patches`` lists.
"""

from realformer_runtime import __version__  # noqa: F401

from .supported_versions import check_versions

check_versions()

from realformer_checkpoints.safe_types import allow_fairseq_checkpoints

from .inference.fairseq_tokenizer import RealFormerMosesTokenizer
from .models.model import RealFormerModel
from .models.multilingual import MultilingualRealFormerModel
from .training.admin_profile import profile_in_fairseq_train
from .training.bfloat16 import allow_bf16_without_tpu
from .training.checkpoint_saving import save_checkpoints_whole
from .training.radam import FairseqRAdam
from .training.resume import resume_what_is_whole
from .training.stop_signals import save_when_told_to_stop

__all__ = [
    "FairseqRAdam",
    "MultilingualRealFormerModel",
    "RealFormerModel",
    "RealFormerMosesTokenizer",
]

allow_fairseq_checkpoints()
allow_bf16_without_tpu()
# What training does besides fairseq. The last to be put around a step is the first to run.
profile_in_fairseq_train()
resume_what_is_whole()
save_checkpoints_whole()
save_when_told_to_stop()
