"""Avro records: each with the schema of its own id, every value exact, nothing lost in silence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tests.support.avro import body, number, wire
from tidemark.formats.avro.encoding import AvroEncoding
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.images import debezium_changes, debezium_image
from tidemark.formats.debezium.position import binlog_block
from tidemark.formats.special import is_placeholder
from tidemark.formats.topic_roles import TopicRoles
from tidemark.formats.values import misread, typed
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.modes import ConnectorModes
from tidemark.model.names import ColumnName
from tidemark.model.position import BY_POSITION
from tidemark.schema.connect_types import connect_columns
from tidemark.schema.postgres_types import postgres_record_columns

RECORDS = (
    "topic STRING, partition INT, offset LONG, kafka_time TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>, key BINARY, value BINARY"
)
ROLES = TopicRoles(frozenset({"shop"}), frozenset({"shop.transaction"}))
KEY_ID, VALUE_ID = 5, 6
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}
SNAPSHOT = {
    "type": "string",
    "connect.parameters": {"allowed": "true,last,false,incremental"},
    "connect.default": "false",
    "connect.name": "io.debezium.data.Enum",
}
SOURCE = {
    "type": "record",
    "name": "Source",
    "namespace": "io.debezium.connector.mysql",
    "fields": [
        {"name": "connector", "type": "string"},
        {"name": "ts_ms", "type": "long"},
        {"name": "snapshot", "type": [SNAPSHOT, "null"], "default": "false"},
        {"name": "db", "type": "string"},
        {"name": "table", "type": ["null", "string"], "default": None},
        {"name": "file", "type": "string"},
        {"name": "pos", "type": "long"},
    ],
}
AT = {
    "connector": "mysql",
    "ts_ms": 1_700_000_000_123,
    "snapshot": "false",
    "db": "shop",
    "table": "items",
    "file": "bin.000012",
    "pos": 255,
}
PLACE = "0001" + "0000000C" + "00000000000000FF"
TRANSACTION = {
    "type": "record",
    "name": "block",
    "namespace": "event",
    "fields": [{"name": "id", "type": "string"}, {"name": "total_order", "type": "long"}],
}


def envelope(*columns: tuple[str, Any]) -> dict[str, Any]:
    """The schema of changes of a table; the second image is a mention of the first."""
    value = {
        "type": "record",
        "name": "Value",
        "fields": [{"name": name, "type": declared} for name, declared in columns],
    }
    return {
        "type": "record",
        "name": "Envelope",
        "namespace": "shop.shop.items",
        "fields": [
            {"name": "before", "type": ["null", value], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "source", "type": SOURCE},
            {"name": "transaction", "type": ["null", TRANSACTION], "default": None},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"], "default": None},
        ],
    }


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """``schema`` for the encoder, which knows no names."""
    before, after, *rest = schema["fields"]
    return {**schema, "fields": [before, {**after, "type": before["type"]}, *rest]}


ITEMS = envelope(("id", "long"), ("name", ["null", "string"]))


def change(op: str, **fields: Any) -> dict[str, Any]:
    image = {"id": 7, "name": "x"}
    common = {"before": None, "after": None, "source": AT, "transaction": None, "op": op}
    if op in "cru":
        common["after"] = image
    if op == "d":
        common["before"] = image
    return {**common, "ts_ms": 1, **fields}


def item(op: str, **fields: Any) -> bytes:
    return wire(VALUE_ID, inlined(ITEMS), change(op, **fields))


def key(of: int = 7) -> bytes:
    return wire(KEY_ID, KEY, {"id": of})


def records(
    spark: SparkSession, *pairs: tuple[bytes | None, bytes | None], topic: str = "shop.shop.items"
) -> DataFrame:
    """Records of ``topic`` at offset 7, told apart by partition."""
    rows = [
        (topic, at, 7, None, None, *(None if p is None else bytearray(p) for p in pair))
        for at, pair in enumerate(pairs)
    ]
    return spark.createDataFrame(rows, RECORDS)


def encoding(extra: Mapping[int, Any] | None = None) -> AvroEncoding:
    schemas = {KEY_ID: KEY, VALUE_ID: ITEMS, **(extra or {})}
    return AvroEncoding({number: json.dumps(schema) for number, schema in schemas.items()})


def read(
    spark: SparkSession,
    *pairs: tuple[bytes | None, bytes | None],
    topic: str = "shop.shop.items",
    extra: Mapping[int, Any] | None = None,
) -> Sequence[Row]:
    """The envelopes of keys and values, in their order."""
    events = debezium_envelope(
        records(spark, *pairs, topic=topic),
        ROLES,
        block=binlog_block(BY_POSITION),
        encoding=encoding(extra),
    )
    return events.orderBy("partition").collect()


def test_rows_truncates_and_tombstones_are_told(spark: SparkSession) -> None:
    """MSG-10, MSG-18, MSG-19"""
    events = read(
        spark,
        (key(), item("c")),
        (key(), item("d")),
        (key(), item("r", source={**AT, "snapshot": "last"})),
        (None, item("t")),
        (key(), None),
        (None, item("u", source={**AT, "snapshot": None})),
        (key(), item("u", transaction={"id": "t1", "total_order": 3})),
    )
    assert [(event.kind, event.op, event.snapshot) for event in events] == [
        ("row", "U", None),
        ("row", "D", None),
        ("row", "U", "last"),
        ("truncate", None, None),
        ("tombstone", None, None),
        ("row", "U", None),
        ("row", "U", None),
    ]
    assert [event.reason for event in events] == [None] * 7
    assert events[0].position == f"{PLACE}1{7:016X}"
    assert (events[0].source_schema, events[0].source_table) == ("shop", "items")
    assert (events[6].transaction_id, events[6].event_order) == ("t1", 3)
    assert events[0].schema_id == (KEY_ID << 32) + VALUE_ID
    assert events[3].schema_id == VALUE_ID


GOOD = item("c")
HUGE = number(2**31 - 10)
BAD: Mapping[str, tuple[bytes, str]] = {
    "a value of no bytes": (b"", "EMPTY_VALUE"),
    "JSON": (b'{"op":"c"}', "AVRO_MAGIC"),
    "another first byte": (b"\1" + GOOD[1:], "AVRO_MAGIC"),
    "half a header": (b"\0\0\0\0", "AVRO_MAGIC"),
    "an id nobody knows": (b"\0\0\0\0\x63" + GOOD[5:], "AVRO_SCHEMA_UNKNOWN"),
    "no body": (GOOD[:5], "AVRO_DECODE"),
    "a body that is cut off": (GOOD[:-1], "AVRO_DECODE"),
    "a byte behind the body": (GOOD + b"\0", "AVRO_DECODE"),
    "two line breaks behind the body": (GOOD + b"\n\n", "AVRO_DECODE"),
    "two bodies": (GOOD + GOOD[5:], "AVRO_DECODE"),
    "a branch that is none": (GOOD[:5] + b"\x09", "AVRO_DECODE"),
    "2 GB of text": (GOOD[:5] + b"\2" + number(1) + b"\2" + HUGE, "AVRO_DECODE"),
    "less than no text": (GOOD[:5] + b"\2" + number(1) + b"\2" + number(-5), "AVRO_DECODE"),
    "a body of another schema": (key(), "FORMAT_MISMATCH"),
    "an operation nobody knows": (item("x"), "OP_UNKNOWN"),
}
BAD_KEYS: Mapping[str, tuple[bytes, str]] = {
    "JSON": (b'{"id":7}', "AVRO_MAGIC"),
    "nothing": (b"", "AVRO_MAGIC"),
    "an id nobody knows": (b"\0\0\0\0\x63\0", "AVRO_SCHEMA_UNKNOWN"),
    "a byte behind the body": (key() + b"\0", "AVRO_DECODE"),
}


def test_what_cannot_be_read_is_kept_with_its_reason(spark: SparkSession) -> None:
    """POISON-6: beside what can."""
    events = read(spark, *((key(), value) for value, _ in BAD.values()), (key(), GOOD))
    found = {name: event.reason for name, event in zip(BAD, events, strict=False)}
    assert found == {name: reason for name, (_, reason) in BAD.items()}
    assert {event.kind for event in events[:-1]} == {"unreadable"}
    assert [bytes(event.value) for event in events[:-1]] == [value for value, _ in BAD.values()]
    assert (events[-1].kind, events[-1].reason) == ("row", None)


def test_a_key_that_cannot_be_read_makes_its_record_unreadable(spark: SparkSession) -> None:
    """POISON-6"""
    events = read(spark, *((bad, GOOD) for bad, _ in BAD_KEYS.values()))
    found = {name: event.reason for name, event in zip(BAD_KEYS, events, strict=True)}
    assert found == {name: reason for name, (_, reason) in BAD_KEYS.items()}
    assert {event.kind for event in events} == {"unreadable"}


def test_a_line_break_behind_a_body_is_passed_over(spark: SparkSession) -> None:
    """MSG-19"""
    assert [event.kind for event in read(spark, (key(), GOOD + b"\n"))] == ["row"]


def test_nothing_is_known_before_a_schema_is(spark: SparkSession) -> None:
    """MSG-19"""
    events = debezium_envelope(
        records(spark, (key(), GOOD), (key(), None)),
        ROLES,
        block=binlog_block(BY_POSITION),
        encoding=AvroEncoding(),
    )
    kinds = [(event.kind, event.reason) for event in events.orderBy("partition").collect()]
    assert kinds == [("unreadable", "AVRO_SCHEMA_UNKNOWN"), ("tombstone", None)]


def test_a_pipeline_may_have_hundreds_of_schemas(spark: SparkSession) -> None:
    """MSG-19"""
    extra = {1000 + at: envelope(("id", "long"), (f"c{at}", "int")) for at in range(200)}
    written = (1000, 1001, 1099, 1100, 1198, 1199)
    values = [
        wire(at, inlined(extra[at]), change("c", after={"id": at, f"c{at - 1000}": 1}))
        for at in written
    ]
    strange = [b"\0" + at.to_bytes(4) + values[0][5:] for at in (0, 999, 1200, 2**32 - 1)]
    events = read(spark, *((key(), value) for value in (*values, *strange)), extra=extra)
    assert [event.schema_id % 2**32 for event in events[: len(values)]] == list(written)
    assert [event.reason for event in events] == [None] * 6 + ["AVRO_SCHEMA_UNKNOWN"] * 4


def test_side_topics_are_avro_too(spark: SparkSession) -> None:
    """MSG-22, MSG-26, MSG-27"""
    status = {
        "type": "record",
        "name": "TransactionMetadataValue",
        "fields": [
            {"name": "status", "type": "string"},
            {"name": "id", "type": "string"},
            {"name": "event_count", "type": ["null", "long"]},
        ],
    }
    beat = {"type": "record", "name": "Heartbeat", "fields": [{"name": "ts_ms", "type": "long"}]}
    ddl = {
        "type": "record",
        "name": "SchemaChangeValue",
        "fields": [
            {"name": "source", "type": SOURCE},
            {"name": "databaseName", "type": ["null", "string"]},
            {"name": "ddl", "type": ["null", "string"]},
        ],
    }
    extra = {30: status, 31: beat, 32: ddl}
    begin = wire(30, status, {"status": "BEGIN", "id": "t1", "event_count": None})
    (event,) = read(spark, (None, begin), topic="shop.transaction", extra=extra)
    assert (event.kind, event.transaction_id) == ("begin", "t1")
    heartbeat = wire(31, beat, {"ts_ms": 1})
    (event,) = read(spark, (None, heartbeat), topic="__debezium-heartbeat.shop", extra=extra)
    assert (event.kind, event.reason) == ("control", None)
    told = {"source": AT, "databaseName": "shop", "ddl": "ALTER TABLE items ADD a INT"}
    changed = wire(32, ddl, told)
    (event,) = read(spark, (None, changed), topic="shop", extra=extra)
    assert (event.kind, event.position) == ("ddl", f"{PLACE}1{7:016X}")
    texts = records(spark, (None, changed)).select(encoding(extra).text(F.col("value")).alias("t"))
    assert json.loads(texts.collect()[0].t)["payload"]["ddl"] == told["ddl"]


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
        lost = F.coalesce(misread(raw, typed(raw, told), told), F.lit(False))
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
        records(spark, (key(), GOOD), (None, moved)),
        ROLES,
        block=binlog_block(BY_POSITION),
        encoding=encoding(),
    )

    def touched(*, from_images: bool) -> list[tuple[int, str, int | None]]:
        changes = debezium_changes(
            events,
            schema,
            key_from_images=from_images,
            fills_before=False,
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


def test_a_body_ends_where_its_schema_ends() -> None:
    """The encoder of these tests, against the example of Avro's own specification."""
    declared = {"fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}
    example = body({"type": "record", **declared}, {"a": 27, "b": "foo"})
    assert example == bytes.fromhex("3606666f6f")
