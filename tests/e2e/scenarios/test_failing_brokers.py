"""Brokers that are slow, die, move their partitions or start again while a landing reads.

Each record is landed once, or the landing says which broker did not answer, and the next one lands
what that left. A quota makes reading take long enough for something to happen in its midst.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.support.brokers import Brokers, running_brokers, throttle
from tests.support.records import Record, debezium_row
from tests.support.stack import Stream, reopened
from tidemark.errors import BrokerUnreachableError
from tidemark.lake.catalog import SystemTables
from tidemark.model.result import CutStatus
from tidemark.runs.landing import land, tasks
from tidemark.runs.landing.land import land_records
from tidemark.runs.run import CutRequest, begin_run
from tidemark.runs.world import World
from tidemark.spec import KafkaSpec
from tidemark.topics import consume

SLOW = "slow"
THREE_SEND, ONE_SENDS = 1_000_000, 2_000_000
"""Bytes in a second, from each broker."""
RECORDS, PARTITIONS = 24_000, 3
PADDING = "x" * 400
MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
Landed = dict[int, list[tuple[int, bytes]]]

by_both = pytest.mark.parametrize("reader", ["librdkafka", "java"], indirect=True)


@pytest.fixture
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of the two clients reads."""
    if request.param == "java":
        monkeypatch.setattr(land, "can_land_by_tasks", lambda *_: False)
    return str(request.param)


@pytest.fixture(scope="module")
def cluster_of_three(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with running_brokers(tmp_path_factory.mktemp("three"), jars, 3) as brokers:
        throttle(jars, brokers.servers, SLOW, THREE_SEND)
        yield brokers


@pytest.fixture(scope="module")
def cluster_of_one(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with running_brokers(tmp_path_factory.mktemp("one"), jars, 1) as brokers:
        throttle(jars, brokers.servers, SLOW, ONE_SENDS)
        yield brokers


@pytest.fixture
def three(cluster_of_three: Brokers) -> Brokers:
    """All of them run, whatever the test before has left."""
    cluster_of_three.start()
    return cluster_of_three


@pytest.fixture
def only(cluster_of_one: Brokers) -> Brokers:
    cluster_of_one.start()
    return cluster_of_one


def stream_on(world: World, servers: str, replicas: int) -> Stream:
    kafka = KafkaSpec(bootstrap_servers=servers, properties={"client.id": SLOW})
    slow = reopened(world, kafka=kafka)
    return Stream(slow, PARTITIONS, "debezium-mysql", "none", MYSQL, replicas=replicas).create()


def sent(stream: Stream, first: int, count: int = RECORDS) -> Landed:
    """Send rows with the ids from ``first``; what that put into each partition."""
    records = [
        replace(debezium_row("c", number, number, name=PADDING), partition=number % PARTITIONS)
        for number in range(first, first + count)
    ]
    stream.send(records)
    return by_partition(records, first // PARTITIONS)


def by_partition(records: list[Record], offset: int) -> Landed:
    values: dict[int, list[bytes]] = {}
    for record in records:
        values.setdefault(record.partition, []).append(record.value or b"")
    return {partition: list(enumerate(of, offset)) for partition, of in sorted(values.items())}


def landed(stream: Stream) -> Landed:
    """Offsets and values of each partition, as often as the changelog has them."""
    table = stream.world.catalog.load_table(SystemTables.of(stream.pipeline.name).changelog.parts)
    rows = table.scan(selected_fields=("partition", "offset", "value")).to_arrow().to_pylist()
    found: Landed = {}
    for row in sorted(rows, key=itemgetter("partition", "offset")):
        found.setdefault(row["partition"], []).append((row["offset"], row["value"]))
    return found


def both(first: Landed, second: Landed) -> Landed:
    return {partition: first[partition] + second[partition] for partition in first}


@dataclass
class Meanwhile:
    """seconds: how long the reading took that something happened amid."""

    seconds: float = 0.0


@contextmanager
def meanwhile(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], after: float = 3.0
) -> Iterator[Meanwhile]:
    """Have ``act`` done so many seconds after a landing began to read, and before it has read."""
    real, told, ended = land._stage, Meanwhile(), list[float]()

    def acted() -> None:
        time.sleep(after)
        act()
        ended.append(time.monotonic())

    acting = threading.Thread(target=acted)

    def staged(*args: Any) -> Any:
        if acting.ident is not None:
            return real(*args)
        began = time.monotonic()
        acting.start()
        try:
            return real(*args)
        finally:
            told.seconds = time.monotonic() - began
            done = time.monotonic()
            acting.join()
            assert ended[0] < done, "it had read before anything happened"

    with monkeypatch.context() as patched:
        patched.setattr(land, "_stage", staged)
        yield told


def landing(stream: Stream) -> int:
    return land_records(
        begin_run(stream.pipeline, stream.world, CutRequest(stream.attempt()))
    ).records


@by_both
def test_a_leader_dies_and_another_moves_while_they_are_read(
    world: World, three: Brokers, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TOP-6: what the dead one led is read from another one."""
    stream = stream_on(world, three.servers, 3)
    first = sent(stream, 0)
    dead = three.leader(stream.topic)
    with meanwhile(monkeypatch, lambda: three.kill(dead)):
        assert landing(stream) == RECORDS
    assert landed(stream) == first
    assert three.leader(stream.topic) != dead

    second = sent(stream, RECORDS)
    three.start()
    three.await_replicas(stream.topic)
    with meanwhile(monkeypatch, lambda: three.prefer_leaders(stream.topic, [0])):
        assert landing(stream) == RECORDS
    assert three.leader(stream.topic) == dead
    assert landed(stream) == both(first, second)
    assert stream.cut().status is CutStatus.PUBLISHED
    assert len(stream.rows()) == 2 * RECORDS


def test_a_run_begins_while_a_broker_is_away(world: World, three: Brokers) -> None:
    stream = stream_on(world, three.servers, 3)
    dead = three.leader(stream.topic)
    three.kill(dead)
    stream.send([debezium_row("c", number, number) for number in range(30)])
    assert stream.cut().status is CutStatus.PUBLISHED
    assert len(stream.rows()) == 30


@by_both
def test_the_only_broker_starts_again_while_it_is_read(
    world: World, only: Brokers, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = stream_on(world, only.servers, 1)
    rows = sent(stream, 0)

    def restart() -> None:
        only.kill(0)
        only.start()

    with meanwhile(monkeypatch, restart):
        assert landing(stream) == RECORDS
    assert landed(stream) == rows


@by_both
def test_the_only_broker_does_not_come_back(
    world: World, only: Brokers, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read is forgotten, in bounded time, and the next run reads it again."""
    monkeypatch.setattr(consume, "SILENCE_SECONDS", 5)
    monkeypatch.setattr(tasks, "FEW_RECORDS", RECORDS)  # Workers know nothing of a patch.
    stream = stream_on(world, only.servers, 1)
    rows = sent(stream, 0)
    with (
        meanwhile(monkeypatch, lambda: only.kill(0)) as reading,
        pytest.raises(BrokerUnreachableError, match="during the landing") as told,
    ):
        landing(stream)
    only.start()
    assert "look whether it runs" in told.value.next_step
    assert reading.seconds < 120
    assert landing(stream) == RECORDS
    assert landed(stream) == rows


@pytest.mark.smoke
def test_a_quota_slows_a_landing_down_and_loses_nothing(
    world: World, broker: str, jars: Path
) -> None:
    """A broker lets pass at once what its quota allows in the eleven seconds that it looks at."""
    quota = 200_000
    throttle(jars, broker, SLOW, quota)
    stream = stream_on(world, broker, 1)
    rows = sent(stream, 0, 5_100)
    size = sum(len(value) for of in rows.values() for _, value in of)
    since = time.monotonic()
    assert landing(stream) == 5_100
    assert time.monotonic() - since > size / quota - 11 > 3
    assert landed(stream) == rows
