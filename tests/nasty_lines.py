"""Lines that are hard to tell apart, take apart or leave alone."""

import random
from typing import Iterator

PIECES = [
    *"a b é Z s S n't l' d' 's ' , . .. ... - -- @-@ & < > | [ ] ( ) ` : ; ! ? %".split(),
    *"5 12 3,4 1.5 No Mr etc e.g U.S º ½ ª ² İ ß Ÿ 漢 हि … ’ ‘ « » \" '' ´ DOTMULTI".split(),
    *("\u00a0", "\u0301", "\u200b", "\x01", "\x1c", "\x85", "\u2028", "\t", "\r"),
]
SPACES = [" "] * (len(PIECES) // 3)


# What a shell, a reader of lines, a terminal or fairseq might take for something else.
COMMANDS_AND_SPACES = [
    "$(touch marker) `touch marker` ; touch marker & touch marker | touch marker",
    "-rf * ? [a-z] ~ {a,b} !! # \\",
    "\"quoted\" 'quoted' \\\"both\\' $HOME ${x} %s %n",
    "a\x00b NUL, a\rb CR, a\u2028b, a\u2029b, a\x85b, \ufeffBOM, a\x0cb, a\x1cb",
    "\u202eright to left\u202c \x1b[31mred\x07 \U0001f600 \u0301",
    "<s> </s> <pad> <unk> @@ @@@@ a@@ b #fairseq:overwrite madeupword0000 | || &amp;",
    "x" * 3000 + " " + "y " * 300,
    " leading and trailing \t ",
]


def nasty_lines(count: int, seed: int) -> Iterator[str]:
    """Random lines of what Moses' rules take apart, to compare one tokeniser with another."""
    rng = random.Random(seed)
    for _ in range(count):
        yield "".join(rng.choices(PIECES + SPACES, k=rng.randint(1, 24)))
