"""Which changes a history target does not know yet."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.fold.appended import mark_copies
from tidemark.fold.latest import only_newest
from tidemark.fold.settled import beside_settled
from tidemark.fold.versions import is_newer, mark_event_ids, with_stored
from tidemark.model.columns import CHANGE, POSITION, ROW, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName
from tidemark.model.position import commit_ts_at

ID = ColumnName("id")
SCHEMA = TableSchema((SourceColumn(ID, "int", ValueEncoding.INTEGER, "int"),), (ID,))
READ, STREAMED = "0", "1"


def at(commit: int, rank: str, offset: int) -> str:
    """A position of PostgreSQL at the LSN 20."""
    return f"0001{commit:016X}{rank}{20:016X}{offset:016X}"


def test_what_is_streamed_at_the_lsn_of_a_snapshot_is_another_change(spark: SparkSession) -> None:
    """POS-4, POS-9: whether a cut falls between them or not; a copy may know a later commit."""
    positions = [at(20, READ, 1), at(20, STREAMED, 2), at(25, STREAMED, 3)]
    frame = spark.createDataFrame(
        [("U", position, 0, 0) for position in positions],
        "op STRING, position STRING, part INT, partition INT",
    )
    keyed = frame.withColumn("row_key", F.struct(F.lit(1).alias("id")))
    changes = beside_settled(keyed, None, F.lit(0).cast("long"))
    retained = only_newest(mark_event_ids(changes, "TRUE"))
    assert {row["position"] for row in retained.collect()} == {positions[0], positions[2]}
    for known, newer in ((positions[0], {positions[2]}), (positions[1], set())):
        staged = retained.select(F.lit(1).alias("id"), F.col("position").alias(POSITION), CHANGE)
        stored = spark.createDataFrame(
            [(1, known, None)], "key_0 INT, began_at STRING, ended_at STRING"
        )
        left = with_stored(staged, stored, SCHEMA).where(is_newer())
        assert {row[POSITION] for row in left.collect()} == newer


FIELDS = "op STRING, position STRING, part INT, partition INT, row LONG, row_key STRUCT<id: INT>"


def in_binlog(spark: SparkSession, changes: str, first: int = 1) -> DataFrame:
    """``U0@20`` is an upsert by row 0 of the event at 20; their offsets go up from ``first``."""
    rows = []
    for offset, text in enumerate(changes.split(), first):
        change, place = text.split("@")
        position = f"000100000009{int(place):016X}1{offset:016X}"
        rows.append((change[0], position, 0, 0, int(change[1:]), (1,)))
    return spark.createDataFrame(rows, FIELDS)


def offset_of(position: str) -> int:
    return int(position[-16:], 16)


@pytest.mark.parametrize(
    ("settled", "cut", "newer"),
    [
        pytest.param("", "D0@20 U1@20", [1, 2], id="a key is left and taken"),
        pytest.param("", "U0@20 U1@20 U1@20", [1, 2], id="one came again"),
        pytest.param("", "D0@20 U1@20 D0@20", [1, 2], id="the first one came again"),
        pytest.param("", "U0@20 U0@20", [2], id="of a compressed log the last one"),
        pytest.param("D0@20", "U1@20", [2], id="a cut fell between them"),
        pytest.param("D0@20", "D0@20 U1@20", [3], id="and the first one came again"),
        pytest.param("D0@20 U1@20", "D0@20 U1@20", [], id="both came again"),
        pytest.param("U0@20", "U0@20", [], id="one came again in another cut"),
        pytest.param("D3@20", "U3@20", [2], id="another op of one row"),
        pytest.param("", "", [], id="nothing came"),
    ],
)
def test_changes_at_one_place_are_known_by_their_rows(
    spark: SparkSession, settled: str, cut: str, newer: Sequence[int]
) -> None:
    """POS-5, POS-14, DUP-2: what the target knows is the newest of ``settled``."""
    before = in_binlog(spark, settled)
    changes = in_binlog(spark, cut, 1 + len(settled.split()))
    beside = beside_settled(changes, before, F.col("row"))
    retained = only_newest(mark_event_ids(beside, "TRUE"))
    staged = retained.select(F.col("row_key.id"), F.col("position").alias(POSITION), CHANGE)
    known = [(1, row["position"], None) for row in before.collect()]
    stored = spark.createDataFrame(known, "key_0 INT, began_at STRING, ended_at STRING")
    left = with_stored(staged, stored, SCHEMA).where(is_newer()).collect()
    assert sorted(offset_of(row[POSITION]) for row in left) == newer


def test_what_the_target_knows_of_a_place_is_a_copy_where_nothing_settled_shows_more(
    spark: SparkSession,
) -> None:
    """POS-14: records of a settled place may be removed from the changelog."""
    beside = beside_settled(in_binlog(spark, "U0@20 U1@20", 7), None, F.col("row"))
    retained = only_newest(mark_event_ids(beside, "TRUE"))
    staged = retained.select(F.col("row_key.id"), F.col("position").alias(POSITION), CHANGE)
    known = in_binlog(spark, "U1@20").first()
    assert known is not None
    stored = spark.createDataFrame(
        [(1, known["position"], None)], "key_0 INT, began_at STRING, ended_at STRING"
    )
    assert with_stored(staged, stored, SCHEMA).where(is_newer()).isEmpty()


@pytest.mark.parametrize(
    ("settled", "cut", "numbers"),
    [
        pytest.param("", "U0@20 U1@20 U1@20", ["", ".2"], id="in one cut"),
        pytest.param("", "U7@20", [""], id="one change has the identity that all had before"),
        pytest.param("U0@20", "U1@20", [".2"], id="a cut fell between them"),
        pytest.param("U0@20 U4@20", "U4@20 U6@20", [".3"], id="and the last one came again"),
        pytest.param("U0@20 U1@20", "U0@20 U1@20", [], id="both came again"),
        pytest.param("D0@20", "U1@20", [""], id="another op"),
    ],
)
def test_appended_changes_at_one_place_are_numbered_by_their_rows(
    spark: SparkSession, settled: str, cut: str, numbers: Sequence[str]
) -> None:
    """POS-14, KEY-14: rows that are stored keep the identities that they have."""
    frames = [
        in_binlog(spark, text, first).withColumn("snapshot", F.lit(None).cast("string"))
        for text, first in ((settled, 1), (cut, 9))
    ]
    beside = beside_settled(frames[1], frames[0], F.col("row"))
    rows = only_newest(mark_copies(beside)).collect()
    before = f"000100000009{20:016X}1.0."
    hashed = spark.range(1).select(F.hex(F.xxhash64(F.struct(F.lit(1).alias("id"))))).first()
    assert hashed is not None
    assert sorted(row[ROW] for row in rows) == [
        f"{before}{cut[0]}.{hashed[0]}{number}" for number in numbers
    ]


@pytest.mark.parametrize(
    ("changes", "versions", "appended"),
    [
        pytest.param("U5/0 U5/1", ["U5/1"], 1, id="sent again to another partition"),
        pytest.param("U5/2 U5/1 U5/0", ["U5/2"], 1, id="and to a third one"),
        pytest.param("D5/0 U5/1", ["D5/0", "U5/1"], 2, id="a key is left and taken"),
        pytest.param("D5/1 U5/0 D5/0 U5/1", ["D5/1", "U5/1"], 2, id="and both came again"),
        pytest.param("U5/0 U6/1", ["U5/0", "U6/1"], 2, id="two commits"),
    ],
)
def test_a_copy_may_come_by_another_partition(
    spark: SparkSession, changes: str, versions: Sequence[str], appended: int
) -> None:
    """POS-14, GATE-W8, KEY-14: ``U5/1`` is an upsert of TiCDC at commitTs 5, by partition 1."""
    rows = []
    for offset, text in enumerate(changes.split()):
        op, commit_ts, partition = text[0], int(text[1:].partition("/")[0]), int(text[-1])
        position = f"0001{commit_ts:016X}{int(op == 'U')}{partition:04X}{offset:016X}"
        rows.append((op, position, 0, partition, None, (1,)))
    frame = spark.createDataFrame(rows, FIELDS)
    beside = beside_settled(frame, None, F.lit(None).cast("long"))
    events = only_newest(mark_event_ids(beside, "TRUE")).collect()
    found = [f"{r['op']}{commit_ts_at(r['position'])}/{r['partition']}" for r in events]
    assert sorted(found) == sorted(versions)
    copies = mark_copies(beside.withColumn("snapshot", F.lit(None).cast("string")))
    assert only_newest(copies).count() == appended
