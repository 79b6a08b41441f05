"""Whether the text of two languages can be prepared: with Moses' rules and BPE, or in pieces."""

import os
import sys

from realformer_runtime.command_line import ArgumentParser, UserError, run_main
from realformer_runtime.text.languages import WITH_MOSES_RULES, WITHOUT_SPACES, language_code
from realformer_runtime.text.sentence_pieces import library

PROGRAM = os.environ.get("PROGRAM", "corpus_languages")


def check_codes(source: str, target: str, source_name: str = "", target_name: str = "") -> None:
    """Refuse codes that are none, or two of one language.

    Args:
        source_name: of the file that the code is the ending of, where no option says it

    Raises:
        UserError: naming the option or the file, and the code
    """
    origins, codes, missing = [], [], []
    for flag, code, name in (
        ("--source-lang", source, source_name),
        ("--target-lang", target, target_name),
    ):
        codes.append(language_code(code, f"'{name}' without {flag}" if name else flag))
        origins.append(f"{code} (the ending of '{name}')" if name else f"{flag} {code}")
        missing += [flag] if name else []
    if codes[0] == codes[1]:
        way_out = f": say {' and '.join(missing)}" if missing else ""
        raise UserError(f"{' and '.join(origins)} are one language{way_out}")


def check_moses_rules(name: str) -> None:
    """Refuse a language whose words Moses cannot find, and remark on one with English's rules."""
    code = language_code(name)
    if code in WITH_MOSES_RULES:
        return
    if code in WITHOUT_SPACES:
        raise UserError(
            f"'{name}' has no spaces between words, and Moses no rules for it: say --sentencepiece"
        )
    print(
        f"'{name}': Moses has no list of abbreviations for it and takes that of English;"
        " --sentencepiece needs none",
        file=sys.stderr,
    )


def main() -> None:
    parser = ArgumentParser(__doc__)
    parser.add_argument("--source-lang", required=True)
    parser.add_argument("--target-lang", required=True)
    parser.add_argument("--source-name", default="", help="file whose name says the language")
    parser.add_argument("--target-name", default="")
    parser.add_argument("--sentencepiece", action="store_true")
    args = parser.parse_args()
    check_codes(args.source_lang, args.target_lang, args.source_name, args.target_name)
    if args.sentencepiece:
        library()
        return
    for name in (args.source_lang, args.target_lang):
        check_moses_rules(name)


if __name__ == "__main__":
    run_main(main, PROGRAM)
