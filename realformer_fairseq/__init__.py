"""RealFormer for fairseq: ``--user-dir realformer_fairseq --arch realformer_wmt_en_fr``.

Importing this package registers the model, its architectures, an optimizer and a tokenizer
with fairseq.
"""

import sys

__version__ = "0.1.0"


def _starts_as_command() -> bool:
    """Whether ``python -m realformer_fairseq.<module>`` is what brings this package in.

    Those commands work on text and files. Importing fairseq would cost each of them 8 s of CPU.
    """
    arguments = getattr(sys, "orig_argv", [])  # Python 3.10
    module = arguments[arguments.index("-m") + 1] if "-m" in arguments[:-1] else ""
    return sys.argv[:1] == ["-m"] and module.startswith(f"{__name__}.")


if not _starts_as_command():
    from .supported_versions import check_versions

    check_versions()

    from .model import RealFormerModel
    from .multilingual import MultilingualRealFormerModel
    from .registration import register_with_fairseq
    from .text.fairseq_tokenizer import RealFormerMosesTokenizer
    from .training.admin_profile import profile_in_fairseq_train
    from .training.bfloat16 import allow_bf16_without_tpu
    from .training.checkpoint_saving import save_checkpoints_whole
    from .training.preemption import save_when_told_to_stop
    from .training.radam import FairseqRAdam
    from .training.resume import resume_what_is_whole

    __all__ = [
        "FairseqRAdam",
        "MultilingualRealFormerModel",
        "RealFormerModel",
        "RealFormerMosesTokenizer",
    ]

    register_with_fairseq()
    allow_bf16_without_tpu()
    # What training does besides fairseq. The last to be put around a step is the first to run.
    profile_in_fairseq_train()
    resume_what_is_whole()
    save_checkpoints_whole()
    save_when_told_to_stop()
