"""Command line of the WMT'14 preparation's own steps: ``python -m wmt14_corpus STEP -h``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from project_command_line import ArgumentParser, UserError, run_main

from . import archives, cleaning, dictionary_check, download, extraction, progress
from .recipe import RECIPES, load_recipe

# Bytes of all text and binary data, as a multiple of the raw text: README, "WMT'14".
WORK_FACTOR = 5.0


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    steps = parser.add_subparsers(dest="step", required=True, parser_class=ArgumentParser)
    for step, (_, add_arguments) in STEPS.items():
        add_arguments(steps.add_parser(step))
    args = parser.parse_args()
    STEPS[args.step][0](args)


def _recipe_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--recipe", required=True, help="name of a recipe here, or a .json file")


def _recipe(args):
    path = Path(args.recipe)
    return load_recipe(path if path.suffix == ".json" else RECIPES / f"{args.recipe}.json")


def _store_arguments(parser: ArgumentParser) -> None:
    _recipe_argument(parser)
    parser.add_argument("--out", type=Path, required=True, help="for archives/ and archives.json")
    parser.add_argument("--corpora", type=Path, help="where the archives are; nothing is fetched")
    parser.add_argument("--mirror", help="instead of the original hosts")
    parser.add_argument("--tries", type=int, default=download.Patience.tries)
    parser.add_argument("--retry-pause", type=float, default=download.Patience.pause)


def _store(args) -> archives.Store:
    return archives.Store(
        folder=args.corpora or args.out / "archives",
        record=args.out / "archives.json",
        mine=args.corpora is not None,
        mirror=args.mirror,
        patience=download.Patience(args.tries, args.retry_pause),
    )


def _fetch_arguments(parser: ArgumentParser) -> None:
    _store_arguments(parser)
    parser.add_argument("--recorded-will-do", action="store_true")


def fetch(args) -> None:
    """Have all archives; print what the raw text depends on."""
    recipe = _recipe(args)
    hashes = archives.have_archives(recipe, _store(args), args.recorded_will_do)
    print(recipe.what_is_read(), *(f"{name}={sha256}" for name, sha256 in hashes.items()))


def _need_arguments(parser: ArgumentParser) -> None:
    _store_arguments(parser)
    parser.add_argument("--archives-only", action="store_true", help="without text and data")


def need(args) -> None:
    """Print the megabytes of disk that are still needed."""
    recipe, store = _recipe(args), _store(args)
    there = sum(path.stat().st_size for path in args.out.rglob("*") if _is_work(path, args.out))
    work = 0 if args.archives_only else max(0, recipe.text_bytes * WORK_FACTOR - there)
    print(int((archives.missing_bytes(recipe, store) + work) / 2**20) + 1)


def _is_work(path: Path, out: Path) -> bool:
    return path.is_file() and path.relative_to(out).parts[0] != "archives"


def _extract_arguments(parser: ArgumentParser) -> None:
    _recipe_argument(parser)
    parser.add_argument("--archives", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)


def extract(args) -> None:
    extraction.extract_all(_recipe(args), args.archives, args.out)


def names(args) -> None:
    """Print the names of the training corpora, in order."""
    print(*(corpus.name for corpus in _recipe(args).training), sep="\n")


def _clean_arguments(parser: ArgumentParser) -> None:
    _recipe_argument(parser)
    parser.add_argument("--merges", type=int, help="BPE merges, to compare with what others got")
    parser.add_argument("--lines", type=int, required=True, help="pairs in all parts")
    parser.add_argument("--out", type=Path, required=True, help="without the language")
    parser.add_argument("parts", type=Path, nargs="+", help="without the language")


def clean(args) -> None:
    recipe = _recipe(args)
    cleaner = cleaning.clean_files(args.parts, recipe.languages, args.out, args.lines)
    kept, name = cleaner.pairs - sum(cleaner.dropped.values()), args.out.name
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in cleaner.dropped.most_common())
    print(f"{name}: {kept:,} of {cleaner.pairs:,} pairs kept ({reasons})", file=sys.stderr)
    expected = recipe.cleaned.get(name) if args.merges == recipe.cleaned.get("merges") else None
    if expected not in (None, kept):
        print(f"warning: {name}: others were left with {expected:,} pairs", file=sys.stderr)


def _count_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--label", required=True)
    parser.add_argument("--lines", type=int)


def count(args) -> None:
    progress.copy_lines(args.label, args.lines)


def _watch_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--label", required=True)
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--until", type=Path, required=True, help="ends when this is there")
    parser.add_argument("folder", type=Path)


def watch(args) -> None:
    progress.watch_folder(args.label, args.folder, args.until, args.bytes)


def _fit_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--codes", type=Path)
    parser.add_argument("--dict", type=Path)
    parser.add_argument("texts", type=Path, nargs="*")


def fit(args) -> None:
    """Check --bpe-codes and --dict before they are used."""
    if args.codes:
        dictionary_check.check_codes(args.codes)
    if args.dict:
        share = dictionary_check.check_fit(args.dict, args.texts)
        if args.texts:
            print(
                f"--dict: {share:.3%} of the tokens of valid and test are unknown", file=sys.stderr
            )


STEPS = {
    "fetch": (fetch, _fetch_arguments),
    "need": (need, _need_arguments),
    "extract": (extract, _extract_arguments),
    "names": (names, _recipe_argument),
    "clean": (clean, _clean_arguments),
    "count": (count, _count_arguments),
    "watch": (watch, _watch_arguments),
    "fit": (fit, _fit_arguments),
}


def _run() -> None:
    try:
        main()
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8: {error}") from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; start it again to go on") from None
    except BrokenPipeError:
        os._exit(1)  # whoever reads us has said why


if __name__ == "__main__":
    run_main(_run, os.environ.get("PROGRAM", "wmt14_corpus"))
