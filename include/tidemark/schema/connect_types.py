"""Columns from the Connect schema that a wrapped record carries (semantics 9.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidemark.errors import NOT_FOLDED, TableStoppedError
from tidemark.model.columns import SourceColumn, ValueEncoding
from tidemark.model.modes import BinaryMode, ConnectorModes, DecimalMode
from tidemark.model.names import column_name
from tidemark.schema.changes import is_widening
from tidemark.schema.source_types import (
    BINARY_ENCODINGS,
    GEOMETRY,
    MAX_PRECISION,
    UNSIGNED_BIGINT,
    TypeMapping,
    decimal_type,
    known_debezium_column,
    unreadable,
)

_CONNECT = "org.apache.kafka.connect.data."
_DATA = "io.debezium.data."
_TIME = "io.debezium.time."

PLAIN_TYPES: Mapping[str, TypeMapping] = {
    **dict.fromkeys(("int8", "int16", "int32"), ("int", ValueEncoding.INTEGER)),
    "int64": ("bigint", ValueEncoding.INTEGER),
    "float": ("float", ValueEncoding.FLOAT),
    "double": ("double", ValueEncoding.DOUBLE),
    "boolean": ("boolean", ValueEncoding.BOOLEAN),
    "string": ("string", ValueEncoding.TEXT),
    "bytes": ("binary", ValueEncoding.BASE64),
}
SEMANTIC_TYPES: Mapping[str, TypeMapping] = {
    f"{_CONNECT}Date": ("date", ValueEncoding.DAYS),
    f"{_CONNECT}Time": ("string", ValueEncoding.TIME_MILLIS),
    f"{_CONNECT}Timestamp": ("timestamp_ntz", ValueEncoding.TIMESTAMP_MILLIS),
    f"{_TIME}Date": ("date", ValueEncoding.DAYS),
    f"{_TIME}Time": ("string", ValueEncoding.TIME_MILLIS),
    f"{_TIME}MicroTime": ("string", ValueEncoding.TIME_MICROS),
    f"{_TIME}NanoTime": ("string", ValueEncoding.TIME_NANOS),
    f"{_TIME}Timestamp": ("timestamp_ntz", ValueEncoding.TIMESTAMP_MILLIS),
    f"{_TIME}MicroTimestamp": ("timestamp_ntz", ValueEncoding.TIMESTAMP_MICROS),
    f"{_TIME}NanoTimestamp": ("timestamp_ntz", ValueEncoding.TIMESTAMP_NANOS),
    f"{_TIME}ZonedTimestamp": ("timestamp", ValueEncoding.ZONED_TEXT),
    f"{_TIME}ZonedTime": ("string", ValueEncoding.TEXT),
    f"{_TIME}IsoDate": ("date", ValueEncoding.DATE_TEXT),
    f"{_TIME}IsoTime": ("string", ValueEncoding.TIME_TEXT),
    f"{_TIME}IsoTimestamp": ("timestamp_ntz", ValueEncoding.TIMESTAMP_TEXT),
    f"{_TIME}Year": ("int", ValueEncoding.INTEGER),
    **dict.fromkeys(
        (
            *(f"{_DATA}{name}" for name in ("Enum", "EnumSet", "Json", "Xml", "Uuid", "Ltree")),
            *(f"{_DATA}Tsvector", f"{_TIME}Interval"),
            f"{_DATA}SparseDoubleVector",  # A struct, whose text is JSON.
        ),
        ("string", ValueEncoding.TEXT),
    ),
    f"{_DATA}VariableScaleDecimal": ("string", ValueEncoding.DECIMAL_SCALED),
    f"{_TIME}MicroDuration": ("bigint", ValueEncoding.INTEGER),
    # A Point's x and y say nothing that its wkb does not.
    **dict.fromkeys(
        (f"{_DATA}geometry.{name}" for name in ("Geometry", "Geography", "Point")),
        (GEOMETRY, ValueEncoding.GEOMETRY),
    ),
}

_DECIMAL = f"{_CONNECT}Decimal"
_PRECISION = "connect.decimal.precision"
_TRUNCATED = "truncateLength"
_NO_PRECISION = "64"
"""What Avro's converter writes into the schema of a decimal that has none."""
_UNSIZED = (*PLAIN_TYPES, _DECIMAL)
"""What a column is called where its record does not tell how large its values may be."""

_NUMBER = re.compile(r"[0-9]{1,10}")
_SIZES: Mapping[str, Sequence[tuple[str, str]]] = {
    _DECIMAL: (("scale", ""), (_PRECISION, "0")),
    f"{_DATA}Bits": (("length", ""),),
}
"""Parameters that have to be numbers, and what stands for one that may be missing."""

_OPEN_TYPES = (
    *("string", "bytes"),
    *(f"{_DATA}{name}" for name in ("Json", "Xml", "Ltree", "Tsvector")),
)
"""Types whose long values an update leaves out when it does not change them (UNAV-2)."""
_DECIMALS = (
    ValueEncoding.DECIMAL_BASE64,
    ValueEncoding.DECIMAL_TEXT,
    ValueEncoding.UNSIGNED_AS_SIGNED,
)
SIZED_ENCODINGS = (ValueEncoding.DECIMAL_BASE64, ValueEncoding.BITS_TEXT)
"""Forms whose values cannot be read without the digits of their column."""
_WRITTEN_DECIMALS = (ValueEncoding.DECIMAL_BASE64, ValueEncoding.DECIMAL_TEXT)
_BINARY = (ValueEncoding.BASE64, ValueEncoding.BASE64_URL, ValueEncoding.HEX)
_DECIMAL_MODES: Mapping[ValueEncoding, DecimalMode] = {
    ValueEncoding.TEXT: DecimalMode.STRING,
    ValueEncoding.FLOAT: DecimalMode.DOUBLE,
    ValueEncoding.DOUBLE: DecimalMode.DOUBLE,
}
"""What may be a decimal in a record -> the mode in which it is."""
_REFINED: Mapping[tuple[ValueEncoding, ValueEncoding], ValueEncoding] = {
    (ValueEncoding.INTEGER, ValueEncoding.UNSIGNED_AS_SIGNED): ValueEncoding.UNSIGNED_AS_SIGNED,
    (ValueEncoding.INTEGER, ValueEncoding.BOOLEAN): ValueEncoding.BOOLEAN,
    (ValueEncoding.BOOLEAN, ValueEncoding.INTEGER): ValueEncoding.INTEGER,
    (ValueEncoding.DOUBLE, ValueEncoding.FLOAT): ValueEncoding.FLOAT,
    (ValueEncoding.FLOAT, ValueEncoding.DOUBLE): ValueEncoding.DOUBLE,
    **{
        (written, declared): ValueEncoding.DECIMAL_TEXT
        for written in (ValueEncoding.TEXT, ValueEncoding.FLOAT, ValueEncoding.DOUBLE)
        for declared in _DECIMALS
    },
    **{(ValueEncoding.TEXT, encoding): encoding for encoding in _BINARY},
    **{
        (ValueEncoding.DECIMAL_SCALED, encoding): ValueEncoding.DECIMAL_SCALED
        for encoding in _DECIMALS
    },
    **{
        (ValueEncoding.BITS, encoding): encoding
        for encoding in (ValueEncoding.BITS_TEXT, ValueEncoding.BYTES_TEXT)
    },
    (ValueEncoding.BITS_TEXT, ValueEncoding.BYTES_TEXT): ValueEncoding.BYTES_TEXT,
}
"""(Encoding in the record, one that the source's type lets expect): how to read the record."""


SourceTypes = Callable[[str, str, ConnectorModes], SourceColumn | None]
"""A column by name, type at the source, and modes; None where the type is not known."""


def connect_columns(
    fields: Sequence[Mapping[str, Any]],
    modes: ConnectorModes,
    source_types: SourceTypes = known_debezium_column,
) -> tuple[SourceColumn, ...]:
    """The columns of a row image, from the ``fields`` of its Connect schema (MSG-16).

    source_types: of the database, for connectors that were told to send the source's own types.
    """
    return tuple(_refined(_as_written(field), field, modes, source_types) for field in fields)


def refine(
    record: SourceColumn, declared: SourceColumn, *, tells_singles: bool = False
) -> SourceColumn:
    """One column seen twice: as its ``record`` is written, and as the source has ``declared`` it.

    The record's schema loses what the source's type knows: that an int64 was unsigned, a decimal's
    precision, float from double (TYPE-5), the digits of a TIME. Where the two do not belong
    together the record's own schema is right, as the other may be older or newer (SCHEMA-4).
    tells_singles: single floats never come as double, so that a double has become one.
    """
    refined = _refined_by(record, declared, tells_singles=tells_singles)
    return record if refined is record else as_sent(refined, record)


def as_sent(column: SourceColumn, record: SourceColumn) -> SourceColumn:
    """``column`` with what the connector does to its texts, which records alone tell."""
    return replace(
        column, most_chars=record.most_chars, is_masked_at_source=record.is_masked_at_source
    )


def _refined_by(
    record: SourceColumn, declared: SourceColumn, *, tells_singles: bool
) -> SourceColumn:
    if (record.element is None) != (declared.element is None):
        return record
    if tells_singles and (record.encoding, declared.encoding) == (
        ValueEncoding.DOUBLE,
        ValueEncoding.FLOAT,
    ):
        return record
    if record.encoding in _WRITTEN_DECIMALS and declared.encoding in _DECIMALS:
        same = record.digits == declared.digits
        return replace(declared, encoding=record.encoding) if same else record
    if (
        record.encoding is ValueEncoding.INTEGER
        and declared.encoding is ValueEncoding.DECIMAL_BASE64
    ):
        wide = declared.iceberg == UNSIGNED_BIGINT and "unsigned" in declared.source_type
        return replace(declared, encoding=ValueEncoding.UNSIGNED_AS_SIGNED) if wide else record
    if (record.encoding, declared.encoding) in _REFINED:
        return replace(declared, encoding=_REFINED[record.encoding, declared.encoding])
    if record.iceberg == declared.iceberg or is_widening(record.iceberg, declared.iceberg):
        digits = record.digits if record.encoding in SIZED_ENCODINGS else declared.digits
        return replace(declared, encoding=record.encoding, digits=digits)
    return record


def refine_known(
    record: SourceColumn,
    known: SourceColumn,
    modes: ConnectorModes | None,
    *,
    tells_singles: bool = False,
) -> SourceColumn:
    """`refine` by what is ``known`` of a column that may have grown since (SCHEMA-13).

    Where the record tells its own size, what holds more is right. modes: of a source whose records
    alone tell types, so that another one may be that of a changed column: it is the known one only
    where the connector is told to write it so (SCHEMA-16); None where statements tell types.
    """
    if modes is not None:
        if not _is_written_so(record, known, modes):
            return record
        if known.encoding in _BINARY:
            known = replace(known, encoding=BINARY_ENCODINGS[modes.binary])
    refined = refine(record, known, tells_singles=tells_singles)
    has_size = record.source_type not in _UNSIZED
    return record if has_size and _holds_more(record, refined) else refined


def other_mode(record: SourceColumn, known: SourceColumn) -> str | None:
    """The field of ``source.modes`` on which it depends whether a record's column is the known."""
    if record.encoding is ValueEncoding.TEXT and known.encoding in _BINARY:
        return "binary"
    is_decimal = record.encoding in _DECIMAL_MODES and known.encoding in _DECIMALS
    return "decimal" if is_decimal else None


def in_binary_mode(
    record: SourceColumn, refined: SourceColumn, modes: ConnectorModes
) -> SourceColumn:
    """``refined``, whose bytes a ``record`` may hold as text, in the alphabet that modes tell.

    Nothing in a text shows the alphabet. `TableStoppedError` where the modes are those of a
    connector that writes bytes as bytes, so that they are not those of this one.
    """
    if record.encoding is not ValueEncoding.TEXT or refined.encoding not in _BINARY:
        return refined
    if modes.binary is BinaryMode.BYTES:
        raise TableStoppedError(
            f"column {record.name} is {refined.source_type}, its records hold it as text, and "
            "source.modes.binary is bytes, with which they would hold bytes",
            state=NOT_FOLDED,
            next_step="set source.modes.binary to the connector's binary.handling.mode; if the "
            "column became a text at the source, nothing, if the next run finds the statement",
        )
    return replace(refined, encoding=BINARY_ENCODINGS[modes.binary])


def _is_written_so(record: SourceColumn, known: SourceColumn, modes: ConnectorModes) -> bool:
    """Whether a connector with these modes may write the ``known`` column as the record has it."""
    written, encoding = record.encoding, known.encoding
    match other_mode(record, known):
        case "binary":
            return modes.binary is not BinaryMode.BYTES
        case "decimal":
            return modes.decimal is _DECIMAL_MODES[written]
    if written is ValueEncoding.DECIMAL_SCALED:
        return encoding not in _DECIMALS
    return {written, encoding} != {ValueEncoding.INTEGER, ValueEncoding.BOOLEAN}


def _holds_more(record: SourceColumn, other: SourceColumn) -> bool:
    inner, of_other = record.element or record, other.element or other
    is_text = inner.iceberg == "string" and inner.encoding in _WRITTEN_DECIMALS
    if is_text and of_other.iceberg.startswith("decimal"):
        return True
    return is_widening(other.iceberg, record.iceberg)


def _refined(
    column: SourceColumn, field: Mapping[str, Any], modes: ConnectorModes, types: SourceTypes
) -> SourceColumn:
    source = _source_type(field.get("parameters") or {})
    known = types(column.name, source, modes) if source else None
    return in_binary_mode(column, refine(column, known), modes) if known is not None else column


def _as_written(field: Mapping[str, Any]) -> SourceColumn:
    semantic, parameters = field.get("name"), field.get("parameters") or {}
    name, kind = str(field["field"]), str(field.get("type"))
    if not _is_type(field):
        raise unreadable(name, str(semantic or kind))
    if kind == "array":
        element = _as_written({**field["items"], "field": name})
        return replace(element, iceberg=f"array<{element.iceberg}>", may_be_unavailable=True)
    if kind == "map" and {field["keys"]["type"], field["values"]["type"]} == {"string"}:
        return SourceColumn(
            column_name(name),
            "map<string,string>",
            ValueEncoding.MAP,
            kind,
            may_be_unavailable=True,
        )
    if semantic == _DECIMAL:
        return _decimal(name, parameters)
    if semantic == f"{_DATA}Bits":
        bits = int(parameters["length"])
        return SourceColumn(column_name(name), "binary", ValueEncoding.BITS, semantic, bits)
    mapping = SEMANTIC_TYPES.get(semantic) if semantic else PLAIN_TYPES.get(kind)
    if mapping is None:
        raise unreadable(name, f"{semantic or kind}")
    source_type = semantic or kind
    return SourceColumn(
        *(column_name(name), *mapping, source_type),
        may_be_unavailable=source_type in _OPEN_TYPES,
        most_chars=int(parameters.get(_TRUNCATED, "0")),
        is_masked_at_source=parameters.get("masked") == "true",
    )


def _decimal(name: str, parameters: Mapping[str, str]) -> SourceColumn:
    precision = int(parameters.get(_PRECISION, MAX_PRECISION))
    scale = int(parameters["scale"])
    has_precision = parameters.get(_PRECISION, _NO_PRECISION) != _NO_PRECISION
    source_type = f"{_DECIMAL}({precision},{scale})" if has_precision else _DECIMAL
    iceberg = decimal_type(precision, scale)
    return SourceColumn(
        column_name(name), iceberg, ValueEncoding.DECIMAL_BASE64, source_type, scale
    )


def _is_type(declared: Any) -> bool:
    """Whether ``declared`` describes a type as Connect does, with all that its reading takes."""
    if not isinstance(declared, dict) or not isinstance(declared.get("type"), str):
        return False
    semantic, parameters = declared.get("name"), declared.get("parameters") or {}
    if not isinstance(semantic, str | None) or not isinstance(parameters, dict):
        return False
    if not all(isinstance(text, str) for text in parameters.values()):
        return False
    sizes = (*_SIZES.get(semantic or "", ()), (_TRUNCATED, "0"))
    if not all(_NUMBER.fullmatch(parameters.get(size, default)) for size, default in sizes):
        return False
    inner = {"array": ("items",), "map": ("keys", "values")}.get(declared["type"], ())
    return all(_is_type(declared.get(part)) for part in inner)


def _source_type(parameters: Mapping[str, str]) -> str:
    """The source's own type, where the connector was told to propagate it (SCHEMA-1)."""
    base, length, scale = (
        parameters.get(f"__debezium.source.column.{part}") for part in ("type", "length", "scale")
    )
    sizes = ",".join(size for size in (length, scale) if size)
    return f"{base}({sizes})" if base and sizes else base or ""
