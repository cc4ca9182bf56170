"""The one place where the column types of MySQL, MariaDB and TiDB are known.

A type decides two things: the Iceberg type of the target column (TYPE-1, named as Spark SQL does:
``timestamp_ntz`` is Iceberg's timestamp, ``timestamp`` its timestamptz), and how records hold the
value, which also depends on who wrote them and in which modes.

Both tables below are read by the variant of a type: ``bigint unsigned``, ``bit(1)``, ``time(6)``
for more than three fraction digits, else the base name.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from tidemark.errors import NOT_FOLDED, SchemaUnknownError, TableStoppedError
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.modes import (
    BigintUnsignedMode,
    BinaryMode,
    ConnectorModes,
    DecimalMode,
    FieldNameMode,
    TimeMode,
)
from tidemark.model.names import column_name
from tidemark.schema.type_text import SourceType, parse_parameters, parse_type

TypeMapping = tuple[str, ValueEncoding]
"""Type of the target's column, and how records hold the value."""

MAX_PRECISION = 38
MILLIS_DIGITS = 3
FLOAT_BITS = 24
MOST_MEMBERS = 64
UNSIGNED_BIGINT = "decimal(20,0)"
GEOMETRY = "struct<srid:int,wkb:binary>"

_BINARIES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json")
_MARIADB_TEXTS = ("uuid", "inet4", "inet6")
_GEOMETRIES = (
    *("geometry", "point", "linestring", "polygon", "geometrycollection"),
    *("multipoint", "multilinestring", "multipolygon"),
)
_INTS = ("tinyint", "smallint", "mediumint", "int", "year")

_ANYWHERE: Mapping[str, TypeMapping] = {
    **dict.fromkeys(_INTS, ("int", ValueEncoding.INTEGER)),
    **dict.fromkeys(("int unsigned", "bigint"), ("bigint", ValueEncoding.INTEGER)),
    **dict.fromkeys(_TEXTS, ("string", ValueEncoding.TEXT)),
    "float": ("float", ValueEncoding.FLOAT),
    "double": ("double", ValueEncoding.DOUBLE),
    "bit(1)": ("boolean", ValueEncoding.BOOLEAN),
}
_DEBEZIUM: Mapping[str, TypeMapping] = {
    **_ANYWHERE,
    **dict.fromkeys((*_MARIADB_TEXTS, "enum", "set"), ("string", ValueEncoding.TEXT)),
    **dict.fromkeys(_GEOMETRIES, (GEOMETRY, ValueEncoding.GEOMETRY)),
    "bit": ("binary", ValueEncoding.BITS),
    "timestamp": ("timestamp", ValueEncoding.ZONED_TEXT),
    "vector": ("array<float>", ValueEncoding.FLOAT),
}
CANAL_TYPES: Mapping[str, TypeMapping] = {
    **_ANYWHERE,
    **dict.fromkeys(_BINARIES, ("binary", ValueEncoding.LATIN1)),
    **dict.fromkeys(_GEOMETRIES, (GEOMETRY, ValueEncoding.GEOMETRY_LATIN1)),
    "bigint unsigned": (UNSIGNED_BIGINT, ValueEncoding.DECIMAL_TEXT),
    "bit": ("binary", ValueEncoding.BITS_NUMBER),
    "bit(?)": (UNSIGNED_BIGINT, ValueEncoding.DECIMAL_TEXT),
    "decimal(?)": ("string", ValueEncoding.DECIMAL_TEXT),
    "enum": ("int", ValueEncoding.INTEGER),
    "set": ("bigint", ValueEncoding.INTEGER),
    "set(64)": (UNSIGNED_BIGINT, ValueEncoding.DECIMAL_TEXT),
    "date": ("date", ValueEncoding.DATE_TEXT),
    "datetime": ("timestamp_ntz", ValueEncoding.TIMESTAMP_TEXT),
    "timestamp": ("timestamp_ntz", ValueEncoding.TIMESTAMP_TEXT),
    "time": ("string", ValueEncoding.TIME_TEXT),
    "vector": ("string", ValueEncoding.TEXT),
}

_LABELLED: Mapping[str, ValueEncoding] = {
    "enum": ValueEncoding.ENUM_INDEX,
    "set": ValueEncoding.SET_MASK,
}
"""Canal's ENUM and SET where the record itself tells the labels (TYPE-32)."""

DECIMAL_ENCODINGS: Mapping[DecimalMode, ValueEncoding] = {
    DecimalMode.PRECISE: ValueEncoding.DECIMAL_BASE64,
    DecimalMode.DOUBLE: ValueEncoding.DECIMAL_TEXT,
    DecimalMode.STRING: ValueEncoding.DECIMAL_TEXT,
}
UNSIGNED_ENCODINGS: Mapping[BigintUnsignedMode, ValueEncoding] = {
    BigintUnsignedMode.LONG: ValueEncoding.UNSIGNED_AS_SIGNED,
    BigintUnsignedMode.PRECISE: ValueEncoding.DECIMAL_BASE64,
}
BINARY_ENCODINGS: Mapping[BinaryMode, ValueEncoding] = {
    BinaryMode.BYTES: ValueEncoding.BASE64,
    BinaryMode.BASE64: ValueEncoding.BASE64,
    BinaryMode.BASE64_URL_SAFE: ValueEncoding.BASE64_URL,
    BinaryMode.HEX: ValueEncoding.HEX,
}
_ADAPTIVE: Mapping[str, ValueEncoding] = {
    "date": ValueEncoding.DAYS,
    "datetime": ValueEncoding.TIMESTAMP_MILLIS,
    "datetime(6)": ValueEncoding.TIMESTAMP_MICROS,
    "time": ValueEncoding.TIME_MILLIS,
    "time(6)": ValueEncoding.TIME_MICROS,
}
TIME_ENCODINGS: Mapping[TimeMode, Mapping[str, ValueEncoding]] = {
    TimeMode.ADAPTIVE: _ADAPTIVE,
    TimeMode.ADAPTIVE_MICROSECONDS: {**_ADAPTIVE, "time": ValueEncoding.TIME_MICROS},
    TimeMode.CONNECT: {
        "date": ValueEncoding.DAYS,
        "datetime": ValueEncoding.TIMESTAMP_MILLIS,
        "time": ValueEncoding.TIME_MILLIS,
    },
    TimeMode.ISOSTRING: {
        "date": ValueEncoding.DATE_TEXT,
        "datetime": ValueEncoding.TIMESTAMP_TEXT,
        "time": ValueEncoding.TIME_TEXT,
    },
    TimeMode.MICROSECONDS: {
        "date": ValueEncoding.DAYS,
        "datetime": ValueEncoding.TIMESTAMP_MICROS,
        "time": ValueEncoding.TIME_MICROS,
    },
    TimeMode.NANOSECONDS: {
        "date": ValueEncoding.DAYS,
        "datetime": ValueEncoding.TIMESTAMP_NANOS,
        "time": ValueEncoding.TIME_NANOS,
    },
}
_TEMPORALS = {"date": "date", "datetime": "timestamp_ntz", "time": "string"}


def debezium_column(name: str, source_type: str, modes: ConnectorModes) -> SourceColumn:
    """A MySQL column as Debezium writes it without a record schema (TYPE-8).

    source_type: the type's text in DDL or in a declaration, such as ``decimal(12,2)``.
    """
    parsed = parse_type(source_type)
    if parsed is None:
        raise unreadable(name, source_type)
    column = _column(
        name, _completed(parsed), debezium_types(modes), DECIMAL_ENCODINGS[modes.decimal]
    )
    return replace(column, may_be_unavailable=parsed.base in (*_TEXTS, *_BINARIES, "vector"))


def known_debezium_column(
    name: str, source_type: str, modes: ConnectorModes
) -> SourceColumn | None:
    """`debezium_column`, and None where the type is not known."""
    with suppress(SchemaUnknownError):
        return debezium_column(name, source_type, modes)
    return None


def table_change_columns(
    table: Mapping[str, Any], modes: ConnectorModes, names: FieldNameMode = FieldNameMode.NONE
) -> TableSchema:
    """The state of a table after a schema change: ``tableChanges[].table`` (MSG-22).

    names: what becomes of column names on their way into records; `TableStoppedError` where two
    become the same (MSG-20).
    """
    if not _is_state(table):
        raise SchemaUnknownError(
            "a schema change tells its columns in no way that Debezium does",
            state=NOT_FOLDED,
            next_step="find out who wrote it; fold the table into a new target from a new snapshot "
            "of the source",
        )
    written: dict[str, str] = {}
    columns = []
    for column in table["columns"]:
        name = names.written(column["name"])
        other = written.setdefault(name, column["name"])
        if other != column["name"]:
            raise TableStoppedError(
                f"the columns {other} and {column['name']} are both written as {name} "
                "(COLUMN_COLLISION)",
                state=NOT_FOLDED,
                next_step="rename one of them at the source",
            )
        columns.append(debezium_column(name, _changed_type(column), modes))
    key = (column_name(names.written(name)) for name in table.get("primaryKeyColumnNames") or ())
    return TableSchema(tuple(columns), tuple(key))


def canal_column(
    name: str, mysql_type: str, ddl_type: str | None, zone: str | None
) -> SourceColumn:
    """A column as Canal-JSON writes it (semantics 9.6).

    mysql_type: of the record, which with TiCDC has no length, scale or labels, and with Canal has
    them in either case (TYPE-30); ddl_type: the type's text in the stream's DDL or in a
    declaration, which has lengths and scales (TYPE-31). zone: in which TIMESTAMP is written;
    without one it becomes a timestamp without zone.
    """
    parsed, declared = parse_type(mysql_type), parse_type(ddl_type or "")
    if parsed is None:
        raise unreadable(name, mysql_type)
    labels = parsed.parameters if parsed.has_labels else ()
    if parsed.parameters:
        parsed = _completed(parsed)
    elif declared is not None and declared.base == parsed.base:
        parsed = replace(parsed, parameters=_completed(declared).parameters)
    column = _column(name, parsed, CANAL_TYPES, ValueEncoding.DECIMAL_TEXT)
    if labels:
        return replace(column, iceberg="string", encoding=_LABELLED[parsed.base], labels=labels)
    if parsed.base == "timestamp" and zone is not None:
        return replace(column, iceberg="timestamp", encoding=ValueEncoding.LOCAL_TEXT, zone=zone)
    return column


def unreadable(name: str, type_text: str) -> SchemaUnknownError:
    """The error for a column whose type is not among those that can be read."""
    return SchemaUnknownError(
        f"column {name} has the type {type_text!r}, which Tidemark cannot read",
        state=NOT_FOLDED,
        next_step="exclude the column at the source, or take the table out of the pipeline file",
    )


def decimal_type(precision: int, scale: int) -> str:
    """The Iceberg type of a decimal; text when it has more digits than Iceberg holds (TYPE-4)."""
    return f"decimal({precision},{scale})" if precision <= MAX_PRECISION else "string"


@cache
def debezium_types(modes: ConnectorModes) -> Mapping[str, TypeMapping]:
    """Type -> mapping of what Debezium's MySQL and MariaDB connectors write; decimals are apart."""
    times = TIME_ENCODINGS[modes.time]
    return {
        **_DEBEZIUM,
        **dict.fromkeys(_BINARIES, ("binary", BINARY_ENCODINGS[modes.binary])),
        **{variant: (_TEMPORALS[variant.partition("(")[0]], times[variant]) for variant in times},
        "bigint unsigned": (UNSIGNED_BIGINT, UNSIGNED_ENCODINGS[modes.bigint_unsigned]),
    }


def _column(
    name: str,
    known: SourceType,
    mappings: Mapping[str, TypeMapping],
    decimal_encoding: ValueEncoding,
) -> SourceColumn:
    mapping = mappings.get(_variant(known)) or mappings.get(known.base)
    if known.base == "decimal" and known.numbers:
        mapping = (decimal_type(*known.numbers), decimal_encoding)
    if mapping is None:
        raise unreadable(name, str(known))
    iceberg, encoding = mapping
    return SourceColumn(column_name(name), iceberg, encoding, str(known), digits=_digits(known))


def _variant(known: SourceType) -> str:
    base, numbers = known.base, known.numbers
    if base in {"bit", "decimal"} and not numbers:
        return f"{base}(?)"
    if base == "bit" and numbers == (1,):
        return "bit(1)"
    if base == "set" and len(known.parameters) == MOST_MEMBERS:
        return f"{base}({MOST_MEMBERS})"
    if base in _TEMPORALS and numbers and numbers[0] > MILLIS_DIGITS:
        return f"{base}(6)"
    return f"{base} unsigned" if known.unsigned else base


def _digits(known: SourceType) -> int:
    if known.base not in {"decimal", "bit", "time"} or not known.numbers:
        return 0
    return known.numbers[-1]


def _completed(parsed: SourceType) -> SourceType:
    """``parsed`` with what DDL may leave out; FLOAT of more than 24 bits is a DOUBLE."""
    base, numbers = parsed.base, parsed.numbers
    if base == "decimal":
        precision, scale = (*numbers, 0)[:2] if numbers else (10, 0)
        return replace(parsed, parameters=(str(precision), str(scale)))
    if base == "bit" and not numbers:
        return replace(parsed, parameters=("1",))
    if base == "float" and len(numbers) == 1 and numbers[0] > FLOAT_BITS:
        return SourceType("double", unsigned=parsed.unsigned)
    return parsed


def _is_state(table: Any) -> bool:
    """Whether ``table`` has the shape of ``tableChanges[].table``, as far as it is read."""
    columns = table.get("columns") if isinstance(table, dict) else None
    if not isinstance(columns, list) or not all(map(_is_column_state, columns)):
        return False
    return _are_texts(table.get("primaryKeyColumnNames"))


def _is_column_state(column: Any) -> bool:
    if not isinstance(column, dict) or not isinstance(column.get("name"), str):
        return False
    sizes = (column.get("length"), column.get("scale"))
    type_text = column.get("typeExpression") or column.get("typeName")
    is_sized = all(isinstance(size, int | None) for size in sizes)
    return isinstance(type_text, str) and is_sized and _are_texts(column.get("enumValues"))


def _are_texts(labels: Any) -> bool:
    return labels is None or (isinstance(labels, list) and all(isinstance(t, str) for t in labels))


def _changed_type(column: Mapping[str, Any]) -> str:
    """The type's text; length, scale and labels stand beside the bare type."""
    text = column.get("typeExpression") or column["typeName"]
    sizes = [str(size) for size in (column.get("length"), column.get("scale")) if size is not None]
    parameters = parse_parameters(",".join(column.get("enumValues") or sizes))
    parsed = parse_type(text)
    if parsed is None or not parameters:
        return str(text)
    return str(replace(parsed, parameters=parameters))
