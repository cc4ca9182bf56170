"""Keys of PostgreSQL that several rows have in one transaction, through whole cuts (KEY-9)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tests.support.records import Record, postgres_row
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.runs.world import World

COLUMNS = {"columns": {"id": "integer", "name": "text"}}


def moves(lsn: int, transaction: int, steps: Sequence[tuple[int, int, str]]) -> list[Record]:
    """What a transaction sends that changes the keys of rows: (from, to, name) for each row."""
    records: list[Record] = []
    for at, (left, taken, name) in zip(count(lsn), steps, strict=False):
        told = ((left, "d", "newkey", taken), (taken, "c", "oldkey", left))
        for key, op, header, other in told:
            record = postgres_row(op, key, (lsn - 5, at), name=name, tx_id=transaction)
            headers = ((f"__debezium.{header}", json.dumps({"id": other}).encode()),)
            records.append(replace(record, headers=headers))
    return records


def written(op: str, key: int, lsn: int, transaction: int, name: str = "") -> Record:
    """An insert or a delete of a row by a statement of ``transaction``."""
    return postgres_row(op, key, (lsn - 5, lsn), name=name, tx_id=transaction)


def opened(world: World) -> Stream:
    stream = Stream(world, 1, "debezium-postgres", "none", COLUMNS).create()
    stream.send([postgres_row("c", n, (n, n), name=name) for n, name in ((1, "a"), (2, "b"))])
    stream.cut()
    return stream


def test_rows_that_swap_their_keys_stop_the_table_until_they_are_read_anew(
    world: World,
) -> None:
    """KEY-9: the end of the row that had key 2 comes after the row that took it."""
    stream = opened(world)
    stream.send(moves(100, 7, [(1, 2, "a"), (2, 1, "b")]))
    for _ in range(2):
        with pytest.raises(TableStoppedError, match="KEY_CONFLICT") as why:
            stream.cut()
    assert f"at offset 4 of partition 0 of topic {stream.topic}" in str(why.value)
    assert f"tidemark resync {stream.name} shop.items" in str(why.value)
    assert stream.rows() == {1: "a", 2: "b"}, "as it was"
    stream.send([postgres_row("r", 2, (200, 201), name="a")])
    stream.cut()
    assert stream.rows() == {1: "b", 2: "a"}


def test_a_row_goes_on_to_another_key_in_a_later_transaction(world: World) -> None:
    """KEY-6, DUP-2: then the key is its own, and its end there is its end, also when sent again."""
    stream = opened(world)
    there, further = moves(100, 7, [(1, 3, "a")]), moves(110, 8, [(3, 4, "a"), (2, 3, "b")])
    stream.send([*there, *further])
    stream.cut()
    assert stream.rows() == {3: "b", 4: "a"}
    stream.send([*there, *further, *moves(120, 9, [(3, 5, "b")])])
    stream.cut()
    assert stream.rows() == {4: "a", 5: "b"}


@pytest.mark.parametrize("mode", ["mirror", "soft-delete", "history"])
def test_keys_that_are_checked_at_once_never_stop_a_table(world: World, mode: str) -> None:
    """KEY-9: a swap through a temporary key, a row that moves on, and one that comes and goes."""
    stream = Stream(world, 1, "debezium-postgres", "none", {**COLUMNS, "mode": mode}).create()
    stream.send([postgres_row("c", n, (n, n), name=name) for n, name in ((1, "a"), (2, "b"))])
    stream.cut()
    swap = moves(100, 7, [(1, 0, "a"), (2, 1, "b"), (0, 2, "a")])
    further = moves(110, 8, [(2, 3, "a"), (3, 4, "a")])
    passing = [written("c", 5, 120, 9, "c"), written("d", 5, 121, 9)]
    there_and_back = moves(130, 10, [(1, 6, "b"), (6, 1, "b")])
    stream.send([*swap, *further, *passing, *there_and_back])
    stream.cut()
    live = [row for row in stream.published() if lives(row)]
    assert {row["id"]: row["name"] for row in live} == {4: "a", 1: "b"}
    assert len(live) == 2


def lives(row: dict[str, Any]) -> bool:
    return not row.get("_tidemark_deleted") and row.get("_tidemark_end_position") is None


@pytest.mark.smoke
def test_a_row_that_takes_a_key_before_its_owner_is_deleted_stops_the_table(world: World) -> None:
    """KEY-9: no header tells that; the target knows that the key had a row."""
    stream = opened(world)
    stream.send([written("c", 2, 100, 7, "c"), written("d", 2, 101, 7)])
    with pytest.raises(TableStoppedError, match="KEY_CONFLICT.* at offset 3 of partition 0"):
        stream.cut()
    assert stream.rows() == {1: "a", 2: "b"}
    stream.send([postgres_row("r", 2, (200, 201), name="c")])
    stream.cut()
    assert stream.rows() == {1: "a", 2: "c"}


def test_a_row_of_the_same_cut_had_the_key_before(world: World) -> None:
    """KEY-9: whether it did is decided by the newest change before the transaction."""
    stream = Stream(world, 1, "debezium-postgres", "none", COLUMNS).create()
    stream.send([written("c", 1, 10, 3, "a"), written("d", 1, 20, 4)])
    stream.send([written("c", 1, 30, 5, "b"), written("d", 1, 31, 5)])
    stream.send([written("c", 2, 40, 6, "c")])
    stream.cut()
    assert stream.rows() == {2: "c"}
    stream.send([written("c", 3, 50, 7, "d")])
    stream.send([written("c", 3, 60, 8, "e"), written("d", 3, 61, 8)])
    with pytest.raises(TableStoppedError, match="KEY_CONFLICT"):
        stream.cut()


@pytest.mark.parametrize("ended_by", ["a snapshot", "a truncate"])
@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_a_row_that_ended_before_the_transaction_is_not_in_doubt(
    world: World, ended_by: str, mode: str
) -> None:
    """KEY-9, SNAP-6, TRUNC-12: stored or of the same cut, as its end is in this cut."""
    stream = Stream(world, 1, "debezium-postgres", "none", {**COLUMNS, "mode": mode}).create()
    stream.send([postgres_row("c", n, (n, n), name=name) for n, name in ((1, "a"), (2, "b"))])
    stream.cut()
    if ended_by == "a snapshot":
        whole = [marked("first", 1, 200), marked("last", 4, 200)]
        stream.send([*whole, written("c", 5, 210, 6)])
        stream.cut()
    else:
        stream.send(
            [written("c", 3, 100, 6), written("t", 0, 200, 6), written("c", 1, 205, 6, "a")]
        )
        stream.send([written("c", 3, 206, 8, "e"), written("d", 3, 207, 8)])
    stream.send([written("c", 2, 220, 7, "c"), written("d", 2, 221, 7)])
    stream.cut()
    live = {row["id"] for row in stream.published() if lives(row)}
    assert live == ({1, 4, 5} if ended_by == "a snapshot" else {1})


def marked(mark: str, key: int, lsn: int) -> Record:
    """A row that a snapshot read at ``lsn``."""
    record = postgres_row("r", key, (lsn - 5, lsn), name="a")
    value = json.loads(record.value or b"")
    value["source"]["snapshot"] = mark
    return replace(record, value=json.dumps(value).encode())
