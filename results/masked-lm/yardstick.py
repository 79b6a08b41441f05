"""How often the source of a sentence is found without a language model, as a CSV file.

    python results/masked-lm/yardstick.py --corpus DIR --language en > yardstick.csv

Yardsticks on the test set, in percent: always the most frequent source of the training set, and a
logistic regression over the words (tf-idf) of the whole training set, and of as many sentences as
run.sh fine-tunes on.
"""

import csv
import sys
from collections import Counter
from pathlib import Path
from typing import Iterator, List, Tuple

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from realformer_runtime.command_line import ArgumentParser, run_main

PROGRAM = "yardstick.py"
FINE_TUNED_ON = 600 * 32  # updates of run.sh times sentences of each


def sentences_and_sources(corpus: Path, split: str, language: str) -> Tuple[List[str], List[str]]:
    sentences = (corpus / f"bpe/{split}.{language}").read_text("utf-8").splitlines()
    sources = (corpus / f"raw/{split}.src").read_text("utf-8").splitlines()
    return sentences, [line.split("\t")[0] for line in sources]


def yardsticks(corpus: Path, language: str) -> Iterator[Tuple[str, float]]:
    sentences, sources = sentences_and_sources(corpus, "train", language)
    tested, expected = sentences_and_sources(corpus, "test", language)
    ((most_frequent, _),) = Counter(sources).most_common(1)
    yield "most frequent source", 100 * expected.count(most_frequent) / len(expected)
    for number in (FINE_TUNED_ON, len(sentences)):
        words = TfidfVectorizer(lowercase=False, token_pattern=r"\S+", sublinear_tf=True)
        regression = LogisticRegression(C=10, tol=1e-3, max_iter=3000)
        regression.fit(words.fit_transform(sentences[:number]), sources[:number])
        found = regression.score(words.transform(tested), expected)
        yield f"words of {number} sentences, logistic regression", 100 * found


def main() -> None:
    parser = ArgumentParser(__doc__, prog=PROGRAM)
    parser.add_argument("--corpus", required=True, type=Path, metavar="DIR", help="of run.sh")
    parser.add_argument("--language", required=True, metavar="CODE", help="en or fr")
    args = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["yardstick", "language", "found"])
    for name, found in yardsticks(args.corpus, args.language):
        table.writerow([name, args.language, f"{found:.2f}"])


if __name__ == "__main__":
    run_main(main, PROGRAM)
