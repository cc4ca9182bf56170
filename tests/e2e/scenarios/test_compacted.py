"""Compacted topics, as feeds of the newest state of each key: KEY-12, KEY-13.

The broker compacts; what it left is compared with what the producer sent, played into a dict.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support.marks import append_published
from tests.support.records import Record, debezium_row, postgres_row
from tests.support.stack import Stream
from tests.support.topics import (
    EAGERLY_COMPACTED,
    await_compaction,
    compact_often,
    delete_records,
    offsets_in,
    set_policy,
)
from tidemark.errors import DataLossError, PreflightError, TableStoppedError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import MARK, SCHEMA, read_mark
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import OrderedBy
from tidemark.model.progress import LandingMark
from tidemark.model.result import CutStatus
from tidemark.runs.world import World

COLUMNS = {"columns": {"id": "int", "name": "text"}}
ALLOW = {"compacted": "allow"}
KEYS = 30


class Producer:
    """What a connector sends of one table, and the rows that its source has."""

    def __init__(self, stream: Stream, seed: int) -> None:
        self.stream = stream
        self.random = random.Random(seed)  # noqa: S311  repeatable, not secret
        self.sent: list[Record] = []
        self.rows: dict[int, str] = {}

    @property
    def place(self) -> TopicPartition:
        """Where the records go."""
        return TopicPartition(TopicName(self.stream.topic), 0)

    def upsert(self, number: int) -> Record:
        """The row becomes another one."""
        op, pos = ("u" if number in self.rows else "c"), len(self.sent)
        self.rows[number] = f"{number} at {pos}"
        return self.keep(debezium_row(op, number, pos, name=self.rows[number]))

    def delete(self, number: int) -> list[Record]:
        """The row ends: the delete, and its tombstone."""
        del self.rows[number]
        gone = self.keep(debezium_row("d", number, len(self.sent)))
        return [gone, self.keep(Record(None, gone.key))]

    def keep(self, record: Record) -> Record:
        """Remember what is sent; its place in the list is its offset."""
        self.sent.append(record)
        return record

    def change(self, times: int) -> None:
        """Send random changes, then one that ends the segment before it."""
        records: list[Record] = []
        for _ in range(times):
            number = self.random.randrange(KEYS)
            is_end = number in self.rows and self.random.random() < 0.4
            records += self.delete(number) if is_end else [self.upsert(number)]
        self.stream.send(records)
        for _ in range(2):
            self.stream.send([self.upsert(KEYS)])

    def superseded(self) -> list[int]:
        """Offsets behind which another record of the key was sent; the last segment aside."""
        newest = {record.key: offset for offset, record in enumerate(self.sent[:-1])}
        return sorted({*range(len(self.sent) - 1)} - {*newest.values()})


def compacted(world: World, *, tombstones_ms: int = 86_400_000, **options: Any) -> Stream:
    """A compacted topic that is named as Debezium does, and a pipeline that allows it."""
    options = {"format": "debezium-mysql", "table": COLUMNS, "source": ALLOW, **options}
    stream = Stream(world, gate="none", **options)
    stream.topic = f"{stream.name}.shop.items"
    return stream.create({**EAGERLY_COMPACTED, "delete.retention.ms": str(tombstones_ms)})


def mark(stream: Stream) -> LandingMark:
    return read_mark(stream.world.catalog, SystemTables.of(stream.pipeline.name))


def remember(stream: Stream, changed: LandingMark) -> None:
    """Put ``changed`` into the summary of the changelog, as if it had been landed so."""
    tables = SystemTables.of(stream.pipeline.name)
    changelog = stream.world.catalog.load_table(tables.changelog.parts)
    append_published(
        stream.world.catalog, changelog, SCHEMA.empty_table(), {MARK: changed.to_json()}
    )


def lone_tombstones(sent: Sequence[Record], left: Sequence[int], since: int) -> int:
    """How many tombstones are left without the delete in front of them."""
    return sum(
        offset >= since and sent[offset].value is None and offset - 1 not in left for offset in left
    )


@pytest.mark.smoke
def test_what_compaction_leaves_is_the_source(world: World) -> None:
    """KEY-12, KEY-13, TOP-6, ACC-1: records between two runs are gone, and no row is missed."""
    compact_often(world.broker)
    stream = compacted(world)
    producer, place, since = Producer(stream, seed=7), None, 0
    for _ in range(3):
        producer.change(times=150)
        place = producer.place
        left = await_compaction(world.broker, place, producer.superseded())
        ends_alone = lone_tombstones(producer.sent, left, since)
        assert ends_alone > 0
        assert not {*range(since, len(producer.sent) - 2)} <= {*left}
        published = dict(stream.rows())
        result = stream.cut()
        assert result.status is CutStatus.PUBLISHED
        assert stream.rows() == producer.rows != published
        read = sum(offset >= since for offset in left)
        assert (sum(result.buckets.values()), result.buckets["control"]) == (read, 0)
        since = len(producer.sent)
    assert mark(stream).ordered_by is OrderedBy.OFFSET
    assert mark(stream).offsets == {place: since}
    number = min(producer.rows)
    stream.send(producer.delete(number))
    result = stream.cut()
    assert (result.buckets["applied"], result.buckets["control"]) == (1, 1)
    assert stream.rows() == producer.rows
    assert stream.cut().status is CutStatus.IDLE


def test_deleted_records_are_missed_nevertheless(world: World) -> None:
    """TOP-2, KEY-13: with compact,delete what retention takes is lost, landed or not."""
    stream = compacted(world)
    producer = Producer(stream, seed=8)
    producer.change(times=10)
    stream.cut()
    producer.change(times=10)
    set_policy(world.broker, producer.place.topic, "compact,delete")
    first_unread = mark(stream).offsets[producer.place]
    delete_records(world.broker, {producer.place: first_unread})
    stream.cut()
    assert stream.rows() == producer.rows
    producer.change(times=10)
    delete_records(world.broker, {producer.place: mark(stream).offsets[producer.place] + 1})
    with pytest.raises(DataLossError, match="were deleted by the topic's retention"):
        stream.cut()


def test_a_tombstone_alone_ends_a_row_of_an_earlier_run(world: World) -> None:
    """KEY-12: nothing else of the table comes with it; before its first row it ends nothing."""
    stream = compacted(world)
    gone = Record(None, debezium_row("d", 1, 1).key)
    stream.send([gone])
    result = stream.cut()
    assert (result.buckets["filtered"], stream.rows()) == (1, {})
    stream.send([debezium_row("c", 1, 2, name="a"), debezium_row("c", 2, 3, name="b")])
    stream.cut()
    stream.send([gone])
    result = stream.cut()
    assert (result.buckets["applied"], stream.rows()) == (1, {2: "b"})
    stream.send([gone, debezium_row("c", 1, 4, name="c")])
    stream.cut()
    assert stream.rows() == {1: "c", 2: "b"}


def test_a_tombstone_in_the_run_after_its_delete_changes_nothing(world: World) -> None:
    """KEY-12: nor does a repeat of both whose row has come back since."""
    stream = compacted(world)
    gone = debezium_row("d", 1, 5)
    tombstone = Record(None, gone.key)
    stream.send([debezium_row("c", 1, 2), debezium_row("c", 2, 3, name="b"), gone])
    stream.cut()
    assert stream.rows() == {2: "b"}
    stream.send([tombstone, debezium_row("c", 1, 6, name="back")])
    stream.cut()
    assert stream.rows() == {1: "back", 2: "b"}
    stream.send([gone])
    stream.cut()
    stream.send([tombstone, debezium_row("c", 1, 6, name="back")])
    stream.cut()
    assert stream.rows() == {1: "back", 2: "b"}


def test_a_run_that_comes_too_late_for_tombstones_stops(world: World) -> None:
    """KEY-12, TOP-2: a delete and its tombstone are gone, as if the row were still there."""
    compact_often(world.broker)
    stream = compacted(world, tombstones_ms=1)
    producer = Producer(stream, seed=10)
    stream.send([producer.upsert(1), producer.upsert(2)])
    stream.cut()
    assert stream.rows() == {1: "1 at 0", 2: "2 at 1"}
    stream.send([*producer.delete(1), producer.upsert(2)])
    until = time.monotonic() + 30
    while {0, 1, 2, 3} & {*offsets_in(world.broker, producer.place)}:
        assert time.monotonic() < until
        stream.send([producer.upsert(3)])
        time.sleep(0.2)
    with pytest.raises(DataLossError, match="keeps tombstones for 0.001 s: deletes from offset 2"):
        stream.cut()
    assert stream.rows() == {1: "1 at 0", 2: "2 at 1"}


def test_a_first_unread_record_that_is_there_shows_that_none_is_missed(world: World) -> None:
    """KEY-12: the topic was silent for long, and the run was not late."""
    stream = compacted(world, tombstones_ms=60_000)
    stream.send([debezium_row("c", 1, 2, name="a")])
    stream.cut()
    long_ago = {place: at - 3_600_000 for place, at in mark(stream).caught_up.items()}
    remember(stream, replace(mark(stream), caught_up=long_ago))
    stream.send([debezium_row("d", 1, 3)])
    stream.cut()
    assert stream.rows() == {}
    remembered = mark(stream).caught_up
    assert min(remembered.values()) > max(long_ago.values()) + 3_600_000


def test_compacted_topics_are_refused_unless_the_file_allows_them(world: World) -> None:
    """KEY-13."""
    stream = compacted(world, source={})
    stream.send([debezium_row("c", 1, 2)])
    with pytest.raises(PreflightError, match=r"is compacted.*\(KEY-13\)"):
        stream.cut()
    assert mark(stream) == LandingMark()


def test_one_partition_alone_and_for_ever(world: World) -> None:
    """POS-11, TOP-3: keys of several would be ordered only if none ever moved."""
    stream = compacted(world)
    stream.send([debezium_row("c", 1, 2, name="a")])
    stream.cut()
    stream.grow(2)
    stream.send([replace(debezium_row("u", 1, 3, name="b"), partition=1)])
    with pytest.raises(PreflightError, match="has 2 partitions, but as tombstones tell no pos"):
        stream.cut()
    assert stream.rows() == {1: "a"}


def test_a_topic_tells_the_table_of_its_tombstones(world: World) -> None:
    """KEY-12: one that is named otherwise is not landed."""
    stream = compacted(world)
    record = debezium_row("c", 1, 2)
    assert record.value is not None
    stream.send([Record(record.value.replace(b'"items"', b'"goods"'), record.key)])
    with pytest.raises(PreflightError, match=r"shop\.items holds rows of shop\.goods, and is not"):
        stream.cut()
    assert mark(stream) == LandingMark()


def test_rows_are_told_apart_by_the_key_of_records(world: World) -> None:
    """KEY-1, KEY-13: compaction keeps one record of each of these."""
    stream = compacted(world, table={**COLUMNS, "key": ["name"]})
    stream.send([debezium_row("c", 1, 2)])
    with pytest.raises(TableStoppedError, match="have the key columns id, but its rows have name"):
        stream.cut()


def test_values_that_were_unavailable_stop_the_table(world: World) -> None:
    """UNAV-3, KEY-13: the row of the target may be older than what held them."""
    columns = {"columns": {"id": "integer", "name": "text"}}
    stream = compacted(world, format="debezium-postgres", table=columns)
    stream.send([postgres_row("c", 1, (10, 20), name="old")])
    stream.cut()
    stream.send([postgres_row("u", 1, (30, 40), name="__debezium_unavailable_value")])
    with pytest.raises(TableStoppedError, match="1 changes of shop.items leave out values"):
        stream.cut()
    assert stream.rows() == {1: "old"}


def test_what_was_landed_by_position_is_not_gone_on_with(world: World) -> None:
    """KEY-13, POS-12: tombstones have no place among positions."""
    stream = compacted(world, source={})
    set_policy(world.broker, TopicName(stream.topic), "delete")
    stream.send([debezium_row("c", 1, 2, name="a")])
    stream.cut()
    stream.source = ALLOW
    stream.send([debezium_row("u", 1, 3, name="b")])
    with pytest.raises(PreflightError, match="were landed by position before"):
        stream.cut()
    assert stream.rows() == {1: "a"}


def test_every_record_that_is_not_superseded_is_left(world: World) -> None:
    """TOP-6: the broker of these tests really compacts, and keeps what it must."""
    compact_often(world.broker)
    stream = compacted(world)
    producer = Producer(stream, seed=9)
    producer.change(times=40)
    left = await_compaction(world.broker, producer.place, producer.superseded())
    newest = {*range(len(producer.sent))} - {*producer.superseded()}
    assert left == sorted(newest) == offsets_in(world.broker, producer.place)
    assert world.broker.reach([producer.place])[producer.place].start == 0
