"""Zones: what is settled, late, in the cut or held. Rules GATE-W1, GATE-3, POS-20, TOP-3."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidemark.fold.admit import only_at, with_status
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, commit_bound

P0 = TopicPartition(TopicName("db.t"), 0)
P1 = TopicPartition(TopicName("db.t"), 1)
SHAPE = (
    "landing LONG, topic STRING, partition INT, offset LONG, kind STRING, position STRING, "
    "snapshot STRING, transaction_id STRING"
)


def statuses(  # noqa: PLR0913  what all rows have in common comes last
    spark: SparkSession,
    rows: list[tuple[int, int, int, str, str | None]],
    mode: GateMode,
    frontiers: tuple[Frontier, Frontier],
    snapshot: str | None = None,
    transaction: str | None = None,
) -> list[str]:
    """Zone of each (landing, partition, offset, kind, position); landing 1 was gated before."""
    values = [(landing, "db.t", *rest, snapshot, transaction) for landing, *rest in rows]
    frame = spark.createDataFrame(values, SHAPE)
    old, new = frontiers
    zoned = with_status(frame, Cut(2, mode, new), old, gated_landing=1).collect()
    found: Mapping[tuple[int, int], str] = {
        (row["partition"], row["offset"]): row["status"] for row in zoned
    }
    return [found[partition, offset] for _, partition, offset, *_ in rows]


def at(commit_ts: int, offset: int = 0) -> str:
    return f"{commit_bound(commit_ts)}10000{offset:016X}"


@pytest.mark.parametrize(
    ("landing", "commit_ts", "status"),
    [
        pytest.param(1, 90, "committed", id="published before"),
        pytest.param(2, 90, "duplicate", id="came again, below the frontier"),
        pytest.param(2, 100, "pending", id="at the old frontier: it was not published"),
        pytest.param(1, 150, "pending", id="held until now"),
        pytest.param(2, 199, "pending", id="just below the watermark"),
        pytest.param(2, 200, "held", id="equal to the watermark (GATE-W1)"),
        pytest.param(2, 300, "held", id="above"),
    ],
)
def test_watermark(spark: SparkSession, landing: int, commit_ts: int, status: str) -> None:
    row = (landing, 0, 5, "row", at(commit_ts, 5))
    frontiers = (Frontier(commit_ts=100), Frontier(commit_ts=200))
    assert statuses(spark, [row], GateMode.WATERMARK, frontiers) == [status]


def test_offsets(spark: SparkSession) -> None:
    rows: list[tuple[int, int, int, str, str | None]] = [
        (1, 0, 9, "row", "AA" + "0" * 16),
        (1, 0, 10, "row", "CC" + "0" * 16),
        (2, 0, 11, "row", "AA" + "1" * 16),
        (2, 0, 12, "row", "BB" + "1" * 16),
        (2, 0, 20, "row", "DD" + "0" * 16),
        (2, 0, 21, "row", "AA" + "2" * 16),
        (2, 1, 0, "row", "AA" + "0" * 16),
    ]
    old = Frontier(offsets={P0: 10}, reached={P0: Place("BB")}, streamed={P0: Place("BB")})
    new = Frontier(offsets={P0: 20, P1: 1})
    assert statuses(spark, rows, GateMode.NONE, (old, new)) == [
        "committed",
        "pending",  # landed before, but not in a cut
        "duplicate",  # below what its own partition reached: sent again (POS-20)
        "pending",  # equal to it: goes through the position guard
        "held",
        "held",  # sent again, but above the cut: told by the cut that takes it (ACC-1)
        "pending",  # a partition that was added later reaches nothing yet
    ]


def test_a_topic_that_the_cut_does_not_reach(spark: SparkSession) -> None:
    rows: list[tuple[int, int, int, str, str | None]] = [(2, 1, 0, "row", "AA" + "0" * 16)]
    new = Frontier(offsets={TopicPartition(TopicName("db.other"), 3): 9})
    assert statuses(spark, rows, GateMode.NONE, (Frontier(), new)) == ["held"]


def binlog(pos: int, rank: int, offset: int = 0) -> str:
    return f"000100000009{pos:016X}{rank}{offset:016X}"


def test_transactions(spark: SparkSession) -> None:
    """POS-20, GATE-T9: what END does not count may come behind the frontier, once."""
    rows: list[tuple[int, int, int, str, str | None]] = [
        (1, 0, 1, "row", binlog(90, 1)),
        (2, 0, 2, "row", binlog(80, 1)),
        (2, 1, 0, "truncate", binlog(80, 1)),
        (1, 0, 3, "row", binlog(110, 1)),
        (2, 0, 4, "row", binlog(130, 1)),
        (1, 2, 4, "end", None),
        (1, 2, 5, "begin", None),
        (2, 2, 6, "end", None),
    ]
    kept = TopicPartition(P0.topic, 2)
    old = Frontier(
        bound=binlog(100, 1),
        offsets={kept: 5},
        reached={P0: Place(binlog(90, 1)[:-16])},
        streamed={P0: Place(binlog(90, 1)[:-16])},
    )
    new = Frontier(bound=binlog(120, 1), offsets={kept: 6})
    assert statuses(spark, rows, GateMode.TRANSACTION, (old, new)) == [
        "committed",
        "duplicate",
        "pending",
        "pending",
        "held",
        "committed",
        "pending",
        "held",
    ]


@pytest.mark.parametrize(
    ("kind", "transaction", "status"),
    [
        pytest.param("row", "0-1-7", "duplicate", id="of a transaction: that settled whole"),
        pytest.param("row", None, "pending", id="of none: another row of the same event"),
        pytest.param("ddl", "0-1-7", "pending", id="another statement of several at one place"),
    ],
)
def test_changes_beside_the_last_one_of_their_partition(
    spark: SparkSession, kind: str, transaction: str | None, status: str
) -> None:
    """POS-20."""
    rows: list[tuple[int, int, int, str, str | None]] = [(2, 0, 5, kind, binlog(90, 1, 5))]
    old = Frontier(
        bound=binlog(100, 1),
        reached={P0: Place(binlog(90, 1)[:-16])},
        streamed={P0: Place(binlog(90, 1)[:-16])},
    )
    frontiers = (old, Frontier(bound=binlog(120, 1)))
    found = statuses(spark, rows, GateMode.TRANSACTION, frontiers, transaction=transaction)
    assert found == [status]


@pytest.mark.parametrize(
    ("snapshot", "read_at", "status"),
    [
        pytest.param("incremental", 90, "pending", id="beside the last streamed change: new"),
        pytest.param("true", 90, "duplicate", id="of the whole source: committed once it was read"),
        pytest.param("true", 80, "pending", id="of the whole source, beside a change: new"),
    ],
)
def test_snapshot_rows_behind_the_frontier(
    spark: SparkSession, snapshot: str, read_at: int, status: str
) -> None:
    """SNAP-10: one that is read amid the stream may stand where the stream was."""
    rows: list[tuple[int, int, int, str, str | None]] = [(2, 0, 5, "row", binlog(90, 0, 5))]
    old = Frontier(
        bound=binlog(100, 1),
        reached={P0: Place(binlog(90, 1)[:-16])},
        streamed={P0: Place(binlog(90, 1)[:-16])},
        read_at=Place(binlog(read_at, 0)[:-16]),
    )
    new = Frontier(bound=binlog(120, 1))
    assert statuses(spark, rows, GateMode.TRANSACTION, (old, new), snapshot) == [status]


def test_records_without_position_settle_when_they_are_first_seen(spark: SparkSession) -> None:
    rows: list[tuple[int, int, int, str, str | None]] = [
        (1, 0, 1, "watermark", None),
        (2, 0, 2, "tombstone", None),
        (2, 0, 3, "unreadable", None),
    ]
    frontiers = (Frontier(commit_ts=100), Frontier(commit_ts=200))
    assert statuses(spark, rows, GateMode.WATERMARK, frontiers) == [
        "committed",
        "pending",
        "pending",
    ]


def test_only_files_about_the_places_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """A join alone would leave out no file; which rows are meant is told by the places."""
    rows = [(1, topic, 0, number, "row", None, None, None) for topic in "ab" for number in range(9)]
    spark.createDataFrame(rows, SHAPE).write.parquet(str(tmp_path / "changelog"))
    changelog = spark.read.parquet(str(tmp_path / "changelog"))
    meant = only_at(changelog, [("a", 0, 3), ("a", 0, 5), ("b", 0, 7), ("b", 1, 1)])
    found = sorted((row["topic"], row["offset"]) for row in meant.collect())
    assert found == [("a", 3), ("a", 5), ("b", 7)]
    plan = meant._jdf.queryExecution().toString()  # noqa: SLF001  nothing else shows what is pushed
    assert "LessThanOrEqual(offset,5)" in plan
    assert only_at(changelog, []).count() == 0
