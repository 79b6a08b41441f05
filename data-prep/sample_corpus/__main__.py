"""Command line: ``python -m sample_corpus --out DIRECTORY``."""

import argparse

from .generate import SEED, write


def main() -> None:
    """Write the corpus and report the number of pairs."""
    parser = argparse.ArgumentParser(prog="sample_corpus", description=main.__doc__)
    parser.add_argument("--out", required=True, help="directory for {train,valid,test}.{en,fr}")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the sampling")
    arguments = parser.parse_args()
    for split, count in write(arguments.out, arguments.seed).items():
        print(f"{split}: {count} sentence pairs")


if __name__ == "__main__":
    main()
