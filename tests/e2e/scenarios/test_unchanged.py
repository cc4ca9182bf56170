"""Updates of PostgreSQL that leave out values which they do not change, through whole cuts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.records import Record, boundary, postgres_row
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.model.result import CutStatus
from tidemark.runs.world import World

UNAVAILABLE = "__debezium_unavailable_value"
COLUMNS = {"columns": {"id": "integer", "name": "text", "n": "integer"}}
BY_TABLE = {"publish": {"consistency": "table"}}


def row(op: str, number: int, lsn: int, name: str | None = UNAVAILABLE, **told: Any) -> Record:
    """A change of row ``number`` in a transaction of its own; it goes to partition 0."""
    return postgres_row(op, number, (lsn - 5, lsn), name=name, n=lsn, **told)


def opened(world: World, partitions: int = 1, **options: Any) -> Stream:
    return Stream(world, partitions, "debezium-postgres", "none", COLUMNS, options).create()


def published(stream: Stream) -> dict[int, tuple[str, int]]:
    return {row["id"]: (row["name"], row["n"]) for row in stream.published()}


def test_what_an_update_leaves_out_stays_as_it_was(world: World) -> None:
    """UNAV-1, UNAV-3, DUP-2: in the cut or in the target, also when changes come again."""
    stream = opened(world)
    stream.send([row("c", 1, 10, "a"), row("c", 2, 20, "b"), row("u", 2, 30)])
    stream.cut()
    assert published(stream) == {1: ("a", 10), 2: ("b", 30)}
    stream.send([row("u", 1, 40), row("u", 2, 50, "c"), row("u", 2, 60), row("u", 1, 70)])
    result = stream.cut()
    assert published(stream) == {1: ("a", 70), 2: ("c", 60)}
    assert (result.buckets["applied"], result.buckets["superseded"]) == (2, 2)
    stream.send([row("u", 2, 50, "c"), row("u", 2, 60), row("u", 1, 70), row("u", 2, 80)])
    stream.cut()
    assert published(stream) == {1: ("a", 70), 2: ("c", 80)}
    stream.send([row("t", 0, 90), row("c", 1, 100, "d"), row("u", 1, 110)])
    stream.cut()
    assert published(stream) == {1: ("d", 110)}


def test_a_row_keeps_them_under_another_key(world: World) -> None:
    """UNAV-6, KEY-6, KEY-7: from key to key, in one cut and when its end is published before."""
    stream = opened(world, 2)
    stream.send([row("c", 1, 10, "a"), row("c", 2, 20, "b")])
    stream.cut()
    stream.send([row("u", 1, 30, "c"), row("d", 1, 40), row("c", 3, 40, partition=1)])
    stream.send([row("d", 3, 50, partition=1), row("c", 5, 50), row("u", 5, 60)])
    stream.cut()
    assert published(stream) == {2: ("b", 20), 5: ("c", 60)}
    stream.send([row("u", 5, 70), row("d", 5, 80)])
    stream.cut()
    assert published(stream) == {2: ("b", 20)}
    stream.send([row("c", 7, 80, partition=1)])
    stream.cut()
    assert published(stream) == {2: ("b", 20), 7: ("c", 80)}


def test_a_row_waits_for_its_end_under_the_former_key(world: World) -> None:
    """UNAV-6: what came before that may be missing, so that the target's row may be old."""
    stream = opened(world, 2, **BY_TABLE)
    stream.send([row("c", 1, 10, "a")])
    stream.cut()
    stream.send([row("c", 3, 40, partition=1)])
    assert "UNAVAILABLE_UNRESOLVED" in stream.cut().stopped["shop.items"]
    assert published(stream) == {1: ("a", 10)}
    assert stream.cut().status is CutStatus.IDLE, "no cut of nothing as long as it waits"
    stream.send([row("u", 1, 30, "b"), row("d", 1, 40)])
    assert stream.cut().stopped == {}
    assert published(stream) == {3: ("b", 40)}


@pytest.mark.smoke
def test_a_transaction_holds_both_ends(world: World) -> None:
    """UNAV-6, GATE-T2, DUP-2."""
    stream = Stream(world, 2, "debezium-postgres", "transaction", COLUMNS).create()
    first, second = "811:10", "812:20"
    ends = [boundary("BEGIN", first), boundary("END", first, 1)]
    stream.send([*ends, boundary("BEGIN", second)], stream.transactions)
    stream.send([row("c", 1, 10, "a", transaction=(first, 1))])
    stream.send([row("c", 3, 20, partition=1, transaction=(second, 2))])
    stream.cut()
    assert published(stream) == {1: ("a", 10)}
    stream.send([row("d", 1, 20, transaction=(second, 1))])
    stream.send([boundary("END", second, 2)], stream.transactions)
    stream.cut()
    assert published(stream) == {3: ("a", 20)}
    stream.send([row("c", 3, 20, partition=1, transaction=(second, 2))])
    stream.cut()
    assert published(stream) == {3: ("a", 20)}, "its other half does not come again"


def test_what_nothing_tells_stops_the_table_until_a_whole_row_comes(world: World) -> None:
    """UNAV-3, UNAV-7: it is never written, and nobody guesses."""
    stream = opened(world, limits={"max-quarantined": 0})
    stream.send([row("c", 1, 10, "a"), row("u", 2, 20)])
    with pytest.raises(TableStoppedError, match="UNAVAILABLE_UNRESOLVED") as why:
        stream.cut()
    assert f"column name at offset 1 of partition 0 of topic {stream.topic}" in str(why.value)
    assert f"tidemark resync {stream.name} shop.items" in str(why.value)
    stream.send([row("u", 2, 30, "b"), row("u", 2, 40)])
    stream.cut()
    assert published(stream) == {1: ("a", 10), 2: ("b", 40)}
