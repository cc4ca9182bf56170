"""Online schema changes: a table whose shadow takes its place is altered, and keeps its rows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import pytest

from tidemark.errors import TableStoppedError
from tidemark.model.columns import TableSchema
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.position import CommitRank, Position, commit_bound
from tidemark.runs.columns.changes import declared_column
from tidemark.runs.columns.schemas import resolve
from tidemark.runs.ddl.effects import DdlEffects, DdlRecord
from tidemark.runs.ddl.records import add_up
from tidemark.schema.changes import describe, plan_changes
from tidemark.spec import SourceSpec, TableSpec

TOPIC = TopicName("items")
ITEMS = TableName("shop", "items")
SPEC = TableSpec.model_validate({"source": "shop.items", "expectations": "none"})
LIKE = "CREATE TABLE _items_gho LIKE items"
MADE = "CREATE TABLE _items_new (id int PRIMARY KEY, A int, b varchar(9))"
SWAP = "RENAME TABLE items TO _items_del, _items_gho TO items"
NEW = "RENAME TABLE items TO _items_old, _items_new TO items"


def source(written: str = "canal-json", *shadows: str) -> SourceSpec:
    content = {"format": written, "gate": "none", "topics": {"data": ["items"]}}
    return SourceSpec.model_validate(content | ({"shadow-tables": shadows} if shadows else {}))


def target() -> TableSchema:
    columns = {"id": "int", "a": "int", "b": "varchar(9)"}
    told = (declared_column(source(), name, text) for name, text in columns.items())
    return TableSchema(tuple(told), (ColumnName("id"),))


def records(*texts: str, first: int = 1) -> list[DdlRecord]:
    return [
        DdlRecord(Position(str(place)), "shop", json.dumps({"isDdl": True, "sql": text}), TOPIC)
        for place, text in enumerate(texts, start=first)
    ]


def changes(have: TableSchema, effects: DdlEffects) -> list[str]:
    """What becomes of the target; raises what stops it."""
    assert ITEMS not in effects.stops, effects.stops[ITEMS]
    want = resolve(source(), SPEC, have, effects, [])
    assert want.dropped_at is None
    return [describe(change) for change in plan_changes(have, want)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            [LIKE, "ALTER TABLE _items_gho ADD c int NOT NULL DEFAULT 7", SWAP],
            ["add c int", "fill c with '7' in older rows"],
            id="a column with a default",
        ),
        pytest.param(
            [LIKE, "ALTER TABLE _items_gho DROP b, MODIFY a bigint, ADD INDEX i (a)", SWAP],
            ["drop b", "widen a int to bigint"],
            id="one goes and one is wider",
        ),
        pytest.param(
            [LIKE, "ALTER TABLE _items_gho DROP a, ADD a bigint", SWAP],
            ["widen a int to bigint"],
            id="a tool copies by name, so this is the column with another type",
        ),
        pytest.param(
            [LIKE, "ALTER TABLE _items_gho ADD c int", "ALTER TABLE _items_gho DROP c", SWAP],
            [],
            id="it came and went",
        ),
        pytest.param([LIKE, "ALTER TABLE _items_gho ENGINE=InnoDB", SWAP], [], id="nothing"),
        pytest.param(
            [MADE, "ALTER TABLE _items_new ADD c int, MODIFY b varchar(20)", NEW],
            ["add c int"],
            id="made by its text",
        ),
        pytest.param(
            [MADE.replace("A int", "A bigint"), NEW],
            ["widen a int to bigint"],
            id="made wider by its text",
        ),
        pytest.param(
            [
                LIKE,
                "ALTER TABLE _items_gho ADD c int",
                "ALTER TABLE items RENAME TO _items_del",
                "ALTER TABLE _items_gho RENAME TO items",
            ],
            ["add c int"],
            id="two statements",
        ),
        pytest.param(
            [MADE, "ALTER TABLE _items_new ADD c int", "DROP TABLE items"]
            + ["RENAME TABLE _items_new TO items"],
            ["add c int"],
            id="the table is dropped first",
        ),
        pytest.param(
            [LIKE, "ALTER TABLE _items_gho ADD x int, RENAME COLUMN a TO y"]
            + ["DROP TABLE _items_gho", LIKE, "ALTER TABLE _items_gho ADD c int", SWAP],
            ["add c int"],
            id="a first try was given up",
        ),
        pytest.param(
            [LIKE, "ALTER TABLE _items_gho ADD c int", SWAP, "DROP TABLE _items_del"]
            + [LIKE, "ALTER TABLE _items_gho RENAME INDEX i TO j, DROP c, ADD d text", SWAP],
            ["add d string"],
            id="one after the other",
        ),
        pytest.param(
            ["CREATE TABLE `shop`._items_ghc (id bigint)", "DROP TABLE _items_ghc"],
            [],
            id="what a tool keeps for itself",
        ),
    ],
)
def test_plan(texts: list[str], expected: list[str]) -> None:
    """SCHEMA-14, SCHEMA-33: in one cut, and with all but the change of names in earlier ones."""
    told = records(*texts)
    assert changes(target(), add_up(source(), told)) == expected
    late = add_up(source(), told[-1:])
    if late.unknown_shadows:
        assert ITEMS in late.stops
        late = add_up(source(), told[-1:], told[:-1])
    have = target()
    if len(told) > 1 and texts[-2].endswith(("_items_del", "TABLE items")):
        have = resolve(source(), SPEC, have, add_up(source(), told[:-1]), [])
        assert have.dropped_at == "3"
    if SWAP not in texts[:-1]:
        assert changes(have, late) == expected


def test_the_rest_of_a_cut_is_followed_around_it() -> None:
    """SCHEMA-4: each statement is judged against the columns that were there before it."""
    texts = [
        "ALTER TABLE items RENAME COLUMN b TO z",
        LIKE,
        "ALTER TABLE _items_gho DROP z, ADD c int",
        SWAP,
        "ALTER TABLE items RENAME COLUMN c TO b",
    ]
    assert changes(target(), add_up(source(), records(*texts))) == ["drop b", "add b int"]


def test_parts_of_one_statement_may_come_in_any_order() -> None:
    """MSG-54: TiCDC writes a record per table, to the topic of each."""
    texts = [
        LIKE,
        "ALTER TABLE _items_gho ADD c int",
        "RENAME TABLE `shop`.`items` TO `shop`.`_items_del`",
        "RENAME TABLE `shop`.`_items_gho` TO `shop`.`items`",
    ]
    commits = (5, 6, 7, 7)
    for offsets in itertools.permutations((1, 2)):
        told = [
            DdlRecord(
                Position(f"{commit_bound(commit)}{CommitRank.DDL}0000{offset:016X}"),
                "shop",
                json.dumps({"isDdl": True, "sql": text}),
                TOPIC,
            )
            for text, commit, offset in zip(texts, commits, (1, 1, *offsets), strict=True)
        ]
        effects = add_up(source("ticdc-canal-json"), told)
        assert (effects.dropped, effects.begun_cut_overs) == ({}, {})
        assert changes(target(), effects) == ["add c int"]


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([SWAP], "the statements that made shop._items_gho were not read"),
        (
            [LIKE, "ALTER TABLE _items_gho RENAME COLUMN a TO x", SWAP],
            "renames a to x, and a tool may copy the values or not",
        ),
        (
            [LIKE, "ALTER TABLE _items_gho ADD c int", "ALTER TABLE _items_gho MODIFY c text"]
            + [SWAP],
            "declares c more than once",
        ),
        ([LIKE, "TRUNCATE TABLE _items_gho", SWAP], "its rows went"),
        ([LIKE, "ALTER TABLE items ADD x int", SWAP], "shop.items was changed meanwhile"),
        (["CREATE TABLE _items_gho LIKE others", SWAP], "was made like shop.others"),
        (["CREATE TABLE _items_gho SELECT * FROM items", SWAP], "its rows are those of a query"),
        (
            ["CREATE TABLE _others_gho LIKE items"]
            + ["RENAME TABLE items TO _items_del, _others_gho TO items"],
            "is a shadow of shop.others by its name",
        ),
        ([LIKE, "RENAME TABLE items TO x, _items_gho TO items"], "it is called shop.x now"),
    ],
)
def test_what_stops_the_table(texts: Sequence[str], why: str) -> None:
    """SCHEMA-33: where its rows may be other ones, with the statement and its place."""
    stop = add_up(source(), records(*texts)).stops[ITEMS].why
    assert why in stop
    assert f"(at position {len(texts)})" in stop


def test_values_that_nothing_shows_are_unknown_behind_it() -> None:
    """SCHEMA-38."""
    added = "ALTER TABLE _items_gho ADD c int, ADD t datetime DEFAULT now()"
    effects = add_up(source(), records(LIKE, added, SWAP))
    assert "get a value in t" in effects.unknown_values[ITEMS].why
    assert effects.unknown_values[ITEMS].position == Position("3")


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([MADE.replace(", b varchar(9)", ""), NEW], "not made like it .column b."),
        ([MADE.replace("A int", "A int, x int"), NEW], "not made like it .column x."),
        ([MADE.replace("(9)", "(8)"), NEW], "may have changed values"),
        ([LIKE, "ALTER TABLE _items_gho MODIFY a smallint", SWAP], "may have changed values"),
        ([LIKE, "ALTER TABLE _items_gho DROP id, ADD c int", SWAP], "changes the key"),
    ],
)
def test_what_the_target_contradicts_stops_it(texts: Sequence[str], why: str) -> None:
    """SCHEMA-16, SCHEMA-33."""
    with pytest.raises(TableStoppedError, match=why):
        changes(target(), add_up(source(), records(*texts)))


def test_a_table_that_went_aside_is_gone_until_its_shadow_comes() -> None:
    """SCHEMA-18: and what is made in its place is another table."""
    aside = "RENAME TABLE items TO _items_old"
    gone = add_up(source(), records(aside))
    assert (gone.dropped_at(ITEMS, None), gone.stops) == ("1", {})
    other = add_up(source(), records(aside, "CREATE TABLE items (id int)"))
    assert (other.dropped_at(ITEMS, None), other.remade) == ("1", {ITEMS})
    again = add_up(source(), records("DROP TABLE items", "CREATE TABLE items (id int)", LIKE, SWAP))
    assert (again.dropped_at(ITEMS, None), again.remade) == ("1", {ITEMS})
    made = add_up(source(), records("CREATE TABLE items (id int)", LIKE, SWAP))
    assert made.dropped_at(ITEMS, Position("0")) == "0"


def test_names_of_shadows_are_those_of_the_file() -> None:
    """SCHEMA-32."""
    names = ["_items_gho", "_items_ghc", "_items_del", "_items_new", "_items_old"]
    told = source()
    assert {told.shadowed(TableName("shop", name)) for name in names} == {ITEMS}
    others = ["items", "_gho", "__new", "items_new", "_items_gho2", "_new"]
    assert {told.shadowed(TableName("shop", name)) for name in others} == {None}
    assert told.shadowed(TableName("shop", "__items_new")) == TableName("shop", "_items")
    own = source("canal-json", "~*")
    assert own.shadowed(TableName("shop", "~items")) == ITEMS
    assert own.shadowed(TableName("shop", "_items_gho")) is None
    assert source("debezium-postgres").shadowed(TableName("shop", "_items_new")) is None


@pytest.mark.parametrize(
    ("item", "column", "fills"),
    [
        ("MODIFY b int NOT NULL", "b", True),
        ("DROP COLUMN b, ADD COLUMN b int NOT NULL", "b", True),
        ("DROP COLUMN b, ADD COLUMN b int", "b", False),
        ("MODIFY b int AUTO_INCREMENT UNIQUE", "b", True),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (id, b)", "b", True),
        ("ADD INDEX (b)", "b", False),
    ],
)
def test_copies_give_a_value_to_rows_with_null(item: str, column: str, fills: bool) -> None:
    """SCHEMA-13, SCHEMA-33: the tools insert with IGNORE, whatever the mode; the rows stand."""
    made = "CREATE TABLE _items_new (id int NOT NULL PRIMARY KEY, a int NOT NULL, b int)"
    for making, tool in (([LIKE], "gho"), ([made], "new")):
        statements = [*making, f"ALTER TABLE _items_{tool} {item}"]
        statements.append(f"RENAME TABLE items TO _items_old, _items_{tool} TO items")
        effects = add_up(source(), records(*statements))
        filled = {c.name for c in effects.changed.get(SPEC.source, []) if c.fills_nulls}
        assert filled == ({column, *(("id",) if "KEY (id" in item else ())} if fills else set())
