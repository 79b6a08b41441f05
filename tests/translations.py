"""Translations and references that tests of the scores share."""

from commands import error_of

from realformer_runtime.scores import scoring
from realformer_runtime.scores.measures import measures

HYPOTHESES = ["l'ami de Jean-Luc dort.", "oui."]
REFERENCES = ["l'ami de Jean-Paul dort.", "oui, monsieur."]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def scores(hypotheses, references, lang, with_ter=False):
    """All measures, with one reference."""
    return scoring.all_scores(hypotheses, [references], measures(lang, with_ter))


def score_bleu(*arguments):
    return error_of(scoring, *arguments)
