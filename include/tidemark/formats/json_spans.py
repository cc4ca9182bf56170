"""Where the parts of a JSON text begin and end, so that one is replaced and all else stays.

All raise ValueError or IndexError where the text is no such JSON, and RecursionError where it is
too deep.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

_SPACE = re.compile(r"[ \t\n\r]*")
_VALUE = json.JSONDecoder(strict=False)

Edit = tuple[int, int, str]
"""Where a stretch begins and ends, and what stands there instead."""


def spliced(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with ``edits``, which come in its order.

    >>> spliced("[1, 2]", [(1, 2, "one")])
    '[one, 2]'
    """
    parts, last = list[str](), 0
    for begin, end, instead in edits:
        parts += [text[last:begin], instead]
        last = end
    return "".join((*parts, text[last:]))


def whole(text: str) -> int:
    """Where the one value of ``text`` begins."""
    start = _after_space(text, 0)
    _, end = _VALUE.raw_decode(text, start)
    if _after_space(text, end) != len(text):
        raise ValueError("something stands behind it")
    return start


def fields(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """The names of an object that begins at ``start``, and where their values begin and end."""
    at = _after_space(text, start + 1)
    while text[at] == '"':
        name, at = _VALUE.raw_decode(text, at)
        begin = _after_space(text, _after_space(text, at) + 1)
        _, end = _VALUE.raw_decode(text, begin)
        yield name, begin, end
        at = _after_space(text, end)
        if text[at] != ",":
            return
        at = _after_space(text, at + 1)


def elements(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where the elements of an array that begins at ``start`` begin and end."""
    at = _after_space(text, start + 1)
    while text[at] != "]":
        _, end = _VALUE.raw_decode(text, at)
        yield at, end
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
