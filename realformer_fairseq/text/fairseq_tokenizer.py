"""Our tokenisation for fairseq's own commands: ``--tokenizer realformer_moses``.

fairseq's ``moses`` takes a curly apostrophe for punctuation, so it would feed a model with other
tokens than the ones it was trained on, and would leave a space in ``l’ ami``.
"""

from dataclasses import dataclass, field

from fairseq.data.encoders import register_tokenizer
from fairseq.dataclass import FairseqDataclass

from .tokenization import line_detokenizer, line_tokenizer


@dataclass
class RealFormerMosesConfig(FairseqDataclass):
    source_lang: str = field(default="en", metadata={"help": "source language"})
    target_lang: str = field(default="en", metadata={"help": "target language"})


@register_tokenizer("realformer_moses", dataclass=RealFormerMosesConfig)
class RealFormerMosesTokenizer:
    """Raw source text to tokens, target tokens to raw text, as ``scripts/translate.sh`` does."""

    def __init__(self, cfg: RealFormerMosesConfig):
        self.encode = line_tokenizer(cfg.source_lang)
        self.encode_target = line_tokenizer(cfg.target_lang)  # for scores; fairseq knows none
        self.decode = line_detokenizer(cfg.target_lang)
