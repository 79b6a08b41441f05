"""Score translations: sacreBLEU, chrF2, TER and tokenised BLEU, each with its signature.

Several systems are compared with sacrebleu's paired bootstrap; the first is the baseline.
"""

import functools
import itertools
import json
import os
import re
import sys
import unicodedata
from typing import Any, Dict, List, Optional, Sequence

from ..atomic_output import atomic_output, check_output
from ..command_line import ArgumentParser, UserError, run_main, whole_number_above_0
from ..text.languages import language_code
from .hypothesis_files import read_hypotheses, read_lines, read_references
from .measures import SACREBLEU, Measure, References, left_out, measures, paired_bootstrap

PROGRAM = "score_bleu.sh"
SIGNIFICANT = 0.05
DECOMPOSED = 0.1  # share of lines from which on it is another way of writing
MOST_SAMPLES = 100_000  # each needs memory: 8 bytes a line


def all_scores(
    hypotheses: Sequence[str], references: References, chosen: Sequence[Measure]
) -> Dict[str, Any]:
    """Measures of raw text, by name."""
    return {measure.name: measure.score(hypotheses, references) for measure in chosen}


def scores_by_domain(
    hypotheses: Sequence[str], references: References, labels: Sequence[str], measure: Measure
) -> Dict[str, Dict[str, Any]]:
    """Number of lines and score of each domain, the largest domain first.

    In each sentence's label the domain precedes the first tab or colon.
    """
    members: Dict[str, List[int]] = {}
    for number, label in enumerate(labels):
        members.setdefault(re.split("[\t:]", label)[0], []).append(number)
    domains = {}
    for domain, numbers in sorted(members.items(), key=lambda item: (-len(item[1]), item[0])):
        found, *expected = ([text[n] for n in numbers] for text in (hypotheses, *references))
        domains[domain] = {"lines": len(numbers), measure.name: measure.score(found, expected)}
    return domains


def print_scores(figures: Dict[str, Any], chosen: Sequence[Measure]) -> None:
    for measure in chosen:
        found = figures[measure.name]
        print(f"{measure.label}  {found['score']:.{measure.decimals}f}  {found['signature']}")


def print_domains(domains: Dict[str, Any]) -> None:
    print(f"\n{'lines':>7}  sacreBLEU  domain")
    for domain, row in domains.items():
        print(f"{row['lines']:7}  {row[SACREBLEU]['score']:9.1f}  {domain}")


def print_comparison(comparison: Dict[str, Any], chosen: Sequence[Measure], names) -> None:
    """Print for each measure and system the score, its interval and the test against the first."""
    for measure in chosen:
        figures = comparison[measure.name]
        print(f"{measure.label}  {figures['signature']}")
        for name in names:
            row, digits = figures["systems"][name], measure.decimals
            interval = f"({row['mean']:.{digits}f} ± {row['ci']:.{digits}f})"
            p = row.get("p_value")
            verdict = "baseline" if p is None else f"p = {p:.4f}{'*' if p < SIGNIFICANT else ''}"
            print(f"  {row['score']:6.{digits}f}  {interval:17}  {verdict:11}  {name}")
    print(f"\n(mean ± half of the 95 % interval); * differs from the baseline, p < {SIGNIFICANT}")


def parse_args():
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    add = parser.add_argument
    count = functools.partial(whole_number_above_0, most=MOST_SAMPLES)
    files = dict(required=True, nargs="+", action="extend", metavar="FILE")
    add("--hyp", help="text or generate log; several are compared", **files)
    add("--ref", help="raw reference; several are alternatives", **files)
    add("--lang", required=True, type=language_code, help="target language, for example fr")
    add("--ter", action="store_true", help="also TER")
    add("--domains", metavar="FILE", help="one label a line")
    add("--bootstrap-samples", type=count, default=1000, metavar="N", help="with several --hyp")
    add("--json", metavar="FILE", help="write all figures there")
    args = parser.parse_args()
    check_different("--hyp", args.hyp)
    check_different("--ref", args.ref)
    if any(same_file(args.json, path) for path in (*args.hyp, *args.ref, args.domains)):
        raise UserError(f"--json: {args.json} is what is to be scored")
    check_output("--json", args.json)
    return args


def same_file(path: Optional[str], other: Optional[str]) -> bool:
    """Whether two names are of one file that is there; None is no name."""
    names = (path, other)
    return all(name and os.path.exists(name) for name in names) and os.path.samefile(*names)


def check_different(flag: str, paths: Sequence[str]) -> None:
    """Raise UserError for a file that is given twice, also by another name or a link."""
    for path, other in itertools.combinations(paths, 2):
        if path == other:
            raise UserError(f"{flag}: {path} is given twice")
        if same_file(path, other):
            raise UserError(f"{flag}: {path} and {other} are the same file")


def warn_of_other_forms(texts: Dict[str, Sequence[str]]) -> None:
    """Name files of decomposed characters among others: what looks equal would not match."""
    others = {
        path: sum(not unicodedata.is_normalized("NFC", line) for line in lines) / len(lines)
        for path, lines in texts.items()
    }
    for path, share in others.items():
        if share - min(others.values()) > DECOMPOSED:
            what = "decomposed characters (Unicode's NFD), which match no others"
            print(f"{PROGRAM}: {path}: has {what}; uconv -x NFC converts it", file=sys.stderr)


def figures_of(args, chosen: Sequence[Measure]) -> Dict[str, Any]:
    """All figures of the options. Those of several systems are under ``systems``, by file name."""
    by_path = {path: read_references(path) for path in args.ref}
    references = list(by_path.values())
    count = len(references[0])
    systems = {path: read_hypotheses(path, args.lang, count) for path in args.hyp}
    labels = read_lines(args.domains) if args.domains else []
    domains = [(args.domains, labels)] if args.domains else []
    for path, lines in [*by_path.items(), *systems.items(), *domains]:
        if len(lines) != count:
            raise UserError(f"{path} has {len(lines)} lines, but {args.ref[0]} has {count}")
    warn_of_other_forms({**by_path, **systems})
    scores = {}
    for path, hypotheses in systems.items():
        scores[path] = all_scores(hypotheses, references, chosen)
        if labels:
            scores[path]["domains"] = scores_by_domain(hypotheses, references, labels, chosen[0])
    figures: Dict[str, Any] = {"lang": args.lang, "lines": count}
    if len(systems) == 1:
        return {**figures, **scores[args.hyp[0]]}
    figures.update(systems=scores, baseline=args.hyp[0])
    pairs = list(systems.items())
    figures["paired_bootstrap"] = {
        measure.name: paired_bootstrap(measure, pairs, references, args.bootstrap_samples)
        for measure in chosen
    }
    return figures


def print_report(figures: Dict[str, Any], args, chosen: Sequence[Measure]) -> None:
    if len(args.hyp) == 1:
        print_scores(figures, chosen)
    else:
        print_comparison(figures["paired_bootstrap"], chosen, args.hyp)
    for path in args.hyp if args.domains else ():
        if len(args.hyp) > 1:
            print(f"\n{path}", end="")
        print_domains(figures.get("systems", {path: figures})[path]["domains"])


def write_figures(figures: Dict[str, Any], path: str) -> None:
    text = json.dumps(figures, ensure_ascii=False, indent=2) + "\n"
    with atomic_output(path) as temporary:
        # Names of files may have bytes that are not UTF-8.
        temporary.write_bytes(text.encode("utf-8", "surrogateescape"))


def main() -> None:
    args = parse_args()
    chosen = measures(args.lang, args.ter)
    for line in left_out(args.lang, args.ter):
        print(f"{PROGRAM}: {line}", file=sys.stderr)
    figures = figures_of(args, chosen)
    if args.json:
        write_figures(figures, args.json)
    print_report(figures, args, chosen)


if __name__ == "__main__":
    run_main(main, PROGRAM)
