"""What others do to our tables between two cuts: maintenance goes unnoticed, the rest is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.support.kept import Logged, logged, soft_deleted
from tests.support.maintenance import (
    CALLS,
    load,
    own_tables,
    pyiceberg_expiry,
    spark_maintenance,
)
from tests.support.records import Record, debezium_row
from tests.support.stack import Stream, counted
from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import read_mark
from tidemark.lake.ledger import read_progress
from tidemark.runs.world import World

COLUMNS = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
MAINTENANCE = {
    **{name: spark_maintenance(name) for name in CALLS},
    "all": spark_maintenance(*CALLS),
    "expire_snapshots of pyiceberg": pyiceberg_expiry,
}
PARTS = (
    "u1@10=a u2@20=a u3@30=a u4@40=a u5@50=a",
    "u1@60=b d2@70 u3@80=b u6@90=b",
    "u1@100=c d3@110 u2@120=c",
    "d4@130 u7@140=d u1@150=d",
)


def told(event: Logged) -> Record:
    return debezium_row(event.op, event.key, event.place, name=event.value)


def opened(world: World, **options: object) -> Stream:
    return Stream(world, 1, "debezium-mysql", "none", COLUMNS, options).create()


def published(world: World, **options: object) -> Stream:
    """A stream that has published the first two parts."""
    stream = opened(world, **options)
    for part in PARTS[:2]:
        send(stream, logged(part))
        stream.cut()
    return stream


def send(stream: Stream, log: Sequence[Logged]) -> None:
    stream.send(map(told, log))


def mirrored(*parts: str) -> dict[int, str]:
    log = logged(" ".join(parts))
    return {key: value for key, (value, gone) in soft_deleted(log).items() if gone is None}


def landed(stream: Stream) -> list[int]:
    """Offsets in the changelog, each as often as it is there."""
    changelog = load(stream, SystemTables.of(stream.pipeline.name).changelog)
    return sorted(changelog.scan(selected_fields=("offset",)).to_arrow()["offset"].to_pylist())


@pytest.mark.parametrize("name", MAINTENANCE)
def test_maintenance_of_others_changes_nothing(world: World, name: str) -> None:
    """PUB-9, PUB-11, DUP-2, ACC-1: cuts go on from where they were, and nothing lands twice."""
    stream = published(world)
    sent = [event for part in PARTS[:2] for event in logged(part)]
    for number, part in enumerate(PARTS[2 : 4 if name == "all" else 3], start=3):
        MAINTENANCE[name](stream)
        batch = [sent[-1], *logged(part)]
        send(stream, batch)
        sent += batch
        result = stream.cut()
        assert result.cut == number
        assert sum(counted(result).values()) == len(batch)
        assert stream.rows() == mirrored(*PARTS[:number])
        assert landed(stream) == list(range(len(sent)))
    system = SystemTables.of(stream.pipeline.name)
    assert read_progress(world.catalog, system).landing == number
    assert list(read_mark(world.catalog, system).offsets.values()) == [len(sent)]
