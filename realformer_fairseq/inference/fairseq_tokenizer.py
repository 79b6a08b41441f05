"""Our tokenisation for fairseq's own commands: ``--tokenizer realformer_moses``.

fairseq's ``moses`` treats a curly apostrophe as punctuation. The model would get other tokens than
in training, and its output would have a space in ``l’ ami``.
"""

from dataclasses import dataclass, field
from typing import Optional

from fairseq.data.encoders import register_tokenizer
from fairseq.dataclass import FairseqDataclass


@dataclass
class RealFormerMosesConfig(FairseqDataclass):
    # None where fairseq-generate is to take the languages from the names of the data.
    source_lang: Optional[str] = field(default="en", metadata={"help": "source language"})
    target_lang: Optional[str] = field(default="en", metadata={"help": "target language"})


@register_tokenizer("realformer_moses", dataclass=RealFormerMosesConfig)
class RealFormerMosesTokenizer:
    """Raw source text to tokens, target tokens to raw text, as ``scripts/translate.sh`` does.

    Raises:
        ValueError: a language is missing: fairseq does not tell it to a tokenizer
        UserError: a language is none
    """

    def __init__(self, cfg: RealFormerMosesConfig):
        # Here, since importing sacremoses is 7 % of a training's start.
        from realformer_runtime.text.languages import language_code
        from realformer_runtime.text.tokenization import line_detokenizer, line_tokenizer

        if cfg.source_lang is None or cfg.target_lang is None:
            raise ValueError(
                "--tokenizer realformer_moses needs --source-lang and --target-lang, as en and fr"
            )
        source = language_code(cfg.source_lang, "--source-lang")
        target = language_code(cfg.target_lang, "--target-lang")
        self.encode = line_tokenizer(source)
        self.encode_target = line_tokenizer(target)  # for scores; fairseq knows none
        self.decode = line_detokenizer(target)
