"""TiCDC's statements about names and columns, through whole cuts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from confluent_kafka.cimpl import NewTopic

from tests.support.records import Record, canal_message, ticdc_ddl, ticdc_row, ticdc_watermark
from tests.support.stack import Stream, counted
from tidemark.errors import TableStoppedError
from tidemark.runs.world import World


def opened(world: World) -> Stream:
    """shop.items with the row 1 of commit 11, all below 15."""
    stream = Stream(world).create()
    stream.send([ticdc_row("INSERT", 1, 11, name="old"), ticdc_watermark(15)])
    stream.cut()
    return stream


def test_a_table_whose_rows_went_into_a_partition_stops(world: World) -> None:
    """SCHEMA-22: no event says so, and the statement names another table first."""
    stream = opened(world)
    exchange = "ALTER TABLE `shop`.`pt` EXCHANGE PARTITION `p0` WITH TABLE `shop`.`items`"
    stream.send(
        [
            ticdc_ddl(exchange, 16, table="pt"),
            ticdc_row("INSERT", 9, 17),
            ticdc_watermark(20),
        ]
    )
    with pytest.raises(TableStoppedError, match="rows change without events"):
        stream.cut()
    assert stream.rows() == {1: "old"}


def test_a_table_that_left_its_database_makes_room(world: World) -> None:
    """SCHEMA-23, SCHEMA-18: the record names the database that it is in afterwards."""
    stream = opened(world)
    rename = canal_message(
        "RENAME",
        tidb={"commitTs": 16},
        database="archive",
        table="items_2025",
        isDdl=True,
        sql="RENAME TABLE items TO archive.items_2025",
    )
    made = "CREATE TABLE items (id BIGINT PRIMARY KEY, name VARCHAR(20))"
    stream.send(
        [
            rename,
            ticdc_ddl(made, 17),
            ticdc_row("INSERT", 2, 18, name="new"),
            ticdc_watermark(20),
        ]
    )
    stream.cut()
    stream.cut()  # The first one ends at the rename (SCHEMA-31).
    assert stream.rows() == {2: "new"}


def test_cuts_go_on_without_the_topic_of_a_dropped_table(world: World) -> None:
    """GATE-W7: TiCDC sends it no watermark any more."""
    stream = Stream(world).create()
    other = f"{stream.name}.gone"
    for made in stream.admin.create_topics([NewTopic(other, 1, replication_factor=1)]).values():
        made.result(timeout=60)
    stream.source = {"topics": {"data": [stream.topic, other]}}
    stream.send([ticdc_row("INSERT", 1, 11), ticdc_watermark(20)])
    dropped = ticdc_ddl("DROP TABLE `shop`.`gone`", 25, table="gone")
    stream.send([ticdc_watermark(20), dropped], other)
    stream.cut()
    stream.send([ticdc_row("INSERT", 2, 29), ticdc_watermark(30)])
    assert "above 20" in stream.cut().hold
    stream.send([ticdc_row("INSERT", 3, 39), ticdc_watermark(40)])
    stream.cut()
    assert stream.rows() == {1: "x", 2: "x"}
    stream.send([ticdc_watermark(50)])
    stream.cut()
    assert stream.rows() == {1: "x", 2: "x", 3: "x"}


def test_a_dropped_table_comes_back(world: World) -> None:
    """SCHEMA-18: its target holds the rows of its DROP, which an earlier cut may have read."""
    stream = opened(world)
    stream.send([ticdc_ddl("DROP TABLE items", 16), ticdc_watermark(20)])
    stream.cut()
    stream.send([ticdc_ddl("FLASHBACK TABLE items", 21), ticdc_watermark(25)])
    stream.cut()
    assert stream.rows() == {1: "old"}
    both = [ticdc_ddl("DROP TABLE items", 27), ticdc_ddl("RECOVER TABLE items", 28)]
    stream.send([ticdc_row("INSERT", 2, 26), *both, ticdc_row("INSERT", 3, 29)])
    stream.send([ticdc_watermark(30)])
    stream.cut()
    assert stream.rows() == {1: "old", 2: "x", 3: "x"}
    stream.send([*both, ticdc_row("DELETE", 1, 31), ticdc_watermark(35)])
    stream.cut()
    assert stream.rows() == {2: "x", 3: "x"}


@pytest.mark.parametrize("others", ["ignore", "follow"])
def test_a_table_that_comes_back_under_another_name(world: World, others: str) -> None:
    """SCHEMA-18, SCHEMA-31: by one of its own name that was made since, no record has its rows."""
    stream = opened(world)
    stream.options = {"other-tables": others, "publish": {"consistency": "table"}}
    stream.send([ticdc_ddl("DROP TABLE items", 16), ticdc_watermark(20)])
    stream.cut()
    moved = replace_table(ticdc_row("INSERT", 2, 22), "others")
    stream.send([ticdc_ddl("FLASHBACK TABLE items TO others", 21, table="others"), moved])
    stream.send([ticdc_watermark(25)])
    stream.cut()
    stream.cut()
    named = "others" if others == "follow" else "items"
    rows = {1: "old", 2: "x"} if others == "follow" else {1: "old"}
    assert rows_of(stream, named) == rows
    assert rows_of(stream, "items" if others == "follow" else "others") == {}
    made = "CREATE TABLE items (id BIGINT PRIMARY KEY, name VARCHAR(20))"
    stream.send([ticdc_ddl(made, 26), ticdc_row("INSERT", 5, 27), ticdc_watermark(30)])
    stream.cut()
    again = ticdc_ddl("FLASHBACK TABLE items TO old", 31, table="old")
    stream.send([again, ticdc_row("INSERT", 6, 32), ticdc_watermark(35)])
    stopped = stream.cut().stopped
    assert set(stopped) == ({"shop.old"} if others == "follow" else set())
    assert all("rows come back without events" in why for why in stopped.values())
    assert rows_of(stream, "items") == {5: "x", 6: "x"}


def test_rows_that_left_the_target_do_not_come_back(world: World) -> None:
    """SCHEMA-18: with `on-drop: empty` the target is not what came back."""
    stream = opened(world)
    stream.options = {"on-drop": "empty"}
    stream.send([ticdc_ddl("DROP TABLE items", 16), ticdc_watermark(20)])
    stream.cut()
    stream.send([ticdc_ddl("FLASHBACK TABLE items", 21), ticdc_watermark(25)])
    for on_drop in ("empty", "keep"):
        stream.options = {"on-drop": on_drop}
        with pytest.raises(TableStoppedError, match="came back as it was when it was dropped"):
            stream.cut()


@pytest.mark.parametrize("on_drop", ["empty", "keep"])
def test_what_came_back_is_not_the_table_that_was_made_since(world: World, on_drop: str) -> None:
    """SCHEMA-18: a cut tells all of one that is made in it, also where that one comes back."""
    stream = opened(world)
    stream.options = {"on-drop": on_drop}
    stream.send([ticdc_ddl("DROP TABLE items", 16), ticdc_watermark(20)])
    stream.cut()
    made = "CREATE TABLE items (id BIGINT PRIMARY KEY, name VARCHAR(20))"
    first = ["FLASHBACK TABLE items", "DROP TABLE items", made]
    stream.send([ticdc_ddl(text, at) for at, text in enumerate(first, start=21)])
    stream.send([ticdc_row("INSERT", 2, 24), ticdc_watermark(25)])
    stream.cut()
    assert stream.rows() == {2: "x"}
    stream.send([ticdc_ddl("DROP TABLE items", 26), ticdc_watermark(30)])
    stream.cut()
    stream.send([ticdc_ddl(made, 31), ticdc_row("INSERT", 3, 32)])
    stream.send([ticdc_ddl("DROP TABLE items", 33), ticdc_ddl("FLASHBACK TABLE items", 34)])
    stream.send([ticdc_row("INSERT", 4, 35), ticdc_watermark(40)])
    stream.cut()
    assert stream.rows() == {3: "x", 4: "x"}


def test_one_record_without_a_commit_is_quarantined(world: World) -> None:
    """MSG-50, POS-12: the others are gated, and it is listed."""
    stream = Stream(world).create()
    stream.send([ticdc_row("INSERT", 1, 11), ticdc_row("INSERT", 2, None), ticdc_watermark(20)])
    assert counted(stream.cut()) == {"applied": 1, "control": 1, "quarantined": 1}
    assert stream.rows() == {1: "x"}


def test_a_pointer_to_a_deleted_row_has_its_key(world: World) -> None:
    """UNAV-9: which is all that the delete needs."""
    stream = opened(world)
    pointer = canal_message(
        "DELETE",
        tidb={"commitTs": 16, "claimCheckLocation": "s3://bucket/x.json"},
        pkNames=["id"],
        sqlType={"id": -5},
        mysqlType={"id": "bigint"},
        data=[{"id": "1"}],
    )
    stream.send([pointer, ticdc_watermark(20)])
    assert counted(stream.cut())["applied"] == 1
    assert stream.rows() == {}


def test_virtual_columns_never_come(world: World) -> None:
    """MSG-53: a target without them has every value that records have."""
    stream = Stream(world).create()
    made = "CREATE TABLE items (id BIGINT PRIMARY KEY, name VARCHAR(9), v INT AS (id * 2) VIRTUAL)"
    stream.send([ticdc_ddl(made, 10), ticdc_row("INSERT", 1, 11), ticdc_watermark(15)])
    stream.cut()
    added = "ALTER TABLE items ADD COLUMN w INT GENERATED ALWAYS AS (id + 1)"
    stream.send([ticdc_ddl(added, 16), ticdc_row("INSERT", 2, 17), ticdc_watermark(20)])
    stream.cut()
    assert stream.rows() == {1: "x", 2: "x"}
    columns = set(stream.published()[0])
    assert {name for name in columns if not name.startswith("_tidemark")} == {"id", "name"}


def test_a_table_that_is_made_like_another_one_has_the_columns_of_its_records(
    world: World,
) -> None:
    """SCHEMA-1, SCHEMA-18: but for one that was dropped before, which nothing describes."""
    stream = Stream(world).create()
    like = "CREATE TABLE items LIKE others"
    stream.send([ticdc_ddl(like, 10), ticdc_watermark(15)])
    stream.cut()
    stream.send([ticdc_row("INSERT", 1, 16), ticdc_watermark(20)])
    stream.cut()
    assert stream.rows() == {1: "x"}
    stream.send([ticdc_ddl("DROP TABLE items", 21), ticdc_watermark(25)])
    stream.cut()
    stream.send([ticdc_ddl(like, 26), ticdc_watermark(30)])
    stream.cut()
    stream.send([ticdc_row("INSERT", 2, 31), ticdc_watermark(35)])
    with pytest.raises(TableStoppedError, match="there is another one of that name"):
        stream.cut()


def test_columns_say_what_the_source_says_of_them(world: World) -> None:
    """SCHEMA-39: whatever that is, by a statement that changes nothing else as well.

    Where it says nothing, what is there stays.
    """
    hostile = "create tag it's \\ `x`;\n${env:PATH} -- " + "x" * 10_000
    stream = Stream(world).create()
    made = "CREATE TABLE items (id BIGINT PRIMARY KEY COMMENT 'who', name VARCHAR(9))"
    stream.send([ticdc_ddl(made, 10), ticdc_row("INSERT", 1, 11), ticdc_watermark(15)])
    stream.cut()
    assert docs(stream) == {"id": "who", "name": ""}
    escaped = hostile.replace("\\", "\\\\").replace("'", "''")
    described = f"ALTER TABLE items MODIFY id BIGINT, MODIFY name VARCHAR(9) COMMENT '{escaped}'"
    stream.send([ticdc_ddl(described, 16), ticdc_watermark(20)])
    stream.cut()
    assert docs(stream) == {"id": "who", "name": hostile[:1024]}
    stream.send([ticdc_row("INSERT", 2, 21), ticdc_watermark(25)])
    stream.cut()
    assert docs(stream) == {"id": "who", "name": hostile[:1024]}
    assert stream.rows() == {1: "x", 2: "x"}


def replace_table(record: Record, table: str) -> Record:
    assert record.value is not None
    return replace(record, value=json.dumps({**json.loads(record.value), "table": table}).encode())


def rows_of(stream: Stream, name: str) -> dict[int, str]:
    """id -> name of the rows of main of a target; empty where there is none."""
    if not stream.world.catalog.table_exists((stream.name, name)):
        return {}
    rows = stream.world.catalog.load_table((stream.name, name)).scan().to_arrow().to_pylist()
    return {row["id"]: row["name"] for row in rows}


def docs(stream: Stream) -> dict[str, str]:
    fields = stream.world.catalog.load_table((stream.name, "items")).schema().fields
    return {field.name: field.doc or "" for field in fields if field.name in ("id", "name")}
