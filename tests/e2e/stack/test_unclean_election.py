"""The newest landed record is known again, or the run stops: TOP-5.

Two brokers and a crash would show it all. Here the broker is one that loses nothing, so what was
remembered is changed instead: to the run it is the same that either of the two is not as it was.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import pytest
from confluent_kafka import Producer

from tests.support.marks import append_published
from tests.support.records import ticdc_row, ticdc_watermark
from tests.support.stack import Stream
from tests.support.topics import delete_records
from tidemark.errors import DataLossError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import MARK, SCHEMA, read_mark
from tidemark.model.fingerprint import Fingerprint
from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.model.progress import LandingMark
from tidemark.model.result import CutStatus
from tidemark.runs.preview import preview_cut
from tidemark.runs.world import World
from tidemark.topics.fingerprints import next_fingerprints

FIRST = [ticdc_row("INSERT", 1, 100, name="a"), ticdc_watermark(200)]
SECOND = [ticdc_row("UPDATE", 1, 210, name="b"), ticdc_watermark(300)]


def mark(stream: Stream) -> LandingMark:
    return read_mark(stream.world.catalog, SystemTables.of(stream.pipeline.name))


def remember(stream: Stream, fingerprint: Fingerprint) -> None:
    """Put ``fingerprint`` into the summary of the changelog, as if it had been landed."""
    tables = SystemTables.of(stream.pipeline.name)
    changed = replace(mark(stream), fingerprints={place(stream): fingerprint})
    changelog = stream.world.catalog.load_table(tables.changelog.parts)
    append_published(
        stream.world.catalog, changelog, SCHEMA.empty_table(), {MARK: changed.to_json()}
    )


def transactional(stream: Stream) -> Producer:
    """A producer whose transactions end in a batch that is no record."""
    servers = stream.world.broker.servers
    producer = Producer(
        {"bootstrap.servers": servers, "transactional.id": stream.name, "log_level": 0}
    )
    producer.init_transactions(30)
    return producer


def committed(stream: Stream, producer: Producer, end: int) -> None:
    """Commit, and wait for what ends the transaction: the broker answers before it is written."""
    producer.commit_transaction(30)
    until = time.monotonic() + 30
    while stream.world.broker.reach([place(stream)])[place(stream)].end < end:
        assert time.monotonic() < until
        time.sleep(0.05)


def place(stream: Stream) -> TopicPartition:
    return TopicPartition(TopicName(stream.topic), 0)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"digest": "0" * 64}, id="content"),
        pytest.param({"time_ms": 1_700_000_000_000}, id="timestamp"),
    ],
)
def test_another_record_at_a_landed_offset_stops_the_run(
    world: World, changed: dict[str, object]
) -> None:
    stream = Stream(world).create()
    stream.send(FIRST)
    stream.cut()
    fingerprint = mark(stream).fingerprints[place(stream)]
    assert fingerprint.offset == 1
    remember(stream, replace(fingerprint, **changed))  # type: ignore[arg-type]
    assert stream.cut().status is CutStatus.IDLE, "without new records nothing is looked at"
    stream.send(SECOND)
    named = rf"landed from offset 1 of {stream.topic}-0 is not there any more, but one of 20"
    for run in (partial(preview_cut, stream.pipeline, world), stream.cut):
        with pytest.raises(DataLossError, match=named):
            run()
    assert stream.rows() == {1: "a"}
    remember(stream, fingerprint)
    stream.cut()
    assert stream.rows() == {1: "b"}


def test_a_record_that_retention_deleted_is_not_missed(world: World) -> None:
    stream = Stream(world).create()
    stream.send(FIRST)
    stream.cut()
    delete_records(world.broker, {place(stream): 2})
    stream.send(SECOND)
    stream.cut()
    assert (stream.rows(), mark(stream).fingerprints[place(stream)].offset) == ({1: "b"}, 3)


def test_what_ends_a_transaction_is_no_record(world: World) -> None:
    """TOP-6: the last offset of a topic may hold none; an aborted record is none either."""
    stream = Stream(world).create()
    producer = transactional(stream)
    for batch, end in ((FIRST, 3), (SECOND[:1], None), (SECOND, 8)):
        producer.begin_transaction()
        for record in batch:
            producer.produce(stream.topic, record.value, partition=0)
        if end is None:
            producer.flush(30)
            producer.abort_transaction(30)
        else:
            committed(stream, producer, end)
    stream.cut()
    assert mark(stream).offsets == {place(stream): 8}
    assert mark(stream).fingerprints[place(stream)].offset == 6
    stream.send([ticdc_row("DELETE", 1, 310), ticdc_watermark(400)])
    stream.cut()
    assert stream.rows() == {}


def test_a_gap_at_the_fingerprint_is_the_work_of_compaction_or_none(world: World) -> None:
    """Offset 2 holds the end of a transaction and stands for a record that is gone."""
    stream = Stream(world).create()
    producer = transactional(stream)
    producer.begin_transaction()
    for record in FIRST:
        producer.produce(stream.topic, record.value, partition=0)
    committed(stream, producer, end=3)
    stream.send(SECOND)
    at, kept = place(stream), {place(stream): Fingerprint(2, 0, "")}
    unread = {at: OffsetRange(3, 5)}
    assert next_fingerprints(world.broker, kept, unread, {at.topic})[at].offset == 4
    with pytest.raises(DataLossError, match="any more, but none: the broker lost records"):
        next_fingerprints(world.broker, kept, unread, ())


def test_the_fingerprint_of_a_limited_range_is_inside_it(world: World) -> None:
    stream = Stream(world).create()
    stream.send([*FIRST, *SECOND])
    at = place(stream)
    found = next_fingerprints(world.broker, {}, {at: OffsetRange(0, 2)}, ())
    assert found[at].offset == 1
    assert next_fingerprints(world.broker, found, {at: OffsetRange(4, 4)}, ()) == found
