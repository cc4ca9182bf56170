"""The one place where the column types of PostgreSQL are known.

A type decides the Iceberg type of the target column (named as Spark SQL does: ``timestamp_ntz`` is
Iceberg's timestamp, ``timestamp`` its timestamptz), and how Debezium's records hold the value.
Types come as PostgreSQL's `format_type` writes them, such as ``character varying(20)[]``.

The tables are read by a type's base name, or by its variant: ``bit(1)``, ``numeric(?)`` for one
without precision, ``time(6)`` for more than three fraction digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tidemark.errors import NOT_FOLDED, SchemaUnknownError
from tidemark.model.columns import SourceColumn, ValueEncoding
from tidemark.model.modes import ConnectorModes, DecimalMode, HstoreMode, IntervalMode
from tidemark.model.names import column_name
from tidemark.schema.connect_types import connect_columns
from tidemark.schema.source_types import (
    BINARY_ENCODINGS,
    DECIMAL_ENCODINGS,
    GEOMETRY,
    MILLIS_DIGITS,
    TIME_ENCODINGS,
    TypeMapping,
    decimal_type,
)
from tidemark.schema.type_text import MOST_DIGITS

ALIASES: Mapping[str, str] = {
    "bool": "boolean",
    **dict.fromkeys(("int2", "smallserial", "serial2"), "smallint"),
    **dict.fromkeys(("int", "int4", "serial", "serial4"), "integer"),
    **dict.fromkeys(("int8", "bigserial", "serial8"), "bigint"),
    "float4": "real",
    "float8": "double precision",
    "decimal": "numeric",
    "dec": "numeric",
    **dict.fromkeys(("char", "bpchar", "nchar", "national character"), "character"),
    **dict.fromkeys(("varchar", "char varying"), "character varying"),
    "varbit": "bit varying",
    "timestamptz": "timestamp with time zone",
    "timestamp without time zone": "timestamp",
    "timetz": "time with time zone",
    "time without time zone": "time",
}
FLOAT_BITS = 24
MOST_BITS = 83_886_080
"""Of a BIT(n); of a BIT VARYING without a length records tell a larger one."""
MONEY = (19, 2)
BUILT_IN = "pg_catalog"

_RANGES = ("int4", "int8", "num", "ts", "tstz", "date")
_LONG_TEXTS = (
    *("character", "character varying", "text", "citext", "json", "jsonb", "xml"),
    *("ltree", "tsvector"),
)
_SHORT_TEXTS = (
    *('"char"', "name", "enum", "uuid", "inet", "cidr", "macaddr", "macaddr8"),
    *(f"{name}{kind}" for name in _RANGES for kind in ("range", "multirange")),
    "time with time zone",
)
_SHAPES = ("geometry", "geography", "point", "box", "lseg", "path", "polygon")

_ANYHOW: Mapping[str, TypeMapping] = {
    "boolean": ("boolean", ValueEncoding.BOOLEAN),
    **dict.fromkeys(("smallint", "integer"), ("int", ValueEncoding.INTEGER)),
    **dict.fromkeys(("bigint", "oid"), ("bigint", ValueEncoding.INTEGER)),
    "real": ("float", ValueEncoding.FLOAT),
    "double precision": ("double", ValueEncoding.DOUBLE),
    **dict.fromkeys((*_LONG_TEXTS, *_SHORT_TEXTS), ("string", ValueEncoding.TEXT)),
    **dict.fromkeys(_SHAPES, (GEOMETRY, ValueEncoding.GEOMETRY)),
    "timestamp with time zone": ("timestamp", ValueEncoding.ZONED_TEXT),
    **dict.fromkeys(("bit(1)", "bit varying(1)"), ("boolean", ValueEncoding.BOOLEAN)),
    "bit": ("string", ValueEncoding.BITS_TEXT),
    "bit varying": ("string", ValueEncoding.BYTES_TEXT),
}
_UNSIZED_NUMERIC: Mapping[DecimalMode, TypeMapping] = {
    DecimalMode.PRECISE: ("string", ValueEncoding.DECIMAL_SCALED),
    DecimalMode.DOUBLE: ("double", ValueEncoding.DOUBLE),
    DecimalMode.STRING: ("string", ValueEncoding.DECIMAL_TEXT),
}
_INTERVALS: Mapping[IntervalMode, TypeMapping] = {
    IntervalMode.NUMERIC: ("bigint", ValueEncoding.INTEGER),
    IntervalMode.STRING: ("string", ValueEncoding.TEXT),
}
_HSTORES: Mapping[HstoreMode, TypeMapping] = {
    HstoreMode.JSON: ("string", ValueEncoding.TEXT),
    HstoreMode.MAP: ("map<string,string>", ValueEncoding.MAP),
}
_INFINITE = ("date", "timestamp", "timestamp_ntz")
"""Iceberg types of the columns that hold ``infinity`` at the source (TYPE-22)."""
_STORED_APART = (
    *(*_LONG_TEXTS, "numeric", "bytea", "hstore"),
    *("int8range", "numrange", "tsrange", "tstzrange"),
    *(f"{name}multirange" for name in _RANGES),
)
"""Types whose long values an update leaves out when it does not change them (UNAV-2).

A range of 8 byte bounds has 25 bytes, which is more than what PostgreSQL has in place of a value.
"""

_TYPE = re.compile(
    r"\s*+(?P<name>[^()\[\]\s]++(?:\s++[^()\[\]\s]++)*+)\s*+"
    rf"(?:\((?P<parameters>(?:[^()0-9]|[0-9]{{1,{MOST_DIGITS}}}(?![0-9]))*+)\)(?P<rest>[a-z\s]*+))?"
    r"(?P<dimensions>(?:\[\d*\]\s*)*+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PostgresType:
    """A column type; numbers: length, or precision and scale.

    schema: of a type that is not built in, empty where the text names none.
    """

    base: str
    numbers: tuple[int, ...] = ()
    schema: str = ""
    is_array: bool = False

    @property
    def variant(self) -> str:
        """How the mappings name it."""
        if self.base == "numeric" and not self.numbers:
            return "numeric(?)"
        if self.base == "bit" and self.numbers in {(), (1,)}:
            return "bit(1)"
        if self.base == "bit varying" and self.numbers == (1,):
            return "bit varying(1)"
        if self.base in {"time", "timestamp"} and (self.numbers or (6,))[0] > MILLIS_DIGITS:
            return f"{self.base}(6)"
        return self.base


def parse_postgres_type(text: str) -> PostgresType | None:
    """``text`` taken apart; None when it is no type.

    >>> parse_postgres_type("timestamp(3) without time zone[]")
    PostgresType(base='timestamp', numbers=(3,), schema='', is_array=True)
    >>> parse_postgres_type("shop.citext")
    PostgresType(base='citext', numbers=(), schema='shop', is_array=False)
    """
    match = _TYPE.fullmatch(text)
    if match is None:
        return None
    words = f"{match['name']} {match['rest'] or ''}".lower().split()
    is_array = bool(match["dimensions"]) or words[-1] == "array"
    schema, _, base = " ".join(w for w in words if w != "array").rpartition(".")
    if base.startswith("interval "):
        base = "interval"
    numbers = tuple(map(int, re.findall(r"-?\d+", match["parameters"] or "")))
    if base == "float":
        base = "real" if numbers and numbers[0] <= FLOAT_BITS else "double precision"
    if base.startswith("_"):
        base, is_array = base.removeprefix("_"), True
    schema = "" if schema == BUILT_IN else schema
    return PostgresType(ALIASES.get(base, base), numbers, schema, is_array)


def postgres_column(name: str, source_type: str, modes: ConnectorModes) -> SourceColumn:
    """A column as Debezium writes it without a record schema (TYPE-8).

    A type of another schema that has no known name is taken for an enum, whose labels are text.
    """
    column = _known_column(name, source_type, modes)
    if column is None:
        raise SchemaUnknownError(
            f"column {name} is declared as {source_type!r}, which is no type of PostgreSQL that "
            "Tidemark can read",
            state=NOT_FOLDED,
            next_step="declare text for an enum and its base type for a domain; what cannot be "
            "read, exclude at the source",
        )
    return column


def postgres_record_columns(
    fields: Sequence[Mapping[str, Any]], modes: ConnectorModes
) -> tuple[SourceColumn, ...]:
    """`connect_columns` of PostgreSQL.

    The schema does not tell BIT from BIT VARYING, so both have the digits of their length, if there
    is one; only the source's own type does (TYPE-23).
    """
    return tuple(map(_of_record, connect_columns(fields, modes, _known_column)))


def _known_column(name: str, source_type: str, modes: ConnectorModes) -> SourceColumn | None:
    parsed = parse_postgres_type(source_type)
    mapping = _mapping(parsed, modes) if parsed else None
    if parsed is None or mapping is None:
        return None
    iceberg, encoding = mapping
    return SourceColumn(
        column_name(name),
        f"array<{iceberg}>" if parsed.is_array else iceberg,
        encoding,
        source_type,
        digits=_digits(parsed),
        has_infinity=iceberg in _INFINITE,
        may_be_unavailable=parsed.is_array or bool(parsed.schema) or parsed.base in _STORED_APART,
    )


def _mapping(known: PostgresType, modes: ConnectorModes) -> TypeMapping | None:
    if known.base == "money" or (known.base == "numeric" and known.numbers):
        precision, scale = (*(known.numbers or MONEY), 0)[:2]
        sized = decimal_type(max(precision, scale), scale)
        return (sized, DECIMAL_ENCODINGS[modes.decimal]) if scale >= 0 else None
    mappings = types_by_modes(modes)
    mapping = mappings.get(known.variant) or mappings.get(known.base)
    return ("string", ValueEncoding.TEXT) if mapping is None and known.schema else mapping


@cache
def types_by_modes(modes: ConnectorModes) -> Mapping[str, TypeMapping]:
    """Type -> mapping of what Debezium's PostgreSQL connector writes; sized decimals are apart."""
    times = TIME_ENCODINGS[modes.time]
    stamps = {
        variant.replace("datetime", "timestamp"): ("timestamp_ntz", encoding)
        for variant, encoding in times.items()
        if variant.startswith("datetime")
    }
    clocks = {
        variant: ("string", encoding)
        for variant, encoding in times.items()
        if variant.startswith("time")
    }
    return {
        **_ANYHOW,
        **stamps,
        **clocks,
        "date": ("date", times["date"]),
        "numeric(?)": _UNSIZED_NUMERIC[modes.decimal],
        "bytea": ("binary", BINARY_ENCODINGS[modes.binary]),
        "interval": _INTERVALS[modes.interval],
        "hstore": _HSTORES[modes.hstore],
    }


def _digits(known: PostgresType) -> int:
    """Scale or bits. Fraction digits are shown as PostgreSQL does: those that are not zero."""
    if known.base == "money":
        return MONEY[-1]
    if known.base == "numeric":
        return (*known.numbers, 0, 0)[1]
    return known.numbers[0] if known.base in {"bit", "bit varying"} and known.numbers else 0


def _of_record(column: SourceColumn) -> SourceColumn:
    inner = column.element or column
    if inner.encoding is ValueEncoding.BITS:
        encoding = (
            ValueEncoding.BITS_TEXT if inner.digits <= MOST_BITS else ValueEncoding.BYTES_TEXT
        )
        inner = replace(inner, iceberg="string", encoding=encoding)
    known = replace(inner, has_infinity=inner.iceberg in _INFINITE)
    return known if column.element is None else replace(known, iceberg=f"array<{inner.iceberg}>")
