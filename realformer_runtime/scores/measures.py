"""The measures of a translation: sacreBLEU, chrF2, TER, and tokenised BLEU as papers quote it.

sacreBLEU (Post 2018, 1804.08771) can be compared between systems. Older papers quote tokenised
BLEU: multi-bleu, case-sensitive, on Moses-tokenised hypotheses and references. For English-German,
"Attention Is All You Need" and its successors quote BLEU with compounds split at their hyphens
(get_ende_bleu of tensor2tensor, compound_split_bleu of fairseq). Other languages do not need it:
our French, prepared with Moses' ``-a``, has its hyphens split already.
"""

import re
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any, Callable, Dict, List, Sequence, Tuple

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest
from sacremoses import MosesTokenizer

from ..command_line import UserError
from ..text.languages import CHINESE, WITH_MOSES_RULES, WITHOUT_SPACES

SACREBLEU = "sacreBLEU"
# One or several translations of the whole text.
References = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Measure:
    """A sacrebleu metric, and the preparation of every line for it."""

    name: str
    remark: str
    decimals: int
    metric: Callable[[], Metric]
    prepare: Callable[[str], str] = str
    signature_of_preparation: str = ""

    @property
    def label(self) -> str:
        return self.name + self.remark

    def prepared(self, lines: Sequence[str]) -> List[str]:
        return list(map(self.prepare, lines))

    def score(self, hypotheses: Sequence[str], references: References) -> Dict[str, Any]:
        """Score and signature of raw text, for BLEU also its components."""
        metric = self.metric()
        prepared = list(map(self.prepared, references))
        result = metric.corpus_score(self.prepared(hypotheses), prepared)
        signature = f"{metric.get_signature()}{self.signature_of_preparation}"
        figures = {"score": result.score, "signature": signature}
        if isinstance(metric, BLEU):
            figures.update(precisions=result.precisions, brevity_penalty=result.bp)
            figures.update(hypothesis_tokens=result.sys_len, reference_tokens=result.ref_len)
        return figures


def split_compounds(tokenised: str) -> str:
    """``Jean-Luc`` becomes ``Jean ##AT##-##AT## Luc``.

    ``a-b-c`` has two overlapping matches, of which the scripts split only the first.
    """
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", tokenised)


CHRF2 = Measure("chrF2", "", 1, CHRF)
# Without smoothing: a corpus without a matching 4-gram scores 0, as in multi-bleu.
MULTI_BLEU = partial(BLEU, tokenize="none", smooth_method="none", force=True)
COMPOUND_LANGUAGES = ("de",)
CHARACTERS_COUNT = WITHOUT_SPACES - CHINESE - {"ja"}
# What sacreBLEU's tokenisers need besides; setup.py has the same extras.
EXTRAS = {"ja": "sacrebleu[ja]", "ko": "sacrebleu[ko]"}


def sacrebleu_measure(lang: str) -> Measure:
    """sacreBLEU with its own choice of a tokeniser, which its signature names.

    Chinese languages are tokenised as Chinese. Of other languages without spaces, sacreBLEU's
    default would take whole sentences for words; their characters are counted (``tok:char``).

    Raises:
        UserError: the tokeniser is not installed
    """
    metric = partial(BLEU, trg_lang="zh" if lang in CHINESE else lang)
    if lang in CHARACTERS_COUNT:
        metric = partial(BLEU, tokenize="char")
    try:
        metric()
    except RuntimeError:
        raise UserError(
            f"--lang {lang}: sacreBLEU needs a tokeniser for it: pip install '{EXTRAS[lang]}'"
        ) from None
    return Measure(SACREBLEU, "", 1, metric)


def ter_measures(lang: str) -> List[Measure]:
    """TER, for which a Chinese character is a word; none where it would not find the words."""
    if lang in CHARACTERS_COUNT:
        return []
    options = dict(normalized=True, asian_support=True) if lang in WITHOUT_SPACES else {}
    return [Measure("TER", " (lower is better)", 1, partial(TER, **options))]


def moses_measures(lang: str) -> List[Measure]:
    """BLEU on Moses' tokens, for German also with split compounds; none without rules of Moses.

    Moses' tokeniser is without our corrections, as for multi-bleu, with or without ``-a``.
    """
    if lang in WITHOUT_SPACES or lang not in WITH_MOSES_RULES:
        return []
    moses = partial(MosesTokenizer(lang).tokenize, return_str=True)
    version = f"sacremoses:{metadata.version('sacremoses')}"
    tokenised = Measure(
        name="tokenised BLEU",
        remark=" (Moses -a, not comparable with sacreBLEU)",
        decimals=2,
        metric=MULTI_BLEU,
        prepare=partial(moses, aggressive_dash_splits=True),
        signature_of_preparation=f"|moses:-a,-l,{lang}|{version}",
    )
    compound_split = Measure(
        name="compound-split BLEU",
        remark=" (Moses, ##AT##-##AT##, not comparable with either)",
        decimals=2,
        metric=MULTI_BLEU,
        prepare=lambda line: split_compounds(moses(line)),
        signature_of_preparation=f"|moses:-l,{lang}|{version}|compounds:split",
    )
    return [tokenised] + [compound_split] * (lang in COMPOUND_LANGUAGES)


def measures(lang: str, with_ter: bool = False) -> List[Measure]:
    """The measures for a target language, in the order of the report; sacreBLEU is the first.

    Args:
        lang: as ``language_code`` gives it
    """
    general = [sacrebleu_measure(lang), CHRF2] + ter_measures(lang) * with_ter
    return general + moses_measures(lang)


def left_out(lang: str, with_ter: bool = False) -> List[str]:
    """A line for each measure that ``measures`` lacks."""
    lines = []
    if with_ter and not ter_measures(lang):
        lines.append(f"no TER: nothing separates the words of '{lang}'")
    if not moses_measures(lang):
        lines.append(f"no tokenised BLEU: Moses has no rules for '{lang}'")
    return lines


def paired_bootstrap(
    measure: Measure,
    systems: Sequence[Tuple[str, Sequence[str]]],
    references: References,
    samples: int,
) -> Dict[str, Any]:
    """sacrebleu's paired bootstrap test (Koehn 2004) of every system against the first.

    Args:
        systems: name and raw hypotheses

    Returns:
        ``signature``, and by name in ``systems`` the ``score``, ``mean``, ``ci`` (half of the 95 %
        interval) and, except for the first, ``p_value`` under the hypothesis of no difference
    """
    prepared = [(name, measure.prepared(lines)) for name, lines in systems]
    metrics = {measure.name: measure.metric()}
    references = list(map(measure.prepared, references))
    signatures, columns = PairedTest(prepared, metrics, references, "bs", n_samples=samples)()
    names = columns.pop("System")
    ((key, results),) = columns.items()
    rows = {}
    for name, result in zip(names, results):
        rows[name] = {what: float(getattr(result, what)) for what in ("score", "mean", "ci")}
        if result.p_value is not None:
            # sacrebleu 2.6 counts resamplings whose difference is larger than the real one, so two
            # equal systems would differ.
            equal = result.score == results[0].score
            rows[name]["p_value"] = 1.0 if equal else float(result.p_value)
    return {"signature": f"{signatures[key]}{measure.signature_of_preparation}", "systems": rows}
