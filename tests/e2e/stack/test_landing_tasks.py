"""Landing by tasks in Python: the same changelog as by expressions, and nothing lost on the way."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.records import Record, debezium_row, mysql_source
from tests.support.stack import Stream
from tests.support.topics import delete_records
from tests.support.workers import killing_workers, paused_broker
from tidemark.errors import DataLossError, EpochSuspectError, WorkerLostError
from tidemark.fold.falls import falls
from tidemark.lake.catalog import SystemTables
from tidemark.model.names import PipelineName, TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.model.result import CutStatus
from tidemark.runs.landing import land, tasks
from tidemark.runs.landing.land import land_records
from tidemark.runs.run import CutRequest, begin_run
from tidemark.runs.world import World
from tidemark.topics import consume
from tidemark.topics.consume import RecordsGoneError, SilentBrokerError

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
MANY = {"limits": {"max-unreadable": 100_000}}


by_both = pytest.mark.parametrize("few", [0, 10_000], ids=["tasks", "driver"], indirect=True)


@pytest.fixture(autouse=True)
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many records are landed by the driver, more by tasks."""
    number = int(getattr(request, "param", 0))
    monkeypatch.setattr(tasks, "FEW_RECORDS", number)
    return number


def streamed(world: World, **options: Any) -> Stream:
    return Stream(world, 3, "debezium-mysql", "none", MYSQL, MANY, **options).create()


def place(stream: Stream, partition: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(stream.topic), partition)


def spread(records: Sequence[Record]) -> list[Record]:
    """Over three partitions, in turn."""
    return [replace(record, partition=number % 3) for number, record in enumerate(records)]


def changelog(stream: Stream, name: str = "") -> list[dict[str, Any]]:
    """Every column of what is landed, in the order of the topic."""
    tables = SystemTables.of(PipelineName(name or stream.name))
    table = stream.world.catalog.load_table(tables.changelog.parts)
    rows = table.scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


def data_files(stream: Stream) -> tuple[set[Path], set[Path]]:
    """Files in the folder of the changelog, and those that its branch ``main`` names."""
    table = stream.world.catalog.load_table(SystemTables.of(stream.pipeline.name).changelog.parts)
    named = {
        Path(path.removeprefix("file://"))
        for path in table.inspect.files()["file_path"].to_pylist()
    }
    folder = Path(table.location().removeprefix("file://")) / "data"
    return {file for file in folder.rglob("*") if file.suffix == ".parquet"}, named


def written(pos: int, **changed: Any) -> Record:
    """A record of a row with other fields than `debezium_row` gives it."""
    value = json.loads(debezium_row("c", pos, pos).value or b"") | changed
    return Record(json.dumps(value, ensure_ascii=False).encode(), b'{"id":%d}' % pos)


ROWS = range(20)
MIXED = spread(
    [
        *(
            debezium_row("c", number, 100 + number, name=f"caf\u00e9 {number}")
            for number in range(20)
        ),
        replace(
            debezium_row("u", 1, 200), headers=(("who", b"me"), ("void", b""), ("who", b"\xff"))
        ),
        debezium_row("d", 2, 201),
        Record(None, b'{"id":2}'),
        Record(b"no JSON", b'{"id":3}'),
        Record(b'{"op":"u","source":\xff}', None),
        debezium_row("r", 30, 202, mark="last"),
        written(203, source=mysql_source(203, at=0) | {"pos": "203"}),
        written(204, source=mysql_source(204, at=0) | {"ts_ms": 2**63 - 1}),
        written(205, op="t", after=None),
        written(206, op="z"),
        written(207, transaction={"id": "9", "total_order": 3}),
        written(208, schema=None, payload=None),
        replace(debezium_row("u", 9, 209), key=b'{"id":9,"id":10}'),
        replace(debezium_row("u", 9, 210), key=None),
    ]
)


@by_both
def test_tasks_land_what_expressions_land(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """TOP-6, MSG-4, POISON-1: of the same topic, with what is odd and what was aborted."""
    stream = streamed(world)
    monkeypatch.setattr(tasks, "LEAST_RECORDS", 7)
    monkeypatch.setattr(tasks, "MOST_RECORDS", 7)
    producer = Producer(
        {"bootstrap.servers": world.broker.servers, "transactional.id": stream.name, "log_level": 0}
    )
    producer.init_transactions(30)
    for is_kept in (False, True):
        producer.begin_transaction()
        for record in MIXED:
            producer.produce(
                stream.topic,
                record.value,
                record.key,
                partition=record.partition,
                headers=list(record.headers),
            )
        producer.flush(30)
        producer.commit_transaction(30) if is_kept else producer.abort_transaction(30)
    until = time.monotonic() + 30
    places = [place(stream, partition) for partition in range(3)]
    while min(reach.end for reach in world.broker.reach(places).values()) < 2 * len(MIXED) // 3:
        assert time.monotonic() < until
    first = land_records(begin_run(stream.pipeline, world, CutRequest(stream.attempt())))
    other = stream.pipeline.model_copy(update={"name": PipelineName(f"{stream.name}_other")})
    monkeypatch.setattr(land, "can_land_by_tasks", lambda *_: False)
    second = land_records(begin_run(other, world, CutRequest(stream.attempt())))
    assert first.records == second.records == len(MIXED)
    assert first.mark == second.mark
    assert changelog(stream) == changelog(stream, other.name)
    kinds = Counter(row["kind"] for row in changelog(stream))
    assert kinds["unreadable"] >= 3
    assert kinds["row"] > 20
    assert kinds["truncate"] == kinds["tombstone"] == 1


def test_a_topic_of_odd_records_is_landed_by_expressions(world: World) -> None:
    """Whatever tasks have written by then belongs to nothing, and goes."""
    stream = streamed(world)
    stream.send(spread([debezium_row("c", number, number) for number in range(30)]))
    stream.send(spread([Record(b"%d" % number) for number in range(3 * tasks.ODD_RECORDS)]))
    landed = land_records(begin_run(stream.pipeline, world, CutRequest(stream.attempt())))
    assert landed.records == 30 + 3 * tasks.ODD_RECORDS
    kinds = Counter(row["kind"] for row in changelog(stream))
    assert kinds == {"row": 30, "unreadable": 3 * tasks.ODD_RECORDS}
    there, named = data_files(stream)
    assert there == named


def test_a_killed_worker_loses_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempt fails, may be tried again, and the next one folds each record once."""
    stream = streamed(world)
    stream.send(spread([debezium_row("c", number, number) for number in range(300)]))
    real = tasks.land_by_tasks

    def killed(*args: Any) -> Any:
        with paused_broker(world.broker.servers), killing_workers():
            return real(*args)

    with monkeypatch.context() as patched:
        patched.setattr(land, "land_by_tasks", killed)
        with pytest.raises(WorkerLostError, match="during the landing"):
            stream.cut()
    assert stream.cut().status is CutStatus.PUBLISHED
    assert len(changelog(stream)) == len(stream.rows()) == 300


@by_both
def test_records_that_retention_deletes_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TOP-2: they were there when the run was planned, and are gone as a task comes to them."""
    stream = streamed(world)
    stream.send([debezium_row("c", number, number) for number in range(9)])
    real = tasks.land_by_tasks

    def meanwhile(*args: Any) -> Any:
        delete_records(world.broker, {place(stream): 5})
        return real(*args)

    monkeypatch.setattr(land, "land_by_tasks", meanwhile)
    with pytest.raises(DataLossError, match="while they were read"):
        stream.cut()
    servers = world.broker.servers
    with pytest.raises(RecordsGoneError, match=stream.topic):
        list(consume.consume(servers, {}, {place(stream): OffsetRange(0, 9)}))
    left = consume.consume(servers, {}, {place(stream): OffsetRange(6, 8)})
    assert [message.offset() for message in left] == [6, 7]


def test_a_broker_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consume, "SILENCE_SECONDS", 1)
    ranges = {TopicPartition(TopicName("t"), 0): OffsetRange(0, 9)}
    with pytest.raises(SilentBrokerError, match="for 1 s"):
        list(consume.consume("127.0.0.1:1", {}, ranges))


@by_both
def test_what_rises_needs_no_closer_look(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """POS-16: only what may be of another log costs a job, and what waited for longer."""
    looks: list[str] = []

    def watched(*args: Any) -> bool:
        looks.append("looked")
        return falls(*args)

    monkeypatch.setattr("tidemark.runs.new_log.falls", watched)
    stream = streamed(world)
    for first in (0, 100):
        stream.send(spread([debezium_row("c", first + n, 1_000 + first + n) for n in range(9)]))
        assert stream.cut().status is CutStatus.PUBLISHED
    assert looks == []
    stream.send([debezium_row("u", 1, 1_001)])
    stream.send([written(5, ts_ms=1, source=mysql_source(5, at=2_000_000_000_000))])
    with pytest.raises(EpochSuspectError):
        stream.cut()
    assert looks == ["looked"]
    with pytest.raises(EpochSuspectError):
        stream.cut()
    assert looks == ["looked", "looked"]
