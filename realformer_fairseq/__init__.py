"""RealFormer for fairseq: ``--user-dir realformer_fairseq --arch realformer_wmt_en_fr``.

Importing this package registers models, architectures, a criterion, an optimizer, a tokenizer
and a BPE with fairseq, lets torch load fairseq's checkpoints, keeps fairseq from running what is in
their options, and installs the wrappers listed in ``fairseq_patches``.
"""

from realformer_runtime import __version__  # noqa: F401

from .supported_versions import check_versions

check_versions()

from realformer_checkpoints.safe_types import allow_fairseq_checkpoints

from . import fairseq_patches
from .harmless_options import run_no_options
from .inference.fairseq_tokenizer import RealFormerMosesTokenizer
from .inference.wordpiece import WordPiece
from .models.language_model import RealFormerLanguageModel
from .models.masked_lm import RealFormerMaskedLM
from .models.model import RealFormerModel
from .models.multilingual import MultilingualRealFormerModel
from .moved_modules import find_moved_modules
from .numpy_names import provide_removed_names
from .training.masked_lm_criterion import MaskedLmWithAccuracy
from .training.radam import FairseqRAdam

__all__ = [
    "FairseqRAdam",
    "MaskedLmWithAccuracy",
    "MultilingualRealFormerModel",
    "RealFormerLanguageModel",
    "RealFormerMaskedLM",
    "RealFormerModel",
    "RealFormerMosesTokenizer",
    "WordPiece",
]

allow_fairseq_checkpoints()
run_no_options()
provide_removed_names()
fairseq_patches.install()
find_moved_modules()
