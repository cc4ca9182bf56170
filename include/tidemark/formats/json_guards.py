"""What a fast reader of JSON takes and Spark's does not: looked for in the bytes beforehand.

msgspec refuses all that is no JSON, also in parts that it skips. It takes bytes that are no UTF-8
there, any depth, numbers of any length, and names that stand twice.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tidemark.formats.refuse import MAX_DIGITS, MAX_NESTING

_NUMBER = b"0123456789+-.eE"
_NO_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[^"{}\[\]]+', re.DOTALL)


def is_utf8(text: bytes) -> bool:
    """Whether all of ``text`` stands for characters."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_deep(text: bytes, most: int = MAX_NESTING) -> bool:
    """Whether ``text``, which is JSON, may be nested deeper than ``most``."""
    if text.count(b"{") + text.count(b"[") <= most:
        return False
    depth = deepest = 0
    for bracket in _NO_BRACKET.sub(b"", text):
        depth += 1 if bracket in b"{[" else -1
        deepest = max(deepest, depth)
    return deepest > most


def has_long_number(text: bytes) -> bool:
    """Whether a number of MAX_DIGITS characters may stand in ``text``, in a string or outside.

    One of that length covers a place that is looked at, of which there is one in each MAX_DIGITS.
    """
    for place in range(MAX_DIGITS - 1, len(text), MAX_DIGITS):
        if text[place] in _NUMBER:
            before, behind = text[place - MAX_DIGITS + 1 : place], text[place : place + MAX_DIGITS]
            digits = len(before) - len(before.rstrip(_NUMBER))
            if digits + len(behind) - len(behind.lstrip(_NUMBER)) >= MAX_DIGITS:
                return True
    return False


def has_twice(text: bytes) -> bool:
    """Whether a name may stand twice in an object of ``text``; true where it is no JSON."""
    try:
        read_once(text)
    except (ValueError, RecursionError):
        return True
    return False


def read_once(text: bytes) -> object:
    """What ``text`` holds; ValueError where a name stands twice in an object, or it is no JSON."""
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("a name stands twice")
    return names
