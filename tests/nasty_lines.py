"""Random lines of what Moses' rules take apart, for comparisons of one tokeniser with another."""

import random
from typing import Iterator

PIECES = [
    *"a b é Z s S n't l' d' 's ' , . .. ... - -- @-@ & < > | [ ] ( ) ` : ; ! ? %".split(),
    *"5 12 3,4 1.5 No Mr etc e.g U.S º ½ ª ² İ ß Ÿ 漢 हि … ’ ‘ « » \" '' ´ DOTMULTI".split(),
    *("\u00a0", "\u0301", "\u200b", "\x01", "\x1c", "\x85", "\u2028", "\t", "\r"),
]
SPACES = [" "] * (len(PIECES) // 3)


def nasty_lines(count: int, seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(count):
        yield "".join(rng.choices(PIECES + SPACES, k=rng.randint(1, 24)))
