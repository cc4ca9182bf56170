from __future__ import annotations

from typing import Any

import pytest

from tidemark.errors import SchemaUnknownError
from tidemark.model.columns import SourceColumn
from tidemark.model.modes import BigintUnsignedMode, BinaryMode, ConnectorModes, DecimalMode
from tidemark.schema.connect_types import connect_columns, refine
from tidemark.schema.source_types import debezium_column

DEFAULTS = ConnectorModes()
CONNECT = "org.apache.kafka.connect.data"
DEBEZIUM = "io.debezium"


def connect(kind: str, name: str | None = None, **parameters: str) -> SourceColumn:
    field: dict[str, Any] = {"field": "c", "type": kind, "optional": True}
    if name is not None:
        field["name"] = name
    dotted = {key.replace("__", "."): value for key, value in parameters.items()}
    (column,) = connect_columns([{**field, "parameters": dotted}], DEFAULTS)
    return column


def form(column: SourceColumn) -> tuple[str, str, int]:
    return column.iceberg, column.encoding.value, column.digits


@pytest.mark.parametrize(
    ("kind", "name", "iceberg", "encoding"),
    [
        ("int8", None, "int", "integer"),
        ("int16", None, "int", "integer"),
        ("int32", None, "int", "integer"),
        ("int64", None, "bigint", "integer"),
        ("float", None, "float", "float"),
        ("double", None, "double", "double"),
        ("boolean", None, "boolean", "boolean"),
        ("string", None, "string", "text"),
        ("bytes", None, "binary", "base64"),
        ("int32", f"{CONNECT}.Date", "date", "days"),
        ("int32", f"{CONNECT}.Time", "string", "time-millis"),
        ("int64", f"{CONNECT}.Timestamp", "timestamp_ntz", "timestamp-millis"),
        ("int32", f"{DEBEZIUM}.time.Date", "date", "days"),
        ("int32", f"{DEBEZIUM}.time.Time", "string", "time-millis"),
        ("int64", f"{DEBEZIUM}.time.MicroTime", "string", "time-micros"),
        ("int64", f"{DEBEZIUM}.time.NanoTime", "string", "time-nanos"),
        ("int64", f"{DEBEZIUM}.time.Timestamp", "timestamp_ntz", "timestamp-millis"),
        ("int64", f"{DEBEZIUM}.time.MicroTimestamp", "timestamp_ntz", "timestamp-micros"),
        ("int64", f"{DEBEZIUM}.time.NanoTimestamp", "timestamp_ntz", "timestamp-nanos"),
        ("string", f"{DEBEZIUM}.time.ZonedTimestamp", "timestamp", "zoned-text"),
        ("string", f"{DEBEZIUM}.time.IsoDate", "date", "date-text"),
        ("string", f"{DEBEZIUM}.time.IsoTime", "string", "time-text"),
        ("string", f"{DEBEZIUM}.time.IsoTimestamp", "timestamp_ntz", "timestamp-text"),
        ("int32", f"{DEBEZIUM}.time.Year", "int", "integer"),
        ("string", f"{DEBEZIUM}.data.Enum", "string", "text"),
        ("string", f"{DEBEZIUM}.data.EnumSet", "string", "text"),
        ("string", f"{DEBEZIUM}.data.Json", "string", "text"),
        ("string", f"{DEBEZIUM}.data.Uuid", "string", "text"),
        ("string", f"{DEBEZIUM}.data.Tsvector", "string", "text"),
        ("string", f"{DEBEZIUM}.time.Interval", "string", "text"),
        ("int64", f"{DEBEZIUM}.time.MicroDuration", "bigint", "integer"),
        ("struct", f"{DEBEZIUM}.data.VariableScaleDecimal", "string", "decimal-scaled"),
        ("struct", f"{DEBEZIUM}.data.geometry.Geometry", "struct<srid:int,wkb:binary>", "geometry"),
        ("struct", f"{DEBEZIUM}.data.geometry.Point", "struct<srid:int,wkb:binary>", "geometry"),
    ],
)
def test_connect(kind: str, name: str | None, iceberg: str, encoding: str) -> None:
    assert form(connect(kind, name)) == (iceberg, encoding, 0)


def test_connect_types_with_parameters() -> None:
    decimal = f"{CONNECT}.Decimal"
    precise = connect("bytes", decimal, scale="2", connect__decimal__precision="8")
    assert form(precise) == ("decimal(8,2)", "decimal-base64", 2)
    assert form(connect("bytes", decimal, scale="0")) == ("decimal(38,0)", "decimal-base64", 0)
    wide = connect("bytes", decimal, scale="3", connect__decimal__precision="40")
    assert form(wide) == ("string", "decimal-base64", 3)
    assert form(connect("bytes", f"{DEBEZIUM}.data.Bits", length="12")) == ("binary", "bits", 12)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("struct", None),
        ("struct", f"{DEBEZIUM}.data.geometry.Circle"),
        ("int64", f"{DEBEZIUM}.time.NanoDuration"),
        ("int32", "com.example.Money"),
    ],
)
def test_a_name_outside_the_table_is_refused(kind: str, name: str | None) -> None:
    with pytest.raises(SchemaUnknownError, match=f"column c has the type '{name or kind}'"):
        connect(kind, name)


DECIMAL = {"type": "bytes", "name": f"{CONNECT}.Decimal"}
BITS = {"type": "bytes", "name": f"{DEBEZIUM}.data.Bits"}


@pytest.mark.parametrize(
    "field",
    [
        pytest.param({}, id="no type"),
        pytest.param({"type": ["string"]}, id="a type that is no text"),
        pytest.param({"type": "string", "name": {}}, id="a name that is no text"),
        pytest.param({"type": "string", "parameters": [1]}, id="parameters without names"),
        pytest.param({"type": "string", "parameters": {"allowed": 1}}, id="one that is no text"),
        pytest.param(DECIMAL, id="a decimal without scale"),
        pytest.param({**DECIMAL, "parameters": {"scale": "-1"}}, id="a negative scale"),
        pytest.param({**BITS, "parameters": {"length": "9" * 5000}}, id="bits without end"),
        pytest.param({"type": "array"}, id="an array of nothing"),
        pytest.param({"type": "array", "items": {"type": 7}}, id="an array of no type"),
        pytest.param({"type": "map", "keys": {"type": "string"}}, id="a map without values"),
    ],
)
def test_a_field_of_another_shape_is_refused(field: dict[str, Any]) -> None:
    """MSG-16"""
    with pytest.raises(SchemaUnknownError, match="column c has the type"):
        connect_columns([{**field, "field": "c"}], DEFAULTS)


def test_a_propagated_source_type_that_nobody_knows_refines_nothing() -> None:
    """SCHEMA-1: the field is readable without it."""
    propagated = {
        "__debezium.source.column.type": "HOLOGRAM",
        "__debezium.source.column.length": "3",
    }
    field = {"field": "c", "type": "string", "parameters": propagated}
    assert [form(column) for column in connect_columns([field], DEFAULTS)] == [
        ("string", "text", 0)
    ]


def test_a_propagated_source_type_refines_its_field() -> None:
    field: dict[str, Any] = {
        "field": "id",
        "type": "int64",
        "parameters": {"__debezium.source.column.type": "BIGINT UNSIGNED"},
    }
    (column,) = connect_columns([field], DEFAULTS)
    assert form(column) == ("decimal(20,0)", "unsigned-as-signed", 0)
    field["parameters"] = {
        "__debezium.source.column.type": "TIME",
        "__debezium.source.column.length": "3",
    }
    field["name"] = f"{DEBEZIUM}.time.MicroTime"
    (column,) = connect_columns([field], DEFAULTS)
    assert form(column) == ("string", "time-micros", 3)


def test_arrays_and_maps() -> None:
    texts = {"type": "string", "optional": True}
    numbers = {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "2"}}
    fields = [
        {"field": "tags", "type": "array", "items": texts},
        {"field": "sums", "type": "array", "items": numbers},
        {"field": "grid", "type": "array", "items": {"type": "array", "items": texts}},
        {"field": "facts", "type": "map", "keys": texts, "values": texts},
    ]
    assert [form(column) for column in connect_columns(fields, DEFAULTS)] == [
        ("array<string>", "text", 0),
        ("array<decimal(38,2)>", "decimal-base64", 2),
        ("array<array<string>>", "text", 0),
        ("map<string,string>", "map", 0),
    ]
    with pytest.raises(SchemaUnknownError):
        connect_columns([{**fields[3], "keys": {"type": "int32"}}], DEFAULTS)


def test_vectors() -> None:
    """MySQL's and pgvector's; a sparse one has places and values."""
    floats, doubles = {"type": "float", "optional": False}, {"type": "double", "optional": False}
    places = {"type": "map", "keys": {"type": "int16"}, "values": doubles, "field": "vector"}
    sizes = {"type": "int16", "field": "dimensions"}
    vectors: list[dict[str, Any]] = [
        {"type": "array", "items": floats, "name": f"{DEBEZIUM}.data.FloatVector"},
        {"type": "array", "items": doubles, "name": f"{DEBEZIUM}.data.DoubleVector"},
        {
            "type": "struct",
            "fields": [sizes, places],
            "name": f"{DEBEZIUM}.data.SparseDoubleVector",
        },
    ]
    columns = connect_columns([{"field": "v", **vector} for vector in vectors], DEFAULTS)
    assert [form(column) for column in columns] == [
        ("array<float>", "float", 0),
        ("array<double>", "double", 0),
        ("string", "text", 0),
    ]


PRECISE_UNSIGNED = ConnectorModes(bigint_unsigned=BigintUnsignedMode.PRECISE)


@pytest.mark.parametrize(
    ("record", "declared", "modes", "expected"),
    [
        pytest.param(
            *(connect("int64"), "bigint unsigned", DEFAULTS),
            ("decimal(20,0)", "unsigned-as-signed", 0),
            id="unsigned as signed, as declared",
        ),
        pytest.param(
            *(connect("int64"), "bigint unsigned", PRECISE_UNSIGNED),
            ("decimal(20,0)", "unsigned-as-signed", 0),
            id="the record knows the mode better",
        ),
        pytest.param(
            *(connect("bytes", f"{CONNECT}.Decimal", scale="0"), "bigint unsigned", DEFAULTS),
            ("decimal(20,0)", "decimal-base64", 0),
            id="unsigned sent precisely",
        ),
        pytest.param(
            *(connect("bytes", f"{CONNECT}.Decimal", scale="2"), "decimal(12,2)", DEFAULTS),
            ("decimal(12,2)", "decimal-base64", 2),
            id="precision from the declaration",
        ),
        pytest.param(
            *(connect("bytes", f"{CONNECT}.Decimal", scale="3"), "decimal(12,2)", DEFAULTS),
            ("decimal(38,3)", "decimal-base64", 3),
            id="another scale belongs to another version",
        ),
        pytest.param(
            *(connect("double"), "decimal(12,2)", ConnectorModes(decimal=DecimalMode.DOUBLE)),
            ("decimal(12,2)", "decimal-text", 2),
            id="decimal sent as double",
        ),
        pytest.param(
            *(connect("string"), "decimal(12,2)", ConnectorModes(decimal=DecimalMode.STRING)),
            ("decimal(12,2)", "decimal-text", 2),
            id="decimal sent as text",
        ),
        pytest.param(
            *(connect("double"), "float", DEFAULTS),
            ("float", "float", 0),
            id="float sent as double",
        ),
        pytest.param(
            *(connect("float"), "double", DEFAULTS), ("double", "double", 0), id="double as float"
        ),
        pytest.param(
            *(connect("boolean"), "tinyint(1)", DEFAULTS),
            ("int", "integer", 0),
            id="boolean is tinyint",
        ),
        pytest.param(
            *(connect("int16"), "tinyint(1)", DEFAULTS),
            ("int", "integer", 0),
            id="tinyint as int16",
        ),
        pytest.param(
            *(connect("boolean"), "bit(1)", DEFAULTS), ("boolean", "boolean", 1), id="bit"
        ),
        pytest.param(
            *(connect("string"), "blob", ConnectorModes(binary=BinaryMode.HEX)),
            ("binary", "hex", 0),
            id="bytes sent as hexadecimal text",
        ),
        pytest.param(
            *(connect("int64", f"{DEBEZIUM}.time.MicroTime"), "time(3)", DEFAULTS),
            ("string", "time-micros", 3),
            id="digits of a time",
        ),
        pytest.param(
            *(connect("int64", f"{DEBEZIUM}.time.Timestamp"), "datetime(6)", DEFAULTS),
            ("timestamp_ntz", "timestamp-millis", 0),
            id="the record's unit",
        ),
        pytest.param(
            *(connect("int32"), "int unsigned", DEFAULTS),
            ("bigint", "integer", 0),
            id="wider at source",
        ),
        pytest.param(
            *(connect("string"), "int", DEFAULTS), ("string", "text", 0), id="unrelated: the record"
        ),
    ],
)
def test_refine(
    record: SourceColumn,
    declared: str,
    modes: ConnectorModes,
    expected: tuple[str, str, int],
) -> None:
    assert form(refine(record, debezium_column("c", declared, modes))) == expected
