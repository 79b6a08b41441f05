"""Moses tokenisation with sacremoses, line by line, and its inverse.

This module adds to sacremoses the rules that translation of real text needs, each as a named
function, and a command that uses several processes:

    python -m realformer_runtime.text.tokenization --lang fr < raw > tokenised
    python -m realformer_runtime.text.tokenization --lang fr --moses < raw > as-by-Moses
    python -m realformer_runtime.text.tokenization --lang fr --detokenize < tokenised > raw

Hyphens are split (Moses' ``-a``). The command writes one line for each line. A line that shows
nothing, such as one of white space or of U+200B, becomes empty; so it does with ``--moses``, where
Moses' scripts keep some of them.
"""

import functools
import re
import sys
from typing import Callable, Dict, List

from sacremoses import MosesDetokenizer

from ..atomic_output import atomic_output
from ..command_line import ArgumentParser, UserError, run_main
from .languages import WITHOUT_SPACES, language_code
from .moses_parity import (
    PerlMosesTokenizer,
    punctuation_normalizer,
    remove_control_characters,
    remove_non_printing,
)
from .parallel_lines import add_jobs, convert_stream
from .script_spacing import script_joiner
from .utf8_lines import shows_nothing
from .wordwise_tokenizer import FastMosesTokenizer, WordwiseTokenizer

PROGRAM = "tokenization"

# Languages that join an elided word to the next one (l’ami, dell’arte), as in Moses' rules.
ELIDING_LANGUAGES = ("fr", "it", "ga", "ca")

# What belongs to no word: control characters that are not white space, which sacremoses drops,
# hints for line breaks, and byte order marks. U+200B ends a word where no spaces do.
UNSEEN = re.compile(r"[\x00-\x08\x0e-\x1b\xad\u2060\ufeff]")
UNSEEN_BETWEEN_SPACES = re.compile(rf"{UNSEEN.pattern[:-1]}\u200b]")
BETWEEN_WORDS = re.compile(r"(\w) ’ (?=\w)")
# Where a curly apostrophe has been attached.
AFTER_AN_ELIDED_WORD = re.compile(r"(?<=\w)’ (?=\w)")
OF_A_QUOTATION = re.compile(r"(‘(?:[^‘’]|\w’\w)*) ’(?=\w)(?![^‘]* ’)")
OF_AN_ENGLISH_WORD = re.compile(r"(?<=\w) ’(?=(?:s|t|re|ve|ll|d|m)\b)", re.I)
OF_AN_ENGLISH_ENDING = re.compile(r"([sxz]|\Bin) ’(?=[^\W\d])")
WITHIN_A_WORD = re.compile(r"(?<=\w) ’(?=[^\W\d])|(?<=\d) ’(?=\d)")


def single_spaces(line: str) -> str:
    """Turn every run of white space, also Unicode's line separators, into one space.

    subword-nmt splits lines at U+2028 and U+0085, after which the two sides of a corpus would not
    be parallel; see subword-nmt issue 55.
    """
    return " ".join(line.split())


def attach_curly_apostrophe(tokenised: str, lang: str) -> str:
    """Turn ``l ’ ami`` into ``l’ ami``, and ``don ’ t`` into ``don ’t``.

    Moses splits straight apostrophes like this, but treats a curly one as punctuation. No
    detokeniser could tell whether that belongs to the word before it, the word after it or neither.
    """
    if "’" not in tokenised:
        return tokenised
    return BETWEEN_WORDS.sub(r"\1’ " if lang in ELIDING_LANGUAGES else r"\1 ’", tokenised)


def join_curly_apostrophe(detokenised: str, lang: str) -> str:
    """Undo ``attach_curly_apostrophe``, which has lost whether the ``’`` ended a word.

    The last one after a ``‘`` closes a quotation, and stays a token of its own as other curly
    quotes do. In English it ends a word in s, x, z or in’ (``the boys’ toys``, ``singin’ loud``),
    except before what follows it in ``it’s``, ``we’re`` and the like.
    """
    if "’" not in detokenised:
        return detokenised
    if lang in ELIDING_LANGUAGES:
        return AFTER_AN_ELIDED_WORD.sub("’", detokenised)
    if lang == "en":
        detokenised = OF_AN_ENGLISH_WORD.sub("’", detokenised)
        detokenised = OF_AN_ENGLISH_ENDING.sub(r"\1’ ", detokenised)
    return WITHIN_A_WORD.sub("’", OF_A_QUOTATION.sub(r"\1 ’ ", detokenised))


def line_tokenizer(lang: str) -> Callable[[str], str]:
    """A function that tokenises a raw line with sacremoses and joins curly apostrophes.

    Models have been trained with its result, so it must not use the rules of ``moses_parity``.
    """
    lang = language_code(lang)
    tokenize = WordwiseTokenizer(FastMosesTokenizer(lang))
    unseen = UNSEEN if lang in WITHOUT_SPACES else UNSEEN_BETWEEN_SPACES

    def tokenize_line(line: str) -> str:
        if shows_nothing(line):
            return ""
        tokens = tokenize(single_spaces(unseen.sub("", line)))
        return attach_curly_apostrophe(tokens, lang)

    return tokenize_line


def moses_line_tokenizer(lang: str, split_hyphens: bool = True) -> Callable[[str], str]:
    """A function that tokenises a raw line as ``tokenizer.perl -a -l lang`` does.

    Only a line that shows nothing becomes empty.

    Args:
        lang: the language
        split_hyphens: without it, as the script does without ``-a``
    """
    moses = PerlMosesTokenizer(language_code(lang))
    moses.splits_hyphens = split_hyphens
    tokenize = WordwiseTokenizer(moses)
    return lambda line: "" if shows_nothing(line) else tokenize(remove_control_characters(line))


def line_detokenizer(lang: str) -> Callable[[str], str]:
    """A function that turns a tokenised line into a raw one."""
    lang = language_code(lang)
    moses = MosesDetokenizer(lang)
    join = script_joiner(lang)
    return lambda line: join(join_curly_apostrophe(moses.detokenize(line.split()), lang))


def line_function(
    lang: str,
    moses: bool = False,
    normalize_punctuation: bool = False,
    remove_non_printing_characters: bool = False,
    split_hyphens: bool = True,
    lowercase: bool = False,
) -> Callable[[str], str]:
    """A function with the chosen steps, in the order of the WMT'14 preparation."""
    steps: List[Callable[[str], str]] = []
    if normalize_punctuation:
        steps.append(punctuation_normalizer(lang))
    if remove_non_printing_characters:
        steps.append(remove_non_printing)
    steps.append(moses_line_tokenizer(lang, split_hyphens) if moses else line_tokenizer(lang))
    if lowercase:
        steps.append(str.lower)

    def apply(line: str) -> str:
        for step in steps:
            line = step(line)
        return line

    return apply


def write_word_counts(counts: Dict[str, int], path: str) -> None:
    """Write words and frequencies as subword-nmt get-vocab does, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{word} {count}\n" for word, count in ranked)


def parse_args():
    parser = ArgumentParser(__doc__)
    parser.add_argument("--lang", required=True, type=language_code, help="for example fr")
    parser.add_argument("--detokenize", action="store_true", help="the other way round")
    parser.add_argument("--moses", action="store_true", help="exactly as Moses' tokenizer.perl -a")
    parser.add_argument(
        "--normalize-punctuation", action="store_true", help="first, as Moses' script of this name"
    )
    parser.add_argument(
        "--remove-non-printing", action="store_true", help="before tokenising, as Moses' script"
    )
    parser.add_argument("--keep-hyphens", action="store_true", help="with --moses: as without -a")
    parser.add_argument("--lowercase", action="store_true", help="after tokenising")
    parser.add_argument("--word-counts", metavar="FILE", help="write the words' frequencies there")
    add_jobs(parser)
    args = parser.parse_args()
    forward = args.moses or args.normalize_punctuation or args.remove_non_printing or args.lowercase
    if args.keep_hyphens and not args.moses:
        raise UserError("--keep-hyphens is for --moses")
    if args.detokenize and (forward or args.word_counts):
        raise UserError("--detokenize goes with --lang and --jobs only")
    return args


def main() -> None:
    args = parse_args()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    steps = (args.moses, args.normalize_punctuation, args.remove_non_printing)
    make = functools.partial(
        line_function, args.lang, *steps, not args.keep_hyphens, args.lowercase
    )
    if args.detokenize:
        make = functools.partial(line_detokenizer, args.lang)
    if not args.word_counts:
        convert_stream(source, sink, make, args.jobs)
        return
    with atomic_output(args.word_counts) as temporary:
        counts = convert_stream(source, sink, make, args.jobs, count_words=True)
        write_word_counts(counts, temporary)


if __name__ == "__main__":
    run_main(main, PROGRAM)
