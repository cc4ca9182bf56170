"""Keys of PostgreSQL that one transaction hands from row to row, through whole cuts (KEY-9)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

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
            record = postgres_row(op, key, (lsn - 5, at), name=name)
            value = json.loads(record.value or b"")
            value["source"]["txId"] = transaction
            headers = ((f"__debezium.{header}", json.dumps({"id": other}).encode()),)
            records.append(replace(record, value=json.dumps(value).encode(), headers=headers))
    return records


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
