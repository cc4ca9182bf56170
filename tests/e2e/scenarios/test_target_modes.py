"""Target modes through whole cuts: what readers see, what is counted, what is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support.kept import (
    START,
    Logged,
    changes,
    delivered,
    logged,
    random_log,
    soft_deleted,
    versions,
)
from tests.support.records import (
    Record,
    canal_rows,
    canal_statement,
    debezium_row,
    postgres_row,
    ticdc_ddl,
    ticdc_row,
    ticdc_watermark,
)
from tests.support.stack import Stream, counted
from tidemark.errors import TableStoppedError
from tidemark.model.target_mode import TargetMode
from tidemark.runs.plan import plan_cut
from tidemark.runs.world import World

COLUMNS = {"columns": {"id": "int", "name": "text"}}
KEPT = (TargetMode.SOFT_DELETE, TargetMode.HISTORY, TargetMode.APPEND)
EPOCH_MS = 1_700_000_000_000
UNAVAILABLE = "__debezium_unavailable_value"


def told(event: Logged) -> Record:
    """An event as the MySQL connector writes it."""
    at = int(event.at.timestamp() * 1000) - EPOCH_MS
    op = {"u": "u", "d": "d", "t": "t"}[event.op]
    record = debezium_row(op, event.key, event.place, name=event.value, at=at)
    if op != "t":
        return record
    value = json.loads(record.value or b"{}")
    return Record(json.dumps({**value, "before": None, "after": None}).encode())


def follow(world: World, mode: str, kind: str = "debezium-mysql", **table: Any) -> Stream:
    gate = "watermark" if kind == "ticdc-canal-json" else "none"
    columns = COLUMNS if kind.startswith("debezium") else {}
    return Stream(world, 1, kind, gate, {**columns, "mode": mode, **table})


def flags(stream: Stream) -> dict[int, tuple[Any, Any]]:
    rows = stream.published()
    found = {row["id"]: (row["name"], row["_tidemark_deleted_at"]) for row in rows}
    assert len(found) == len(rows)
    assert all(r["_tidemark_deleted"] == (r["_tidemark_deleted_at"] is not None) for r in rows)
    return found


def history(stream: Stream) -> list[tuple[Any, ...]]:
    columns = ("id", "name", "_tidemark_valid_from", "_tidemark_valid_to")
    rows = (tuple(row[name] for name in columns) for row in stream.published())
    return sorted(rows, key=str)


def changelog(stream: Stream) -> list[tuple[Any, ...]]:
    columns = ("_tidemark_op", "id", "name", "_tidemark_commit_time")
    rows = (tuple(row[name] for name in columns) for row in stream.published())
    return sorted(rows, key=str)


def mirrored(log: Sequence[Logged]) -> dict[int, str]:
    return {key: value for key, (value, gone) in soft_deleted(log).items() if gone is None}


def test_random_histories(world: World, seed: int) -> None:
    """KEY-11, TRUNC-12, DUP-2: after each cut targets of all modes are what the log makes of it."""
    rng = random.Random(f"all modes {seed}")  # noqa: S311  repeatable, not secret
    streams = {mode: follow(world, mode) for mode in TargetMode}
    first = streams[TargetMode.MIRROR].create()
    for stream in streams.values():
        stream.topic = first.topic
    log = random_log(rng, 40)
    for batch, furthest in delivered(rng, log):
        first.send(map(told, batch))
        for stream in streams.values():
            stream.cut()
        seen = log[:furthest]
        assert first.rows() == mirrored(seen)
        assert flags(streams[TargetMode.SOFT_DELETE]) == soft_deleted(seen)
        assert history(streams[TargetMode.HISTORY]) == versions(seen)
        assert changelog(streams[TargetMode.APPEND]) == changes(seen)


@pytest.mark.parametrize("mode", KEPT)
def test_changes_are_counted_once(world: World, mode: TargetMode) -> None:
    """ACC-1, ACC-2: what is sent again is a duplicate, in the same cut and in the next one."""
    stream = follow(world, mode).create()
    batch = logged("u1@10=a u2@20=a u1@30=b d2@40 t@50 u3@60=c")
    stream.send(map(told, [*batch, *batch]))
    if mode is TargetMode.SOFT_DELETE:
        assert counted(stream.cut()) == {"applied": 5, "superseded": 7}
    else:
        assert counted(stream.cut()) == {"applied": 7, "duplicate": 5}
    stream.send(map(told, [batch[-1], *logged("d3@70 d4@80")]))
    expected = {
        TargetMode.SOFT_DELETE: {"applied": 2, "superseded": 1},  # with the delete of no row
        TargetMode.HISTORY: {"applied": 2, "duplicate": 1},
        TargetMode.APPEND: {"applied": 2, "duplicate": 1},
    }
    assert counted(stream.cut()) == expected[mode]


def numbered(record: Record, row: int) -> Record:
    """A change with its number among those that a statement made of rows."""
    value = json.loads(record.value or b"{}")
    value["source"]["row"] = row
    return replace(record, value=json.dumps(value).encode())


@pytest.mark.parametrize("mode", [TargetMode.HISTORY, TargetMode.APPEND])
def test_changes_of_a_key_by_one_statement_are_changes_of_their_own(
    world: World, mode: TargetMode
) -> None:
    """POS-5, POS-14, DUP-2: they share a place, whether a cut falls between them or not."""
    log = [
        *(numbered(told(event), row) for row, event in enumerate(logged("u1@10=a u2@10=b"))),
        *(numbered(told(event), 0) for event in logged("d2@20 u3@20=b")),
        *(numbered(told(event), 1) for event in logged("d1@20 u2@20=a")),
        *(numbered(told(event), row) for row, event in enumerate(logged("u2@30=c u2@30=d"))),
    ]
    read = history if mode is TargetMode.HISTORY else changelog
    together = follow(world, mode).create()
    together.send(log)
    together.cut()
    expected = read(together)
    assert [row[:2] for row in expected] == {
        TargetMode.HISTORY: [(1, "a"), (2, "a"), (2, "b"), (2, "c"), (2, "d"), (3, "b")],
        TargetMode.APPEND: [
            *(("delete", key) for key in (1, 2)),
            *(("upsert", key) for key in (1, 2, 2, 2, 2, 3)),
        ],
    }[mode]
    apart = follow(world, mode).create()
    for batch in (log[:3], log[2:7], log[4:]):
        apart.send(batch)
        apart.cut()
    assert read(apart) == expected


@pytest.mark.parametrize("mode", KEPT)
def test_the_mode_of_a_target_stays(world: World, mode: TargetMode) -> None:
    stream = follow(world, mode).create()
    stream.send(map(told, logged("u1@10=a")))
    stream.cut()
    before = stream.published()
    stream.table = {**COLUMNS, "mode": "mirror"}
    stream.send(map(told, logged("u1@20=b")))
    with pytest.raises(TableStoppedError, match=f"mode mirror, but .* made with mode {mode}"):
        stream.cut()
    assert stream.published() == before
    stream.table = {**COLUMNS, "mode": mode}
    stream.cut()
    assert stream.published() != before


@pytest.mark.parametrize("mode", [TargetMode.SOFT_DELETE, TargetMode.HISTORY])
def test_rows_without_a_key_cannot_be_gone_on_with(world: World, mode: TargetMode) -> None:
    stream = follow(world, mode).create()
    record = told(logged("u1@10=a")[0])
    stream.send([Record(record.value)])
    with pytest.raises(TableStoppedError, match=f"has no key, and mode {mode} needs one"):
        stream.cut()


@pytest.mark.parametrize("mode", KEPT)
def test_nothing_is_quarantined_of_what_is_kept(world: World, mode: TargetMode) -> None:
    """TYPE-2, POISON-2: a version that is missing looks like one that never was."""
    stream = follow(world, mode, columns={"id": "int", "name": "int"}).create()
    stream.send(map(told, logged("u1@10=7 u2@20=eight u1@30=9")))
    with pytest.raises(
        TableStoppedError, match="does not fit its column.*0 of them may be quarantined"
    ):
        stream.cut()
    stream.table = {**COLUMNS, "mode": mode}
    stream.cut()
    assert len(stream.published()) == {TargetMode.SOFT_DELETE: 2}.get(mode, 3)


@pytest.mark.smoke
def test_changes_of_a_table_without_a_key_are_appended(world: World) -> None:
    """KEY-14: equal rows are changes of their own; an update tells the row before and after."""

    def change(op: str, pos: int, before: str | None, after: str | None) -> Record:
        value = json.loads(debezium_row("c", 1, pos).value or b"{}")
        images = {
            "before": before and {"id": 1, "name": before},
            "after": after and {"id": 1, "name": after},
        }
        return Record(json.dumps({**value, "op": op, **images}).encode())

    batch = [change("c", 10, None, "a"), change("c", 20, None, "a"), change("u", 30, "a", "b")]
    stream = follow(world, TargetMode.APPEND).create()
    stream.send([*batch, batch[-1]])
    assert counted(stream.cut()) == {"applied": 4, "duplicate": 2}
    stream.send([batch[-1], change("t", 40, None, None), change("d", 50, "a", None)])
    stream.cut()
    assert [row[:3] for row in changelog(stream)] == [
        ("delete", 1, "a"),
        ("delete", 1, "a"),
        ("truncate", None, None),
        ("upsert", 1, "a"),
        ("upsert", 1, "a"),
        ("upsert", 1, "b"),
    ]


def unavailable(op: str, key: int, lsn: int, name: str = UNAVAILABLE) -> Record:
    return postgres_row(op, key, (lsn - 5, lsn), name=name)


@pytest.mark.smoke
def test_values_that_updates_leave_out_are_found_for_each_version(world: World) -> None:
    """UNAV-3: in the cut, in the open version, and in a row that ends in the same cut."""
    toasted = {"columns": {"id": "integer", "name": "text"}}
    stream = follow(world, TargetMode.HISTORY, "debezium-postgres", **toasted).create()
    stream.send(
        [unavailable("c", 1, 10, "a"), unavailable("u", 1, 20), unavailable("c", 2, 30, "x")]
    )
    stream.cut()
    stream.send([unavailable("u", 1, 40), unavailable("u", 1, 50, "b"), unavailable("u", 1, 60)])
    stream.send([unavailable("u", 2, 70), unavailable("d", 2, 80)])
    stream.cut()
    rows = sorted(stream.published(), key=lambda row: row["_tidemark_position"])
    assert [(row["id"], row["name"]) for row in rows] == [
        *((1, "a"), (1, "a"), (2, "x"), (1, "a"), (1, "b"), (1, "b"), (2, "x")),
    ]
    still_open = [row["id"] for row in rows if row["_tidemark_end_position"] is None]
    assert still_open == [1]


def test_the_last_values_of_a_row_that_ended_are_found(world: World) -> None:
    """UNAV-3, KEY-11."""
    toasted = {"columns": {"id": "integer", "name": "text"}}
    stream = follow(world, TargetMode.SOFT_DELETE, "debezium-postgres", **toasted).create()
    stream.send([unavailable("c", 1, 10, "a"), unavailable("c", 2, 20, "x")])
    stream.cut()
    stream.send([unavailable("u", 1, 30), unavailable("d", 1, 40), unavailable("u", 2, 50)])
    stream.cut()
    rows = {row["id"]: (row["name"], row["_tidemark_deleted"]) for row in stream.published()}
    assert rows == {1: ("a", True), 2: ("x", False)}
    stream.send([unavailable("u", 1, 60)])
    with pytest.raises(TableStoppedError, match="UNAVAILABLE_UNRESOLVED"):
        stream.cut()


def test_a_change_says_what_it_leaves_out(world: World) -> None:
    """UNAV-1: of an append target, the placeholder is no value either."""
    toasted = {"columns": {"id": "integer", "name": "text"}}
    stream = follow(world, TargetMode.APPEND, "debezium-postgres", **toasted).create()
    stream.send([unavailable("c", 1, 10, "a"), unavailable("u", 1, 20), unavailable("d", 1, 30)])
    stream.cut()
    rows = sorted(stream.published(), key=lambda row: row["_tidemark_position"])
    told_of = [(r["_tidemark_op"], r["name"], r["_tidemark_left_out"]) for r in rows]
    assert told_of == [("upsert", "a", None), ("upsert", None, ["name"]), ("delete", None, None)]


def item(number: int, name: str = "x", **more: str) -> dict[str, str | None]:
    return {"id": str(number), "name": name, **more}


def renamed(record: Record) -> Record:
    return Record((record.value or b"").replace(b'"name"', b'"title"'))


@pytest.mark.parametrize("mode", KEPT)
@pytest.mark.parametrize("in_one_cut", [True, False])
def test_columns_change_in_all_modes(world: World, mode: TargetMode, in_one_cut: bool) -> None:
    """SCHEMA-10, SCHEMA-14, SCHEMA-30: rows that are older than a column hold its default."""
    stream = follow(world, mode, "canal-json").create()
    stream.send(
        [
            canal_rows("INSERT", item(1, "a"), item(2, "b")),
            canal_rows("UPDATE", item(1, "c"), old=[{"name": "a"}]),
            canal_rows("DELETE", item(2, "b")),
        ]
    )
    if not in_one_cut:
        stream.cut()
    stream.send(
        [
            canal_statement("ALTER", "ALTER TABLE items ADD COLUMN n INT NOT NULL DEFAULT 7"),
            canal_statement("ALTER", "ALTER TABLE items RENAME COLUMN name TO title"),
            renamed(canal_rows("INSERT", item(3, "d", n="8"), n="int")),
        ]
    )
    stream.cut()
    rows = sorted(stream.published(), key=lambda row: (row["_tidemark_position"], row["id"]))
    assert [(row["id"], row["title"], row["n"]) for row in rows] == {
        TargetMode.SOFT_DELETE: [(1, "c", 7), (2, "b", 7), (3, "d", 8)],
        TargetMode.HISTORY: [(1, "a", 7), (2, "b", 7), (1, "c", 7), (3, "d", 8)],
        TargetMode.APPEND: [
            *((1, "a", 7), (2, "b", 7), (1, "c", 7), (2, None, None), (3, "d", 8)),
        ],
    }[mode]


@pytest.mark.parametrize("mode", KEPT)
def test_a_truncate_by_statement_has_its_time(world: World, mode: TargetMode) -> None:
    """TRUNC-1, TRUNC-12: each of them, below the watermark, also where they stand in one cut."""
    stream = follow(world, mode, "ticdc-canal-json").create()
    second = 1000 << 18
    stream.send(
        [
            ticdc_row("INSERT", 1, second),
            ticdc_ddl("TRUNCATE TABLE items", 2 * second),
            ticdc_row("INSERT", 2, 3 * second),
            ticdc_ddl("TRUNCATE TABLE items", 4 * second),
            ticdc_row("INSERT", 3, 5 * second),
            ticdc_watermark(6 * second),
        ]
    )
    stream.cut()
    column = {
        TargetMode.SOFT_DELETE: "_tidemark_deleted_at",
        TargetMode.HISTORY: "_tidemark_valid_to",
        TargetMode.APPEND: "_tidemark_commit_time",
    }[mode]
    rows = sorted(stream.published(), key=lambda row: row["_tidemark_position"])
    times = [(row["id"], row[column] and int(row[column].timestamp())) for row in rows]
    if mode is TargetMode.APPEND:
        assert times == [(1, 1), (None, 2), (2, 3), (None, 4), (3, 5)]
    else:
        assert times == [(1, 2), (2, 4), (3, None)]


@pytest.mark.parametrize("mode", KEPT)
def test_what_ticdc_sends_again_by_another_partition_is_no_change(
    world: World, mode: TargetMode
) -> None:
    """POS-14, GATE-W8, TOP-3: as a changefeed does that learns of more partitions."""
    stream = follow(world, mode, "ticdc-canal-json").create()
    second = 1000 << 18
    sent = [
        ticdc_row("INSERT", 1, second),
        ticdc_row("DELETE", 1, 2 * second),
        ticdc_row("INSERT", 1, 3 * second, name="y"),
    ]
    stream.send([*sent, ticdc_watermark(second)])
    stream.cut()
    stream.grow(2)
    again = [replace(record, partition=1) for record in sent]
    marks = [ticdc_watermark(4 * second), ticdc_watermark(4 * second, 1)]
    stream.send([*again, *marks])
    stream.cut()
    table = stream.published()
    if mode is TargetMode.SOFT_DELETE:
        assert flags(stream) == {1: ("y", None)}
        return
    times = "_tidemark_valid_from" if mode is TargetMode.HISTORY else "_tidemark_commit_time"
    rows = sorted((int(row[times].timestamp()), row["name"]) for row in table)
    deleted = [] if mode is TargetMode.HISTORY else [(2, None)]
    assert rows == sorted([(1, "x"), *deleted, (3, "y")])


@pytest.mark.parametrize("mode", KEPT)
def test_a_target_that_was_truncated_is_renamed(world: World, mode: TargetMode) -> None:
    """SCHEMA-31, TRUNC-12: by a statement alone, whatever truncates came in earlier cuts."""
    tables = [
        {"source": f"shop.{name}", "expectations": "none", "key": ["id"], "mode": mode.value}
        for name in ("items", "articles")
    ]
    stream = Stream(world, 1, options={"tables": tables}).create()
    truncate = ticdc_ddl("TRUNCATE TABLE items", 110)
    rows = [ticdc_row("INSERT", key, at) for key, at in ((1, 100), (2, 101), (3, 120))]
    stream.send([*rows[:2], truncate, rows[2], ticdc_watermark(130)])
    stream.cut()
    rename = ticdc_ddl("RENAME TABLE items TO articles", 210, table="articles")
    stream.send([rename, ticdc_watermark(230)])
    stream.cut()
    assert not plan_cut(stream.pipeline, world).has_work
    renamed = world.catalog.load_table((stream.name, "articles")).scan().to_arrow()
    assert renamed.num_rows == (4 if mode is TargetMode.APPEND else 3)


def snapshot(pos: int, *numbers: int) -> list[Record]:
    marks = ["first", *(["true"] * (len(numbers) - 2)), "last"]
    return [debezium_row("r", n, pos, mark=mark) for n, mark in zip(numbers, marks, strict=True)]


@pytest.mark.parametrize("mode", KEPT)
def test_what_a_new_snapshot_lacks_ended(world: World, mode: TargetMode) -> None:
    """SNAP-6: at the time of the snapshot, as nothing tells the true one."""
    stream = follow(world, mode).create()
    stream.send(snapshot(100, *range(1, 7)))
    stream.cut()
    first = max(row["_tidemark_position"] for row in stream.published())
    stream.send(snapshot(200, *range(1, 6)))
    stream.cut()
    stream.cut()
    rows = stream.published()
    ended = {
        TargetMode.SOFT_DELETE: "_tidemark_deleted_at",
        TargetMode.HISTORY: "_tidemark_valid_to",
        TargetMode.APPEND: "_tidemark_commit_time",
    }[mode]
    times = [int(row[ended].timestamp() * 1000) for row in rows if row["id"] == 6]
    assert times == [EPOCH_MS + (100 if mode is TargetMode.APPEND else 200)]
    standing = {
        TargetMode.SOFT_DELETE: [row["id"] for row in rows if not row.get("_tidemark_deleted")],
        TargetMode.HISTORY: [row["id"] for row in rows if not row.get("_tidemark_end_position")],
        TargetMode.APPEND: [row["id"] for row in rows if row["_tidemark_position"] > first],
    }[mode]
    assert sorted(standing) == [1, 2, 3, 4, 5]


def test_the_time_of_an_event_is_the_sources() -> None:
    assert json.loads(told(Logged("u", 1, 10)).value or b"{}")["source"]["ts_ms"] == int(
        START.timestamp() * 1000 + 10_000
    )
