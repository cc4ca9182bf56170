"""What Debezium's envelope says of a record, whichever way its text is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from tests.support.records import RECORDS
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.position import binlog_block
from tidemark.formats.encoding import JsonEncoding
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.names import TableName, TopicName
from tidemark.model.position import BY_POSITION, OrderedBy, Ordering

ROLES = TopicRoles(frozenset({TopicName("changes")}), frozenset({TopicName("transactions")}))
ROW = {"id": 1, "name": 'said "source":{ and left', "place": {"wkb": "AQ==", "srid": None}}
SOURCE = {
    "version": "3.6.3.Final",
    "ts_ms": 1_700_000_000_123,
    "snapshot": "false",
    "db": "shop",
    "table": "orders",
    "file": "mysql-bin.000012",
    "pos": 255,
    "row": 0,
}
SCHEMA = {"type": "struct", "fields": [{"field": "source"}, {"field": "op"}]}
PLACE = "0001" + "0000000C" + "00000000000000FF"
OFFSET = "0000000000000007"
KEY = b'{"id":1}'


def compact(value: Mapping[str, Any]) -> bytes:
    """As Connect's converter writes it."""
    return json.dumps(value, separators=(",", ":")).encode()


def spaced(value: Mapping[str, Any]) -> bytes:
    """As no converter writes it, so that it has to be read as a whole."""
    return json.dumps(value, indent=1).encode()


def change(op: str | None = "u", **fields: Any) -> dict[str, Any]:
    """A change of a row; ``fields`` replace its own, those of its source with ``source_``."""
    source = SOURCE | {
        name.removeprefix("source_"): value
        for name, value in fields.items()
        if name.startswith("source_")
    }
    body = {"before": ROW, "after": ROW, "source": source, "transaction": None, "op": op}
    return body | {k: v for k, v in fields.items() if not k.startswith("source_")}


def wrapped(body: Mapping[str, Any]) -> dict[str, Any]:
    """With its schema, as ``schemas.enable`` has it."""
    return {"schema": SCHEMA, "payload": body}


def read(
    spark: SparkSession,
    *values: bytes | None,
    key: bytes | None = KEY,
    topic: str = "shop.orders",
    ordering: Ordering = BY_POSITION,
    signals: TableName | None = None,
) -> list[Row]:
    """``values`` and their envelopes, in their order; every record stands at offset 7."""
    records = spark.createDataFrame(
        [
            (topic, number, 7, None, None, key, None if value is None else bytearray(value))
            for number, value in enumerate(values)
        ],
        RECORDS,
    )
    events = debezium_envelope(
        records, ROLES, block=binlog_block(ordering), encoding=JsonEncoding(), signals=signals
    )
    rows = events.orderBy("partition").collect()
    assert [row["value"] for row in rows] == list(values)
    return rows


GOOD = [
    (change("c", before=None), "U", "1"),
    (change("u"), "U", "1"),
    (change("d", after=None), "D", "1"),
    (change("d", before=None, after=None), "D", "1"),
    (change("r", before=None, source_snapshot="true"), "U", "0"),
    (change("c", before=None, source_snapshot="last"), "U", "0"),
    (change("u", source_pos="255"), "U", "1"),
    (change("u", after={"source": {"op": "d", "db": "x"}, "z": 1}), "U", "1"),
    (change("u", after={"a": 1, "source": {"db": "x", "table": "y"}}), "U", "1"),
]


@pytest.mark.parametrize("text", [compact, spaced])
@pytest.mark.parametrize("form", [dict, wrapped])
def test_changes_of_rows(spark: SparkSession, text: Any, form: Any) -> None:
    """POS-2, POS-4, MSG-15: the same events from every way to write them."""
    rows = read(spark, *(text(form(value)) for value, _, _ in GOOD))
    assert [row["reason"] for row in rows] == [None] * len(GOOD)
    found = [(row["kind"], row["op"], row["position"]) for row in rows]
    assert found == [("row", op, PLACE + rank + OFFSET) for _, op, rank in GOOD]
    assert {(row["source_schema"], row["source_table"]) for row in rows} == {("shop", "orders")}
    assert {row["commit_time"].microsecond for row in rows} == {123_000}
    assert {row["schema_id"] is None for row in rows} == {form is dict}


@pytest.mark.parametrize("millis", [2**63 - 1, -(2**63), 253_402_300_800_000, "soon"])
def test_a_time_of_no_calendar_is_none(spark: SparkSession, millis: Any) -> None:
    """POISON-2: one absurd number in a record never stops the landing."""
    (row,) = read(spark, compact(change("u", source_ts_ms=millis)))
    assert (row["kind"], row["commit_time"]) == ("row", None)


def test_a_connector_that_died_in_a_snapshot_marks_what_it_streams(spark: SparkSession) -> None:
    """MSG-10: MariaDB's connector; the op and the server's id tell what was streamed."""
    block = {"id": "0-1-7", "total_order": 1, "data_collection_order": 1}
    streamed = [
        change("u", source_snapshot="true"),
        change("d", after=None, source_snapshot="true"),
        change("t", before=None, after=None, source_snapshot="true"),
        change("c", before=None, source_snapshot="true", transaction=block),
        change("c", before=None, source_snapshot="true", source_server_id=223344),
    ]
    read_rows = [
        change("c", before=None, source_snapshot="true", source_server_id=0),
        change("r", before=None, source_snapshot="true", source_server_id=223344),
        change("r", before=None, source_snapshot="incremental", source_server_id=223344),
        change("c", before=None, source_snapshot="incremental", source_server_id=223344),
    ]
    rows = read(spark, *(compact(form(v)) for form in (dict, wrapped) for v in streamed))
    assert [(row["snapshot"], row["position"]) for row in rows] == [
        (None, f"{PLACE}1{OFFSET}")
    ] * 10
    rows = read(spark, *map(compact, read_rows))
    marks = ["true", "true", "incremental", "incremental"]
    assert [(row["snapshot"], row["position"]) for row in rows] == [
        (mark, f"{PLACE}0{OFFSET}") for mark in marks
    ]


def test_a_statement_of_a_snapshot_stands_where_that_was_read(spark: SparkSession) -> None:
    """MSG-24: one that was streamed by a connector that died in a snapshot does not."""
    ddl = {"databaseName": "shop", "ddl": "DROP TABLE t", "tableChanges": []}
    values = [
        compact(ddl | {"source": SOURCE | {"snapshot": "true", "server_id": server}})
        for server in (0, 223344)
    ]
    rows = read(spark, *values, topic="changes")
    assert [row["position"] for row in rows] == [f"{PLACE}{rank}{OFFSET}" for rank in (0, 1)]


def test_the_schema_id_follows_the_schema(spark: SparkSession) -> None:
    """MSG-15: equal schemas have one id, whatever their records hold."""
    other = {"schema": {"type": "struct", "fields": []}, "payload": change()}
    first, second, third = read(
        spark, compact(wrapped(change("u"))), compact(wrapped(change("d"))), compact(other)
    )
    assert first["schema_id"] == second["schema_id"] != third["schema_id"]


def test_the_transaction_of_a_change(spark: SparkSession) -> None:
    """The id that BEGIN and END name."""
    block = {"id": "file=a,pos=1", "total_order": 1, "data_collection_order": 1}
    rows = read(spark, compact(change(transaction=block)), spaced(change(transaction=block)))
    assert [row["transaction_id"] for row in rows] == ["file=a,pos=1"] * 2


REFUSED = [
    (b"", "EMPTY_VALUE"),
    (b"  ", "EMPTY_VALUE"),
    (b"[1]", "JSON_NOT_OBJECT"),
    (compact(change())[:-40], "JSON_INVALID"),
    (compact(change()) + b"{}", "JSON_INVALID"),
    (compact(change(after={"name": "?"})).replace(b"?", b"\xff"), "UTF8_INVALID"),
    (compact(change(source="shop.orders")), "ENVELOPE_INVALID"),
    (compact(change(after="a text")), "ENVELOPE_INVALID"),
    (compact({"id": 1, "name": "flat"}), "FORMAT_MISMATCH"),
    (compact(change("x")), "OP_UNKNOWN"),
    (compact(change(None)), "OP_UNKNOWN"),
    (compact(change(source_table=None)), "ENVELOPE_INVALID"),
    (compact(change("u", after=None)), "IMAGE_MISSING"),
    (compact(change("u", before={"s": {"source": {"db": "x"}}}, after=None)), "IMAGE_MISSING"),
    (compact(change(source_file="nameless")), "POSITION_MISSING"),
    (compact(change(source_pos=None)), "POSITION_MISSING"),
]


@pytest.mark.parametrize("form", [dict, wrapped])
def test_what_cannot_be_read_has_its_reason(spark: SparkSession, form: Any) -> None:
    """MSG-3, MSG-4, POISON-1: unreadable, and why; it never stands anywhere in the order."""
    values = [value for value, _ in REFUSED]
    if form is wrapped:
        values = [
            v if not v.startswith(b'{"be') else b'{"schema":{},"payload":' + v for v in values
        ]
        values = [v + b"}" if v.startswith(b'{"schema') else v for v in values]
    rows = read(spark, *values)
    found = [(row["kind"], row["reason"], row["position"]) for row in rows]
    assert found == [("unreadable", reason, None) for _, reason in REFUSED]


def test_a_key_is_text_as_well(spark: SparkSession) -> None:
    """MSG-4: a byte that is no character would be the key of another row."""
    (row,) = read(spark, compact(change()), key=b'{"id":"\xff"}')
    assert (row["kind"], row["reason"]) == ("unreadable", "UTF8_INVALID")


def test_what_a_transaction_waits_for_stands_where_it_says(spark: SparkSession) -> None:
    """POISON-5: as far as it can be read; without a table or a place it is not counted."""
    block = {"id": "file=a,pos=1", "total_order": 3, "data_collection_order": 1}
    told = change("c", after=None, transaction=block)
    unknown = change("x", transaction=block)
    odd = change("u", after="a text", transaction=block)
    not_text = compact(change("u", after={"id": "?"}, transaction=block)).replace(b"?", b"\xff")
    rows = read(
        spark, compact(told), spaced(unknown), compact(odd), compact(wrapped(told)), not_text
    )
    assert [row["reason"] for row in rows] == [
        "IMAGE_MISSING",
        "OP_UNKNOWN",
        "ENVELOPE_INVALID",
        "IMAGE_MISSING",
        "UTF8_INVALID",
    ]
    found = {(row["transaction_id"], row["event_order"], row["position"]) for row in rows}
    assert found == {("file=a,pos=1", 3, f"{PLACE}1{OFFSET}")}
    rows = read(
        spark,
        compact(change("c", after=None)),
        compact(change("u", source_table=None, transaction=block)),
        compact(change("u", source_pos=None, transaction=block)),
    )
    assert [(row["kind"], row["position"]) for row in rows] == [("unreadable", None)] * 3


def test_without_positions_the_offset_orders(spark: SparkSession) -> None:
    """POS-11, POS-12: all of them, once the source was found to have none."""
    nowhere = compact(change(source_file="", source_pos=0))
    rows = read(spark, nowhere, compact(change()), ordering=Ordering(OrderedBy.OFFSET))
    assert [(row["kind"], row["position"]) for row in rows] == [("row", f"0001{OFFSET}")] * 2
    (row,) = read(spark, nowhere)
    assert (row["kind"], row["reason"]) == ("unreadable", "POSITION_MISSING")


def test_a_delete_needs_a_key(spark: SparkSession) -> None:
    """KEY-1: its own, or that of the image before."""
    gone = compact(change("d", before=None, after=None))
    kept = compact(change("d", after=None))
    rows = read(spark, gone, kept, key=None)
    assert [row["reason"] for row in rows] == ["IMAGE_MISSING", None]


def test_records_that_are_no_rows(spark: SparkSession) -> None:
    """MSG-15, MSG-18, POISON-7: truncates, messages and tombstones, one of them wrapped."""
    truncate = change("t", before=None, after=None)
    nothing = compact({"schema": None, "payload": None})
    message = compact(change("m", before=None, after=None))
    rows = read(spark, None, compact(truncate), message, nothing, b" ")
    found = [(row["kind"], row["position"], row["reason"]) for row in rows]
    assert found == [
        ("tombstone", None, None),
        ("truncate", f"{PLACE}1{OFFSET}", None),
        ("control", None, None),
        ("tombstone", None, None),
        ("unreadable", None, "EMPTY_VALUE"),
    ]


def test_a_heartbeat_changes_nothing(spark: SparkSession) -> None:
    """MSG-27"""
    beat, topic = {"ts_ms": 1_700_000_000_000}, "__debezium-heartbeat.shop"
    rows = read(spark, compact(beat), compact(wrapped(beat)), compact({"id": 1}), topic=topic)
    assert [(row["kind"], row["reason"]) for row in rows] == [
        ("control", None),
        ("control", None),
        ("unreadable", "FORMAT_MISMATCH"),
    ]


def test_a_heartbeat_is_known_in_a_topic_of_any_name(spark: SparkSession) -> None:
    """MSG-27: ``topic.heartbeat.prefix`` is a setting; the key says whose it is."""
    beat = compact({"ts_ms": 1_700_000_000_000})
    keys = (b'{"serverName":"shop"}', b'{"schema":{},"payload":{"serverName":"shop"}}', KEY)
    found = [read(spark, beat, topic="beats.shop", key=key)[0] for key in keys]
    assert [(row["kind"], row["reason"]) for row in found] == [
        ("control", None),
        ("control", None),
        ("unreadable", "FORMAT_MISMATCH"),
    ]


@pytest.mark.parametrize("topic", ["changes", "shop.orders"])
def test_the_history_that_a_connector_keeps_is_not_for_others(
    spark: SparkSession, topic: str
) -> None:
    """MSG-8"""
    told = {"source": {"server": "shop"}, "position": {"file": "a.000001", "pos": 4}, "ts_ms": 1}
    told |= {"databaseName": "shop", "ddl": "DROP TABLE t", "tableChanges": []}
    (row,) = read(spark, compact(told), topic=topic)
    assert (row["kind"], row["reason"]) == ("unreadable", "SCHEMA_HISTORY")


def test_what_a_connector_says_about_its_snapshots_changes_nothing(spark: SparkSession) -> None:
    """MSG-29: a notification; a row that looks like one has other words in it."""
    told: dict[str, Any] = {"aggregate_type": "Incremental Snapshot", "type": "IN_PROGRESS"}
    told |= {"id": "f6c1", "additional_data": {"connector_name": "shop"}, "timestamp": 1}
    flat = told | {"aggregate_type": "order"}
    rows = read(spark, compact(told), compact(wrapped(told)), compact(flat))
    assert [(row["kind"], row["reason"]) for row in rows] == [
        ("control", None),
        ("control", None),
        ("unreadable", "FORMAT_MISMATCH"),
    ]


def test_the_role_of_a_topic_decides(spark: SparkSession) -> None:
    """MSG-1: a change of a row is no schema change, and the reverse."""
    ddl = {"source": SOURCE, "databaseName": "shop", "ddl": "DROP TABLE t", "tableChanges": []}
    (row,) = read(spark, compact(change()), topic="changes")
    assert (row["kind"], row["reason"]) == ("unreadable", "FORMAT_MISMATCH")
    (row,) = read(spark, compact(ddl), topic="changes")
    assert (row["kind"], row["position"]) == ("ddl", f"{PLACE}1{OFFSET}")
    begin = {"status": "BEGIN", "id": "file=a,pos=1", "event_count": None}
    (row,) = read(spark, compact(begin), topic="transactions")
    assert (row["kind"], row["transaction_id"]) == ("begin", "file=a,pos=1")


def test_the_rows_of_the_signal_table(spark: SparkSession) -> None:
    """MSG-28: what was streamed of it; a snapshot reads it like any table."""
    blocking, incremental = (compact({"type": kind}) for kind in ("BLOCKING", "incremental"))
    images = [
        {"id": "1-open", "type": "snapshot-window-open", "data": incremental.decode()},
        {"id": "1-close", "type": "snapshot-window-close", "data": ""},
        {"id": "2", "type": "execute-snapshot", "data": blocking.decode()},
        {"id": "3", "type": "execute-snapshot", "data": incremental.decode()},
    ]
    values = [
        *(change("c", before=None, after=image) for image in images),
        change("d", after=None),
        change("r", before=None, after=images[0], source_snapshot="true"),
    ]
    encoded = [compact(form(value)) for form in (dict, wrapped) for value in values]
    rows = read(spark, *encoded, signals=TableName("shop", "orders"))
    kinds = ["window", "signal", "order", "signal", "signal", "row"]
    assert [row["kind"] for row in rows] == kinds * 2
    assert all(row["position"] for row in rows)
    others = read(spark, *encoded, signals=TableName("shop", "signals"))
    assert {row["kind"] for row in others} == {"row"}
