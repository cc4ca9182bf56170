"""Every family of PostgreSQL's types: what the target holds, and how a record writes it."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.errors import SchemaUnknownError
from tidemark.model.columns import SourceColumn
from tidemark.model.modes import (
    BinaryMode,
    ConnectorModes,
    DecimalMode,
    HstoreMode,
    IntervalMode,
    TimeMode,
)
from tidemark.schema.connect_types import refine
from tidemark.schema.postgres_types import (
    parse_postgres_type,
    postgres_column,
    postgres_record_columns,
)

DEFAULTS = ConnectorModes(time=TimeMode.ADAPTIVE)
CONNECT, DATA, TIME = "org.apache.kafka.connect.data", "io.debezium.data", "io.debezium.time"
ENDLESS = 2**31 - 1
GEOMETRY = "struct<srid:int,wkb:binary>"


def form(column: SourceColumn) -> tuple[str, str, int]:
    return column.iceberg, column.encoding.value, column.digits


def declared(source_type: str, modes: ConnectorModes = DEFAULTS) -> tuple[str, str, int]:
    return form(postgres_column("c", source_type, modes))


def recorded(kind: str, name: str | None = None, **parameters: str) -> SourceColumn:
    field: dict[str, Any] = {"field": "c", "type": kind, "name": name}
    dotted = {key.replace("__", "."): value for key, value in parameters.items()}
    (column,) = postgres_record_columns([{**field, "parameters": dotted}], DEFAULTS)
    return column


@pytest.mark.parametrize(
    ("source_types", "iceberg", "encoding"),
    [
        ("boolean bool", "boolean", "boolean"),
        ("smallint int2 integer int int4 serial smallserial", "int", "integer"),
        ("bigint int8 bigserial oid", "bigint", "integer"),
        ("real float4 float(24)", "float", "float"),
        ("float8 float(25) float", "double", "double"),
        ("text citext name varchar bpchar char(3) xml json jsonb uuid", "string", "text"),
        ("inet cidr macaddr macaddr8 ltree tsvector enum timetz timetz(3)", "string", "text"),
        ("int4range int8range numrange tsrange tstzrange daterange", "string", "text"),
        ("int4multirange public.citext shop.mood hstore public.hstore", "string", "text"),
        ("bytea", "binary", "base64"),
        ("date", "date", "days"),
        ("timestamp timestamp(6) timestamp(4)", "timestamp_ntz", "timestamp-micros"),
        ("timestamp(0) timestamp(3)", "timestamp_ntz", "timestamp-millis"),
        ("timestamptz timestamptz(3)", "timestamp", "zoned-text"),
        ("time time(6)", "string", "time-micros"),
        ("time(0) time(3)", "string", "time-millis"),
        ("interval", "bigint", "integer"),
        ("bit bit(1) varbit(1)", "boolean", "boolean"),
        ("geometry(Point,3187) geography point box lseg path polygon", GEOMETRY, "geometry"),
        ("numeric decimal", "string", "decimal-scaled"),
        ("integer[] int4[3] _int4", "array<int>", "integer"),
        ("text[] varchar(20)[] public.mood[][]", "array<string>", "text"),
        ("uuid[]", "array<string>", "text"),
        ("timestamp(3)[]", "array<timestamp_ntz>", "timestamp-millis"),
        ("pg_catalog.int4", "int", "integer"),
    ],
)
def test_declared_types(source_types: str, iceberg: str, encoding: str) -> None:
    """TYPE-1, TYPE-8: as the connector writes them by default."""
    for source_type in source_types.split():
        column = postgres_column("c", source_type, DEFAULTS)
        assert (column.iceberg, column.encoding.value) == (iceberg, encoding), source_type


@pytest.mark.parametrize(
    ("source_type", "wanted"),
    [
        ("double precision", ("double", "double", 0)),
        ("character varying(255)", ("string", "text", 0)),
        ("timestamp(3) without time zone", ("timestamp_ntz", "timestamp-millis", 0)),
        ("timestamp with time zone", ("timestamp", "zoned-text", 0)),
        ("time without time zone", ("string", "time-micros", 0)),
        ("time(3) with time zone", ("string", "text", 0)),
        ("interval day to second(3)", ("bigint", "integer", 0)),
        ("bit(12)", ("string", "bits-text", 12)),
        ("bit varying(20)", ("string", "bytes-text", 20)),
        ("varbit", ("string", "bytes-text", 0)),
        ('"char"', ("string", "text", 0)),
        ("numeric(10,5)", ("decimal(10,5)", "decimal-base64", 5)),
        ("numeric(10)", ("decimal(10,0)", "decimal-base64", 0)),
        ("numeric(3,5)", ("decimal(5,5)", "decimal-base64", 5)),
        ("numeric(40,3)", ("string", "decimal-base64", 3)),
        ("numeric(8,2)[]", ("array<decimal(8,2)>", "decimal-base64", 2)),
        ("money", ("decimal(19,2)", "decimal-base64", 2)),
        ("integer ARRAY", ("array<int>", "integer", 0)),
    ],
)
def test_declared_types_with_blanks_and_sizes(
    source_type: str, wanted: tuple[str, str, int]
) -> None:
    """TYPE-4, TYPE-23."""
    assert declared(source_type) == wanted


@pytest.mark.parametrize(
    ("modes", "source_type", "wanted"),
    [
        (ConnectorModes(decimal=DecimalMode.DOUBLE), "numeric", ("double", "double", 0)),
        (ConnectorModes(decimal=DecimalMode.STRING), "numeric", ("string", "decimal-text", 0)),
        *(
            (ConnectorModes(decimal=mode), source_type, (iceberg, "decimal-text", 2))
            for mode in (DecimalMode.DOUBLE, DecimalMode.STRING)
            for source_type, iceberg in (
                ("numeric(8,2)", "decimal(8,2)"),
                ("money", "decimal(19,2)"),
            )
        ),
        (ConnectorModes(binary=BinaryMode.HEX), "bytea", ("binary", "hex", 0)),
        (ConnectorModes(interval=IntervalMode.STRING), "interval", ("string", "text", 0)),
        (ConnectorModes(hstore=HstoreMode.MAP), "hstore", ("map<string,string>", "map", 0)),
        (ConnectorModes(), "time(3)", ("string", "time-micros", 0)),
        *(
            (ConnectorModes(time=mode), source_type, (iceberg, encoding, 0))
            for mode, date, time, stamp in (
                (TimeMode.CONNECT, "days", "time-millis", "timestamp-millis"),
                (TimeMode.ISOSTRING, "date-text", "time-text", "timestamp-text"),
                (TimeMode.MICROSECONDS, "days", "time-micros", "timestamp-micros"),
                (TimeMode.NANOSECONDS, "days", "time-nanos", "timestamp-nanos"),
            )
            for source_type, iceberg, encoding in (
                ("date", "date", date),
                ("time", "string", time),
                ("timestamp", "timestamp_ntz", stamp),
                ("timestamptz", "timestamp", "zoned-text"),
            )
        ),
    ],
)
def test_modes_of_the_connector(
    modes: ConnectorModes, source_type: str, wanted: tuple[str, str, int]
) -> None:
    """TYPE-8: without a record schema they decide how a value is written."""
    assert declared(source_type, modes) == wanted


@pytest.mark.parametrize(
    "source_type",
    [
        *("", " ", "interger", "mood", "circle", "line", "numeric(5,-2)", "text)", "xid8[]x"),
        *("numeric(9999999999)", f"text{' ' * 100_000}!", f"numeric({'9' * 100_000})"),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_type_is_refused(source_type: str) -> None:
    """POISON-6: at once, however long it is."""
    with pytest.raises(SchemaUnknownError, match="column c is declared as"):
        postgres_column("c", source_type, DEFAULTS)


def test_types_taken_apart() -> None:
    parsed = parse_postgres_type("pg_catalog.numeric(10, 2) []")
    assert parsed is not None
    assert (parsed.base, parsed.numbers, parsed.schema, parsed.is_array) == (
        *("numeric", (10, 2), ""),
        True,
    )


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (recorded("bytes", f"{DATA}.Bits", length="12"), ("string", "bits-text", 12)),
        (
            recorded("bytes", f"{DATA}.Bits", length=f"{ENDLESS}"),
            ("string", "bytes-text", ENDLESS),
        ),
        (recorded("struct", f"{DATA}.VariableScaleDecimal"), ("string", "decimal-scaled", 0)),
        (recorded("int64", f"{TIME}.MicroDuration"), ("bigint", "integer", 0)),
        (recorded("string", f"{DATA}.Enum", allowed="a,b"), ("string", "text", 0)),
        (
            recorded("string", __debezium__source__column__type="MOOD"),
            ("string", "text", 0),
        ),
    ],
)
def test_record_schemas(column: SourceColumn, wanted: tuple[str, str, int]) -> None:
    """MSG-16: a type of the source that is not known leaves the record's own."""
    assert form(column) == wanted


@pytest.mark.parametrize(
    ("record", "source_type", "wanted"),
    [
        (
            recorded("bytes", f"{DATA}.Bits", length="20"),
            "varbit(20)",
            ("string", "bytes-text", 20),
        ),
        (
            *(recorded("struct", f"{DATA}.VariableScaleDecimal"), "numeric(12,2)"),
            ("decimal(12,2)", "decimal-scaled", 2),
        ),
        (recorded("string"), "numeric", ("string", "text", 0)),
        (recorded("string"), "numeric(12,2)", ("decimal(12,2)", "decimal-text", 2)),
        (recorded("int32", f"{TIME}.Time"), "time", ("string", "time-millis", 0)),
    ],
)
def test_a_declaration_beside_a_record_schema(
    record: SourceColumn, source_type: str, wanted: tuple[str, str, int]
) -> None:
    """SCHEMA-1, TYPE-23."""
    assert form(refine(record, postgres_column("c", source_type, DEFAULTS))) == wanted


@pytest.mark.parametrize(
    ("source_type", "has_infinity", "may_be_unavailable"),
    [
        ("date", True, False),
        ("timestamp(3)", True, False),
        ("timestamptz", True, False),
        ("time", False, False),
        ("text", False, True),
        ("jsonb", False, True),
        ("bytea", False, True),
        ("integer[]", False, True),
        ("shop.mood", False, True),
        ("integer", False, False),
        ("uuid", False, False),
        ("date[]", True, True),
        ("tstzrange", False, True),
        ("numrange", False, True),
        ("int4multirange", False, True),
        ("daterange", False, False),
        ("inet", False, False),
    ],
)
def test_what_may_stand_in_place_of_a_value(
    source_type: str, has_infinity: bool, may_be_unavailable: bool
) -> None:
    """TYPE-22, UNAV-2."""
    column = postgres_column("c", source_type, DEFAULTS)
    assert (column.has_infinity, column.may_be_unavailable) == (has_infinity, may_be_unavailable)
    assert SourceColumn.from_json(column.to_json()) == column


def test_what_a_record_schema_tells_of_it() -> None:
    """TYPE-22, UNAV-2: as little as it tells."""
    assert recorded("int32", f"{TIME}.Date").has_infinity
    assert recorded("string").may_be_unavailable
    assert recorded("string", f"{DATA}.Json").may_be_unavailable
    assert not recorded("string", f"{DATA}.Enum").may_be_unavailable
    assert not recorded("int32").may_be_unavailable
