"""Steps that the preparations of corpora share: ``python -m public_corpora STEP -h``."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

from realformer_runtime.command_line import ArgumentParser, run_main, whole_number_above_0
from realformer_runtime.text.bpe_encoding import read_codes

from . import archives, cleaning, dictionary_check, extraction, progress
from .recipe import RECIPES, Recipe, load_recipe
from .step import end_with_script

# Bytes of all text and binary data, as a multiple of the raw text: README, "WMT'14".
WORK_FACTOR = 5.0


def fetch(args) -> None:
    """Have all archives; print what the raw text depends on."""
    recipe = _recipe(args)
    hashes = archives.have_archives(recipe, _store(args), args.recorded_will_do)
    print(recipe.what_is_read(), *(f"{name}={sha256}" for name, sha256 in hashes.items()))


def need(args) -> None:
    """Print the megabytes of disk that are still needed."""
    recipe, store = _recipe(args), _store(args)
    files = (path for path in args.out.rglob("*") if path.is_file())
    there = sum(file.stat().st_size for file in files if args.out / "archives" not in file.parents)
    work = 0 if args.archives_only else max(0, recipe.text_bytes * WORK_FACTOR - there)
    fetched = archives.missing_bytes(recipe, store, args.recorded_will_do)
    print(math.ceil((fetched + work) / 2**20))


def extract(args) -> None:
    """Unpack the archives to raw text."""
    extraction.extract_all(_recipe(args), args.archives, args.out)


def names(args) -> None:
    """Print the names of the training corpora, in order."""
    print(*(corpus.name for corpus in _recipe(args).training), sep="\n")


def clean(args) -> None:
    """Drop pairs that are empty, too long or too unequal; say how many."""
    recipe, name = _recipe(args), args.out.name
    kept = _clean(args, recipe.languages, cleaning.PairCleaner())
    expected = recipe.cleaned.get(name) if args.merges == recipe.cleaned.get("merges") else None
    if expected not in (None, kept):
        print(f"warning: {name}: others were left with {expected:,} pairs", file=sys.stderr)


def drop(args) -> None:
    """Drop pairs with other limits, of any two languages; say how many."""
    _clean(args, args.languages, cleaning.PairCleaner(args.max_tokens, args.ratio, bars=False))


def count(args) -> None:
    """Copy standard input to standard output; report the lines."""
    progress.copy_lines(args.label, args.lines)


def watch(args) -> None:
    """Report what fairseq-preprocess has written."""
    progress.watch_folder(args.label, args.folder, args.until, args.bytes)


def fit(args) -> None:
    """Check --bpe-codes and --dict before they are used."""
    if args.codes:
        read_codes(str(args.codes), "--bpe-codes")
    if args.dict:
        share = dictionary_check.check_fit(args.dict, args.texts)
        if args.texts:
            print(
                f"--dict: {share:.3%} of the tokens of valid and test are unknown", file=sys.stderr
            )


def _clean(args, languages: tuple[str, str], cleaner: cleaning.PairCleaner) -> int:
    cleaning.clean_files(args.parts, languages, args.out, args.lines, cleaner)
    kept = cleaner.pairs - sum(cleaner.dropped.values())
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in cleaner.dropped.most_common())
    said = f"{args.out.name}: {kept:,} of {cleaner.pairs:,} pairs kept"
    print(f"{said} ({reasons})" if reasons else said, file=sys.stderr)
    return kept


def _recipe(args) -> Recipe:
    path = Path(args.recipe)
    return load_recipe(path if path.suffix == ".json" else RECIPES / f"{args.recipe}.json")


def _store(args) -> archives.Store:
    return archives.Store(
        folder=args.corpora or args.out / "archives",
        record=args.out / "archives.json",
        mine=args.corpora is not None,
        mirror=args.mirror,
        tries=args.tries,
        pause=args.retry_pause,
    )


STORE = "--recipe --out --corpora --mirror --tries --retry-pause"
STEPS = {
    fetch: f"{STORE} --recorded-will-do",
    need: f"{STORE} --archives-only --recorded-will-do",
    extract: "--recipe --archives --out",
    names: "--recipe",
    clean: "--recipe --merges --lines --out parts",
    drop: "--languages --max-tokens --ratio --lines --out parts",
    count: "--label --lines",
    watch: "--label --bytes --until folder",
    fit: "--codes --dict texts",
}
ARGUMENTS = {
    "--recipe": dict(required=True),
    "--out": dict(type=Path, required=True, help="the folder, or without the language the file"),
    "--corpora": dict(type=Path),
    "--mirror": dict(),
    "--tries": dict(type=whole_number_above_0, default=archives.Store.tries),
    "--retry-pause": dict(type=float, default=archives.Store.pause),
    "--recorded-will-do": dict(action="store_true"),
    "--archives-only": dict(action="store_true", help="without text and data"),
    "--archives": dict(type=Path, required=True),
    "--merges": dict(type=whole_number_above_0, help="to compare with what others got"),
    "--languages": dict(nargs=2, required=True),
    "--max-tokens": dict(type=whole_number_above_0, required=True),
    "--ratio": dict(type=float, required=True),
    "--lines": dict(type=whole_number_above_0, required=True, help="that there will be"),
    "--label": dict(required=True),
    "--bytes": dict(type=whole_number_above_0, required=True),
    "--until": dict(type=Path, required=True, help="ends when this is there"),
    "--codes": dict(type=Path),
    "--dict": dict(type=Path),
    "folder": dict(type=Path),
    "parts": dict(type=Path, nargs="+", help="without the language"),
    "texts": dict(type=Path, nargs="*"),
}


def main() -> None:
    parser = ArgumentParser(__doc__)
    steps = parser.add_subparsers(required=True, metavar="STEP", parser_class=ArgumentParser)
    for step, arguments in STEPS.items():
        step_parser = steps.add_parser(step.__name__, description=step.__doc__)
        step_parser.set_defaults(step=step)
        for name in arguments.split():
            step_parser.add_argument(name, **ARGUMENTS[name])
    args = parser.parse_args()
    args.step(args)


def _run() -> None:
    end_with_script()
    try:
        main()
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; start it again to go on") from None
    except BrokenPipeError:
        os._exit(1)  # whoever reads us has said why


if __name__ == "__main__":
    run_main(_run, os.environ.get("PROGRAM", "public_corpora"))
