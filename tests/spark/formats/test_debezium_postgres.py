"""Where PostgreSQL's changes stand, and what else its envelope says in words of its own."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from tests.support.records import RECORDS
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.position import lowest_uncommitted, postgres_block, snapshot_lsn
from tidemark.formats.encoding import JsonEncoding
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.event import RECORD_COLUMNS
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import BY_POSITION, Ordering, SnapshotRead

STREAMED, READ = "1", "0"


def change(
    sequence: str | None, lsn: int | None, *, snapshot: str = "false", **fields: Any
) -> bytes:
    """A change of public.lines; ``fields`` replace those of the envelope or of its source."""
    source = {
        "connector": "postgresql",
        "snapshot": snapshot,
        "db": "shop",
        "sequence": sequence,
        "schema": "public",
        "table": "lines",
        "txId": 812,
        "lsn": lsn,
        "ts_ms": 1,
    }
    source |= {name: value for name, value in fields.items() if name in source}
    body = {"before": None, "after": {"id": 1}, "source": source, "op": "u"}
    body |= {name: value for name, value in fields.items() if name in body}
    return json.dumps(body).encode()


FOUND = "position STRING, snapshot STRING, schema_id LONG, value BINARY"


def read(
    spark: SparkSession, *values: bytes, ordering: Ordering = BY_POSITION, partitions: int = 1
) -> list[Row]:
    """The envelopes of ``values`` in their order, each a second after the one before; they go to
    the partitions by turns.
    """
    rows = [
        (
            "lines",
            n % partitions,
            n,
            datetime.fromtimestamp(n, UTC),
            None,
            b'{"id":1}',
            bytearray(value),
        )
        for n, value in enumerate(values)
    ]
    records = spark.createDataFrame(rows, RECORDS)
    events = debezium_envelope(
        records, TopicRoles(), block=postgres_block(ordering), encoding=JsonEncoding()
    )
    kept = events.select("offset", *(c for c in events.columns if c not in RECORD_COLUMNS))
    return kept.orderBy("offset").collect()


def place(row: Row) -> tuple[int, str, int] | None:
    """Commit, kind and LSN of a position."""
    text = row["position"]
    return (int(text[4:20], 16), text[20], int(text[21:37], 16)) if text else None


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (change('["5000","5120"]', 5120), (5000, STREAMED, 5120)),
        (change('["5000","5120"]', 9), (5000, STREAMED, 5120)),
        (change('["5000", null]', 5130), (5000, STREAMED, 5130)),
        (change('[null,"4800"]', 4800, snapshot="first", op="r"), (4800, READ, 4800)),
        (change('["5000","5300"]', None, snapshot="incremental", op="r"), (5000, READ, 5300)),
        (change(None, 5120), (5120, STREAMED, 5120)),
        (change(None, 4800, snapshot="true", op="r"), (4800, READ, 4800)),
        (change('[null,"5120"]', 5120), (5120, STREAMED, 5120)),
        (change(f'["1","{2**63 - 1}"]', 1), (1, STREAMED, 2**63 - 1)),
        (change("[]", None), None),
        (change('["x","5120"]', 5120), None),
        (change(None, None), None),
    ],
)
def test_positions(spark: SparkSession, value: bytes, wanted: tuple[int, str, int] | None) -> None:
    """POS-2, POS-6, POS-8, MSG-13: from the sequence, else from the LSN alone."""
    (row,) = read(spark, value)
    assert place(row) == wanted
    assert row["reason"] == (None if wanted else "POSITION_MISSING")


def test_changes_without_a_commit_stand_above_the_first_snapshot(spark: SparkSession) -> None:
    """POS-7: wherever the snapshot's rows are; what knows a commit stays where it is."""
    values = (
        change('[null,"100"]', 100),
        change('[null,"700"]', 700, snapshot="true", op="r"),
        change('[null,"800"]', 800),
        change('["300","310"]', 310),
    )
    rows = read(spark, *values, ordering=Ordering(snapshot_lsn=700))
    assert [(at[0], at[2]) for row in rows if (at := place(row))] == [
        (700, 100),
        (700, 700),
        (800, 800),
        (300, 310),
    ]


def test_changes_without_a_commit_stand_above_the_snapshots_before_them_alone(
    spark: SparkSession,
) -> None:
    """POS-7: by their offset, or by Kafka's time where the partition has none of their rows."""
    values = [change('[null,"100"]', 100)] * 4
    here, elsewhere = (TopicPartition(TopicName(name), 0) for name in ("lines", "other"))
    reads = (
        SnapshotRead(700, time_ms=0, first={here: 0}),
        SnapshotRead(800, time_ms=2000, first={elsewhere: 0}),
        SnapshotRead(900, time_ms=0, first={here: 2}),
    )
    rows = read(spark, *values, ordering=Ordering(reads=reads))
    assert [at[0] for row in rows if (at := place(row))] == [100, 700, 800, 900]


def test_a_landing_tells_whether_its_own_snapshot_lifts(spark: SparkSession) -> None:
    """POS-7: only where a change that knows no commit stands below a new connector's snapshot."""
    values = [
        change('[null,"700"]', 700, snapshot="true", op="r"),
        change('[null,"200"]', 200),
        change('["150","160"]', 160),
        change('["650","900"]', 900, snapshot="true", op="r"),
        change('["950","950"]', 950, snapshot="last", op="r"),
        change('[null,"970"]', 970, snapshot="incremental", op="r"),
    ]
    places = [
        (row["position"], row["snapshot"], row["schema_id"], bytearray(value))
        for row, value in zip(read(spark, *values), values, strict=True)
    ]
    rows = spark.createDataFrame(places, FOUND)
    highest = snapshot_lsn(encoding=JsonEncoding())
    counts = (highest.alias("snapshot"), lowest_uncommitted(BY_POSITION).alias("lowest"))
    (found,) = rows.agg(*counts).collect()
    assert (int(found["snapshot"], 16), int(found["lowest"], 16)) == (700, 200)


def test_names_truncates_and_messages(spark: SparkSession) -> None:
    """MSG-10, MSG-11, MSG-13: a table is ``schema.table``; messages change nothing."""
    rows = read(
        spark,
        change('["5000","5120"]', 5120),
        change('["5000","5130"]', 5130, op="t", after=None),
        change(None, None, op="m", after=None, schema="", table=""),
        change('[null,"4800"]', 4800, snapshot="last", op="r"),
    )
    assert [row["kind"] for row in rows] == ["row", "truncate", "control", "row"]
    assert {(row["source_schema"], row["source_table"]) for row in rows[:2]} == {
        ("public", "lines")
    }
    assert [row["snapshot"] for row in rows] == [None, None, None, "last"]
