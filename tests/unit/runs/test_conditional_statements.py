"""Statements that do nothing where what they make is there, or what they change is not."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import TableSchema
from tidemark.model.key_change import effective
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.position import Position
from tidemark.runs.columns.changes import declared_column
from tidemark.runs.columns.schemas import resolve
from tidemark.runs.ddl.effects import DdlEffects, DdlRecord
from tidemark.runs.ddl.records import add_up
from tidemark.schema.changes import plan_changes
from tidemark.spec import SourceSpec, TableSpec

TOPIC = TopicName("items")
ITEMS = TableName("shop", "items")
CREATE = "CREATE TABLE IF NOT EXISTS items (id bigint PRIMARY KEY, other int, a varchar(9))"
SPEC = TableSpec.model_validate({"source": "shop.items", "expectations": "none"})


def source(written: str = "canal-json") -> SourceSpec:
    topics = {"data": ["items"]}
    return SourceSpec.model_validate({"format": written, "gate": "none", "topics": topics})


HAVE = TableSchema(
    tuple(declared_column(source(), name, "int") for name in ("id", "a", "b")), (ColumnName("id"),)
)


def effects_of(
    *texts: str, there: Sequence[TableName] | None = (ITEMS,), written: str = "canal-json"
) -> DdlEffects:
    """there: tables that the source has before the first of ``texts``; None where none is known."""
    records = [
        DdlRecord(Position(str(place)), "shop", json.dumps({"isDdl": True, "sql": text}), TOPIC)
        for place, text in enumerate(texts, start=1)
    ]
    return add_up(
        source(written), records, was_there=lambda name: None if there is None else name in there
    )


def after(*texts: str, records: Sequence[RecordSchema] = ()) -> TableSchema:
    return resolve(source(), SPEC, HAVE, effects_of(*texts), records)


@pytest.mark.parametrize("written", ["canal-json", "ticdc-canal-json"])
@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([CREATE], id="alone"),
        pytest.param(["ALTER TABLE items COMMENT 'x'", CREATE], id="behind another statement"),
        pytest.param(["DROP TABLE others", CREATE], id="another table is dropped"),
        pytest.param(["CREATE TABLE IF NOT EXISTS items LIKE others"], id="like another table"),
        pytest.param(["CREATE TABLE IF NOT EXISTS items SELECT 1 AS x"], id="from a query"),
    ],
)
def test_table_that_is_there_is_not_created(written: str, texts: list[str]) -> None:
    """SCHEMA-21: MySQL logs the statement, whatever it did."""
    effects = effects_of(*texts, written=written)
    assert (effects.types, effects.keys, effects.created) == ({}, {}, {})
    assert (effects.made, effects.stops) == (set(), {})
    assert plan_changes(HAVE, resolve(source(written), SPEC, HAVE, effects, [])) == ()


@pytest.mark.parametrize(
    ("texts", "there"),
    [
        pytest.param([CREATE], [], id="it was never there"),
        pytest.param(["DROP TABLE items", CREATE], [ITEMS], id="it was dropped"),
        pytest.param(["DROP DATABASE shop", CREATE], [ITEMS], id="its database was dropped"),
        pytest.param(["RENAME TABLE items TO old", CREATE], [ITEMS], id="it was renamed"),
        pytest.param([CREATE, CREATE.replace("other", "more")], [], id="the second does nothing"),
    ],
)
def test_table_that_is_not_there_is_created(texts: list[str], there: list[TableName]) -> None:
    """SCHEMA-18, SCHEMA-21."""
    effects = effects_of(*texts, there=there)
    types = {"id": "bigint", "other": "int", "a": "varchar(9)"}
    assert effects.types[ITEMS] == effects.created[ITEMS].types == types
    assert ITEMS in effects.made


@pytest.mark.parametrize(
    "texts",
    [
        ["RENAME TABLE others TO items", CREATE],
        ["ALTER TABLE items ADD late int", CREATE],
        ["TRUNCATE items", CREATE],
        ["DROP TABLE items", "CREATE TABLE items (id int PRIMARY KEY)", CREATE],
    ],
)
def test_statements_show_that_a_table_is_there(texts: list[str]) -> None:
    """SCHEMA-21: also where it has no target."""
    assert "other" not in effects_of(*texts, there=[]).types.get(ITEMS, {})


def test_rows_tell_the_columns_of_a_table_that_may_be_there() -> None:
    """SCHEMA-7: Canal's all of them; TiDB logs no such statement where it did nothing."""
    assert effects_of(CREATE, there=None).types == {}
    assert ITEMS in effects_of(CREATE, there=None, written="ticdc-canal-json").created


LIST = "RENAME TABLE IF EXISTS old TO new, items TO others"


@pytest.mark.parametrize(
    ("texts", "there", "renamed"),
    [
        pytest.param([LIST], ["items"], ["old", "items"], id="the old table may be there"),
        pytest.param([LIST], ["items", "new"], ["items"], id="the new name is not free"),
        pytest.param(["DROP TABLE old", LIST], ["items"], ["items"], id="the old one is dropped"),
        pytest.param(
            ["RENAME TABLE IF EXISTS items TO x, old TO items, x TO old"],
            ["items", "old"],
            ["items", "old", "x"],
            id="a list that frees the names itself",
        ),
    ],
)
def test_renames_that_do_nothing(texts: list[str], there: list[str], renamed: list[str]) -> None:
    """SCHEMA-31: MariaDB logs the whole statement."""
    tables = [TableName("shop", name) for name in there]
    effects = effects_of(*texts, there=tables)
    by = next(stop.by for stop in effects.stops.values() if stop.by is not None)
    assert [old.table for old, _ in by.pairs] == renamed


def test_shadow_that_is_there_is_not_made_again() -> None:
    """SCHEMA-33."""
    made = "CREATE TABLE _items_new (id int PRIMARY KEY, a int, b int)"
    altered = "ALTER TABLE _items_new ADD c int"
    names = "RENAME TABLE items TO _items_old, _items_new TO items"
    again = made.replace("TABLE", "TABLE IF NOT EXISTS").replace("b int", "d int")
    want = after(made, altered, again, names)
    assert [column.name for column in want.columns] == ["id", "a", "b", "c"]


@pytest.mark.parametrize(
    "item",
    [
        "ADD COLUMN IF NOT EXISTS a varchar(9) NOT NULL DEFAULT 'x'",
        "ADD COLUMN IF NOT EXISTS A varchar(9)",
        "ADD COLUMN IF NOT EXISTS a datetime DEFAULT CURRENT_TIMESTAMP",
        "ADD COLUMN IF NOT EXISTS (a bigint, b bigint)",
        "ADD COLUMN IF NOT EXISTS id bigint PRIMARY KEY",
        "DROP COLUMN IF EXISTS gone",
        "MODIFY COLUMN IF EXISTS gone bigint",
        "CHANGE COLUMN IF EXISTS gone away bigint",
        "CHANGE IF EXISTS gone away bigint PRIMARY KEY",
        "RENAME COLUMN IF EXISTS gone TO away",
        "ADD PRIMARY KEY IF NOT EXISTS (a)",
        "ADD CONSTRAINT pk PRIMARY KEY IF NOT EXISTS (a)",
    ],
)
def test_items_that_do_nothing(item: str) -> None:
    """SCHEMA-22: MariaDB logs the whole statement."""
    effects = effects_of(f"ALTER TABLE items {item}")
    assert plan_changes(HAVE, resolve(source(), SPEC, HAVE, effects, [])) == ()
    assert (effects.stops, effects.unknown_values) == ({}, {})
    assert list(effective(effects.key_changes.get(ITEMS, ()), has_key=True)) == []


@pytest.mark.parametrize(
    ("texts", "names", "key"),
    [
        (["ADD IF NOT EXISTS late varchar(9)"], ["id", "a", "b", "late"], None),
        (["RENAME COLUMN IF EXISTS a TO c"], ["id", "c", "b"], None),
        (["CHANGE IF EXISTS A c bigint"], ["id", "c", "b"], None),
        (["DROP COLUMN IF EXISTS a"], ["id", "b"], None),
        (["DROP a", "ADD COLUMN IF NOT EXISTS a int"], ["id", "b", "a"], None),
        (["DROP PRIMARY KEY", "ADD PRIMARY KEY IF NOT EXISTS (a)"], ["id", "a", "b"], ("a",)),
        (["DROP PRIMARY KEY, ADD PRIMARY KEY IF NOT EXISTS (a)"], ["id", "a", "b"], ("a",)),
    ],
)
def test_items_that_do_something(
    texts: list[str], names: list[str], key: tuple[str, ...] | None
) -> None:
    """SCHEMA-22: where what they name is there, or is not."""
    effects = effects_of(*(f"ALTER TABLE items {text}" for text in texts))
    assert list(resolve(source(), SPEC, HAVE, effects, []).names) == names
    key_changes = effective(effects.key_changes.get(ITEMS, ()), has_key=True)
    assert next((change.key for change in key_changes if change.key), None) == key
