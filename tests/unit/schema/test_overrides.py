from __future__ import annotations

from typing import Any

import pytest

from tidemark.model.columns import SourceColumn, ValueEncoding
from tidemark.model.modes import ConnectorModes, TimeMode
from tidemark.schema.connect_types import connect_columns
from tidemark.schema.overrides import overridden
from tidemark.schema.postgres_types import postgres_column, postgres_record_columns
from tidemark.schema.source_types import canal_column, debezium_column

MODES = ConnectorModes()
ADAPTIVE = ConnectorModes(time=TimeMode.ADAPTIVE)
DECIMAL = "org.apache.kafka.connect.data.Decimal"
TIME = "io.debezium.time."


def field(kind: str, name: str = "", **parameters: str) -> list[dict[str, Any]]:
    told = {"field": "c", "type": kind, "optional": True, "parameters": parameters}
    return [{**told, "name": name} if name else told]


def listed(kind: str) -> list[dict[str, Any]]:
    return [{"field": "c", "type": "array", "items": {"type": kind}}]


def form(column: SourceColumn | None) -> tuple[str, ValueEncoding, int] | None:
    return None if column is None else (column.iceberg, column.encoding, column.digits)


AMOUNT = field("bytes", DECIMAL, scale="2", **{"connect.decimal.precision": "10"})
WIDE = field("bytes", DECIMAL, scale="3", **{"connect.decimal.precision": "50"})
MICROS = field("int64", f"{TIME}MicroTimestamp")


@pytest.mark.parametrize(
    ("record", "declared", "read"),
    [
        (field("int32"), "bigint", ("bigint", ValueEncoding.INTEGER, 0)),
        (field("int64"), "integer", ("int", ValueEncoding.INTEGER, 0)),
        (field("int64"), "numeric(12,2)", ("decimal(12,2)", ValueEncoding.DECIMAL_TEXT, 2)),
        (field("int64"), "numeric(20,0)", ("decimal(20,0)", ValueEncoding.DECIMAL_TEXT, 0)),
        (field("int32"), "text", ("string", ValueEncoding.TEXT, 0)),
        (field("int32"), "date", ("date", ValueEncoding.DAYS, 0)),
        (field("int64"), "timestamp(3)", ("timestamp_ntz", ValueEncoding.TIMESTAMP_MILLIS, 0)),
        (field("string"), "integer", ("int", ValueEncoding.INTEGER, 0)),
        (field("string"), "numeric(12,2)", ("decimal(12,2)", ValueEncoding.DECIMAL_TEXT, 2)),
        (field("string"), "date", ("date", ValueEncoding.DATE_TEXT, 0)),
        (field("string"), "timestamp", ("timestamp_ntz", ValueEncoding.TIMESTAMP_TEXT, 0)),
        (field("string"), "boolean", ("boolean", ValueEncoding.BOOLEAN, 0)),
        (field("string"), "bytea", ("binary", ValueEncoding.BASE64, 0)),
        (field("double"), "numeric(12,2)", ("decimal(12,2)", ValueEncoding.DECIMAL_TEXT, 2)),
        (AMOUNT, "numeric(8,2)", ("decimal(8,2)", ValueEncoding.DECIMAL_BASE64, 2)),
        (AMOUNT, "text", ("string", ValueEncoding.DECIMAL_BASE64, 2)),
        (WIDE, "text", ("string", ValueEncoding.DECIMAL_BASE64, 3)),
        (field("string", f"{TIME}IsoDate"), "text", ("string", ValueEncoding.TEXT, 0)),
        (field("int64", f"{TIME}MicroTime"), "text", ("string", ValueEncoding.TIME_MICROS, 0)),
        (listed("int32"), "bigint[]", ("array<bigint>", ValueEncoding.INTEGER, 0)),
        (listed("int64"), "integer[]", None),
        (listed("int32"), "integer[]", ("array<int>", ValueEncoding.INTEGER, 0)),
        (listed("string"), "bytea", None),
        (listed("string"), "text", None),
        (field("string"), "text[]", None),
        (field("string"), "hstore", ("string", ValueEncoding.TEXT, 0)),
        (AMOUNT, "numeric(10,4)", None),
        (AMOUNT, "integer", None),
        (MICROS, "text", None),
        (MICROS, "date", None),
        (MICROS, "bigint", None),
        (field("int32", f"{TIME}Date"), "text", None),
        (field("int64"), "double precision", None),
        (field("double"), "real", None),
        (field("double"), "text", None),
        (field("bytes"), "text", None),
        (field("boolean"), "integer", ("int", ValueEncoding.INTEGER, 0)),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_records_of_postgres_can_be_read_as(
    record: list[dict[str, Any]], declared: str, read: tuple[str, ValueEncoding, int] | None
) -> None:
    """SCHEMA-1, TYPE-4, TYPE-9."""
    (told,) = postgres_record_columns(record, ADAPTIVE)
    wanted = postgres_column("c", declared, ADAPTIVE)
    assert form(overridden(told, wanted, tells_singles=True)) == read


@pytest.mark.parametrize(
    ("record", "declared", "read"),
    [
        (field("int64"), "bigint unsigned", ("decimal(20,0)", ValueEncoding.UNSIGNED_AS_SIGNED, 0)),
        (field("int64"), "varchar(20)", None),
        (field("int64"), "int", None),
        (field("int64"), "decimal(20,0)", None),
        (field("int32"), "varchar(20)", ("string", ValueEncoding.TEXT, 0)),
        (field("int16"), "bigint", ("bigint", ValueEncoding.INTEGER, 0)),
    ],
)
def test_an_int64_of_mysql_may_be_unsigned(
    record: list[dict[str, Any]], declared: str, read: tuple[str, ValueEncoding, int] | None
) -> None:
    """SCHEMA-1: numbers from 2^63 on are not what stands in records."""
    (told,) = connect_columns(record, MODES)
    wanted = debezium_column("c", declared, MODES)
    assert form(overridden(told, wanted, may_be_unsigned=True)) == read


@pytest.mark.parametrize(
    ("told", "declared", "read"),
    [
        ("bigint unsigned", "bigint", ("bigint", ValueEncoding.INTEGER, 0)),
        ("decimal(10,2)", "decimal(12,4)", ("decimal(12,4)", ValueEncoding.DECIMAL_TEXT, 4)),
        ("decimal(10,2)", "varchar(20)", ("string", ValueEncoding.TEXT, 0)),
        ("datetime", "varchar(20)", ("string", ValueEncoding.TEXT, 0)),
        ("varchar(20)", "datetime", ("timestamp_ntz", ValueEncoding.TIMESTAMP_TEXT, 0)),
        ("int", "varchar(20)", ("string", ValueEncoding.TEXT, 0)),
        ("blob", "varchar(20)", None),
        ("datetime", "date", None),
        ("float", "decimal(10,2)", ("decimal(10,2)", ValueEncoding.DECIMAL_TEXT, 2)),
    ],
)
def test_what_texts_of_canal_can_be_read_as(
    told: str, declared: str, read: tuple[str, ValueEncoding, int] | None
) -> None:
    """SCHEMA-1: records hold every value as a text."""
    wanted = canal_column("c", declared, declared, None)
    assert form(overridden(canal_column("c", told, told, None), wanted)) == read
