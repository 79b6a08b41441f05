"""Score a translation: sacreBLEU, chrF2 and tokenised BLEU, each with its signature.

sacreBLEU (Post 2018, 1804.08771) is what can be compared between systems. Tokenised BLEU is what
older papers quote: multi-bleu, case-sensitive, on Moses-tokenised hypotheses and references.
"""

import gzip
import json
import re
import sys
from importlib import metadata
from typing import Any, Dict, List, Sequence

from sacrebleu.metrics import BLEU, CHRF
from sacremoses import MosesTokenizer

from .atomic_output import atomic_output
from .command_line import ArgumentParser, UserError, run_main
from .tokenization import attach_curly_apostrophe, join_curly_apostrophe, line_detokenizer

PROGRAM = "score_bleu.sh"
LOG_LINE = re.compile(r"([HD])-(\d+)\t[^\t]*\t(.*)")
LABELS = {
    "sacreBLEU": "sacreBLEU",
    "chrF2": "chrF2",
    "tokenised BLEU": "tokenised BLEU (Moses -a, not comparable with sacreBLEU)",
}


def read_lines(path: str) -> List[str]:
    """Lines of a UTF-8 file, decompressed if its name ends in ``.gz``.

    Only a line feed ends a line: splitting at Unicode's other separators would put two files out
    of step.

    Raises:
        UserError: empty, not UTF-8 or not gzip
        OSError: no such file
    """
    opener = gzip.open if path.endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="\n") as file:
            lines = [line.rstrip("\r\n") for line in file]
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8: {error.reason}") from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise UserError(f"{path}: {error}") from None
    if not lines:
        raise UserError(f"{path}: the file is empty")
    return lines


def check_same_length(path: str, lines: Sequence[str], other_path: str, other: Sequence[str]):
    """Raises UserError if two files do not have a line for each other's."""
    if len(lines) != len(other):
        raise UserError(f"{path} has {len(lines)} lines, but {other_path} has {len(other)}")


def remove_bpe(line: str) -> str:
    """Join subwords: ``B@@ on@@ jour`` becomes ``Bonjour``."""
    return re.sub(r"@@( |$)", "", line)


def log_hypotheses(lines: Sequence[str], path: str, lang: str, count: int) -> List[str]:
    """Raw hypotheses in the log of fairseq-generate, in the order of the test set.

    The D- lines, if fairseq detokenised them; else the H- lines, with subwords joined and
    detokenised here. fairseq's own ``--tokenizer moses`` leaves ``l’ ami`` apart, which is joined
    here, too. Of several hypotheses for a sentence (``--nbest``) the first, its best.

    Args:
        path: of the log, for messages
        count: sentences in the test set

    Raises:
        UserError: a sentence is missing. fairseq leaves out the last batch if its size is not a
            multiple of ``--required-batch-size-multiple``, 8 by default, see its issue 5036
    """
    found: Dict[str, Dict[int, str]] = {"H": {}, "D": {}}
    for match in filter(None, map(LOG_LINE.fullmatch, lines)):
        found[match.group(1)].setdefault(int(match.group(2)), match.group(3))
    texts = found["D"] or found["H"]
    missing = [number for number in range(count) if number not in texts]
    if missing:
        raise UserError(
            f"{path}: no hypothesis for {len(missing)} of {count} sentences (the first: "
            f"{missing[0]}); fairseq-generate --required-batch-size-multiple 1 translates all"
        )
    joined = {number: remove_bpe(text) for number, text in found["H"].items()}
    if not found["D"] or found["D"] == joined:
        print(f"{path}: not detokenised by fairseq-generate, done here", file=sys.stderr)
        detokenize = line_detokenizer(lang)
        texts = {number: detokenize(remove_bpe(text)) for number, text in texts.items()}
    return [
        join_curly_apostrophe(attach_curly_apostrophe(texts[number], lang), lang)
        for number in sorted(texts)
    ]


def read_hypotheses(path: str, lang: str, count: int) -> List[str]:
    """Raw hypotheses of a plain file, or of fairseq-generate's log for ``count`` sentences."""
    lines = read_lines(path)
    if any(map(LOG_LINE.fullmatch, lines)):
        return log_hypotheses(lines, path, lang, count)
    return lines


def score(metric, hypotheses: Sequence[str], references: Sequence[str]) -> Dict[str, Any]:
    """Score (0 to 100) and signature of a sacrebleu metric, for BLEU also what it is made of."""
    result = metric.corpus_score(hypotheses, [references])
    figures = {"score": result.score, "signature": str(metric.get_signature())}
    if isinstance(metric, BLEU):
        figures["precisions"] = result.precisions
        figures["brevity_penalty"] = result.bp
        figures["hypothesis_tokens"] = result.sys_len
        figures["reference_tokens"] = result.ref_len
    return figures


def tokenised_bleu(
    hypotheses: Sequence[str], references: Sequence[str], lang: str
) -> Dict[str, Any]:
    """BLEU as multi-bleu computes it, on text tokenised by Moses with hyphens split (-a).

    No smoothing, so that a corpus without a matching 4-gram scores 0, as in multi-bleu.
    """
    moses = MosesTokenizer(lang)

    def tokenize(line: str) -> str:
        return moses.tokenize(line, aggressive_dash_splits=True, return_str=True)

    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    figures = score(metric, list(map(tokenize, hypotheses)), list(map(tokenize, references)))
    figures["signature"] += f"|moses:-a,-l,{lang}|sacremoses:{metadata.version('sacremoses')}"
    return figures


def all_scores(hypotheses: Sequence[str], references: Sequence[str], lang: str) -> Dict[str, Any]:
    """The three scores of raw text, by the keys of ``LABELS``."""
    return {
        "sacreBLEU": score(BLEU(), hypotheses, references),
        "chrF2": score(CHRF(), hypotheses, references),
        "tokenised BLEU": tokenised_bleu(hypotheses, references, lang),
    }


def scores_by_domain(
    hypotheses: Sequence[str], references: Sequence[str], labels: Sequence[str]
) -> Dict[str, Dict[str, Any]]:
    """Number of lines and sacreBLEU of each domain, the largest domain first.

    Args:
        labels: one a sentence; the domain is what precedes the first tab or colon
    """
    members: Dict[str, List[int]] = {}
    for number, label in enumerate(labels):
        members.setdefault(re.split("[\t:]", label)[0], []).append(number)
    domains = {}
    for domain, numbers in sorted(members.items(), key=lambda item: (-len(item[1]), item[0])):
        subset = [hypotheses[n] for n in numbers], [references[n] for n in numbers]
        domains[domain] = {"lines": len(numbers), "sacreBLEU": score(BLEU(), *subset)}
    return domains


def print_report(figures: Dict[str, Any]) -> None:
    for key, label in LABELS.items():
        print(f"{label}  {figures[key]['score']:.1f}  {figures[key]['signature']}")
    if "domains" in figures:
        print(f"\n{'lines':>7}  sacreBLEU  domain")
        for domain, row in figures["domains"].items():
            print(f"{row['lines']:7}  {row['sacreBLEU']['score']:9.1f}  {domain}")


def parse_args():
    parser = ArgumentParser(prog=PROGRAM, description=__doc__.splitlines()[0])
    parser.add_argument("--hyp", required=True, metavar="FILE", help="text or generate log")
    parser.add_argument("--ref", required=True, metavar="FILE", help="raw reference")
    parser.add_argument("--lang", required=True, help="target language, for example fr")
    parser.add_argument("--domains", metavar="FILE", help="one label a line")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    references = read_lines(args.ref)
    hypotheses = read_hypotheses(args.hyp, args.lang, len(references))
    check_same_length(args.hyp, hypotheses, args.ref, references)
    figures: Dict[str, Any] = {"lang": args.lang, "lines": len(references)}
    labels = read_lines(args.domains) if args.domains else []
    if args.domains:
        check_same_length(args.domains, labels, args.ref, references)
    figures.update(all_scores(hypotheses, references, args.lang))
    if args.domains:
        figures["domains"] = scores_by_domain(hypotheses, references, labels)
    if args.json:
        with atomic_output(args.json) as temporary, open(temporary, "w", encoding="utf-8") as file:
            json.dump(figures, file, ensure_ascii=False, indent=2)
            file.write("\n")
    print_report(figures)


if __name__ == "__main__":
    run_main(main, PROGRAM)
