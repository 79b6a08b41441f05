"""The measures of a translation: sacreBLEU, chrF2, TER, and tokenised BLEU as papers quote it.

sacreBLEU (Post 2018, 1804.08771) can be compared between systems. Older papers quote tokenised
BLEU: multi-bleu, case-sensitive, on Moses-tokenised hypotheses and references. For English-German,
"Attention Is All You Need" and its successors quote BLEU with compounds split at their hyphens
(get_ende_bleu of tensor2tensor, compound_split_bleu of fairseq). Other languages do not need it:
our French, prepared with Moses' ``-a``, has its hyphens split already.
"""

import re
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest
from sacremoses import MosesTokenizer


@dataclass(frozen=True)
class Measure:
    """A sacrebleu metric, and the preparation of every line for it."""

    name: str
    remark: str
    decimals: int
    metric: Callable[[], Metric]
    prepare: Optional[Callable[[str], str]] = None
    signature_of_preparation: str = ""

    @property
    def label(self) -> str:
        return self.name + self.remark

    def prepared(self, lines: Sequence[str]) -> List[str]:
        return list(map(self.prepare, lines)) if self.prepare else list(lines)

    def signature(self, signature: Any) -> str:
        return f"{signature}{self.signature_of_preparation}"

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> Dict[str, Any]:
        """Score and signature of raw text, for BLEU also its components."""
        metric = self.metric()
        result = metric.corpus_score(self.prepared(hypotheses), [self.prepared(references)])
        signature = self.signature(metric.get_signature())
        figures = {"score": result.score, "signature": signature}
        if isinstance(metric, BLEU):
            figures["precisions"] = result.precisions
            figures["brevity_penalty"] = result.bp
            figures["hypothesis_tokens"] = result.sys_len
            figures["reference_tokens"] = result.ref_len
        return figures


def split_compounds(tokenised: str) -> str:
    """``Jean-Luc`` becomes ``Jean ##AT##-##AT## Luc``.

    ``a-b-c`` has two overlapping matches, of which the scripts split only the first.
    """
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", tokenised)


def moses_line(lang: str, split_hyphens: bool) -> Callable[[str], str]:
    """Moses' tokeniser without our corrections, as for multi-bleu, with or without ``-a``."""
    moses = MosesTokenizer(lang)

    def tokenize(line: str) -> str:
        return moses.tokenize(line, aggressive_dash_splits=split_hyphens, return_str=True)

    return tokenize


def multi_bleu() -> BLEU:
    """BLEU without smoothing: a corpus without a matching 4-gram scores 0, as in multi-bleu."""
    return BLEU(tokenize="none", smooth_method="none", force=True)


def tokenised_bleu(lang: str) -> Measure:
    """BLEU of multi-bleu on text tokenised by Moses with hyphens split (-a)."""
    return Measure(
        name="tokenised BLEU",
        remark=" (Moses -a, not comparable with sacreBLEU)",
        decimals=2,
        metric=multi_bleu,
        prepare=moses_line(lang, split_hyphens=True),
        signature_of_preparation=f"|moses:-a,-l,{lang}|{SACREMOSES}",
    )


def compound_split_bleu(lang: str) -> Measure:
    """BLEU of multi-bleu on text tokenised without ``-a`` and split by ``split_compounds``."""
    tokenize = moses_line(lang, split_hyphens=False)
    return Measure(
        name="compound-split BLEU",
        remark=" (Moses, ##AT##-##AT##, not comparable with either)",
        decimals=2,
        metric=multi_bleu,
        prepare=lambda line: split_compounds(tokenize(line)),
        signature_of_preparation=f"|moses:-l,{lang}|{SACREMOSES}|compounds:split",
    )


SACREMOSES = f"sacremoses:{metadata.version('sacremoses')}"
SACREBLEU = Measure("sacreBLEU", "", 1, BLEU)
CHRF2 = Measure("chrF2", "", 1, CHRF)
TER_MEASURE = Measure("TER", " (lower is better)", 1, TER)
COMPOUND_LANGUAGES = ("de",)


def measures(lang: str, with_ter: bool = False) -> List[Measure]:
    """The measures for a target language, in the order of the report."""
    chosen = [SACREBLEU, CHRF2]
    if with_ter:
        chosen.append(TER_MEASURE)
    chosen.append(tokenised_bleu(lang))
    if lang in COMPOUND_LANGUAGES:
        chosen.append(compound_split_bleu(lang))
    return chosen


def paired_bootstrap(
    measure: Measure,
    systems: Sequence[Tuple[str, Sequence[str]]],
    references: Sequence[str],
    samples: int,
) -> Dict[str, Any]:
    """sacrebleu's paired bootstrap test (Koehn 2004) of every system against the first.

    Args:
        systems: name and raw hypotheses
        samples: number of resamplings of the test set

    Returns:
        ``signature``, and by name in ``systems`` the ``score``, ``mean``, ``ci`` (half of the 95 %
        interval) and, except for the first, ``p_value`` under the hypothesis of no difference
    """
    prepared = [(name, measure.prepared(lines)) for name, lines in systems]
    metrics = {measure.name: measure.metric()}
    references = [measure.prepared(references)]
    signatures, columns = PairedTest(prepared, metrics, references, "bs", n_samples=samples)()
    names = columns.pop("System")
    (key,) = columns
    figures: Dict[str, Any] = {"signature": measure.signature(signatures[key]), "systems": {}}
    for name, result in zip(names, columns[key]):
        row = {"score": result.score, "mean": result.mean, "ci": result.ci}
        if result.p_value is not None:
            # sacrebleu 2.6 counts resamplings whose difference is larger than the real one, so two
            # equal systems would differ.
            equal = result.score == columns[key][0].score
            row["p_value"] = 1.0 if equal else result.p_value
        figures["systems"][name] = {what: float(value) for what, value in row.items()}
    return figures
