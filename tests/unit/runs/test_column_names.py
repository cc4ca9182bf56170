"""Statements that rename, drop and add columns: what a cut's schema becomes, and what stops it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support import tellers
from tests.support.altered import AlteredTable
from tests.support.altered_at_random import change_at_random
from tidemark.errors import TableStoppedError
from tidemark.formats.record_schema import (
    RecordSchema,
    canal_record_schema,
    json_record_schema,
)
from tidemark.model.columns import TableSchema
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.position import Position
from tidemark.runs.columns.changes import declared_column
from tidemark.runs.columns.policy import refuse_by_policy
from tidemark.runs.columns.schemas import resolve
from tidemark.runs.ddl.effects import DdlRecord
from tidemark.runs.ddl.records import add_up
from tidemark.schema.changes import (
    AddColumn,
    BackfillColumn,
    CreateTarget,
    DropColumn,
    RenameColumn,
    SchemaChange,
    WidenColumn,
    plan_changes,
)
from tidemark.spec import ColumnPolicy, SourceSpec, TableSpec

TOPIC = TopicName("items")
TABLE = TableName("shop", "items")
FORMATS = {
    "canal": "canal-json",
    "ticdc": "ticdc-canal-json",
    "debezium": "debezium-mysql",
    "debezium with schemas": "debezium-mysql",
}


def source(written: str) -> SourceSpec:
    topics = {"data": ["items"]}
    return SourceSpec.model_validate({"format": written, "gate": "none", "topics": topics})


def table(columns: Mapping[str, str] | None = None, key: Sequence[str] = ()) -> TableSpec:
    text = {"source": "shop.items", "expectations": "none", "columns": columns or {}, "key": key}
    return TableSpec.model_validate(text)


def target(**columns: str) -> TableSchema:
    told = [declared_column(source("canal-json"), name, text) for name, text in columns.items()]
    return TableSchema(tuple(told), (ColumnName("id"),))


def statements(texts: Sequence[str], first: int = 1) -> list[DdlRecord]:
    return [
        DdlRecord(Position(str(place)), "shop", json.dumps({"isDdl": True, "sql": text}), TOPIC)
        for place, text in enumerate(texts, start=first)
    ]


def told(position: str, **types: str) -> RecordSchema:
    return RecordSchema(types=types, key=("id",), position=Position(position))


def after(
    have: TableSchema | None,
    *texts: str,
    records: Sequence[RecordSchema] = (),
    spec: TableSpec | None = None,
    first: int = 1,
) -> TableSchema:
    canal = source("canal-json")
    effects = add_up(canal, statements(texts, first))
    return resolve(canal, spec or table(), have, effects, records)


def words(change: SchemaChange) -> str:
    match change:
        case CreateTarget(_):
            return "create"
        case RenameColumn(was, name):
            return f"rename {was} {name}"
        case DropColumn(name):
            return f"drop {name}"
        case AddColumn(column):
            return f"add {column.name} {column.iceberg}"
        case WidenColumn(column, was):
            return f"widen {column.name} {was} {column.iceberg}"
        case BackfillColumn(column, value, below):
            return f"fill {column.name}={value} below {below}"
        case _:
            raise AssertionError(change)


@pytest.mark.parametrize(
    ("texts", "changes"),
    [
        pytest.param(["RENAME COLUMN a TO x"], ["rename a x"], id="a rename"),
        pytest.param(["RENAME COLUMN A TO x"], ["rename a x"], id="written in another case"),
        pytest.param(["CHANGE a x int"], ["rename a x"], id="by CHANGE"),
        pytest.param(
            ["CHANGE a x bigint"], ["rename a x", "widen x int bigint"], id="and another type"
        ),
        pytest.param(
            ["MODIFY a bigint", "RENAME COLUMN a TO x"],
            ["rename a x", "widen x int bigint"],
            id="and another type before",
        ),
        pytest.param(
            ["RENAME COLUMN a TO x", "RENAME COLUMN x TO y"], ["rename a y"], id="a chain"
        ),
        pytest.param(
            ["RENAME COLUMN a TO b, RENAME COLUMN b TO a"],
            ["rename a b", "rename b a"],
            id="a swap",
        ),
        pytest.param(
            ["RENAME COLUMN a TO x", "RENAME COLUMN b TO a", "RENAME COLUMN x TO b"],
            ["rename a b", "rename b a"],
            id="a swap by a third name",
        ),
        pytest.param(["RENAME COLUMN a TO x", "RENAME COLUMN x TO a"], [], id="there and back"),
        pytest.param(["DROP COLUMN a"], ["drop a"], id="dropped"),
        pytest.param(["DROP a", "ADD a int"], ["drop a", "add a int"], id="another column"),
        pytest.param(["DROP a, ADD a text"], ["drop a", "add a string"], id="of another type"),
        pytest.param(["ADD x int", "DROP x"], [], id="it came and went"),
        pytest.param(
            ["RENAME COLUMN a TO x, ADD a text"], ["rename a x", "add a string"], id="a free name"
        ),
        pytest.param(
            ["ADD x int NOT NULL DEFAULT 7", "CHANGE x y bigint"],
            ["add y bigint", "fill y=7 below 1"],
            id="a default, then a rename",
        ),
        pytest.param(["ADD x int DEFAULT 7", "DROP x"], [], id="a default that went"),
        pytest.param(["MODIFY a int FIRST", "MODIFY b varchar(9) NOT NULL"], [], id="no effect"),
        pytest.param(["ADD IF NOT EXISTS a int"], [], id="it was there"),
        pytest.param(["RENAME COLUMN id TO pk"], ["rename id pk"], id="a key"),
    ],
)
def test_plan(texts: list[str], changes: list[str]) -> None:
    """SCHEMA-14, SCHEMA-30: what becomes of a target with id, a and b."""
    have = target(id="int", a="int", b="varchar(9)")
    want = after(have, *(f"ALTER TABLE items {text}" for text in texts))
    assert [words(change) for change in plan_changes(have, want)] == changes


def test_a_later_cut_knows_what_an_earlier_one_followed() -> None:
    """SCHEMA-4: a late record is read by the names of its time; nothing is followed twice."""
    have = target(id="int", a="int", b="varchar(9)")
    first = after(have, "ALTER TABLE items RENAME COLUMN a TO x, DROP b")
    later = [told("1", id="int", a="int", b="varchar(9)"), told("2", id="int", x="int")]
    assert after(first, records=later) == first
    again = after(first, "ALTER TABLE items RENAME COLUMN a TO x, DROP b", records=later)
    assert again == first
    assert TableSchema.from_json(json.loads(json.dumps(first.to_json()))) == first


def test_a_column_that_ticdc_never_sends_is_renamed_without_effect() -> None:
    """MSG-53, SCHEMA-30: what no record has is virtual; what records have takes its new name."""
    have = target(id="int", a="int", b="varchar(9)")
    text = "ALTER TABLE items RENAME COLUMN v TO w, RENAME COLUMN a TO x"
    ticdc, position = source("ticdc-canal-json"), placed(5, text).position
    effects = add_up(ticdc, [placed(5, text)])
    above = told(position + "1", id="int", x="int", b="varchar(9)")
    want = resolve(ticdc, table(), have, effects, [above])
    assert [words(change) for change in plan_changes(have, want)] == ["rename a x"]
    below = told(position[:-1] + "0", id="int", a="int", b="varchar(9)", v="int")
    with pytest.raises(TableStoppedError, match="renames column v, which is not known"):
        resolve(ticdc, table(), have, effects, [below])
    with pytest.raises(TableStoppedError, match="renames column v, which is not known"):
        resolve(
            source("canal-json"),
            table(),
            have,
            add_up(source("canal-json"), [placed(5, text)]),
            [above],
        )
    again = placed(6, "ALTER TABLE items CHANGE w v int")
    with pytest.raises(TableStoppedError, match="renames column w, which is not known"):
        resolve(ticdc, table(), want, add_up(ticdc, [again]), [])


SWAP = "ALTER TABLE items RENAME COLUMN a TO b, RENAME COLUMN b TO a"


def test_a_table_that_begins_over_again_and_again_stays_small() -> None:
    """SCHEMA-18, SCHEMA-25: of such a statement that changes no column the newest place counts."""
    create, canal = "CREATE TABLE items (id int PRIMARY KEY, a int)", source("ticdc-canal-json")
    have = resolve(canal, table(), None, add_up(canal, [placed(1, create)]), [])
    renamed = placed(3, "ALTER TABLE items RENAME COLUMN a TO x")
    have = resolve(canal, table(), have, add_up(canal, [renamed]), [])
    for number in range(10, 50, 10):
        again = [
            placed(number, "DROP TABLE items"),
            placed(number + 1, create.replace("a int", "x int")),
        ]
        want = resolve(canal, table(), have, add_up(canal, again), [])
        assert plan_changes(have, want, is_empty=True) == ()
        have = want
    late = placed(35, "ALTER TABLE items DROP COLUMN x")
    assert resolve(canal, table(), have, add_up(canal, [late]), []) == have
    assert [len(have.column_renames), have.column_renames[0].renamed] == [2, (("a", "x"),)]
    more = add_up(canal, [placed(60, "ALTER TABLE items RENAME COLUMN x TO y")])
    want = resolve(canal, table(), have, more, [])
    assert [words(change) for change in plan_changes(have, want)] == ["rename x y"]
    assert [rename.renamed for rename in want.column_renames] == [(("a", "x"),), (("x", "y"),)]


def placed(number: int, text: str) -> DdlRecord:
    """A statement of TiDB at commit ``number``."""
    position = Position(f"0001{number:016X}2{0:020X}")
    return DdlRecord(position, "shop", json.dumps({"isDdl": True, "sql": text}), TOPIC)


def test_a_copy_of_a_statement_is_followed_once() -> None:
    """SCHEMA-25: it stands at the place of the first one, whatever its offset."""
    have = target(id="int", a="int", b="varchar(9)")
    canal, place = source("canal-json"), f"{7:016X}"
    copies = [
        DdlRecord(
            Position(f"{place}{offset:016X}"),
            "shop",
            json.dumps({"isDdl": True, "sql": SWAP}),
            TOPIC,
        )
        for offset in (1, 5)
    ]
    together = resolve(canal, table(), have, add_up(canal, copies), [])
    assert [words(change) for change in plan_changes(have, together)] == [
        "rename a b",
        "rename b a",
    ]
    first = resolve(canal, table(), have, add_up(canal, copies[:1]), [])
    again = resolve(canal, table(), first, add_up(canal, copies[1:]), [])
    assert together == first == again


def test_without_places_a_copy_that_would_move_values_stops() -> None:
    """SCHEMA-25, POS-11: of a rename that was done nothing is left to do."""
    have = target(id="int", a="int", b="int")
    swapped = after(have, SWAP)
    with pytest.raises(TableStoppedError, match="it is unknown whether this was sent again"):
        after(swapped, SWAP, first=5)
    renamed = after(have, "ALTER TABLE items RENAME COLUMN a TO x", "ALTER TABLE items DROP b")
    again = "ALTER TABLE items RENAME COLUMN a TO x", "ALTER TABLE items DROP b"
    assert after(renamed, *again, first=5).names == renamed.names


def test_a_renamed_key_is_the_key() -> None:
    have = target(id="int", a="int")
    records = [told("1", id="int", a="int")]
    want = after(have, "ALTER TABLE items RENAME COLUMN id TO pk", records=records)
    assert (want.key, want.names) == (("pk",), ("pk", "a"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DROP COLUMN id", "changes the key: column id is part of it"),
        ("CHANGE COLUMN a A int", "renames column a in case alone"),
        ("RENAME COLUMN x TO y", "renames column x, which is not known"),
        ("ADD t timestamp NOT NULL", "rows that are there get a value in t, and of the type"),
        ("ADD d decimal(4,1) DEFAULT 1.25", "get a value in d, and 1.25 is rounded"),
        ("CHANGE a x varchar(9)", "int became varchar.*: the source may have changed values"),
    ],
)
def test_what_stops_a_table(text: str, why: str) -> None:
    """SCHEMA-14, SCHEMA-16, SCHEMA-24."""
    with pytest.raises(TableStoppedError, match=why) as stopped:
        after(target(id="int", a="int"), f"ALTER TABLE items {text}")
    assert f"ALTER TABLE items {text} (at position 1)" in str(stopped.value)


def test_a_name_that_records_told_before_the_statement_stops() -> None:
    have = target(id="int", a="int", x="int")
    with pytest.raises(TableStoppedError, match="records told of x before"):
        after(have, "ALTER TABLE items RENAME COLUMN a TO x")


def test_the_file_has_to_follow() -> None:
    """SCHEMA-1: what the file says of a column, it says under the column's name of now."""
    have = target(id="int", a="int", b="varchar(9)")
    renamed = "ALTER TABLE items RENAME COLUMN a TO x"
    with pytest.raises(TableStoppedError, match="its column a, which the file names, is called x"):
        after(have, renamed, spec=table({"a": "int"}))
    assert after(have, renamed, spec=table({"x": "int"})).names == ("id", "x", "b")
    with pytest.raises(TableStoppedError, match="its column b, which the file names, is gone"):
        after(have, "ALTER TABLE items DROP b", spec=table({"b": "varchar(9)"}))
    with pytest.raises(TableStoppedError, match="its column id, which the file names, is called k"):
        after(have, "ALTER TABLE items RENAME COLUMN id TO k", spec=table(key=["id"]))


@pytest.mark.parametrize("has_schema", [False, True])
@pytest.mark.parametrize(
    ("change", "waits_with_schema"),
    [
        pytest.param({"renamed": {"name": "title"}}, True, id="renamed"),
        pytest.param({"added": {"tier": ("int", None)}}, False, id="added"),
        pytest.param({"dropped": ["note"]}, None, id="dropped"),
    ],
)
def test_a_row_that_is_read_before_its_statement_waits(
    change: dict[str, Any], waits_with_schema: bool | None, has_schema: bool
) -> None:
    """GATE-N2, SCHEMA-4: topics are read side by side, and no value may be lost between them."""
    topics = {"data": ["items"], "schema-changes": ["db"]}
    text = {"format": "debezium-mysql", "gate": "none", "topics": topics}
    written = SourceSpec.model_validate(text)
    shop = AlteredTable(tellers.debezium(has_schema=has_schema), tellers.debezium_ddl)
    shop.columns["note"] = "varchar(20)"
    shop.alter("COMMENT 'x'")
    shop.put(1, name="x")
    ddl, records = _landed(shop, 0, "debezium")
    have = resolve(written, table(), None, add_up(written, ddl), records)
    shop.alter("...", **change)
    shop.put(2)
    ddl, records = _landed(shop, 2, "debezium")
    early = add_up(written, [])
    if waits_with_schema is None or (has_schema and not waits_with_schema):
        resolve(written, table(), have, early, records)
    else:
        with pytest.raises(TableStoppedError, match="schema change that made it was not read yet"):
            resolve(written, table(), have, early, records)


@pytest.mark.parametrize(
    ("policy", "texts", "refused"),
    [
        ("evolve", ["RENAME COLUMN a TO x", "ADD c int", "DROP b"], None),
        ("additive-only", ["MODIFY a bigint, ADD c int NOT NULL"], None),
        ("additive-only", ["ADD c int", "RENAME COLUMN a TO x"], "rename a to x"),
        ("additive-only", ["DROP b"], "drop b"),
        ("freeze", ["MODIFY b varchar(20) COMMENT 'x'"], None),
        ("freeze", ["ADD c int"], "add c int"),
    ],
)
def test_a_policy_lets_changes_through(policy: str, texts: list[str], refused: str | None) -> None:
    """SCHEMA-12: what it does not follow stops its table, with the statement."""
    spec = table().model_copy(update={"column_changes": ColumnPolicy(policy)})
    statement_texts = [f"ALTER TABLE items {text}" for text in texts]
    effects = add_up(source("canal-json"), statements(statement_texts))
    have = target(id="int", a="int", b="varchar(9)")
    want = resolve(source("canal-json"), spec, have, effects, [])
    changes = plan_changes(have, want)
    refuse_by_policy(spec, plan_changes(None, want), effects)
    if refused is None:
        refuse_by_policy(spec, changes, effects)
        return
    with pytest.raises(TableStoppedError) as stopped:
        refuse_by_policy(spec, changes, effects)
    assert f"({refused}), and its policy is {policy}" in str(stopped.value)
    assert f"{statement_texts[-1]} (at position {len(texts)})" in str(stopped.value)


@pytest.mark.parametrize("family", FORMATS)
def test_random_histories(family: str) -> None:
    """Whatever the cuts: the columns are those of the source, with types that fit."""
    for seed in range(12):
        _check_history(family, random.Random(f"{family} {seed}"))  # noqa: S311  repeatable


def _check_history(family: str, rng: random.Random) -> None:
    if family.startswith("debezium"):
        tell = tellers.debezium(has_schema=family == "debezium with schemas")
        shop = AlteredTable(tell, tellers.debezium_ddl)
    else:
        is_ticdc = family == "ticdc"
        shop = AlteredTable(
            tellers.ticdc if is_ticdc else tellers.canal,
            tellers.ticdc_ddl if is_ticdc else tellers.canal_ddl,
        )
    shop.alter("COMMENT 'so that the state is told'")
    shop.put(1, name="x")
    written, have, start = source(FORMATS[family]), None, 0
    for number in range(30):
        change_at_random(shop, rng)
        if rng.random() > 0.2 and number < 29:
            continue
        ddl, records = _landed(shop, start, family)
        start = len(shop.sent)
        effects = add_up(written, ddl)
        if effects.unknown_shadows:
            effects = add_up(written, ddl, _landed(shop, 0, family)[0])
        assert not effects.stops
        if have is None and not (records or effects.types or effects.schemas):
            continue
        begins = effects.dropped.get(table().source, Position(""))
        records = [record for record in records if (record.position or "") > begins]
        want = resolve(written, table(key=["id"]), have, effects, records)
        plan_changes(have, want)
        assert set(want.names) == set(shop.columns)
        for name, kind in shop.columns.items():
            assert want[name].iceberg == ("string" if "char" in kind else kind)
        have = want


def _landed(
    shop: AlteredTable, start: int, family: str
) -> tuple[list[DdlRecord], list[RecordSchema]]:
    """Statements, and the newest record of each schema, as a cut finds them."""
    read = json_record_schema if family.startswith("debezium") else canal_record_schema
    ddl: list[DdlRecord] = []
    records: dict[str, RecordSchema] = {}
    for place, sent in enumerate(shop.sent[start:], start):
        # At a place of its own, and then the offset in the topic.
        position, text = Position(f"{place:016X}{place:016X}"), sent.record.value or b""
        value: Any = json.loads(text)
        if sent.is_ddl or value.get("isDdl"):
            ddl.append(DdlRecord(position, "shop", text.decode(), TOPIC))
            continue
        if shop.name not in (
            value.get("table"),
            value.get("payload", value).get("source", {}).get("table"),
        ):
            continue
        schema = replace(read(sent.record.key, text), position=position)
        records[json.dumps([schema.types, list(schema.fields)])] = schema
    newest = sorted(records.values(), key=lambda record: record.position or "")
    return ddl, newest
