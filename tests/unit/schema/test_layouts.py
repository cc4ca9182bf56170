from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.model.test_column_rename import column_renames
from tidemark.errors import TableStoppedError
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.layout import Layout, PartitionField
from tidemark.model.names import ColumnName, TableName
from tidemark.schema.changes import ChangeLayout, plan_changes
from tidemark.schema.layouts import check_layout

TYPES = {"id": "bigint", "at": "timestamp_ntz", "on": "date", "rate": "double", "sum": "array<int>"}


def layout(partition: str = "", sort: str = "") -> Layout:
    """``day(at); id`` as partition fields, ``id at`` as a sort order."""
    fields = (PartitionField.parse(text) for text in partition.split(";") if text)
    return Layout(tuple(fields), tuple(map(ColumnName, sort.split())))


def laid_out(partition: str = "", sort: str = "", *statements: str) -> TableSchema:
    names = {name: ColumnName(name) for name in TYPES}
    for column_rename in column_renames(*statements):
        names = {name: now for name, was in names.items() if (now := column_rename.after(was))}
    columns = [
        SourceColumn(ColumnName(now), TYPES[name], ValueEncoding.TEXT, "text")
        for name, now in names.items()
    ]
    return TableSchema(
        tuple(columns),
        (ColumnName("id"),),
        column_renames=tuple(column_renames(*statements)),
        layout=layout(partition, sort),
    )


@pytest.mark.parametrize(
    ("have", "want", "gone", "joined"),
    [
        pytest.param(("", ""), ("day(at)", ""), "", "day(at)", id="new"),
        pytest.param(("day(at)", ""), ("", ""), "day(at)", "", id="gone"),
        pytest.param(("day(at);id", ""), ("month(at);id", ""), "day(at)", "month(at)", id="other"),
        pytest.param(("day(at)", "id"), ("day(at)", "at id"), "", "", id="order alone"),
        pytest.param(("day(at)", ""), ("day(then)", "id", "at>then"), "", "", id="renamed"),
        pytest.param(("day(at)", "at"), ("", "", "-at"), "day(at)", "", id="its column went"),
    ],
)
def test_a_changed_layout(
    have: tuple[str, ...], want: tuple[str, ...], gone: str, joined: str
) -> None:
    now = laid_out(*want)
    changes = [c for c in plan_changes(laid_out(*have), now) if isinstance(c, ChangeLayout)]
    assert changes == [
        ChangeLayout(now.layout, layout(gone).partition, layout(joined).partition, bool(have[1]))
    ]


def test_a_layout_follows_the_names_of_its_columns() -> None:
    have, want = laid_out("day(at)", "at"), laid_out("day(then)", "then", "at>then")
    assert not [c for c in plan_changes(have, want) if isinstance(c, ChangeLayout)]


def test_a_layout_is_kept_with_its_table() -> None:
    schema = laid_out("bucket(16, id);hour(at);truncate(10, id);on", "at id")
    assert TableSchema.from_json(schema.to_json()) == schema


@pytest.mark.parametrize(
    ("partition", "sort", "why"),
    [
        ("day(made)", "", "no column made"),
        ("", "made", "no column made"),
        ("day(id)", "", r"partitioned by day\(id\): the column is bigint"),
        ("hour(on)", "", r"by hour\(on\): the column is date"),
        ("rate", "", "by rate: the column is double"),
        ("bucket(4, sum)", "", "the column is array<int>"),
        ("", "id sum", "sorted by sum"),
    ],
)
def test_what_a_target_cannot_be_laid_out_by(partition: str, sort: str, why: str) -> None:
    with pytest.raises(TableStoppedError, match=why):
        check_layout(TableName("shop", "orders"), laid_out(partition, sort))


def test_what_a_target_can_be_laid_out_by() -> None:
    fields = "id;truncate(10,id);bucket(16,id);year(on);month(on);day(at);hour(at);on;at"
    check_layout(TableName("shop", "orders"), laid_out(fields, "rate on at id"))
    check_layout(TableName("shop", "orders"), replace(laid_out(), key=()))
