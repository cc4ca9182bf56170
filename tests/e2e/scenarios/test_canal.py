"""Canal's own records through whole cuts: what is published and counted, what stops a table."""

from __future__ import annotations

import pytest
from confluent_kafka.cimpl import NewTopic

from tests.support.records import Record, canal_message, canal_rows, canal_statement
from tests.support.stack import Stream, counted
from tidemark.errors import PreflightError, TableStoppedError
from tidemark.runs.world import World


def item(number: int, name: str | None = "x") -> dict[str, str | None]:
    return {"id": str(number), "name": name}


def opened(world: World, *records: Record, **options: object) -> Stream:
    stream = Stream(world, format="canal-json", gate="none", options=options).create()
    stream.send(records)
    return stream


@pytest.mark.smoke
def test_every_row_of_a_record_is_folded_and_counted(world: World) -> None:
    """MSG-41, KEY-8, ACC-1, ACC-2."""
    stream = opened(
        world,
        canal_rows("INSERT", *(item(n) for n in range(1, 10))),
        canal_rows("UPDATE", item(1, "a"), item(2, "b"), old=[{"name": "x"}, {"name": "x"}]),
        canal_rows("UPDATE", item(30, "c"), item(4, None), old=[{"id": "3"}, {"name": "x"}]),
        canal_rows("DELETE", item(5), item(6)),
    )
    result = stream.cut()
    left = {7: "x", 8: "x", 9: "x"}
    assert stream.rows() == {1: "a", 2: "b", 30: "c", 4: None, **left}
    # 9 + 2 + 3 + 2 changes, as one row left its key, of ten keys: 1 to 9, and 30.
    assert counted(result) == {"applied": 10, "superseded": 6}


def test_a_truncate_ends_what_came_before_it_and_a_second_one_does_too(world: World) -> None:
    """TRUNC-1, TRUNC-3, TRUNC-10, MSG-46: whatever table and type stand beside the text."""
    truncate = canal_statement("QUERY", "/* by hand */ TRUNCATE TABLE `shop`.`items`", table="x")
    stream = opened(world, canal_rows("INSERT", item(1), item(2)))
    stream.cut()
    stream.send([truncate, canal_rows("INSERT", item(2, "again"), item(3))])
    stream.cut()
    assert stream.rows() == {2: "again", 3: "x"}
    stream.send([canal_rows("UPDATE", item(3, "y"), old=[{}]), truncate])
    assert counted(stream.cut())["superseded"] == 1
    assert stream.rows() == {}
    stream.send([canal_rows("INSERT", item(4))])
    stream.cut()
    assert stream.rows() == {4: "x"}


def test_what_an_update_leaves_out_stays_as_it_was(world: World) -> None:
    """UNAV-3, UNAV-4, UNAV-6: in the row it changes; what an insert leaves out is null."""
    stream = opened(world, canal_rows("INSERT", {"id": "1"}, item(2), item(3)))
    stream.cut()
    assert stream.rows() == {1: None, 2: "x", 3: "x"}
    stream.send([canal_rows("UPDATE", {"id": "1"}, {"id": "2"}, old=[{}, {}])])
    assert counted(stream.cut()) == {"applied": 2}
    assert stream.rows() == {1: None, 2: "x", 3: "x"}
    stream.send(
        [
            canal_rows("UPDATE", item(1, "a"), {"id": "20"}, old=[{}, {"id": "2"}]),
            canal_rows("UPDATE", {"id": "10"}, {"id": "3"}, old=[{"id": "1"}, {}]),
            canal_rows("UPDATE", {"id": "100"}, old=[{"id": "10"}]),
        ]
    )
    stream.cut()
    assert stream.rows() == {100: "a", 20: "x", 3: "x"}


def test_an_update_stops_its_table_where_nothing_tells_what_it_left_out(world: World) -> None:
    """UNAV-3, UNAV-7: null is never written for what is not known; a whole row heals it."""
    unread = canal_rows("INSERT", item(1)), canal_rows("DELETE", item(1))
    stream = opened(world, *unread, limits={"max-quarantined": 0})
    stream.cut()
    stream.send([canal_rows("INSERT", item(2)), canal_rows("UPDATE", {"id": "1"}, old=[{}])])
    for _ in range(2):
        with pytest.raises(TableStoppedError, match="UNAVAILABLE_UNRESOLVED") as why:
            stream.cut()
        assert f"of column name at offset 3 of partition 0 of topic {stream.topic}" in str(
            why.value
        )
        assert "binlog_row_image=FULL" in str(why.value)
    assert stream.rows() == {}
    stream.send([canal_rows("UPDATE", item(1, "z"), old=[{"name": "y"}])])
    assert counted(stream.cut()) == {"applied": 2, "superseded": 1}
    assert stream.rows() == {1: "z", 2: "x"}


def titled(record: Record) -> Record:
    """As after ``name`` became ``title``."""
    return Record((record.value or b"").replace(b'"name"', b'"title"'))


def test_what_an_update_leaves_out_is_found_under_its_other_name(world: World) -> None:
    """UNAV-3, SCHEMA-4, SCHEMA-14: in rows that are older than the name, and than a column."""
    stream = opened(world, canal_rows("INSERT", item(1, "a"), item(2, "b")))
    stream.cut()
    joined = {"n": "int"}
    stream.send(
        [
            canal_rows("UPDATE", item(2, "c"), old=[{}]),
            canal_statement("ALTER", "ALTER TABLE items RENAME COLUMN name TO title"),
            canal_statement("ALTER", "ALTER TABLE items ADD COLUMN n INT NOT NULL DEFAULT 7"),
            titled(canal_rows("UPDATE", {"id": "1"}, {"id": "2"}, old=[{}, {}], **joined)),
        ]
    )
    stream.cut()
    stream.send(
        [titled(canal_rows("UPDATE", {"id": "1", "n": "8"}, {"id": "2"}, old=[{}, {}], **joined))]
    )
    stream.cut()
    rows = stream.published()
    assert {row["id"]: (row["title"], row["n"]) for row in rows} == {1: ("a", 8), 2: ("c", 7)}
    assert "name" not in rows[0]


def test_a_column_that_joins_is_null_in_the_updates_before_it(world: World) -> None:
    """UNAV-4: they do not leave it out, as it was not there."""
    stream = opened(
        world,
        canal_rows("UPDATE", item(1, "a"), old=[{}]),
        canal_statement("ALTER", "ALTER TABLE items ADD COLUMN note VARCHAR(9)"),
        canal_rows("UPDATE", {**item(2, "b"), "note": "n"}, old=[{}]),
    )
    stream.cut()
    rows = stream.published()
    assert {row["id"]: row["note"] for row in rows} == {1: None, 2: "n"}


def test_a_table_that_is_there_is_not_created_again(world: World) -> None:
    """SCHEMA-21: MySQL logs the statement, whether it did anything or not."""
    again = "CREATE TABLE IF NOT EXISTS items (id BIGINT PRIMARY KEY, other INT, name TEXT)"
    stream = opened(world, canal_statement("CREATE", again), canal_rows("INSERT", item(1)))
    stream.cut()
    stream.send([canal_statement("CREATE", again), canal_rows("INSERT", item(2))])
    stream.cut()
    assert "other" not in stream.published()[0]


def weighed(number: int, weight: str, kind: str) -> Record:
    return canal_rows("INSERT", {**item(number), "weight": weight}, weight=kind)


def weights(stream: Stream) -> dict[int, float]:
    rows = stream.published()
    return {row["id"]: row["weight"] for row in rows}


def test_a_wider_column_is_followed_and_each_row_is_read_by_its_own_type(world: World) -> None:
    """SCHEMA-4, SCHEMA-10, SCHEMA-13: a float stays the float that it was."""
    stream = opened(world, weighed(1, "9.9", "float"))
    stream.cut()
    stream.send(
        [
            weighed(2, "9.9", "float"),
            canal_statement("ALTER", "ALTER TABLE items MODIFY weight DOUBLE AFTER id"),
            weighed(3, "9.9", "double"),
        ]
    )
    stream.cut()
    as_float = 9.899999618530273
    assert weights(stream) == {1: as_float, 2: as_float, 3: 9.9}
    stream.send([weighed(4, "8.8", "double")])
    stream.cut()
    assert weights(stream)[4] == 8.8


def test_a_change_is_followed_once_though_its_cut_failed(world: World) -> None:
    """SCHEMA-10: the target was widened before, and the first statement looks narrower now."""
    stream = opened(world, weighed(1, "7", "smallint"), limits={"max-quarantined": 0})
    stream.cut()
    stream.send(
        [
            canal_statement("ALTER", "ALTER TABLE items MODIFY weight INT, ADD INDEX i (weight)"),
            canal_statement("ALTER", "ALTER TABLE items CHANGE weight weight BIGINT NOT NULL"),
            weighed(2, "heavy", "bigint"),
        ]
    )
    with pytest.raises(TableStoppedError, match="does not fit"):
        stream.cut()
    stream.send([weighed(2, "70000000000", "bigint")])
    stream.cut()
    assert weights(stream) == {1: 7, 2: 70000000000}


def test_a_narrower_column_stops_its_table(world: World) -> None:
    """SCHEMA-16: with what the source did, and where."""
    narrow = "ALTER TABLE items MODIFY COLUMN name VARCHAR(5)"
    stream = opened(world, canal_rows("INSERT", item(1)))
    stream.cut()
    stream.send([canal_statement("ALTER", narrow), canal_rows("INSERT", item(2))])
    with pytest.raises(TableStoppedError, match=r"varchar\(20\) became varchar\(5\)") as stopped:
        stream.cut()
    assert narrow in str(stopped.value)
    assert stream.rows() == {1: "x"}


def test_rows_that_came_as_text_stop_their_table_and_the_text_is_not_told(world: World) -> None:
    """MSG-7, MSG-40."""
    stream = opened(
        world,
        canal_rows("INSERT", item(1)),
        canal_statement("UPDATE", "UPDATE items SET name = 'secret'"),
    )
    with pytest.raises(TableStoppedError, match=r"UPDATE .* as the text .*STATEMENT_DML") as why:
        stream.cut()
    assert "secret" not in str(why.value)
    assert stream.rows() == {}


def test_ddl_of_tables_that_are_not_folded_stops_nothing(world: World) -> None:
    """MSG-46, SCHEMA-7: nor does DDL of one that has no row yet."""
    stream = opened(
        world,
        canal_statement("CREATE", "CREATE TABLE `other`.`t` (a INT)", table="t"),
        canal_statement("CREATE", "CREATE TABLE log (line TEXT)", table="log"),
        canal_statement("ALTER", "ALTER TABLE later ADD COLUMN v INT", table="later"),
        canal_rows("INSERT", item(1)),
        **{"other-tables": "follow"},
    )
    stream.cut()
    assert stream.rows() == {1: "x"}
    assert [name for _, name in world.catalog.list_tables(stream.name)] == ["items"]


def test_a_statement_of_an_unknown_database_stops_a_table_of_that_name(world: World) -> None:
    """SCHEMA-23: Canal sends no database with a text that its own parser does not understand."""
    added = "ALTER TABLE items ADD COLUMN n INT NOT NULL DEFAULT 7 INVISIBLE"
    statement = canal_message("QUERY", database="", table="", isDdl=True, sql=added)
    index = canal_message(
        "QUERY", database="", table="", isDdl=True, sql="ALTER TABLE items ADD INDEX i (name)"
    )
    stream = opened(world, canal_rows("INSERT", item(1)), index, **{"other-tables": "follow"})
    stream.cut()
    stream.send([statement, canal_rows("INSERT", item(2))])
    with pytest.raises(TableStoppedError, match="does not tell in which database"):
        stream.cut()
    assert stream.rows() == {1: "x"}


def test_a_table_that_comes_by_another_topic_stops(world: World) -> None:
    """POS-11: its offsets begin anew there, so its changes would count as older ones."""
    stream = Stream(world, format="canal-json", gate="none").create()
    other = f"{stream.name}.others"
    for made in stream.admin.create_topics([NewTopic(other, 1, replication_factor=1)]).values():
        made.result(timeout=60)
    stream.source = {"topics": {"data": [stream.topic, other]}}
    stream.send([canal_rows("INSERT", item(number)) for number in range(3)])
    stream.cut()
    stream.send([canal_rows("UPDATE", item(1, "new"), old=[{"name": "x"}])], other)
    with pytest.raises(TableStoppedError, match="have rows of shop.items"):
        stream.cut()
    assert stream.rows() == {0: "x", 1: "x", 2: "x"}
    stream.send([canal_rows("INSERT", item(4))])
    with pytest.raises(TableStoppedError, match="have rows of shop.items"):
        stream.cut()


def test_canal_needs_a_topic_of_one_partition(world: World) -> None:
    """POS-11: there is no extension that would help."""
    stream = Stream(world, partitions=2, format="canal-json", gate="none").create()
    stream.send([canal_rows("INSERT", item(1))])
    with pytest.raises(PreflightError, match="has 2 partitions, but as Canal tells no position"):
        stream.cut()
