from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tidemark.errors import TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.position import Position
from tidemark.runs.columns.changes import declared_column
from tidemark.runs.columns.schemas import resolve
from tidemark.runs.ddl.effects import DdlRecord
from tidemark.runs.ddl.records import add_up
from tidemark.schema.changes import RewriteColumn, WidenColumn, plan_changes
from tidemark.spec import SourceSpec, TableSpec

TOPIC = TopicName("items")
TABLE = TableName("shop", "items")
CANAL, TICDC, DEBEZIUM = "canal-json", "ticdc-canal-json", "debezium-mysql"


def source(written: str) -> SourceSpec:
    topics = {"data": ["items"]}
    return SourceSpec.model_validate({"format": written, "gate": "none", "topics": topics})


def table(columns: Mapping[str, str]) -> TableSpec:
    text = {"source": "shop.items", "expectations": "none", "columns": columns}
    return TableSpec.model_validate(text)


def target(written: str, **columns: str) -> TableSchema:
    told = [declared_column(source(written), name, text) for name, text in columns.items()]
    return TableSchema(tuple(told), (ColumnName("id"),))


def statements(*texts: str) -> list[DdlRecord]:
    """Canal's and TiCDC's, at the positions 1, 2, and so on."""
    return [
        DdlRecord(Position(str(place)), "shop", json.dumps({"isDdl": True, "sql": text}), TOPIC)
        for place, text in enumerate(texts, start=1)
    ]


def after(  # noqa: PLR0913  one per thing that tests vary
    have: TableSchema | None,
    *texts: str,
    written: str = CANAL,
    declared: Mapping[str, str] | None = None,
    records: tuple[dict[str, str], ...] = (),
    landed: list[DdlRecord] | None = None,
) -> TableSchema:
    """The schema that a cut with ``texts`` leaves, and records of these types."""
    effects = add_up(source(written), landed or statements(*texts))
    assert not effects.stops
    told = [RecordSchema(types=types, key=("id",)) for types in records]
    return resolve(source(written), table(declared or {}), have, effects, told)


def change(column: str, kind: str) -> str:
    return f"ALTER TABLE items MODIFY COLUMN {column} {kind}"


@pytest.mark.parametrize("written", [CANAL, TICDC])
@pytest.mark.parametrize(
    ("old", "new", "iceberg"),
    [
        ("int", "bigint", "bigint"),
        ("float", "double", "double"),
        ("decimal(8,3)", "decimal(10,3)", "decimal(10,3)"),
        ("varchar(10)", "varchar(20)", "string"),
        ("varbinary(10)", "varbinary(20)", "binary"),
    ],
)
def test_a_wider_type_is_followed_and_kept(written: str, old: str, new: str, iceberg: str) -> None:
    """SCHEMA-10, SCHEMA-13: whichever type the newest record of the cut has."""
    have = target(written, id="int", v=old)
    sized = written == CANAL
    for kind in (old, new):
        types = {"id": "int", "v": kind if sized else kind.partition("(")[0]}
        want = after(have, change("v", new), written=written, records=(types,))
        assert (want["v"].source_type, want["v"].iceberg) == (new, iceberg)
        assert want.changed_at == Position("1")
        widened = (
            [] if iceberg == have["v"].iceberg else [WidenColumn(want["v"], have["v"].iceberg)]
        )
        assert list(plan_changes(have, want)) == widened


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("varchar(20)", "int", "cannot promote string to int"),
        ("bigint", "int", "cannot promote bigint to int"),
        ("decimal(8,3)", "decimal(10,2)", r"cannot promote decimal\(8,3\)"),
        ("decimal(8,3)", "decimal(8,4)", "the source may have changed values"),
        ("bigint", "bigint unsigned", "the source may have changed values"),
        ("mediumint", "tinyint", "mediumint became tinyint: the source may have changed values"),
        ("varchar(20)", "varchar(10)", "the source may have changed values"),
        ("datetime(6)", "datetime", "the source may have changed values"),
        ("enum('a','b')", "enum('b','a')", "the source may have changed values"),
        ("bit(1)", "bit(8)", "cannot promote boolean to binary"),
        ("bit(16)", "bit(9)", "the source may have changed values"),
    ],
)
def test_any_other_type_stops_the_table(old: str, new: str, why: str) -> None:
    """SCHEMA-16, SCHEMA-17: the message has the statement and its position."""
    with pytest.raises(TableStoppedError, match=why) as stopped:
        after(target(CANAL, id="int", v=old), change("v", new))
    assert f"{change('v', new)} (at position 1)" in str(stopped.value)


@pytest.mark.parametrize("written", [CANAL, TICDC])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int", "varchar(20)"),
        ("int", "decimal(12,2)"),
        ("decimal(8,3)", "decimal(12,4)"),
        ("date", "datetime"),
    ],
)
def test_rows_are_written_anew_for_a_type_that_holds_them(written: str, old: str, new: str) -> None:
    """SCHEMA-13, SCHEMA-4: records at and below the statement keep the form that they had."""
    have = target(written, id="int", v=old)
    sized = written == CANAL
    for kind in (old, new):
        types = {"id": "int", "v": kind if sized else kind.partition("(")[0]}
        want = after(have, change("v", new), written=written, records=(types,))
        assert (want["v"].former, want["v"].changed_at) == (have["v"], Position("1"))
        (rewritten,) = plan_changes(have, want)
        assert rewritten == RewriteColumn(want["v"], have["v"].iceberg, ColumnName("v"))
    assert after(want, change("v", new), written=written) == want


@pytest.mark.parametrize("written", [CANAL, TICDC])
def test_a_date_of_the_key_does_not_become_a_text(written: str) -> None:
    """SCHEMA-16, KEY-2: 0000-00-00 came as another date, and comes as itself from then on."""
    have = target(written, id="date", v="date")
    with pytest.raises(TableStoppedError, match="0000-00-00"):
        after(have, change("id", "varchar(20)"), written=written)
    for column, kind in ((ColumnName("id"), "datetime"), (ColumnName("v"), "varchar(20)")):
        want = after(have, change(column, kind), written=written)
        was = have[column].iceberg
        assert list(plan_changes(have, want)) == [RewriteColumn(want[column], was, column)]


@pytest.mark.parametrize("written", [CANAL, TICDC])
def test_a_key_is_read_as_records_have_it_on_both_sides_of_the_statement(written: str) -> None:
    """SCHEMA-4, SCHEMA-13, KEY-2"""
    have = target(written, id="int", v="int")
    want = after(have, change("id", "varchar(20)"), written=written, records=())
    assert want.key == ("id",)
    assert (want["id"].iceberg, want["id"].former) == ("string", have["id"])
    assert list(plan_changes(have, want)) == [RewriteColumn(want["id"], "int", ColumnName("id"))]


def test_a_column_that_changes_twice_has_a_form_for_each_stretch() -> None:
    """SCHEMA-4, SCHEMA-13."""
    have = target(CANAL, id="int", v="decimal(6,2)")
    once = after(have, change("v", "decimal(9,3)"))
    added = "ALTER TABLE items ADD COLUMN w int"
    twice = after(once, added, change("v", "decimal(12,4)"))
    assert twice["v"].former == once["v"]
    assert [variant.iceberg for variant in twice["v"].variants] == [
        "decimal(12,4)",
        "decimal(9,3)",
        "decimal(6,2)",
    ]


def test_no_row_is_written_anew_for_a_statement_that_was_not_read() -> None:
    """SCHEMA-13: whether records outran it, or the file alone says so; an empty target may."""
    have = target(CANAL, id="int", v="int")
    record = RecordSchema(types={"id": "int", "v": "varchar(20)"}, key=("id",))
    effects = add_up(source(CANAL), [])
    with pytest.raises(TableStoppedError, match="v is varchar.* and was int, and the statement"):
        resolve(source(CANAL), table({}), have, effects, [record])
    with pytest.raises(TableStoppedError, match=r"declare v: int in columns: of shop\.items"):
        resolve(source(CANAL), table({"v": "varchar(20)"}), have, effects, [])
    want = resolve(source(CANAL), table({}), have, effects, [record], is_empty=True)
    assert want["v"].iceberg == "string"


def keyed(kind: str, position: int) -> RecordSchema:
    """A row of PostgreSQL whose key is an integer or a text, which its schema alone tells."""
    fields = ({"field": "id", "type": kind}, {"field": "name", "type": "string"})
    return RecordSchema(fields, key=("id",), position=Position(f"{position}"), schema_id=position)


@pytest.mark.parametrize("written", ["debezium-postgres", DEBEZIUM])
def test_a_key_that_records_alone_tell_to_be_a_text_stops_its_table(written: str) -> None:
    """SCHEMA-13: ALTER TYPE .. USING, and a ZEROFILL, may have made other keys."""
    effects = add_up(source(written), [])
    older, newer = keyed("int32", 1), keyed("string", 2)
    have = resolve(source(written), table({}), None, effects, [older])
    for known, records in ((have, [newer]), (None, [older, newer]), (have, [older, newer])):
        with pytest.raises(TableStoppedError, match="column id of its key changed from"):
            resolve(source(written), table({}), known, effects, records)
    (fresh, _) = resolve(source(written), table({}), None, effects, [newer]).columns
    assert fresh.iceberg == "string"
    text = {"source": "shop.items", "expectations": "none", "key": ["name"]}
    spec = TableSpec.model_validate(text)
    other = resolve(source(written), spec, None, effects, [older, newer])
    assert other[ColumnName("id")].iceberg == "string"


def test_each_change_is_acknowledged_by_the_one_before_it() -> None:
    have = target(CANAL, id="int", v="varchar(10)")
    added = "ALTER TABLE items ADD COLUMN n SMALLINT"
    grown = after(
        have, change("v", "varchar(20)"), added, change("v", "text"), change("n", "bigint")
    )
    assert [column.source_type for column in grown.columns] == ["int", "text", "bigint"]
    with pytest.raises(TableStoppedError, match=r"text became varchar\(20\)"):
        after(have, change("v", "text"), change("v", "varchar(20)"))
    with pytest.raises(TableStoppedError, match="column n .*smallint became tinyint"):
        after(have, added, change("n", "tinyint"))


def test_a_name_in_another_case_is_the_same_column() -> None:
    have = target(CANAL, id="int", v="varchar(10)")
    want = after(have, change("V", "varchar(20)"))
    assert [(c.name, c.source_type) for c in want.columns][1:] == [("v", "varchar(20)")]
    with pytest.raises(TableStoppedError, match=r"varchar\(10\) became varchar\(5\)"):
        after(have, change("V", "varchar(5)"))


def test_what_was_done_before_a_cut_failed_is_not_acknowledged_again() -> None:
    """SCHEMA-10: the target is ahead of the statements, of which the first now looks narrower."""
    have = target(CANAL, id="int", v="varchar(10)", f="float")
    texts = (change("v", "varchar(20)"), change("f", "double"), change("v", "varchar(30)"))
    once = after(have, *texts)
    assert after(once, *texts) == once
    with pytest.raises(TableStoppedError, match=r"varchar\(30\) became varchar\(29\)"):
        after(once, *texts, change("v", "varchar(29)"))


def test_older_records_of_the_cut_tell_a_type_that_nothing_else_does() -> None:
    """SCHEMA-4: before the target is made."""
    types = ({"id": "int", "v": "int"}, {"id": "int", "v": "varchar(9)"})
    with pytest.raises(TableStoppedError):
        after(None, change("v", "varchar(9)"), records=types)
    assert after(None, change("v", "varchar(9)"), records=types[1:])["v"].iceberg == "string"


def test_floats_below_the_change_are_read_as_floats() -> None:
    """SCHEMA-13, SCHEMA-4."""
    have = target(CANAL, id="int", f="float")
    want = after(have, change("f", "double"))
    assert (want["f"].former, want["f"].changed_at) == (have["f"], Position("1"))
    assert after(want, "ALTER TABLE items ADD INDEX i (f)")["f"] == want["f"]
    assert SourceColumn.from_json(json.loads(json.dumps(want["f"].to_json()))) == want["f"]
    keyed = TableSchema(have.columns, (ColumnName("f"),))
    with pytest.raises(TableStoppedError, match="keys in another way"):
        after(keyed, change("f", "double"))


def test_a_column_that_is_not_folded_may_become_anything() -> None:
    have = target(CANAL, id="int")
    assert after(have, change("hidden", "int")).names == ("id",)


def test_a_type_in_the_file_has_to_follow() -> None:
    """SCHEMA-1: else records would be read by what the column was."""
    have, grown = target(TICDC, id="int", f="float"), change("f", "double")
    with pytest.raises(TableStoppedError, match="the file declares float") as stopped:
        after(have, grown, written=TICDC, declared={"f": "float"})
    assert "declare f: double" in str(stopped.value)
    want = after(have, grown, written=TICDC, declared={"f": "double"})
    assert (want["f"].encoding, want["f"].former) == (ValueEncoding.DOUBLE, have["f"])


def test_a_type_in_the_file_need_not_follow_in_every_message() -> None:
    have = target(TICDC, id="int", n="smallint")
    want = after(have, change("n", "INT(11)"), written=TICDC, declared={"n": "int"})
    assert want["n"].source_type == "int"


def test_labels_that_only_the_file_tells() -> None:
    """SCHEMA-17, TYPE-31: TiCDC's records do not."""
    have, grown = target(TICDC, id="int", e="enum"), change("e", "enum('a','b')")
    with pytest.raises(TableStoppedError, match="enum became enum"):
        after(have, grown, written=TICDC)
    assert after(have, grown, written=TICDC, declared={"e": "enum('a','b')"})["e"].iceberg == "int"


def state(*columns: tuple[str, str, int | None]) -> dict[str, Any]:
    """A table in Debezium's ``tableChanges``: column, type, length."""
    described = [
        {"name": n, "typeName": kind, "typeExpression": kind, "length": length, "scale": None}
        for n, kind, length in columns
    ]
    listed = {"columns": described, "primaryKeyColumnNames": ["id"]}
    return {"id": '"shop"."items"', "table": listed}


def debezium(place: int, ddl: str, *columns: tuple[str, str, int | None]) -> DdlRecord:
    text = {
        "source": {"snapshot": "false"},
        "databaseName": "shop",
        "ddl": ddl,
        "tableChanges": [state(*columns)],
    }
    return DdlRecord(Position(str(place)), "shop", json.dumps(text), TOPIC)


def test_debezium_tells_the_new_type_beside_the_text() -> None:
    """SCHEMA-13, SCHEMA-16."""
    have = target(DEBEZIUM, id="INT", at="DATETIME")
    micros = debezium(1, change("at", "DATETIME(6)"), ("id", "INT", None), ("at", "DATETIME", 6))
    want = after(have, written=DEBEZIUM, landed=[micros])
    assert want["at"].encoding is ValueEncoding.TIMESTAMP_MICROS
    assert want["at"].former == replace(have["at"], encoding=ValueEncoding.TIMESTAMP_MILLIS)
    back = debezium(2, change("at", "DATETIME"), ("id", "INT", None), ("at", "DATETIME", None))
    with pytest.raises(TableStoppedError, match=r"datetime\(6\) became datetime.* position 2"):
        after(have, written=DEBEZIUM, landed=[micros, back])


def test_a_column_that_joins_beside_a_change_is_not_one_that_changes() -> None:
    """SCHEMA-13: also where a later statement of the cut changes that one."""
    have = target(DEBEZIUM, id="INT", b="INT")
    columns = ("id", "INT", None), ("b", "BIGINT", None)
    text = "ALTER TABLE items MODIFY b BIGINT, ADD COLUMN at DATE"
    added = debezium(1, text, *columns, ("at", "DATE", None))
    moved = debezium(2, change("at", "DATETIME"), *columns, ("at", "DATETIME", None))
    want = after(have, written=DEBEZIUM, landed=[added, moved])
    assert [column.source_type for column in want.columns] == ["int", "bigint", "datetime"]


@pytest.mark.parametrize(
    "default", ["CURRENT_TIMESTAMP", "now()", "localtimestamp(0) ON UPDATE now()"]
)
def test_rows_get_the_second_in_which_a_statement_began(default: str) -> None:
    """SCHEMA-14: the binlog has it, but not the zone of the session, as a DATETIME would need."""
    have = target(DEBEZIUM, id="INT")
    text = f"ALTER TABLE items ADD COLUMN at TIMESTAMP NOT NULL DEFAULT {default}"
    untold = debezium(1, text, ("id", "INT", None), ("at", "TIMESTAMP", None))
    body = json.loads(untold.text)
    body["source"]["ts_ms"] = 1_774_998_000_000
    want = after(have, written=DEBEZIUM, landed=[replace(untold, text=json.dumps(body))])
    assert want["at"].backfill == "2026-03-31 23:00:00"
    assert want["at"].iceberg == "timestamp"
    for written, record in ((DEBEZIUM, untold), (CANAL, statements(text)[0])):
        stop = add_up(source(written), [record]).unknown_values[TABLE]
        assert "the rows that are there get a value in at, which no event tells" in stop.why
        assert stop.position == Position("1")


@pytest.mark.parametrize(
    ("item", "others", "is_unknown"),
    [
        ("ADD at TIMESTAMP", {}, True),
        ("ADD at timestamp(3) COMMENT 'NULL'", {}, True),
        ("ADD at TIMESTAMP DEFAULT NULL", {}, True),
        ("ADD COLUMN at TIMESTAMP, ADD made DATETIME", {"made": "DATETIME"}, True),
        ("ADD at TIMESTAMP", {"seen": "TIMESTAMP(6)"}, False),
        ("ADD at TIMESTAMP FIRST", {"seen": "TIMESTAMP"}, True),
        ("ADD at TIMESTAMP DEFAULT NULL AFTER id", {"seen": "TIMESTAMP"}, True),
        ("ADD at TIMESTAMP AFTER `SEEN`", {"seen": "TIMESTAMP"}, False),
        ("ADD at TIMESTAMP NULL FIRST", {"seen": "TIMESTAMP"}, False),
        ("ADD at TIMESTAMP COMMENT 'FIRST' PARTITION BY HASH (id)", {"seen": "TIMESTAMP"}, False),
        ("ADD at TIMESTAMP NULL", {}, False),
        ("ADD at TIMESTAMP NULL DEFAULT NULL", {}, False),
        ("ADD at TIMESTAMP ON UPDATE CURRENT_TIMESTAMP", {}, False),
        ("ADD at DATETIME", {}, False),
    ],
)
def test_first_timestamp_may_hold_the_time_of_its_statement(
    item: str, others: dict[str, str], is_unknown: bool
) -> None:
    """SCHEMA-14, SCHEMA-38: where the server has explicit_defaults_for_timestamp off."""
    before = {name: kind for name, kind in others.items() if name not in item}
    have = target(DEBEZIUM, id="INT", **before)
    columns = [
        (name, kind, None) for name, kind in {"id": "INT", **others, "at": "TIMESTAMP"}.items()
    ]
    want = after(
        have, written=DEBEZIUM, landed=[debezium(1, f"ALTER TABLE items {item}", *columns)]
    )
    assert (want["at"].is_withheld, want["at"].backfill) == (is_unknown, None)


@pytest.mark.parametrize(
    ("item", "fills"),
    [
        ("MODIFY b BIGINT NOT NULL", True),
        ("CHANGE `B` b BIGINT NOT NULL DEFAULT 5", True),
        ("MODIFY b BIGINT", False),
        ("MODIFY b BIGINT NULL COMMENT 'NOT NULL'", False),
        ("MODIFY b TIMESTAMP", True),
        ("MODIFY b TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP", True),
        ("MODIFY b TIMESTAMP NULL DEFAULT NULL", False),
        ("MODIFY b BIGINT PRIMARY KEY", True),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (id, B)", True),
        ("ADD PRIMARY KEY IF NOT EXISTS (id, b)", False),
        ("MODIFY b BIGINT UNIQUE", False),
        ("MODIFY b SERIAL", True),
        ("MODIFY b BIGINT SERIAL DEFAULT VALUE", True),
        ("MODIFY b BIGINT AUTO_INCREMENT UNIQUE", True),
        ("MODIFY b BIGINT COMMENT 'AUTO_INCREMENT', AUTO_INCREMENT = 7", False),
    ],
)
def test_column_that_takes_no_null_is_filled_by_its_statement(item: str, fills: bool) -> None:
    """SCHEMA-13: rows with null get a value unseen; TiDB refuses where a row has null."""
    kind = "TIMESTAMP" if "TIMESTAMP" in item else "BIGINT"
    kind = "BIGINT UNSIGNED" if item == "MODIFY b SERIAL" else kind
    is_numbered = fills and ("SERIAL" in item or "AUTO_INCREMENT" in item)
    text = f"ALTER TABLE items {item}"
    of_state = debezium(1, text, ("id", "INT", None), ("b", kind, None))
    for written, landed in ((DEBEZIUM, [of_state]), (CANAL, statements(text))):
        have = target(written, id="INT", b=kind)
        want = after(have, written=written, landed=landed)
        assert (want["b"].filled_below == Position("1")) is fills
        assert (want["b"].numbered_below == Position("1")) is is_numbered
        again = after(want, written=written)
        assert again["b"] == want["b"]


def test_column_of_tidb_that_takes_no_null_is_not_filled() -> None:
    """SCHEMA-13: the statement fails where a row has null."""
    have = target(TICDC, id="int", b="bigint")
    for item in ("MODIFY b BIGINT NOT NULL", "ADD PRIMARY KEY (id, b)"):
        want = after(have, f"ALTER TABLE items {item}", written=TICDC)
        assert want["b"].filled_below is None


def test_timestamp_of_tidb_is_null_in_older_rows() -> None:
    """SCHEMA-14: TiDB has no such implied default."""
    have = target(TICDC, id="int")
    want = after(have, "ALTER TABLE items ADD at TIMESTAMP", written=TICDC)
    assert (want["at"].is_withheld, want["at"].backfill) == (False, None)


def test_debezium_without_the_new_state_stops_the_table() -> None:
    record = debezium(1, change("at", "DATETIME(6)"))
    text = json.loads(record.text) | {"tableChanges": []}
    effects = add_up(source(DEBEZIUM), [replace(record, text=json.dumps(text))])
    assert "its columns are unknown" in effects.stops[TABLE].why
