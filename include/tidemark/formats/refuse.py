"""Reasons to refuse a record: null when it is good, so that they compose by `coalesce`."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.once import once
from tidemark.model.event import Reason

CORRUPT = "_corrupt_record"
OBJECT, _END = "object", "end"
MAX_NESTING, MAX_DIGITS = 64, 1000

_NO_LIMIT = str(2**31 - 1)
_LENIENT = {
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "true",
    "maxNumLen": _NO_LIMIT,
    "maxNestingDepth": _NO_LIMIT,
}
# The frame is one level more.
_LIMITS: Mapping[Reason, Mapping[str, str]] = {
    Reason.JSON_NUMBER: {"allowNonNumericNumbers": "false", "maxNumLen": str(MAX_DIGITS)},
    Reason.JSON_DEPTH: {"maxNestingDepth": str(MAX_NESTING + 1)},
}
_STRICT = _LENIENT | {name: most for limit in _LIMITS.values() for name, most in limit.items()}
# Half of a pair of \u escapes without the other half stands for no character.
_LONE_SURROGATE = (
    r"(?<!\\)(?:\\\\)*(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F])"
)


def because(reason: Reason, violated: Column) -> Column:
    """``reason`` where ``violated`` is true, null elsewhere."""
    return F.when(violated, F.lit(reason.value))


def first_reason(*reasons: Column) -> Column:
    """The first reason that applies, in the given order; null when the record is good."""
    return F.coalesce(*reasons)


def read_object(text: Column, fields: str) -> Column:
    """``fields``, a `from_json` schema, of a text that is one JSON object (MSG-4).

    They are in OBJECT; beside it stands what `unparsed` looks at.
    """
    return _framed(text, f"{OBJECT} STRUCT<{fields}>, ", _STRICT)


def _framed(text: Column, fields: str, options: Mapping[str, str]) -> Column:
    """``text`` read inside an object, behind which a last field shows that all of it was read.

    Spark's reader stops where the first value ends, and takes what follows for nothing.
    """
    framed = F.concat(F.lit(f'{{"{OBJECT}":'), text, F.lit(f',"{_END}":1}}'))
    return F.from_json(framed, f"{fields}{_END} INT, {CORRUPT} STRING", dict(options))


def _fails(read: Column) -> Column:
    return read[_END].isNull() | read[CORRUPT].isNotNull()


def unparsed(text: Column, read: Column) -> Column:
    """The value is blank, no JSON object with the fields that it should have, or no UTF-8.

    In this order, as only of JSON it can be said what is wrong in it (MSG-3, MSG-4, POISON-1).
    read: `read_object` of ``text``.
    """
    return first_reason(
        because(Reason.EMPTY_VALUE, F.trim(text) == ""),
        F.when(_fails(read) | read[OBJECT].isNull(), _flaw(text)),
        not_utf8(text),
    )


def _flaw(text: Column) -> Column:
    """What is wrong with a text that could not be read as an object."""

    def fails(limit: Mapping[str, str]) -> Column:
        return once(_framed(text, "", _LENIENT | dict(limit)), _fails)

    return first_reason(
        because(Reason.JSON_INVALID, fails({})),
        because(Reason.JSON_NOT_OBJECT, ~text.rlike(r"^\s*\{")),
        *(because(reason, fails(limit)) for reason, limit in _LIMITS.items()),
        F.lit(Reason.ENVELOPE_INVALID.value),
    )


def not_utf8(text: Column) -> Column:
    """Bytes that stand for no character, and would be read as another one."""
    return because(Reason.UTF8_INVALID, ~F.is_valid_utf8(text))


def half_pair(text: Column) -> Column:
    """An escape that stands for no character; costs more than all else, so it is for keys alone."""
    return because(Reason.UTF8_INVALID, text.contains("\\u") & text.rlike(_LONE_SURROGATE))
