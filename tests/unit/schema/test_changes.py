from __future__ import annotations

from dataclasses import replace

import pytest

from tidemark.errors import TableStoppedError
from tidemark.model.column_rules import ColumnRules
from tidemark.model.columns import ROW, TableSchema
from tidemark.model.modes import ConnectorModes
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.model.target_mode import TargetMode
from tidemark.schema.changes import (
    AddColumn,
    ChangeKey,
    CreateTarget,
    DropColumn,
    RewriteColumn,
    WidenColumn,
    describe,
    merge_schemas,
    plan_changes,
)
from tidemark.schema.source_types import canal_column, debezium_column


def table(columns: str, key: str = "id") -> TableSchema:
    """``id int; name varchar(9)`` as a schema."""
    texts = (column.strip().partition(" ") for column in columns.split(";"))
    return TableSchema(
        tuple(debezium_column(name, kind, ConnectorModes()) for name, _, kind in texts),
        tuple(ColumnName(name) for name in key.split()),
    )


@pytest.mark.parametrize(
    ("have", "want", "changes"),
    [
        pytest.param("id int", "id int", [], id="nothing"),
        pytest.param("id int; a char(1)", "id int; a varchar(9)", [], id="length is no change"),
        pytest.param("id int; a datetime", "id int; a datetime(6)", [], id="nor is precision"),
        pytest.param("id int; a tinyint", "id int; a mediumint", [], id="one type in Iceberg"),
        pytest.param("id int; a int", "id int", [], id="a column that went is kept"),
        pytest.param("id int; a int", "a int; id int", [], id="order is no change"),
        pytest.param("id int", "id int; b int; a date", ["add b int", "add a date"], id="added"),
        pytest.param("id int", "id bigint", ["widen id int bigint"], id="wider key"),
        pytest.param(
            "id int; a float", "id int; a double", ["widen a float double"], id="float to double"
        ),
        pytest.param(
            *("id int; a decimal(8,3)", "id int; a decimal(10,3)"),
            ["widen a decimal(8,3) decimal(10,3)"],
            id="precision of a decimal",
        ),
        pytest.param(
            "id bigint; a double", "id int; a float", [], id="a narrower view is no change"
        ),
    ],
)
def test_plan(have: str, want: str, changes: list[str]) -> None:
    planned = []
    for change in plan_changes(table(have), table(want)):
        match change:
            case AddColumn(column):
                planned.append(f"add {column.name} {column.iceberg}")
            case WidenColumn(column, was):
                planned.append(f"widen {column.name} {was} {column.iceberg}")
            case _:
                raise AssertionError(change)
    assert planned == changes


def test_a_missing_table_is_created() -> None:
    want = table("id int; a date")
    assert plan_changes(None, want) == (CreateTarget(want),)


@pytest.mark.parametrize(
    ("have", "want", "why"),
    [
        (
            "id int; a varchar(9)",
            "id int; a int",
            r"a changed from varchar\(9\) \(string\) to int \(int\)",
        ),
        ("id int; a decimal(9,3)", "id int; a decimal(9,2)", r"to decimal\(9,2\)"),
        ("id int; a decimal(40,2)", "id int; a decimal(38,2)", r"\(string\) to decimal\(38,2\)"),
        ("id int; a text", "id int; a blob", r"from text \(string\) to blob \(binary\)"),
        ("id int; a datetime", "id int; a date", r"\(timestamp_ntz\) to date \(date\)"),
        ("id int; a int", "id int; A int", "a and A differ in case alone"),
        ("id int", "id int; _pos int", "_pos is called as Iceberg calls one"),
    ],
)
def test_what_stops_a_table(have: str, want: str, why: str) -> None:
    with pytest.raises(TableStoppedError, match=why):
        plan_changes(table(have), table(want))


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("int", "varchar(9)"),
        ("bigint", "decimal(20,0)"),
        ("decimal(8,2)", "decimal(9,3)"),
        ("decimal(38,2)", "decimal(40,2)"),
        ("date", "datetime"),
    ],
)
def test_rows_are_written_anew_for_a_type_that_holds_them(was: str, now: str) -> None:
    """SCHEMA-13: a hash of what a value was says nothing of the value that it is."""
    have, want = table(f"id int; a {was}"), table(f"id int; a {now}")
    change = RewriteColumn(want["a"], have["a"].iceberg, ColumnName("a"))
    assert plan_changes(have, want) == (change,)
    hidden = ColumnRules(hashed=(ColumnName("a"),))
    have, want = replace(have, rules=hidden), replace(want, rules=hidden)
    if want["a"].iceberg == "string":
        assert plan_changes(have, want) == ()
        return
    with pytest.raises(TableStoppedError, match="has hashes of what its values were"):
        plan_changes(have, want)


def test_rows_are_written_anew_for_a_bit_with_more_bytes() -> None:
    """TYPE-23: targets hold as many bytes as the type has."""
    have, want = table("id int; a bit(8)"), table("id int; a bit(12)")
    (change,) = plan_changes(have, want)
    assert change == RewriteColumn(want["a"], "binary", ColumnName("a"))
    assert describe(change) == "rewrite a binary to bit(12)"
    assert plan_changes(table("id int; a bit(9)"), table("id int; a bit(16)")) == ()
    assert merge_schemas((want, have)) == want, "an older record came again"
    redacted = ColumnRules(redacted=(ColumnName("a"),))
    assert plan_changes(replace(have, rules=redacted), replace(want, rules=redacted)) == ()


def test_rows_are_written_anew_for_another_type_of_the_key() -> None:
    """SCHEMA-13: not where rows stay that ended, of which no record comes any more."""
    have, want = table("id int; a int"), table("id varchar(20); a int")
    change = RewriteColumn(want["id"], "int", ColumnName("id"))
    assert plan_changes(have, want) == (change,)
    for mode in (TargetMode.SOFT_DELETE, TargetMode.HISTORY, TargetMode.APPEND):
        with pytest.raises(TableStoppedError, match=f"mode {mode} keeps what became of rows by it"):
            plan_changes(replace(have, mode=mode), replace(want, mode=mode))


def test_another_key_stops_a_table() -> None:
    with pytest.raises(TableStoppedError, match=r"key changed from \['id'\] to \['id', 'a'\]"):
        plan_changes(table("id int; a int"), table("id int; a int", key="id a"))


def test_a_key_comes_to_a_table_without_one_before_its_rows_do() -> None:
    """KEY-1, KEY-14: of what is there nobody could say under which key it stands."""
    have, want = table("id int; a int", key=""), table("id int; a int")
    with pytest.raises(TableStoppedError, match=r"all columns, and now the key is \['id'\]"):
        plan_changes(have, want)
    assert plan_changes(have, want, is_empty=True) == (DropColumn(ColumnName(ROW)),)


def test_a_key_goes_with_the_rows_that_had_it() -> None:
    """SCHEMA-18: of a table that was dropped and created again without one."""
    have = table("id int; a int")
    want = replace(have, key=(), key_changed_at=Position("1"), former_key=have.key)
    row, key = plan_changes(have, want, is_empty=True)
    assert isinstance(row, AddColumn)
    assert row.column.name == ROW
    assert key == ChangeKey((), have.key)
    assert plan_changes(have, have) == ()


def test_columns_that_differ_in_case_cannot_make_a_table() -> None:
    with pytest.raises(TableStoppedError, match="COLUMN_COLLISION"):
        plan_changes(None, table("id int; Name text; name text"))


@pytest.mark.parametrize("mode", TargetMode)
def test_no_row_is_found_by_a_map(mode: TargetMode) -> None:
    """A target that keeps changes has another key."""
    attributes = replace(table("id int")["id"], iceberg="map<string,string>")
    keyed = replace(table("id int"), columns=(attributes,), mode=mode)
    if mode is TargetMode.APPEND:
        assert plan_changes(None, keyed) == (CreateTarget(keyed),)
        return
    with pytest.raises(TableStoppedError, match="rows cannot be found by it"):
        plan_changes(None, keyed)


def test_merge_is_the_union_with_the_newest_type_that_holds_every_value() -> None:
    first = table("id int; a int; b time(3)", key="")
    second = table("id int; c date; a bigint; b time(6)")
    third = table("a int; d text", key="")
    assert merge_schemas([first, second, third]) == table(
        "id int; a bigint; b time(6); c date; d text"
    )
    assert merge_schemas([first]) == first


@pytest.mark.parametrize(
    ("versions", "why"),
    [
        (["id int; a decimal(9,3)", "id int; a decimal(8,1)"], "cannot promote"),
        (["id int; a text", "id int; a int"], "cannot promote"),
    ],
)
def test_versions_that_do_not_fit_together(versions: list[str], why: str) -> None:
    with pytest.raises(TableStoppedError, match=why):
        merge_schemas([table(version) for version in versions])


def labelled(text: str) -> TableSchema:
    """A table of one ENUM or SET, as Canal's records describe it."""
    return TableSchema((canal_column("kind", text, None, None),), (ColumnName("kind"),))


def test_labels_may_be_appended_and_nothing_else() -> None:
    """SCHEMA-17: records number labels, so none may change its place."""
    short, long = labelled("enum('a','b')"), labelled("enum('a','b','c')")
    for versions in ((short, long), (long, short)):
        assert merge_schemas(versions)["kind"].labels == ("a", "b", "c")
    for other in ("enum('b','a')", "enum('a','x','b')", "enum('b')"):
        with pytest.raises(TableStoppedError, match=r"labels.*SCHEMA-17"):
            merge_schemas((short, labelled(other)))
