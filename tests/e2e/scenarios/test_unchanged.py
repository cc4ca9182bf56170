"""Updates of PostgreSQL that leave out values which they do not change, through whole cuts."""

from __future__ import annotations

import json
from dataclasses import replace
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


SIZES = {"columns": {"id": "integer", "n": "integer", "sizes": "double precision[]"}}
OLD_KEY = "__debezium.oldkey"
SMALL, LARGE = [0.5, -1.5], [0.5] * 300


def sized(op: str, number: int, lsn: int, sizes: list[float] | None = None, **told: Any) -> Record:
    """A change of a row with a column for which the connector has no placeholder."""
    record = postgres_row(op, number, (lsn - 5, lsn), n=lsn, sizes=sizes, **told)
    return replace(record, value=(record.value or b"").replace(b'"name": "x", ', b""))


def with_before(record: Record, **before: Any) -> Record:
    """The same of a table with REPLICA IDENTITY FULL."""
    value = json.loads(record.value or b"") | {"before": before}
    return replace(record, value=json.dumps(value).encode())


def with_sizes(world: World, mode: str = "mirror", **options: Any) -> Stream:
    table = {**SIZES, "mode": mode}
    return Stream(world, 1, "debezium-postgres", "none", table, options).create()


def sizes_of(stream: Stream) -> dict[int, tuple[list[float] | None, int]]:
    return {row["id"]: (row["sizes"], row["n"]) for row in stream.published()}


@pytest.mark.smoke
def test_a_null_is_one_where_the_row_had_nothing_that_can_be_left_out(world: World) -> None:
    """UNAV-11: nulls and small values before it, in the cut and in the target; and inserts."""
    stream = with_sizes(world, limits={"max-quarantined": 0})
    stream.send([sized("r", 1, 5), sized("c", 2, 10, []), sized("c", 3, 15), sized("u", 3, 20)])
    stream.cut()
    assert sizes_of(stream) == {1: (None, 5), 2: ([], 10), 3: (None, 20)}
    stream.send([sized("u", 1, 30), sized("u", 2, 35), sized("u", 3, 40, LARGE)])
    stream.cut()
    assert sizes_of(stream) == {1: (None, 30), 2: (None, 35), 3: (LARGE, 40)}
    stream.send([sized("d", 3, 50), sized("c", 3, 55), sized("u", 3, 60)])
    stream.send([sized("c", 4, 62, SMALL), sized("u", 4, 64), sized("u", 2, 66, SMALL)])
    stream.cut()
    assert sizes_of(stream) == {1: (None, 30), 2: (SMALL, 66), 3: (None, 60), 4: (None, 64)}
    stream.send([sized("u", 2, 70)])
    stream.cut()
    assert sizes_of(stream)[2] == (None, 70)


def test_a_small_value_beside_a_shape_may_be_left_out(world: World) -> None:
    """UNAV-11: a shape stays in the row however large it is, and small values are moved first."""
    shaped = {"columns": {**SIZES["columns"], "shape": "geometry"}}
    stream = Stream(
        world, 1, "debezium-postgres", "none", shaped, {"limits": {"max-quarantined": 0}}
    ).create()
    stream.send([sized("c", 1, 10, shape=None), sized("c", 2, 15, SMALL, shape=None)])
    stream.cut()
    stream.send([sized("u", 1, 20, shape=None)])
    stream.cut()
    assert sizes_of(stream) == {1: (None, 20), 2: (SMALL, 15)}
    stream.send([sized("u", 2, 25, shape=None)])
    with pytest.raises(TableStoppedError, match="UNAVAILABLE_UNRESOLVED"):
        stream.cut()


def test_a_null_that_may_be_a_large_value_stops_the_table(world: World) -> None:
    """UNAV-11, UNAV-7: what the row had stays, whichever of the two it is."""
    stream = with_sizes(world, limits={"max-quarantined": 0})
    stream.send([sized("c", 1, 10, LARGE)])
    stream.cut()
    stream.send([sized("u", 1, 20)])
    with pytest.raises(TableStoppedError, match="UNAVAILABLE_UNRESOLVED") as why:
        stream.cut()
    assert "column sizes, null or a large value that did not change, at offset 1" in str(why.value)
    assert "REPLICA IDENTITY FULL" in str(why.value)
    assert sizes_of(stream) == {1: (LARGE, 10)}
    stream.send([sized("u", 1, 30, [1.5])])
    stream.cut()
    assert sizes_of(stream) == {1: ([1.5], 30)}


def test_a_null_in_doubt_is_quarantined_within_one_cut(world: World) -> None:
    """UNAV-11, POISON-2: the row is what its newest whole change says; others go on."""
    stream = with_sizes(world)
    stream.send([sized("c", 1, 10, LARGE), sized("u", 1, 20), sized("c", 2, 30, [0.5])])
    result = stream.cut()
    assert (result.buckets["quarantined"], result.stopped) == (1, {})
    assert sizes_of(stream) == {1: (LARGE, 10), 2: ([0.5], 30)}


def test_the_row_of_before_tells_that_a_null_is_one(world: World) -> None:
    """UNAV-11: with REPLICA IDENTITY FULL the connector puts in what did not change."""
    stream = with_sizes(world, limits={"max-quarantined": 0})
    stream.send([sized("c", 1, 10, LARGE), sized("c", 2, 15)])
    stream.cut()
    stream.send([with_before(sized("u", 1, 20), id=1, n=10, sizes=LARGE)])
    stream.send([with_before(sized("u", 2, 25), id=2, n=15, sizes=None)])
    stream.send([with_before(sized("u", 9, 30), id=9, n=30, sizes=None)])
    stream.cut()
    assert sizes_of(stream) == {1: (None, 20), 2: (None, 25), 9: (None, 30)}


def test_columns_of_an_index_are_no_row_of_before(world: World) -> None:
    """UNAV-11, KEY-5: they are as little whole where NOT NULL columns hold zero in place of null"""
    stream = with_sizes(world, limits={"max-quarantined": 0})
    stream.send([sized("c", 1, 10, LARGE)])
    stream.cut()
    stream.send([with_before(sized("u", 1, 20), id=1, n=0, sizes=None)])
    with pytest.raises(TableStoppedError, match="UNAVAILABLE_UNRESOLVED"):
        stream.cut()
    assert sizes_of(stream) == {1: (LARGE, 10)}


def test_a_null_of_a_row_under_a_new_key_is_that_of_the_former_one(world: World) -> None:
    """UNAV-11, UNAV-6: the connector's header tells such an insert from any other."""
    stream = with_sizes(world, limits={"max-quarantined": 0})
    stream.send([sized("c", 1, 10), sized("c", 2, 15, LARGE)])
    stream.cut()
    moved = ((OLD_KEY, b"Struct{id=1}"),)
    stream.send([sized("d", 1, 20), replace(sized("c", 3, 20), headers=moved), sized("c", 4, 25)])
    stream.cut()
    assert sizes_of(stream) == {2: (LARGE, 15), 3: (None, 20), 4: (None, 25)}
    stream.send([sized("d", 2, 30), replace(sized("c", 5, 30), headers=moved)])
    with pytest.raises(TableStoppedError, match="UNAVAILABLE_UNRESOLVED"):
        stream.cut()
    assert sizes_of(stream)[2] == (LARGE, 15)


@pytest.mark.parametrize("mode", ["history", "append"])
def test_a_target_that_keeps_changes_holds_no_guess(world: World, mode: str) -> None:
    """UNAV-11, KEY-11: a version is whole; a change says what it leaves out."""
    stream = with_sizes(world, mode)
    stream.send([sized("c", 1, 10), sized("u", 1, 20), sized("u", 1, 30, LARGE)])
    stream.cut()
    rows = sorted(stream.published(), key=lambda row: row["_tidemark_position"])
    assert [row["sizes"] for row in rows] == [None, None, LARGE]
    stream.send([sized("u", 1, 40)])
    if mode == "history":
        with pytest.raises(TableStoppedError, match="UNAVAILABLE_UNRESOLVED"):
            stream.cut()
        return
    stream.cut()
    rows = sorted(stream.published(), key=lambda row: row["_tidemark_position"])
    left_out = [row["_tidemark_left_out"] for row in rows]
    assert left_out == [None, ["sizes"], None, ["sizes"]]
