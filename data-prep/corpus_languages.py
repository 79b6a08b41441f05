"""Whether the text of two languages can be prepared: with Moses' rules and BPE, or in pieces."""

import os
import sys

from realformer_runtime.command_line import ArgumentParser, UserError, run_main
from realformer_runtime.text.languages import WITH_MOSES_RULES, WITHOUT_SPACES, language_code
from realformer_runtime.text.sentence_pieces import library

PROGRAM = os.environ.get("PROGRAM", "corpus_languages")


def check_codes(source: str, target: str) -> None:
    """Refuse codes that are none, or two of one language.

    Raises:
        UserError: naming the option and the code
    """
    codes = language_code(source, "--source-lang"), language_code(target, "--target-lang")
    if codes[0] == codes[1]:
        raise UserError(f"--source-lang {source} and --target-lang {target} are one language")


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
    parser.add_argument("--sentencepiece", action="store_true")
    args = parser.parse_args()
    check_codes(args.source_lang, args.target_lang)
    if args.sentencepiece:
        library()
        return
    for name in (args.source_lang, args.target_lang):
        check_moses_rules(name)


if __name__ == "__main__":
    run_main(main, PROGRAM)
