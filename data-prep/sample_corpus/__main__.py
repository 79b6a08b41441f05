"""Write the sample corpus: ``python -m sample_corpus --out DIRECTORY``."""

from realformer_runtime.command_line import ArgumentParser, run_main

from .generate import SEED, write

PROGRAM = "prepare-sample-en2fr"


def main() -> None:
    parser = ArgumentParser(__doc__)
    parser.add_argument("--out", required=True, help="directory for {train,valid,test}.{en,fr}")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the sampling")
    arguments = parser.parse_args()
    write(arguments.out, arguments.seed)


if __name__ == "__main__":
    run_main(main, PROGRAM)
