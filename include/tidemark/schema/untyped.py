"""Columns of records that say nothing of types: what their values look like (SCHEMA-1).

A number may be a date and a text may be bytes, so what is found here is a guess, made once: it is
shown before the first cut, and stands from then on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidemark.model.json_kind import JsonKind
from tidemark.spec import SourceFormat

_POSTGRES: Mapping[JsonKind, str] = {
    JsonKind.BOOLEAN: "boolean",
    JsonKind.INTEGER: "bigint",
    JsonKind.NUMBER: "double precision",
    JsonKind.TEXT: "text",
}
_MYSQL: Mapping[JsonKind, str] = {
    JsonKind.BOOLEAN: "bit(1)",
    JsonKind.INTEGER: "bigint",
    JsonKind.NUMBER: "double",
    JsonKind.TEXT: "longtext",
}
_NUMBERS = frozenset({JsonKind.INTEGER, JsonKind.NUMBER})


def type_of_kinds(kinds: Collection[JsonKind], source_format: SourceFormat) -> str | None:
    """The source's type for a column with values of ``kinds``; None where no one type will do.

    >>> type_of_kinds({JsonKind.NULL, JsonKind.INTEGER}, SourceFormat.DEBEZIUM_POSTGRES)
    'bigint'
    """
    names = _POSTGRES if source_format is SourceFormat.DEBEZIUM_POSTGRES else _MYSQL
    value_kinds = frozenset(kinds) - {JsonKind.NULL}
    if value_kinds == _NUMBERS:
        return names[JsonKind.NUMBER]
    return names.get(next(iter(value_kinds))) if len(value_kinds) == 1 else None


def text_type(source_format: SourceFormat) -> str:
    """The source's type for texts of any length."""
    return type_of_kinds({JsonKind.TEXT}, source_format) or ""
