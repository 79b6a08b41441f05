"""Command line: ``python -m sample_corpus --out DIRECTORY``."""

import argparse

from .generate import SEED, write

parser = argparse.ArgumentParser(prog="sample_corpus", description="Write the sample corpus.")
parser.add_argument("--out", required=True, help="directory for {train,valid,test}.{en,fr}")
parser.add_argument("--seed", type=int, default=SEED, help="seed of the sampling")
arguments = parser.parse_args()
write(arguments.out, arguments.seed)
