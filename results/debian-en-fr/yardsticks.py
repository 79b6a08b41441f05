"""How well the test set is translated without a model, as a CSV file.

    python results/debian-en-fr/yardsticks.py --corpus DIR > yardsticks.csv

Two ways: the source sentence itself, and a translation memory, which has the translation of that
sentence of the training set whose words (tf-idf, cosine) are the most alike.
"""

import csv
import sys
from pathlib import Path
from typing import Iterator, List, Tuple

from sklearn.feature_extraction.text import TfidfVectorizer

from realformer_runtime.command_line import ArgumentParser, run_main
from realformer_runtime.scores.hypothesis_files import read_lines
from realformer_runtime.scores.measures import sacrebleu_measure

PROGRAM = "yardsticks.py"
AT_ONCE = 100  # test sentences compared with the whole training set, some 0.1 GB


def lines(corpus: Path, split: str, language: str) -> List[str]:
    return read_lines(str(corpus / f"raw/{split}.{language}"))


def remembered(sources: List[str], targets: List[str], tested: List[str]) -> Iterator[str]:
    """The target of the most similar source for each tested sentence; of equals, the first."""
    words = TfidfVectorizer(lowercase=False, token_pattern=r"\S+", sublinear_tf=True)
    memory = words.fit_transform(sources)
    looked_up = words.transform(tested)
    for start in range(0, len(tested), AT_ONCE):
        similarity = (looked_up[start : start + AT_ONCE] @ memory.T).toarray()
        yield from (targets[best] for best in similarity.argmax(axis=1))


def yardsticks(corpus: Path) -> Iterator[Tuple[str, List[str]]]:
    tested = lines(corpus, "test", "en")
    yield "copying the source", tested
    sources, targets = (lines(corpus, "train", language) for language in ("en", "fr"))
    yield "translation memory", list(remembered(sources, targets, tested))


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--corpus", required=True, type=Path, metavar="DIR", help="prepared")
    args = parser.parse_args()
    measure = sacrebleu_measure("fr")
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["yardstick", measure.name, "signature"])
    for name, translations in yardsticks(args.corpus):
        found = measure.score(translations, [lines(args.corpus, "test", "fr")])
        table.writerow([name, f"{found['score']:.2f}", found["signature"]])


if __name__ == "__main__":
    run_main(main, PROGRAM)
