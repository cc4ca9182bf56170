"""Orders that only the records tell: none at all, or one that needs the snapshot before them."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from tests.support.records import (
    Record,
    debezium_row,
    postgres_row,
    ticdc_ddl,
    ticdc_row,
    ticdc_watermark,
    unplaced_row,
)
from tests.support.stack import Stream
from tidemark.errors import PreflightError, UnreadableRecordsError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import read_mark
from tidemark.model.position import OrderedBy
from tidemark.model.progress import LandingMark
from tidemark.model.result import CutStatus
from tidemark.runs.preview import preview_cut
from tidemark.runs.world import World

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
POSTGRES = {"columns": {"id": "integer", "name": "text"}}


def mark(stream: Stream) -> LandingMark:
    return read_mark(stream.world.catalog, SystemTables.of(stream.pipeline.name))


@pytest.mark.smoke
def test_without_positions_the_offset_orders(world: World) -> None:
    """POS-11, POS-12, KEY-5: for ever, and a preview says so before."""
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    stream.send([Record(None), Record(None)])
    stream.cut()
    assert mark(stream).ordered_by is None
    partial = {"name": "a"}
    stream.send(
        [
            unplaced_row("c", 1, name="a"),
            unplaced_row("u", 1, name="b", before=partial),
            unplaced_row("c", 2),
            unplaced_row("d", 2),
        ]
    )
    assert preview_cut(stream.pipeline, world).ordered_by is OrderedBy.OFFSET
    assert stream.cut().status is CutStatus.PUBLISHED
    assert (mark(stream).ordered_by, stream.rows()) == (OrderedBy.OFFSET, {1: "b"})
    stream.send([debezium_row("u", 1, 7, name="c"), unplaced_row("u", 1, name="d")])
    stream.cut()
    assert stream.rows() == {1: "d"}


def test_an_offset_orders_one_partition_only(world: World) -> None:
    """POS-11."""
    stream = Stream(world, 2, "debezium-mysql", "none", MYSQL).create()
    stream.send([unplaced_row("c", 1)])
    with pytest.raises(PreflightError, match="has 2 partitions"):
        stream.cut()
    assert mark(stream) == LandingMark()


def test_a_source_with_positions_keeps_them(world: World) -> None:
    """POS-12: what has none is quarantined, if the pipeline may."""
    options = {"limits": {"max-unreadable": 1}}
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL, options).create()
    stream.send([debezium_row("c", 1, 7, name="a"), unplaced_row("u", 1, name="b")])
    result = stream.cut()
    assert (result.buckets["quarantined"], stream.rows()) == (1, {1: "a"})
    assert mark(stream).ordered_by is OrderedBy.POSITION
    stream.send([unplaced_row("u", 1, name="c"), unplaced_row("u", 1, name="d")])
    with pytest.raises(UnreadableRecordsError, match="POSITION_MISSING"):
        stream.cut()


@pytest.mark.smoke
def test_changes_that_know_no_commit_beat_the_snapshot_before_them(world: World) -> None:
    """POS-7: within a landing, and when the snapshot was landed before."""
    stream = Stream(world, 1, "debezium-postgres", "none", POSTGRES).create()
    stream.send([postgres_row("r", n, (None, 700), name="old") for n in (1, 2, 3)])
    stream.send([postgres_row("u", 1, (None, 600), name="new")])
    stream.cut()
    assert stream.rows() == {1: "new", 2: "old", 3: "old"}
    assert mark(stream).snapshot_lsn == 700
    stream.send([postgres_row("u", 2, (None, 610), name="new")])
    stream.send([postgres_row("d", 3, (None, 620), name=None)])
    stream.cut()
    assert stream.rows() == {1: "new", 2: "new"}
    stream.send([postgres_row("u", 1, (900, 910), name="last")])
    stream.send([postgres_row("r", 1, (None, 905), name="read")])
    stream.cut()
    assert (stream.rows()[1], mark(stream).snapshot_lsn) == ("read", 905)


@pytest.mark.parametrize("lags", [False, True], ids=["one landing", "a partition lags"])
def test_changes_that_know_no_commit_lose_to_the_snapshot_behind_them(
    world: World, lags: bool
) -> None:
    """POS-7: each connector's first transaction knows none; a later one takes a new snapshot.

    Also where that one's snapshot was landed before the change, from another partition.
    """
    stream = Stream(world, 2, "debezium-postgres", "none", POSTGRES).create()

    def put(partition: int, *records: Record) -> None:
        stream.send(replace(record, partition=partition) for record in records)

    def read(number: int, lsn: int) -> Record:
        return postgres_row("r", number, (None, lsn), name=f"read at {lsn}")

    put(0, read(1, 500), read(3, 500), postgres_row("u", 1, (None, 500), name="first"))
    put(0, postgres_row("u", 1, (520, 530), name="second"))
    put(0, read(1, 700), read(3, 700), postgres_row("u", 3, (None, 690), name="third"))
    if lags:
        stream.cut()
    put(1, read(2, 500), postgres_row("u", 2, (None, 510), name="first"))
    put(1, postgres_row("u", 5, (None, 510), name="first"))
    put(1, postgres_row("u", 5, (520, 540), name="second"))
    put(1, postgres_row("u", 4, (520, 550), name="second"))
    put(1, read(2, 700), read(5, 700), postgres_row("u", 4, (None, 695), name="third"))
    stream.cut()
    last = {2: "read at 700", 5: "read at 700", 4: "third"}
    assert stream.rows() == {1: "read at 700", 3: "third", **last}


def test_a_partition_without_rows_of_a_snapshot_goes_by_the_time(world: World) -> None:
    """POS-7: no row of the second snapshot tells where in its partition that stands."""
    stream = Stream(world, 2, "debezium-postgres", "none", POSTGRES).create()
    first = [
        postgres_row("r", 1, (None, 500), name="read"),
        postgres_row("u", 2, (None, 500), name="first", partition=1),
        postgres_row("u", 2, (520, 530), name="second", partition=1),
    ]
    stream.send(first)
    time.sleep(0.01)
    stream.send([postgres_row("r", 1, (None, 700), name="read again")])
    stream.cut()
    assert stream.rows() == {1: "read again", 2: "second"}


def test_a_truncate_before_a_table_is_known_is_kept(world: World) -> None:
    """TRUNC-16: there is nothing to take away yet, and rows below it come later."""
    stream = Stream(world, 2, "debezium-mysql", "none", {"key": ["id"]}).create()
    deleted = json.loads(debezium_row("d", 1, 50).value or b"")
    truncated = json.dumps(deleted | {"op": "t", "before": None}).encode()
    stream.send([Record(truncated, partition=1)])
    result = stream.cut()
    assert (result.status, result.buckets["applied"]) == (CutStatus.PUBLISHED, 1)
    stream.table = MYSQL
    rows = [debezium_row("c", number, pos) for number, pos in ((1, 10), (2, 60))]
    stream.send(replace(row, partition=0) for row in rows)
    result = stream.cut()
    assert (stream.rows(), result.buckets["superseded"]) == ({2: "x"}, 1)


def test_a_source_that_begins_with_a_truncate_goes_on(world: World) -> None:
    """TRUNC-16: TiCDC's statement tells no columns; the first row does."""
    stream = Stream(world).create()
    stream.send([ticdc_ddl("TRUNCATE TABLE items", 150), ticdc_watermark(200)])
    assert stream.cut().status is CutStatus.PUBLISHED
    stream.send([ticdc_row("INSERT", 1, 250, name="a"), ticdc_watermark(300)])
    stream.cut()
    assert stream.rows() == {1: "a"}
