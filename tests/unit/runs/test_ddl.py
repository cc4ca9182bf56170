"""What the schema changes of a cut add up to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tidemark.model.columns import TableSchema
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.position import Place, Position, place_of
from tidemark.model.until import Barrier, Behind
from tidemark.runs.ddl.barriers import barriers_of_ended
from tidemark.runs.ddl.effects import Created, DdlEffects, DdlRecord, DdlStop
from tidemark.runs.ddl.records import add_up, half_described
from tidemark.spec import SourceSpec, TableSpec

TOPIC = TopicName("items")
ITEMS = TableName("shop", "items")


ADDED = "ALTER TABLE items ADD COLUMN late INT"
ANEW = "CREATE TABLE items (x int PRIMARY KEY)"
STREAMED = {"snapshot": "false"}


def effects_of(
    *columns: str, ddl: str = ADDED, told_by: Mapping[str, Any] = STREAMED, **source: Any
) -> DdlEffects:
    """Of a change after which shop.items has ``columns``, the first of them its key."""
    told = [
        {"name": name, "typeName": "INT", "typeExpression": "INT", "length": None, "scale": None}
        for name in columns
    ]
    table = {"columns": told, "primaryKeyColumnNames": [columns[0]]}
    change = {
        "source": told_by,
        "databaseName": "shop",
        "ddl": ddl,
        "tableChanges": [{"type": "ALTER", "id": '"shop"."items"', "table": table}],
    }
    spec = SourceSpec.model_validate(
        {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}, **source}
    )
    record = DdlRecord(Position("0001"), "shop", json.dumps({"payload": change}), TOPIC)
    return add_up(spec, [record])


def test_a_statement_that_a_server_logged_counts_whatever_its_mark_says() -> None:
    """MSG-10, MSG-24: a connector that died in a snapshot marks all that it streams afterwards."""
    renamed = "ALTER TABLE items RENAME COLUMN a TO id"
    read = effects_of("id", ddl=renamed, told_by={"snapshot": "true", "server_id": 0})
    assert read.column_renames == {}
    for told_by in (STREAMED, {"snapshot": "true", "server_id": 223344}):
        assert ITEMS in effects_of("id", ddl=renamed, told_by=told_by).column_renames, told_by


def test_a_snapshot_amid_the_stream_describes_what_it_reads() -> None:
    """MSG-24: a blocking one drops and creates its table at one place, without a mark."""

    def told(ddl: str, kind: str, place: str) -> DdlRecord:
        change = {
            "source": STREAMED,
            "databaseName": "shop",
            "ddl": ddl,
            "tableChanges": [{"type": kind, "id": '"shop"."items"', "table": None}],
        }
        return DdlRecord(Position(place + "0" * 16), "shop", json.dumps(change), TOPIC)

    drop, create = "DROP TABLE IF EXISTS `shop`.`items`", "CREATE TABLE `items` (`id` int)"
    spec = SourceSpec.model_validate(
        {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}}
    )
    here, there = "0001" + "5" * 25, "0001" + "6" * 25
    described = add_up(spec, [told(drop, "DROP", here), told(create, "CREATE", here)])
    assert (described.remade, described.dropped, described.stops) == (set(), {}, {})
    logged = add_up(spec, [told(drop, "DROP", here), told(create, "CREATE", there)])
    assert logged.remade == {ITEMS}

    dropped, made = told(drop, "DROP", here), told(create, "CREATE", here)
    assert half_described([dropped]) == half_described([made]) == {here}
    assert half_described([dropped, made, told("x", "ALTER", there)]) == frozenset()
    alone = add_up(spec, [dropped])
    assert alone.dropped_at(ITEMS, None) == dropped.position
    again = add_up(spec, [dropped], before=[made])
    assert again.dropped_at(ITEMS, None) is None
    completed = add_up(spec, [made], before=[dropped])
    assert (completed.made, completed.dropped_at(ITEMS, dropped.position)) == (set(), None)
    taken = DdlEffects()
    taken.take(ITEMS, completed)
    assert taken.dropped_at(ITEMS, dropped.position) is None
    elsewhere = told(drop, "DROP", there).position
    assert completed.dropped_at(ITEMS, elsewhere) == elsewhere


def test_a_cut_ends_before_a_table_goes_again() -> None:
    """SCHEMA-18: a cut holds one of two tables of a name, so that their rows do not mix."""
    statements = [
        "DROP TABLE items",
        "CREATE TABLE items (x int PRIMARY KEY)",
        "DROP TABLE items",
        "CREATE TABLE items (y int PRIMARY KEY)",
        "DROP TABLE items",
    ]
    spec = SourceSpec.model_validate(
        {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["t"]}}
    )
    records = [
        DdlRecord(
            Position(f"0001{number:016X}2{0:020X}"),
            "shop",
            json.dumps({"isDdl": True, "sql": statement}),
            TOPIC,
        )
        for number, statement in enumerate(statements, start=1)
    ]
    effects = add_up(spec, records)
    (barrier,) = barriers_of_ended(effects, Place(""), frozenset())
    assert barrier == Barrier(ITEMS, records[1].position, Behind.DROPPED)
    made_at, again_at = (place_of(records[number].position) or Place("") for number in (1, 3))
    (barrier,) = barriers_of_ended(effects, made_at, frozenset())
    assert barrier.position == records[3].position, "a cut ended at the first one, which came again"
    assert list(barriers_of_ended(effects, again_at, frozenset())) == []
    first = add_up(spec, records[1:3])
    assert list(barriers_of_ended(first, Place(""), frozenset())) == [], "nothing was there before"
    assert len(list(barriers_of_ended(first, Place(""), {ITEMS}))) == 1


def test_columns_are_named_as_in_avro_records() -> None:
    """MSG-20: those of statements, too."""
    renamed = "ALTER TABLE items RENAME COLUMN `old-one` TO `2nd`"
    column_renames = effects_of(
        "item-id", "2nd", ddl=renamed, avro={"folder": "/schemas"}
    ).column_renames
    assert column_renames[ITEMS][0].column_rename.renamed == (("old_one", "_2nd"),)
    avro = effects_of("item-id", "2nd", avro={"folder": "/schemas"})
    assert (avro.schemas[ITEMS].names, avro.schemas[ITEMS].key) == (
        ("item_id", "_2nd"),
        ("item_id",),
    )
    assert effects_of("item-id").schemas[ITEMS].names == ("item-id",)
    assert avro.stops == {}


def test_names_that_become_one_stop_their_table() -> None:
    """MSG-20: and no other."""
    stopped = effects_of("a-b", "a.b", avro={"folder": "/schemas"})
    why = "the columns a-b and a.b are both written as a_b (COLUMN_COLLISION) (at position 0001)"
    assert stopped.stops == {ITEMS: DdlStop(why, None)}


def test_a_statement_may_change_and_rename_a_table() -> None:
    """MSG-23, SCHEMA-4: what the table is now stands under its new name."""
    state = {"name": "v", "typeName": "VARCHAR", "typeExpression": "VARCHAR", "scale": None}
    records = [
        DdlRecord(
            Position(f"0001{number}"),
            "shop",
            json.dumps(
                {
                    "source": STREAMED,
                    "databaseName": "shop",
                    "ddl": ddl,
                    "tableChanges": [
                        {
                            "type": "ALTER",
                            "id": names,
                            "table": {
                                "columns": [state | {"length": length}],
                                "primaryKeyColumnNames": [],
                            },
                        }
                    ],
                }
            ),
            TOPIC,
        )
        for number, (ddl, names, length) in enumerate(
            (
                ("ALTER TABLE items MODIFY v VARCHAR(20)", '"shop"."items"', 20),
                (
                    "ALTER TABLE items MODIFY v VARCHAR(10), RENAME TO others",
                    '"shop"."items","shop"."others"',
                    10,
                ),
            )
        )
    ]
    spec = SourceSpec.model_validate(
        {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}}
    )
    for told in (records, records[1:]):
        effects = add_up(spec, told)
        changes = [change for of_table in effects.changed.values() for change in of_table]
        assert (changes[-1].name, changes[-1].type_text) == ("v", "varchar(10)")


TRUNCATED = "ALTER TABLE items TRUNCATE PARTITION p"


@pytest.mark.parametrize(
    ("statements", "stops_at"),
    [
        ([TRUNCATED, "DROP TABLE items", ANEW], None),
        ([TRUNCATED, "CREATE OR REPLACE TABLE items (x int PRIMARY KEY)"], None),
        ([TRUNCATED, "DROP DATABASE shop", "CREATE DATABASE shop", ANEW], None),
        ([TRUNCATED, "DROP TABLE items"], "1"),
        ([TRUNCATED, "CREATE TABLE IF NOT EXISTS items (x int PRIMARY KEY)"], "1"),
        (["DROP TABLE items", ANEW, TRUNCATED], "3"),
        ([TRUNCATED, "DROP TABLE items", ANEW, TRUNCATED], "4"),
        ([TRUNCATED, "DROP TABLE items", "CREATE TABLE items (x int, `b/c` int)"], "1"),
    ],
)
def test_what_became_of_rows_that_are_gone_stops_no_new_table(
    statements: list[str], stops_at: str | None
) -> None:
    """SCHEMA-18: rows of the new one begin behind the statement."""
    stop = canal(*statements).stops.get(ITEMS)
    assert (stop.position if stop else None) == stops_at


def test_a_name_that_is_unclear_stops_the_new_table_as_well() -> None:
    """SCHEMA-31."""
    again = canal("RENAME TABLE others TO items", "DROP TABLE items", ANEW)
    assert ITEMS in again.stops


def test_a_new_table_whose_state_cannot_be_read_stops() -> None:
    """MSG-20, SCHEMA-18."""
    recreated = "CREATE OR REPLACE TABLE items (`a-b` int, `a.b` int)"
    stopped = effects_of("a-b", "a.b", ddl=recreated, avro={"folder": "/schemas"})
    assert list(stopped.stops) == [ITEMS]


@pytest.mark.parametrize(
    "ddl", ["ALTER TABLE items DROP a, CHANGE b a INT", "ALTER TABLE items DROP A, CHANGE B a INT"]
)
def test_a_column_that_takes_the_name_of_a_dropped_one_is_judged_as_what_it_was(ddl: str) -> None:
    """SCHEMA-13, SCHEMA-30."""

    def told(place: str, ddl: str, **columns: str) -> DdlRecord:
        listed = [{"name": name, "typeExpression": text} for name, text in columns.items()]
        table = {"columns": listed, "primaryKeyColumnNames": ["id"]}
        change = {
            "source": STREAMED,
            "databaseName": "shop",
            "ddl": ddl,
            "tableChanges": [{"type": "ALTER", "id": '"shop"."items"', "table": table}],
        }
        return DdlRecord(Position(place), "shop", json.dumps(change), TOPIC)

    spec = SourceSpec.model_validate(
        {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}}
    )
    records = [
        told("0001", "ALTER TABLE items ADD x INT", id="INT", b="BIGINT", a="INT", x="INT"),
        told("0002", ddl, id="INT", a="INT", x="INT"),
    ]
    (changed,) = add_up(spec, records).changed[ITEMS]
    assert (changed.name, changed.type_text, changed.was) == ("a", "int", "bigint")


def test_a_copied_table_has_the_columns_that_the_record_tells() -> None:
    """MSG-22: Debezium tells the state after the statement, Canal its text alone."""
    like = "CREATE TABLE items LIKE others"
    copied = effects_of("id", "name", ddl=like)
    assert (copied.stops, copied.schemas[ITEMS].names) == ({}, ("id", "name"))
    by_text = canal(like)
    assert (by_text.stops, by_text.types, by_text.created, by_text.made) == ({}, {}, {}, {ITEMS})


def test_a_copied_table_that_was_dropped_before_is_another_one() -> None:
    """SCHEMA-18: nothing shows its columns, so its target is not to take its rows."""
    again = canal("DROP TABLE items", "CREATE TABLE items LIKE others")
    assert (again.remade, again.created, again.stops) == ({ITEMS}, {}, {})


def test_a_table_that_is_made_again_is_told_anew() -> None:
    """SCHEMA-18: nothing of the one before it is left."""
    again = canal(
        "ALTER TABLE items RENAME COLUMN a TO b", "DROP TABLE items", "CREATE TABLE items (x int)"
    )
    assert (again.dropped, again.remade) == ({ITEMS: Position("2")}, {ITEMS})
    assert (again.types, again.column_renames) == ({ITEMS: {"x": "int"}}, {})
    gone = canal("CREATE TABLE items (x int)", "DROP TABLE IF EXISTS items")
    assert (gone.remade, gone.types) == (set(), {ITEMS: {"x": "int"}})


@pytest.mark.parametrize(
    ("table", "dropped_at", "digits", "is_made"),
    [
        pytest.param({}, "1", 41, True, id="dropped in an earlier cut"),
        pytest.param({}, None, 41, False, id="never dropped"),
        pytest.param({"mode": "history"}, "1", 41, False, id="a target that keeps versions"),
        pytest.param({}, "1", 20, False, id="a source without positions"),
    ],
)
def test_what_a_dropped_table_becomes(
    table: dict[str, Any], dropped_at: str | None, digits: int, is_made: bool
) -> None:
    """SCHEMA-18"""
    spec = TableSpec.model_validate({"source": "shop.items", "expectations": "none", **table})
    effects, made_at = DdlEffects(), Position("2".zfill(digits))
    effects.make(ITEMS)
    effects.created[ITEMS] = Created(made_at, {"x": "int"}, (ColumnName("x"),))
    have = TableSchema((), dropped_at=Position(dropped_at) if dropped_at else None)
    created = effects.recreated(spec, have)
    assert (created is not None) == is_made
    assert effects.recreated(spec, None) is None


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("FROBNICATE TABLE items", [None]),
        ("ALTER TABLE items FROBNICATE", [ITEMS]),
        ("ALTER TABLE items ADD COLUMN c int, IMPORT TABLESPACE", [ITEMS]),
    ],
)
def test_a_person_may_judge_what_stops_a_table(statement: str, tables: list[Any]) -> None:
    """SCHEMA-26: it counts for nothing then; what is around it counts as before."""
    around = "ALTER TABLE items RENAME COLUMN a TO b"
    stopped = canal(statement, around)
    assert [(table, stop.position) for table, stop in stopped.stops.items()] == [
        (table, "1") for table in tables
    ]
    let_go = canal(statement, around, acknowledged="1")
    assert (let_go.stops, let_go.types, let_go.made) == ({}, {}, set())
    assert len(let_go.column_renames[ITEMS]) == 1
    assert canal(statement, around, acknowledged="2").stops == stopped.stops


@pytest.mark.parametrize(
    ("statement", "table", "stopped"),
    [
        ("RECOVER TABLE BY JOB 53", "another", TableName("shop", "another")),
        ("FROBNICATE", "items", ITEMS),
        ("RECOVER TABLE BY JOB 53", "", None),
        ("RENAME TABLE items", "items", None),
        ("DROP TABLE items, `x", "items", None),
        ("ALTER TABLE pt EXCHANGE PARTITION p WITH TABLE", "pt", None),
    ],
)
def test_ticdc_names_the_table_beside_the_text(
    statement: str, table: str, stopped: TableName | None
) -> None:
    """SCHEMA-26: unless the text may name another one, too."""
    text = json.dumps({"isDdl": True, "sql": statement, "table": table})
    for written, tables in (("ticdc-canal-json", [stopped]), ("canal-json", [None])):
        spec = SourceSpec.model_validate(
            {"format": written, "gate": "none", "topics": {"data": ["t"]}}
        )
        effects = add_up(spec, [DdlRecord(Position("1"), "shop", text, TOPIC)])
        assert list(effects.stops) == tables


def test_what_is_followed_is_not_acknowledged() -> None:
    """SCHEMA-26: leaving it out would make the table another one."""
    followed = canal(
        "ALTER TABLE items RENAME COLUMN a TO b", "DROP TABLE others", acknowledged="1"
    )
    assert followed == canal("ALTER TABLE items RENAME COLUMN a TO b", "DROP TABLE others")


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["ALTER TABLE items DROP PRIMARY KEY, ADD PRIMARY KEY (x)"], ["1 x"]),
        (["DROP INDEX `PRIMARY` ON items"], ["1 "]),
        (["ALTER TABLE items DROP CONSTRAINT `PRIMARY`"], ["1 "]),
        (["ALTER TABLE items DROP CONSTRAINT IF EXISTS `primary`, ADD y int"], ["1 "]),
        (["ALTER TABLE items DROP CONSTRAINT `PRIMARY`, ADD PRIMARY KEY (y)"], ["1 y"]),
        (["ALTER TABLE items DROP CONSTRAINT c"], []),
        (
            ["ALTER TABLE items DROP PRIMARY KEY", "ALTER TABLE items ADD PRIMARY KEY (x, y)"],
            ["1 ", "2 x y"],
        ),
        (
            [
                "CREATE TABLE _items_gho LIKE items",
                "ALTER TABLE _items_gho DROP PRIMARY KEY, ADD PRIMARY KEY (x)",
                "ALTER TABLE _items_gho ADD INDEX (y)",
                "RENAME TABLE items TO _items_del, _items_gho TO items",
            ],
            ["4 x"],
        ),
        (["ALTER TABLE items ADD UNIQUE KEY (x)"], []),
        (["ALTER TABLE items ADD PRIMARY KEY (x)", "DROP TABLE items", ANEW], []),
    ],
)
def test_what_becomes_of_a_key(statements: list[str], told: list[str]) -> None:
    """KEY-16: of a shadow it is told where that takes its table's place (SCHEMA-33)."""
    effects = canal(*statements)
    found = effects.key_changes.get(ITEMS, [])
    assert [" ".join((one.position, " ".join(one.key))) for one in found] == told
    assert effects.stops == {}


def test_a_database_goes_with_its_tables() -> None:
    """SCHEMA-18, SCHEMA-21: also those of which the cut tells nothing; others stay."""
    gone = canal("CREATE TABLE items (x int)", "CREATE TABLE b.t (x int)", "DROP DATABASE shop")
    other, of_another = TableName("shop", "other"), TableName("b", "t")
    assert [gone.dropped_at(table, None) for table in (ITEMS, other)] == ["3", "3"]
    assert gone.dropped_at(of_another, None) is None
    again = canal("DROP DATABASE shop", "CREATE DATABASE shop", "CREATE TABLE items (x int)")
    assert (again.dropped_at(ITEMS, None), again.remade) == ("1", {ITEMS})


@pytest.mark.parametrize("change", [None, 7, {}, {"id": ["shop", "items"]}])
def test_a_change_of_no_table_stops_all_of_them(change: Any) -> None:
    """POISON-6: it may have been about any."""
    told = {"source": {"snapshot": "false"}, "ddl": "", "tableChanges": [change]}
    spec = SourceSpec.model_validate(
        {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}}
    )
    record = DdlRecord(Position("0001"), "shop", json.dumps(told), TOPIC)
    stops = add_up(spec, [record]).stops
    why = "a schema change names no table (at position 0001)"
    assert stops == {None: DdlStop(why, None)}


def canal(*statements: str, acknowledged: str = "") -> DdlEffects:
    """Of statements at the positions 1, 2, and so on; judged: that of one that changed nothing."""
    spec = SourceSpec.model_validate(
        {"format": "canal-json", "gate": "none", "topics": {"data": ["t"]}}
    )
    records = [
        DdlRecord(Position(str(place)), "shop", json.dumps({"isDdl": True, "sql": text}), TOPIC)
        for place, text in enumerate(statements, start=1)
    ]
    return add_up(spec, records, acknowledged=[Position(acknowledged)])


def test_the_newest_statement_that_stops_a_table_counts() -> None:
    """SCHEMA-37: rows that came between two of them are as unknown as those before the first."""
    effects = DdlEffects()
    first, last = Position("1" + "0" * 20), Position("2" + "0" * 20)
    for position in (first, last):
        effects.stop(ITEMS, "rows may have changed", position)
    assert effects.stops[ITEMS].position == first
    assert effects.stated_at[ITEMS] == last


def test_a_message_in_hex_is_read_and_one_that_cannot_be_stops_its_tables() -> None:
    """SCHEMA-26, SCHEMA-36: binary.handling.mode=hex; no content ends the run."""
    postgres = SourceSpec.model_validate(
        {"format": "debezium-postgres", "gate": "none", "topics": {"data": ["t"]}}
    )
    gone = {"before": {"schema": "shop", "name": "items"}, "after": None}
    told = {"version": 1, "tag": "DROP TABLE", "statement": "DROP TABLE items", "tables": [gone]}

    def effects(content: str | None) -> DdlEffects:
        body = {"op": "m", "source": {}, "message": {"prefix": "tidemark", "content": content}}
        return add_up(postgres, [DdlRecord(Position("1"), "", json.dumps(body), TOPIC)])

    assert ITEMS in effects(json.dumps(told).encode().hex()).dropped
    for content in ("7b7", "?", None):
        assert "a message of its trigger cannot be read" in str(effects(content).stops)


def test_a_comment_goes_with_its_column() -> None:
    """SCHEMA-39: a declaration without it says nothing; `IF NOT EXISTS` may do nothing."""
    ddl = (
        "ALTER TABLE items MODIFY x INT COMMENT 'why', MODIFY y INT, "
        "ADD COLUMN IF NOT EXISTS z INT, ADD COLUMN late INT COMMENT 'since'"
    )
    assert effects_of("x", "y", "z", "late", ddl=ddl).comments == {
        ITEMS: {"x": "why", "y": "", "late": "since"}
    }
