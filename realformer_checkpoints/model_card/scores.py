"""What ``scripts/score_bleu.sh --json`` wrote, as a field of a model card."""

import json
from typing import Any, Dict, Tuple

from realformer_runtime.command_line import UserError

from .markdown import code, number, table, text


def read_scores(path: str) -> Dict[str, Any]:
    """The scores of one system.

    Raises:
        UserError: naming what is wrong with it
        OSError: no such file
    """
    try:
        with open(path, encoding="utf-8") as file:
            figures = json.load(file)
    except (ValueError, RecursionError):  # also what is not UTF-8
        raise UserError(f"--scores {path}: not a JSON file") from None
    if isinstance(figures, dict) and "systems" in figures:
        raise UserError(f"--scores {path}: scores of several systems; score this model alone")
    if not isinstance(figures, dict) or not measures_of(figures):
        raise UserError(f"--scores {path}: no scores in it, as score_bleu.sh --json writes them")
    return figures


def measures_of(figures: Dict[str, Any]) -> Dict[str, Tuple[float, str]]:
    """Score and signature by measure."""
    found = {}
    for name, measure in figures.items():
        if isinstance(measure, dict):
            score, signature = measure.get("score"), measure.get("signature")
            if isinstance(score, float) and isinstance(signature, str):
                found[name] = score, signature
    return found


def evaluation(figures: Dict[str, Any]) -> str:
    """A list of scores, each with its signature, and a table by domain if there is one."""
    lines = [f"{number(figures.get('lines'))} lines, target language {text(figures.get('lang'))}:"]
    lines.append("")
    for name, (score, signature) in measures_of(figures).items():
        lines.append(f"* {text(name)} {score:.1f}, signature {code(signature)}")
    domains = figures.get("domains")
    rows = []
    for domain, row in domains.items() if isinstance(domains, dict) else ():
        scores = measures_of(row) if isinstance(row, dict) else {}
        if "sacreBLEU" in scores:
            rows.append([text(domain), number(row.get("lines")), f"{scores['sacreBLEU'][0]:.1f}"])
    if rows:
        lines += ["", table(["domain", "lines", "sacreBLEU"], rows)]
    return "\n".join(lines)
