"""Avro records: each with the schema of its own id, and nothing lost in silence."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.support.avro import body, number, wire
from tests.support.avro_changes import (
    AT,
    KEY_ID,
    PLACE,
    ROLES,
    SOURCE,
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
from tests.support.records import RECORDS
from tidemark.formats.avro.encoding import AvroEncoding
from tidemark.formats.avro.framing import Framing, foreign_framing
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.position import binlog_block
from tidemark.model.position import BY_POSITION


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


@pytest.mark.parametrize(
    ("key", "value", "headers", "framing"),
    [
        pytest.param(None, bytes(8) + b"\7" + GOOD, {}, Framing.LONG_ID, id="eight bytes"),
        pytest.param(bytes(8) + b"\7\2", None, {}, Framing.LONG_ID, id="eight bytes of a key"),
        pytest.param(None, bytes(8), {}, None, id="too short for eight bytes"),
        pytest.param(None, b"\3\0" + bytes(16), {}, Framing.GLUE, id="Glue"),
        pytest.param(None, b"\3\5" + bytes(16) + b"x\x9c", {}, Framing.GLUE, id="Glue packed"),
        pytest.param(None, b"\3\1" + bytes(16), {}, None, id="no compression of Glue's"),
        pytest.param(
            None, b"\0\2", {"apicurio.value.globalId": bytes(8)}, Framing.ID_IN_HEADERS, id="header"
        ),
        pytest.param(
            None,
            b"\2",
            {"__value_schema_id": b"\1"},
            Framing.GUID_IN_HEADERS,
            id="GUID in a header",
        ),
        pytest.param(None, GOOD, {"trace": b"\1"}, None, id="Confluent's wire format"),
    ],
)
def test_other_framings_are_told_apart(
    spark: SparkSession,
    key: bytes | None,
    value: bytes | None,
    headers: Mapping[str, bytes],
    framing: Framing | None,
) -> None:
    """MSG-19"""
    parts = (part if part is None else bytearray(part) for part in (key, value))
    row = ("shop.shop.items", 0, 7, None, list(headers.items()), *parts)
    record = spark.createDataFrame([row], RECORDS)
    told = record.select(foreign_framing(F.col("key"), F.col("value"), F.col("headers")))
    assert told.collect()[0][0] == framing


def test_a_body_ends_where_its_schema_ends() -> None:
    """The encoder of these tests, against the example of Avro's own specification."""
    declared = {"fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}
    example = body({"type": "record", **declared}, {"a": 27, "b": "foo"})
    assert example == bytes.fromhex("3606666f6f")
