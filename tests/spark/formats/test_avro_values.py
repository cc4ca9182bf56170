"""Values of Avro records: every one exact, whatever schema its record was written with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from tests.support.avro import wire
from tests.support.avro_changes import (
    ITEMS,
    ROLES,
    VALUE_ID,
    change,
    encoding,
    envelope,
    inlined,
    item,
    key,
    read,
    records,
)
from tidemark.formats.avro.encoding import AvroEncoding
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.images import debezium_changes, debezium_image
from tidemark.formats.debezium.position import binlog_block
from tidemark.formats.special import is_placeholder
from tidemark.formats.values import conversion_error, typed
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.modes import ConnectorModes
from tidemark.model.names import ColumnName
from tidemark.model.position import BY_POSITION
from tidemark.schema.connect_types import connect_columns
from tidemark.schema.postgres_types import postgres_record_columns


def connect(base: Any, name: str, **parameters: str) -> dict[str, Any]:
    declared = base if isinstance(base, dict) else {"type": base}
    return {**declared, "connect.name": name, "connect.parameters": parameters}


DECIMAL = "org.apache.kafka.connect.data.Decimal"
TIME, DATA = "io.debezium.time.", "io.debezium.data."
SCALED = {
    "type": "record",
    "name": "VariableScaleDecimal",
    "namespace": "io.debezium.data",
    "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}],
    "connect.name": f"{DATA}VariableScaleDecimal",
}
GEOMETRY = {
    "type": "record",
    "name": "Geometry",
    "namespace": "io.debezium.data.geometry",
    "fields": [{"name": "wkb", "type": "bytes"}, {"name": "srid", "type": ["null", "int"]}],
    "connect.name": f"{DATA}geometry.Geometry",
}
AWKWARD = 'a"b\\\n\x01 é 世 \U0001f30a , "end":"'
UNSCALED = (10**37 + 7).to_bytes(16, "big", signed=True)
VALUES: Sequence[tuple[str, Any, Any, Any]] = [
    ("int8", {"type": "int", "connect.type": "int8"}, -128, -128),
    ("int32", "int", -(2**31), -(2**31)),
    ("int64", "long", -(2**63), -(2**63)),
    ("above_double", "long", 2**53 + 1, 2**53 + 1),
    ("float", "float", 0.10000000149011612, 0.10000000149011612),
    ("double", "double", 5e-324, 5e-324),
    ("nan", "double", float("nan"), "NaN"),
    ("infinity", "float", float("-inf"), float("-inf")),
    ("boolean", "boolean", True, True),
    ("text", "string", AWKWARD, AWKWARD),
    ("empty", "string", "", ""),
    ("bytes", "bytes", b"\0\xff", b"\0\xff"),
    ("no_bytes", "bytes", b"", b""),
    (
        "decimal",
        connect("bytes", DECIMAL, scale="2", **{"connect.decimal.precision": "38"}),
        UNSCALED,
        Decimal("100000000000000000000000000000000000.07"),
    ),
    (
        "bare_decimal",
        {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 3},
        b"\xff",
        Decimal("-0.001"),
    ),
    ("scaled", SCALED, {"scale": 3, "value": b"\x04\xd2"}, "1.234"),
    ("date", connect("int", f"{TIME}Date"), -719_162, date(1, 1, 1)),
    ("bare_date", {"type": "int", "logicalType": "date"}, 19_000, date(2022, 1, 8)),
    ("micro_time", connect("long", f"{TIME}MicroTime"), -3_020_399_000_001, "-838:59:59.000001"),
    (
        "micros",
        connect("long", f"{TIME}MicroTimestamp"),
        253_402_300_799_999_999,
        datetime(9999, 12, 31, 23, 59, 59, 999_999),  # noqa: DTZ001  it has no zone
    ),
    (
        "zoned",
        connect("string", f"{TIME}ZonedTimestamp"),
        "2024-01-02T03:04:05.678901Z",
        datetime(2024, 1, 2, 3, 4, 5, 678_901),  # noqa: DTZ001  pyspark shows the session's UTC
    ),
    ("year", connect("int", f"{TIME}Year"), 2024, 2024),
    ("bits", connect("bytes", f"{DATA}Bits", length="12"), b"\x01\x0a", b"\x0a\x01"),
    ("label", connect("string", f"{DATA}Enum", allowed="a,b"), "b", "b"),
    ("json", connect("string", f"{DATA}Json"), '{"a": 1}', '{"a": 1}'),
    ("geometry", GEOMETRY, {"wkb": b"\1\2", "srid": None}, Row(srid=None, wkb=b"\1\2")),
    ("hstore", {"type": "map", "values": ["null", "string"]}, {"a": None, "b": ""}, ...),
    ("array", {"type": "array", "items": ["null", "long"]}, [1, None, 2**62], [1, None, 2**62]),
    (
        "decimals",
        {
            "type": "array",
            "items": connect("bytes", DECIMAL, scale="1", **{"connect.decimal.precision": "5"}),
        },
        [b"\x0f"],
        [Decimal("1.5")],
    ),
    ("null_first", ["null", "long"], None, None),
    ("null_last", ["long", "null"], None, None),
    ("there_last", [connect("long", f"{TIME}Timestamp"), "null"], 0, datetime(1970, 1, 1)),  # noqa: DTZ001
]


def images(
    spark: SparkSession, schemas: Mapping[int, Any], values: Sequence[bytes], schema: TableSchema
) -> Sequence[Row]:
    """The images of ``values`` in the columns of ``schema``; a value that is lost is 'lost'."""
    avro = AvroEncoding({number: json.dumps(text) for number, text in schemas.items()})
    image = debezium_image(schema, encoding=avro)
    frame = records(spark, *((None, value) for value in values)).withColumn("image", image)

    def column(told: SourceColumn) -> list[Any]:
        raw = F.col("image")[told.name]
        lost = F.coalesce(conversion_error(raw, typed(raw, told), told), F.lit(False))
        return [typed(raw, told).alias(told.name), lost.alias(f"lost_{told.name}")]

    columns = [one for told in schema.columns for one in column(told)]
    return frame.orderBy("partition").select(*columns).collect()


def columns_of(schema: Any, *, postgres: bool = False) -> tuple[SourceColumn, ...]:
    """The columns that a record of ``schema`` tells."""
    told = AvroEncoding({VALUE_ID: json.dumps(schema)}).record_schema(
        None, wire(VALUE_ID, "null", None)
    )
    read = postgres_record_columns if postgres else connect_columns
    return read(told.fields, ConnectorModes())


def test_every_type_keeps_its_value(spark: SparkSession) -> None:
    """MSG-20, TYPE-2"""
    schema = envelope(*((name, declared) for name, declared, _, _ in VALUES))
    value = change("c", after={name: sent for name, _, sent, _ in VALUES})
    columns = columns_of(schema)
    (row,) = images(
        spark, {VALUE_ID: schema}, [wire(VALUE_ID, inlined(schema), value)], TableSchema(columns)
    )
    found = {name: row[name] for name, _, _, _ in VALUES}
    assert [name for name in found if row[f"lost_{name}"]] == []
    assert str(found.pop("nan")) == "nan"
    assert dict(found.pop("hstore")) == {"a": None, "b": ""}
    wanted = {name: want for name, _, _, want in VALUES if name not in ("nan", "hstore")}
    assert {n: bytes(v) if isinstance(v, bytearray) else v for n, v in found.items()} == wanted


def test_each_record_is_read_with_the_schema_of_its_own_id(spark: SparkSession) -> None:
    """MSG-19: of one batch, in the columns of the newest."""
    old = envelope(("id", "long"), ("gone", "string"), ("amount", "int"))
    new = envelope(("amount", "long"), ("note", ["string", "null"]), ("id", "long"))
    values = [
        wire(40, inlined(old), change("c", after={"id": 1, "gone": "g", "amount": 5})),
        wire(41, inlined(new), change("c", after={"id": 2, "note": "n", "amount": 2**40})),
        wire(40, inlined(old), change("c", after={"id": 3, "gone": "g", "amount": 6})),
    ]
    schema = TableSchema(columns_of(new))
    rows = images(spark, {40: old, 41: new}, values, schema)
    assert [(row.id, row.amount, row.note) for row in rows] == [
        (1, 5, None),
        (2, 2**40, "n"),
        (3, 6, None),
    ]


def test_keys_are_read_from_keys_and_images(spark: SparkSession) -> None:
    """KEY-1, KEY-8, MSG-19"""
    schema = TableSchema(columns_of(ITEMS), (ColumnName("id"),))
    moved = item("u", before={"id": 6, "name": "x"})
    events = debezium_envelope(
        records(spark, (key(), item("c")), (None, moved)),
        ROLES,
        block=binlog_block(BY_POSITION),
        encoding=encoding(),
    )

    def touched(*, from_images: bool) -> list[tuple[int, str, int | None]]:
        changes = debezium_changes(
            events,
            schema,
            key_from_images=from_images,
            backfills_before=False,
            encoding=encoding(),
        )
        rows = changes.orderBy("partition", "part").select("partition", "op", "row_key.id")
        return [tuple(row) for row in rows.collect()]

    assert touched(from_images=False) == [(0, "U", 7), (1, "U", None)]
    assert touched(from_images=True) == [(0, "U", 7), (1, "D", 6), (1, "U", 7)]


def test_columns_that_differ_in_case_alone_are_told_by_their_names(spark: SparkSession) -> None:
    """MSG-20: the record is read, and its table can be stopped (COLUMN_COLLISION)."""
    schema = envelope(("id", "long"), ("ID", "long"))
    value = wire(50, inlined(schema), change("c", after={"id": 1, "ID": 2}))
    (event,) = read(spark, (None, value), extra={50: schema})
    assert (event.kind, event.reason) == ("row", None)
    assert [column.name for column in columns_of(schema)] == ["id", "ID"]


def test_a_placeholder_of_postgres_is_what_it_is_in_json(spark: SparkSession) -> None:
    """UNAV-2"""
    absent = "__debezium_unavailable_value"
    declared = [
        ("doc", "string"),
        ("raw", "bytes"),
        ("pairs", {"type": "map", "values": ["null", "string"]}),
        ("tags", {"type": "array", "items": ["null", "string"]}),
    ]
    sent = {"doc": absent, "raw": absent.encode(), "pairs": {absent: absent}, "tags": [absent]}
    schema = envelope(*declared)
    value = wire(60, inlined(schema), change("u", after=sent))
    avro = AvroEncoding({60: json.dumps(schema)})
    columns = columns_of(schema, postgres=True)
    texts = records(spark, (None, value)).select(
        debezium_image(TableSchema(columns), encoding=avro).alias("image")
    )
    told = [is_placeholder(F.col("image")[c.name], c).alias(c.name) for c in columns]
    assert texts.select(*told).collect()[0].asDict() == dict.fromkeys(sent, True)
