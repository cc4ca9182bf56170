"""Whether a column of PostgreSQL keeps every value when it gets another type (SCHEMA-16).

Without USING a value that the new type does not hold is refused, or it is rounded, padded or cut,
and no event tells. So a change is followed only where none of it can have happened to any row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidemark.schema.postgres_types import PostgresType, parse_postgres_type

_WHOLE = ("smallint", "integer", "bigint")
_TEXTS = ("text", "character varying", "citext")
_EXACT = {
    *(("smallint", "real"), ("smallint", "double precision"), ("integer", "double precision")),
    *(("real", "double precision"), ("date", "timestamp"), ("jsonb", "json")),
}
"""Pairs of types of which the second holds each value of the first as it is."""
_AS_TEXT = (*_WHOLE, *_TEXTS, "numeric", "uuid", "json", "jsonb", '"char"', "name")
"""Types whose values are the text that records have of them."""
_MOST_DIGITS = 6


def keeps_every_value(new: str, old: str) -> bool:
    """Whether no row got another value as its column of the type ``old`` became ``new``.

    Both are as `format_type` writes them. A type that is not known may do anything.

    >>> keeps_every_value("numeric(8,2)", "numeric(10,2)")
    True
    >>> keeps_every_value("numeric(12,1)", "numeric(10,2)")
    False
    """
    if new == old:
        return True
    after, before = parse_postgres_type(new), parse_postgres_type(old)
    if after is None or before is None or after.is_array != before.is_array:
        return False
    if after.schema or before.schema:
        return False
    if after.base == before.base:
        same = _SAME.get(after.base)
        return same is not None and same(after, before)
    if before.base in _WHOLE and after.base in (*_WHOLE, "numeric"):
        return _scale(after) >= 0
    if before.base == "numeric" and after.base in _WHOLE:
        return bool(before.numbers) and _scale(before) <= 0
    if after.base in _TEXTS:
        return before.base in _AS_TEXT and (not after.numbers or before.base not in _TEXTS)
    return (before.base, after.base) in _EXACT


def _numerics(new: PostgresType, old: PostgresType) -> bool:
    """One that is too large for fewer digits is refused."""
    return not new.numbers or (bool(old.numbers) and _scale(new) >= _scale(old))


def _scale(numeric: PostgresType) -> int:
    return (*numeric.numbers, 0, 0)[1]


def _moments(new: PostgresType, old: PostgresType) -> bool:
    digits, had = ((known.numbers or (_MOST_DIGITS,))[0] for known in (new, old))
    return digits >= had


def _lengths(new: PostgresType, old: PostgresType) -> bool:
    """Spaces at the end are cut off; any other text that is too long is refused."""
    return not new.numbers or (bool(old.numbers) and new.numbers >= old.numbers)


_SAME: Mapping[str, Callable[[PostgresType, PostgresType], bool]] = {
    "numeric": _numerics,
    **dict.fromkeys(("timestamp", "timestamp with time zone"), _moments),
    **dict.fromkeys(("time", "time with time zone"), _moments),
    **dict.fromkeys(("character varying", "bit varying"), _lengths),
}
"""Base of both types -> whether other numbers keep every value."""
