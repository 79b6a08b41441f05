"""Score translations: sacreBLEU, chrF2, TER and tokenised BLEU, each with its signature.

Several systems are compared with sacrebleu's paired bootstrap; the first is the baseline.
"""

import json
import re
from typing import Any, Dict, List, Sequence

from ..atomic_output import atomic_output
from ..command_line import ArgumentParser, UserError, run_main
from .hypothesis_files import read_hypotheses, read_lines, read_references
from .measures import SACREBLEU, Measure, measures, paired_bootstrap

PROGRAM = "score_bleu.sh"
SIGNIFICANT = 0.05
MOST_SAMPLES = 100_000  # each needs memory: 8 bytes a line


def all_scores(
    hypotheses: Sequence[str], references: Sequence[str], lang: str, with_ter: bool = False
) -> Dict[str, Any]:
    """All measures of raw text, by name."""
    chosen = measures(lang, with_ter)
    return {measure.name: measure.score(hypotheses, references) for measure in chosen}


def scores_by_domain(
    hypotheses: Sequence[str], references: Sequence[str], labels: Sequence[str]
) -> Dict[str, Dict[str, Any]]:
    """Number of lines and sacreBLEU of each domain, the largest domain first.

    In each sentence's label the domain precedes the first tab or colon.
    """
    members: Dict[str, List[int]] = {}
    for number, label in enumerate(labels):
        members.setdefault(re.split("[\t:]", label)[0], []).append(number)
    domains = {}
    for domain, numbers in sorted(members.items(), key=lambda item: (-len(item[1]), item[0])):
        subset = [hypotheses[n] for n in numbers], [references[n] for n in numbers]
        domains[domain] = {"lines": len(numbers), SACREBLEU.name: SACREBLEU.score(*subset)}
    return domains


def print_scores(figures: Dict[str, Any], chosen: Sequence[Measure]) -> None:
    for measure in chosen:
        found = figures[measure.name]
        print(f"{measure.label}  {found['score']:.{measure.decimals}f}  {found['signature']}")


def print_domains(domains: Dict[str, Any]) -> None:
    print(f"\n{'lines':>7}  sacreBLEU  domain")
    for domain, row in domains.items():
        print(f"{row['lines']:7}  {row[SACREBLEU.name]['score']:9.1f}  {domain}")


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
    add("--hyp", required=True, nargs="+", metavar="FILE", help="text or generate log")
    add("--ref", required=True, metavar="FILE", help="raw reference")
    add("--lang", required=True, help="target language, for example fr")
    add("--ter", action="store_true", help="also TER")
    add("--domains", metavar="FILE", help="one label a line")
    add("--bootstrap-samples", type=int, default=1000, metavar="N", help="with several --hyp")
    add("--json", metavar="FILE", help="write all figures there")
    args = parser.parse_args()
    for path in args.hyp:
        if args.hyp.count(path) > 1:
            raise UserError(f"--hyp: {path} is given twice")
    if not 1 <= args.bootstrap_samples <= MOST_SAMPLES:
        what = "not above 0" if args.bootstrap_samples < 1 else f"above {MOST_SAMPLES}"
        raise UserError(f"--bootstrap-samples: {args.bootstrap_samples} is {what}")
    return args


def figures_of(args) -> Dict[str, Any]:
    """All figures of the options. Those of several systems are under ``systems``, by file name."""
    references = read_references(args.ref)
    systems = {path: read_hypotheses(path, args.lang, len(references)) for path in args.hyp}
    labels = read_lines(args.domains) if args.domains else []
    for path, lines in [*systems.items(), *[(args.domains, labels)] * bool(args.domains)]:
        if len(lines) != len(references):
            raise UserError(f"{path} has {len(lines)} lines, but {args.ref} has {len(references)}")
    scores = {}
    for path, hypotheses in systems.items():
        scores[path] = all_scores(hypotheses, references, args.lang, args.ter)
        if labels:
            scores[path]["domains"] = scores_by_domain(hypotheses, references, labels)
    figures: Dict[str, Any] = {"lang": args.lang, "lines": len(references)}
    if len(systems) == 1:
        return {**figures, **scores[args.hyp[0]]}
    figures.update(systems=scores, baseline=args.hyp[0])
    pairs = list(systems.items())
    figures["paired_bootstrap"] = {
        measure.name: paired_bootstrap(measure, pairs, references, args.bootstrap_samples)
        for measure in measures(args.lang, args.ter)
    }
    return figures


def print_report(figures: Dict[str, Any], args) -> None:
    chosen = measures(args.lang, args.ter)
    if len(args.hyp) == 1:
        print_scores(figures, chosen)
    else:
        print_comparison(figures["paired_bootstrap"], chosen, args.hyp)
    for path in args.hyp if args.domains else ():
        if len(args.hyp) > 1:
            print(f"\n{path}", end="")
        print_domains(figures.get("systems", {path: figures})[path]["domains"])


def main() -> None:
    args = parse_args()
    figures = figures_of(args)
    if args.json:
        with atomic_output(args.json) as temporary, open(temporary, "w", encoding="utf-8") as file:
            json.dump(figures, file, ensure_ascii=False, indent=2)
            file.write("\n")
    print_report(figures, args)


if __name__ == "__main__":
    run_main(main, PROGRAM)
