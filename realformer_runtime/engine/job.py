"""What the service translates at a time: a request's lines, checked, and what becomes of them."""

import json
import math
import threading
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from ..command_line import UserError, printable
from ..text.overlong_sentences import POLICIES, SPLIT
from .search_options import SearchOptions

LONGEST_LINE = 10_000  # characters
WIDEST_BEAM = 50
# One translation a line is returned, and the size of a batch is the service's own choice.
FIXED_OPTIONS = ("nbest", "max_tokens")


class Refusal(Exception):
    """An answer that is no translation.

    Args:
        status: of HTTP
        message: one line, for the client
        headers: further ones of the answer
    """

    def __init__(self, status: HTTPStatus, message: str, headers: Optional[Dict[str, str]] = None):
        super().__init__(message)
        self.status = status
        self.message = printable(message)
        self.headers = headers or {}


@dataclass(eq=False)
class Job:
    """A request's lines.

    Args:
        lines: raw text
        options: of the search
        overlong: what to do with lines that are too long, one of ``POLICIES``
        sentences: each line as its parts in subwords, once the worker has made them
        translations: of the first lines, as far as they are done
        random: what ``sampling`` draws with, for all lines
        refusal: why there is no translation
        ended: set when all translations or the refusal are there, or nobody waits any more
    """

    lines: Sequence[str]
    options: SearchOptions
    overlong: str = SPLIT
    sentences: Sequence[Sequence[Sequence[str]]] = ()
    translations: List[str] = field(default_factory=list)
    random: np.random.Generator = field(init=False)
    refusal: Optional[Refusal] = None
    ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self):
        self.random = np.random.default_rng(self.options.seed)

    def waiting(self) -> int:
        """How many lines are not translated yet."""
        return len(self.lines) - len(self.translations)


def job_of(body: bytes, defaults: SearchOptions) -> Job:
    """The job that a body in JSON asks for.

    Args:
        defaults: the model's options, of which the body may change some

    Raises:
        Refusal: the body is not as it should be
    """
    try:
        content = parsed(body)
        lines = checked_lines(content.pop("lines", None))
        overlong = content.pop("overlong", SPLIT)
        if overlong not in POLICIES:
            raise UserError(f"overlong: {shown(overlong)} is not one of {', '.join(POLICIES)}")
        options = defaults.changed(checked_search(content, defaults))
    except UserError as error:
        raise Refusal(HTTPStatus.BAD_REQUEST, str(error)) from None
    if any(len(line) > LONGEST_LINE for line in lines):
        message = f"a line has more than {LONGEST_LINE} characters"
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
    return Job(lines, options, overlong)


def parsed(body: bytes) -> Dict[str, Any]:
    """An object of JSON without repeated names, and without numbers that are none in JSON."""

    def unique(pairs):
        content = dict(pairs)
        if len(content) < len(pairs):
            raise UserError("a name is there twice in the body")
        return content

    def whole_number(digits: str) -> int:
        if len(digits) > 18:  # Python is slow with thousands of digits, or refuses them
            raise UserError("a number in the body has more than 18 digits")
        return int(digits)

    def no_number(name: str):
        raise UserError(f"the body is not JSON: {name}")

    try:
        content = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=unique,
            parse_int=whole_number,
            parse_constant=no_number,
        )
    except UnicodeDecodeError as error:
        raise UserError(f"the body is not UTF-8: {error.reason}") from None
    except RecursionError:
        raise UserError("the body is nested too deeply") from None
    except ValueError as error:
        raise UserError(f"the body is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise UserError('the body is not an object of JSON, as {"lines": ["..."]}')
    return content


def checked_lines(lines: Any) -> List[str]:
    """A list of strings that UTF-8 can write."""
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise UserError("lines: is needed, a list of strings")
    for number, line in enumerate(lines, 1):
        try:
            line.encode("utf-8")
        except UnicodeEncodeError:
            raise UserError(f"lines: number {number} has half a surrogate pair") from None
    return lines


def checked_search(search: Dict[str, Any], defaults: SearchOptions) -> Dict[str, Any]:
    """Options of the search that a request may set, of the right types."""
    known = {name: type(v) for name, v in asdict(defaults).items() if name not in FIXED_OPTIONS}
    words = {bool: "true or false", int: "a whole number", float: "a finite number"}
    for name, value in search.items():
        if name not in known:
            accepted = ", ".join(["lines", "overlong", *known])
            raise UserError(f"{shown(name)}: no such field; there are {accepted}")
        kind = known[name]
        fits = type(value) is kind or kind is float and type(value) is int
        if not fits or not math.isfinite(value):
            raise UserError(f"{name}: {shown(value)} is not {words[kind]}")
    if search.get("beam", 1) > WIDEST_BEAM:
        raise UserError(f"beam: {search['beam']} is above {WIDEST_BEAM}")
    return search


def shown(value: Any) -> str:
    """A value of the client's as JSON, for a message; not all of a long one."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
