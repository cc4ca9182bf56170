"""What is known of some keys is erased; what the source still has stays (ERASE-1).

What is left is sought in the bytes of every file that the newest snapshots name, as pyiceberg reads
them.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.e2e.scenarios.test_refold import ITEMS, SOURCES, TYPED, refolded, send
from tests.e2e.scenarios.test_retention import KEEP, removed_after
from tests.support.maintenance import load, target
from tests.support.records import Record, canal_rows, debezium_row, postgres_row, ticdc_row
from tests.support.small_driver import small_driver
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError, SupersededError, TableStoppedError
from tidemark.lake.bases import bases_in
from tidemark.lake.catalog import SystemTables
from tidemark.lake.history import read_history
from tidemark.model.result import CutStatus
from tidemark.runs import shortened
from tidemark.runs.cut import stage_cut
from tidemark.runs.erase import erase
from tidemark.runs.orders import all_waiting
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World

JANE = "Jane"


def opened(world: World, gate: str, **table: Any) -> Stream:
    source, typed = SOURCES[gate]
    return Stream(world, 1, source, gate, {**typed, **table}).create()


def holds(stream: Stream, text: str = JANE) -> set[str]:
    """The tables of which the newest snapshot has a data file with a value that has ``text``.

    Rows that are deleted stand in their files until these are rewritten, so delete files do not
    count.
    """
    found = set()
    names = (SystemTables.of(stream.pipeline.name).changelog, target(stream))
    for name in names:
        table = load(stream, name)
        for task in table.scan().plan_files():
            with table.io.new_input(task.file.file_path).open() as file:
                rows = pq.read_table(file).to_pylist()
            if any(text in str(row) for row in rows):
                found.add(name.table)
    return found


def places(stream: Stream) -> list[tuple[int, str, str | None]]:
    """Offset, kind and position of each record in the changelog."""
    name = SystemTables.of(stream.pipeline.name).changelog
    rows = load(stream, name).scan().to_arrow().to_pylist()
    return sorted((row["offset"], row["kind"], row["position"]) for row in rows)


@pytest.mark.parametrize("gate", SOURCES)
def test_a_deleted_row_leaves_no_payload(world: World, gate: str) -> None:
    """ERASE-1: its places stay; a row that stands keeps what it says, and loses what it was."""
    stream = opened(world, gate)
    send(stream, 100, ("c", 1, JANE), ("c", 2, f"{JANE} too"), ("c", 3, "c"))
    stream.cut()
    send(stream, 200, ("d", 1, JANE), ("u", 2, "b"))
    stream.cut()
    assert holds(stream) == {"changelog", "items"}, "deleted rows stand in their files"
    before = places(stream)
    done = erase(stream.pipeline, world, ITEMS, [{"id": "1"}, {"id": "2"}], "asked for")
    assert (done.keys, done.records, done.shared, done.is_rewritten) == (2, 3, 0, True)
    assert holds(stream) == set()
    assert holds(stream, "b") == {"changelog", "items"}
    after = places(stream)
    assert [(offset, position) for offset, _, position in after] == [
        (offset, position) for offset, _, position in before
    ]
    assert sum(kind == "erased" for _, kind, _ in after) == 3
    assert stream.rows() == {2: "b", 3: "c"}
    send(stream, 300, ("u", 3, "d"), ("c", 1, "another"))
    stream.cut()
    assert stream.rows() == {1: "another", 2: "b", 3: "d"}
    refolded(stream)
    assert stream.rows() == {1: "another", 2: "b", 3: "d"}
    again = erase(stream.pipeline, world, ITEMS, [{"id": "1"}], "again")
    assert again.records == 0, "its row stands"


@pytest.mark.parametrize(("mode", "rows"), [("soft-delete", 1), ("history", 2), ("append", 3)])
def test_what_targets_keep_of_ended_rows_goes(world: World, mode: str, rows: int) -> None:
    """ERASE-1: versions, deleted rows and changes, but for what tells a row that stands."""
    stream = opened(world, "none", mode=mode)
    send(stream, 100, ("c", 1, JANE), ("c", 2, JANE))
    stream.cut()
    send(stream, 200, ("d", 1, JANE), ("u", 2, "b"))
    stream.cut()
    done = erase(stream.pipeline, world, ITEMS, [{"id": "1"}, {"id": "2"}], "asked for")
    assert done.rows == rows
    assert holds(stream) == set()
    assert [(row["id"], row["name"]) for row in stream.published()] == [(2, "b")]
    send(stream, 300, ("d", 2, "b"), ("c", 4, "d"))
    stream.cut()
    assert {row["id"] for row in stream.published()} == {2, 4}


def test_a_staged_run_is_superseded_and_nothing_comes_back(world: World) -> None:
    """ERASE-1, PUB-8: what was staged from the changelog of before does not count any more."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 1, JANE), ("d", 1, JANE), ("c", 2, "b"))
    stream.cut()
    send(stream, 200, ("c", 3, "c"))
    attempt = stream.attempt()
    assert stage_cut(stream.pipeline, world, CutRequest(attempt)).status is CutStatus.STAGED
    erase(stream.pipeline, world, ITEMS, [{"id": "1"}], "asked for")
    with pytest.raises(SupersededError):
        publish_cut(stream.pipeline, world, attempt)
    stream.cut()
    assert stream.rows() == {2: "b", 3: "c"}
    assert holds(stream) == set()
    history = read_history(world.catalog, SystemTables.of(stream.pipeline.name))
    assert history.published is not None


def test_an_order_says_how_many_keys_and_none_of_them(world: World) -> None:
    """ERASE-1: what the ledger keeps holds no key."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 4711, "a"), ("d", 4711, "a"))
    stream.cut()
    erase(stream.pipeline, world, ITEMS, [{"id": "4711"}], "asked for")
    (order,) = read_history(world.catalog, SystemTables.of(stream.pipeline.name)).orders
    assert order.command == "erase shop.items, 1 key: asked for"


@pytest.mark.smoke
def test_an_erased_change_that_comes_again_is_erased_again(world: World) -> None:
    """ERASE-1, GATE-5: nothing shows that it is a copy, so it stops its table until then."""
    stream = opened(world, "watermark")
    send(stream, 100, ("c", 1, JANE), ("d", 1, JANE), ("c", 2, "b"))
    stream.cut()
    erase(stream.pipeline, world, ITEMS, [{"id": "1"}], "asked for")
    stream.send([ticdc_row("INSERT", 1, 100, name=JANE)])
    send(stream, 300, ("u", 2, "c"))
    with pytest.raises(TableStoppedError, match=r"(?s)LATE_VIOLATION.*erase their keys again"):
        stream.cut()
    assert holds(stream) == {"changelog"}, "the source sent it once more"
    erase(stream.pipeline, world, ITEMS, [{"id": "1"}], "asked for")
    assert holds(stream) == set()
    stream.cut()
    assert stream.rows() == {2: "c"}
    stream.send([ticdc_row("INSERT", 3, 100, name="c")])
    with pytest.raises(TableStoppedError, match="LATE_VIOLATION"):
        stream.cut()


BY_CANAL = {"columns": {"id": "bigint", "name": "varchar(20)"}}


@pytest.mark.smoke
@pytest.mark.parametrize("is_local", [True, False], ids=["by workers", "by the driver"])
def test_rows_go_out_of_records_that_hold_others(
    world: World, is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ERASE-1: Canal writes rows of one statement together; each stands where it stood."""
    monkeypatch.setattr(shortened, "is_local", lambda _: is_local)
    stream = Stream(world, 1, "canal-json", "none", BY_CANAL).create()
    rows = [{"id": str(at), "name": name} for at, name in enumerate((JANE, "b", JANE, "d"), 1)]
    changed = [row | {"name": f"{JANE} {row['id']}"} for row in rows]
    olds = [{"name": row["name"]} for row in rows]
    stream.send([canal_rows("INSERT", *rows), canal_rows("UPDATE", *changed, old=olds)])
    stream.send([canal_rows("UPDATE", rows[1], old=[{"name": changed[1]["name"]}])])
    stream.send([canal_rows("UPDATE", rows[3], old=[{"name": changed[3]["name"]}])])
    stream.send([canal_rows("DELETE", changed[0], changed[2])])
    stream.cut()
    before = places(stream)
    keys = [{"id": str(key)} for key in (1, 2, 3, 4)]
    done = erase(stream.pipeline, world, ITEMS, [keys[0], keys[2]], "asked for")
    assert (done.records, done.shortened, done.shared) == (1, 2, 0)
    assert holds(stream, f"{JANE} 1") | holds(stream, f"{JANE} 3") == set()
    assert holds(stream, f"{JANE} 2") == {"changelog"}
    assert [(offset, at) for offset, _, at in places(stream)] == [
        (offset, at) for offset, _, at in before
    ]
    refolded(stream)
    assert stream.rows() == {2: "b", 4: "d"}
    again = erase(stream.pipeline, world, ITEMS, keys, "again")
    assert (again.records, again.shortened) == (2, 0)
    refolded(stream)
    assert stream.rows() == {2: "b", 4: "d"}


def test_a_row_with_another_declared_key_now_stays(world: World) -> None:
    """ERASE-1, KEY-8: the record that took the key from it holds it as it stands.

    All of these records together are too much for the driver, and none of them is asked for.
    """
    columns = {"columns": {"id": "integer", "name": "text", "note": "text"}, "key": ["name"]}
    stream = Stream(world, 1, "debezium-postgres", "none", columns).create()
    first, renamed = [], []
    for number in range(8):
        note = os.urandom(150_000).hex()
        was = postgres_row("c", number, (100, 100 + number), name=f"{JANE} {number}", note=note)
        now = postgres_row("u", number, (200, 200 + number), name=f"Joe {number}", note=note)
        before = json.loads(was.value or b"")["after"]
        value = json.loads(now.value or b"") | {"before": before}
        first.append(was)
        renamed.append(Record(json.dumps(value).encode(), now.key))
    stream.send([*first, *renamed])
    stream.cut()
    keys = [{"name": f"{JANE} {number}"} for number in range(8)]
    with small_driver(world.spark, 1024 * 1024):
        done = erase(stream.pipeline, world, ITEMS, keys, "asked for")
    assert (done.records, done.shortened, done.shared) == (8, 0, 8)
    refolded(stream)
    assert {row["name"] for row in stream.published()} == {f"Joe {at}" for at in range(8)}


def test_a_row_that_another_key_has_now_stays(world: World) -> None:
    """ERASE-1, KEY-8: what it was and what it is stand in one row of the record."""
    stream = Stream(world, 1, "canal-json", "none", BY_CANAL).create()
    stream.send([canal_rows("INSERT", {"id": "1", "name": JANE}, {"id": "2", "name": "b"})])
    stream.send([canal_rows("UPDATE", {"id": "3", "name": JANE}, old=[{"id": "1"}])])
    stream.cut()
    done = erase(stream.pipeline, world, ITEMS, [{"id": "1"}], "asked for")
    assert (done.records, done.shortened, done.shared) == (0, 1, 1)
    refolded(stream)
    assert stream.rows() == {2: "b", 3: JANE}


def test_what_was_quarantined_of_another_row_can_be_tried_again(world: World) -> None:
    """ERASE-1, POISON-4: rows of a record keep their numbers."""
    columns = {"columns": {"id": "bigint", "name": "int"}}
    stream = Stream(world, 1, "canal-json", "none", columns).create()
    rows = [{"id": "1", "name": JANE}, {"id": "2", "name": "two"}, {"id": "3", "name": "3"}]
    stream.send([canal_rows("INSERT", *rows)])
    stream.cut()
    assert len(all_waiting(stream.pipeline, world)) == 2
    done = erase(stream.pipeline, world, ITEMS, [{"id": "1"}], "asked for")
    assert (done.shortened, done.entries) == (1, 1)
    (waiting,) = all_waiting(stream.pipeline, world)
    assert waiting.row == 2
    assert holds(stream) == set()
    stream.table = BY_CANAL
    refolded(stream)
    assert stream.rows() == {2: "two", 3: "3"}


def test_tombstones_lose_their_keys(world: World) -> None:
    """ERASE-1: a delete is followed by a record that has nothing but the key."""
    stream = Stream(world, 1, "debezium-mysql", "none", dict(TYPED)).create()
    gone = debezium_row("d", 4711, 200)
    stream.send([debezium_row("c", 4711, 100), gone, Record(None, gone.key)])
    stream.cut()
    assert holds(stream, "4711") >= {"changelog"}
    done = erase(stream.pipeline, world, ITEMS, [{"id": "4711"}], "asked for")
    assert done.records == 3
    assert holds(stream, "4711") == set()


def test_quarantined_changes_and_bases_go(world: World) -> None:
    """ERASE-1, POISON-4, KEEP-1: an erased record cannot be replayed, and no base holds it."""
    columns = {"columns": {"id": "int", "name": "date"}}
    stream = Stream(world, 1, "debezium-mysql", "none", columns, KEEP).create()
    stream.send([debezium_row("c", 2, 100, name="3")])
    stream.cut()
    removed_after(stream, 0)
    stream.send([debezium_row("c", 1, 200, name=JANE)])
    stream.cut()
    assert len(bases_in(load(stream, target(stream)))) == 1
    assert len(all_waiting(stream.pipeline, world)) == 1
    done = erase(stream.pipeline, world, ITEMS, [{"id": "1"}], "asked for")
    assert (done.records, done.entries) == (1, 1)
    assert all_waiting(stream.pipeline, world) == ()
    assert bases_in(load(stream, target(stream))) == ()
    assert holds(stream) == set()


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ([{"id": "1"}, {"name": "a"}], r"key 2 has the columns \['name'\]"),
        ([{"id": "one"}], r"key 1 holds no value of its type \(id int\)"),
    ],
)
def test_what_is_no_key_is_refused(world: World, keys: list[dict[str, str]], why: str) -> None:
    """ERASE-1: before anything is changed, and without the value in the message."""
    stream = opened(world, "none")
    send(stream, 100, ("c", 1, "a"))
    with pytest.raises(ActionRefusedError, match="nothing of shop.items was published"):
        erase(stream.pipeline, world, ITEMS, keys, "asked for")
    stream.cut()
    with pytest.raises(ActionRefusedError, match=why):
        erase(stream.pipeline, world, ITEMS, keys, "asked for")
    assert stream.rows() == {1: "a"}
