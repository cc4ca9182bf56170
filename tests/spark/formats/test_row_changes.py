"""Rows that records end and make, as a whole: for tables without a key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from tests.spark.formats.test_canal_images import at
from tidemark.formats.canal_json.images import canal_row_changes
from tidemark.formats.debezium.images import debezium_row_changes
from tidemark.formats.encoding import JsonEncoding
from tidemark.model.column_rename import ColumnRename
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName

ODD = "v`odd"
SCHEMA = TableSchema(
    (
        SourceColumn(ColumnName("a"), "int", ValueEncoding.INTEGER, "int"),
        SourceColumn(ColumnName(ODD), "string", ValueEncoding.TEXT, "text"),
    )
)
Values = Mapping[str, Any]
Change = tuple[str, int, tuple[Any, ...] | None]


def changes_of(rows: Sequence[Row]) -> list[Change]:
    """Op, part and image of each, in the order of their parts."""
    return [
        (row["op"], row["part"], tuple(row["image"]) if row["image"] is not None else None)
        for row in sorted(rows, key=lambda row: row["part"])
    ]


def canal(
    spark: SparkSession, kind: str, data: Any, old: Any = None, *, schema: TableSchema = SCHEMA
) -> list[Change]:
    value = bytearray(json.dumps({"type": kind, "data": data, "old": old}).encode())
    events = spark.createDataFrame(
        [(at(5), "D" if kind == "DELETE" else "U", value)],
        "position STRING, op STRING, value BINARY",
    )
    return changes_of(canal_row_changes(events, schema).collect())


@pytest.mark.parametrize(
    ("kind", "data", "old", "changes"),
    [
        pytest.param(
            *("INSERT", [{"a": "1", ODD: "x"}, {"a": "1"}], None),
            [("U", 0, ("1", "x")), ("U", 2, ("1", None))],
            id="an insert may lack columns",
        ),
        pytest.param(
            *("DELETE", [{"a": "1", ODD: None}, {"a": "2", ODD: "y"}], None),
            [("D", 0, ("1", None)), ("D", 2, ("2", "y"))],
            id="a delete tells its row",
        ),
        pytest.param("DELETE", [{"a": "1"}], None, [("D", 0, None)], id="or a part of it"),
        pytest.param(
            *("UPDATE", [{"a": "1", ODD: "x"}], [{ODD: None}]),
            [("D", 0, ("1", None)), ("U", 1, ("1", "x"))],
            id="null was the value",
        ),
        pytest.param(
            *("UPDATE", [{"a": "1", ODD: "x"}, {"a": "2", ODD: "y"}], [{"a": "9"}, {}]),
            [("D", 0, ("9", "x")), ("U", 1, ("1", "x")), ("D", 2, ("2", "y"))]
            + [("U", 3, ("2", "y"))],
            id="two rows",
        ),
        pytest.param(
            *("UPDATE", [{"a": "1"}], [{"a": "2"}]),
            [("D", 0, None), ("U", 1, None)],
            id="a column that was not logged",
        ),
        pytest.param(
            *("UPDATE", [{"a": "1", ODD: "x"}], None),
            [("D", 0, None), ("U", 1, ("1", "x"))],
            id="no old image",
        ),
        pytest.param(
            *("INSERT", [{"a": 1, ODD: True}], None), [("U", 0, ("1", "true"))], id="TYPE-33"
        ),
    ],
)
def test_canal(
    spark: SparkSession, kind: str, data: Any, old: Any, changes: Sequence[Change]
) -> None:
    """KEY-15, MSG-41, MSG-42, UNAV-4."""
    assert canal(spark, kind, data, old) == changes


def test_canal_by_the_names_of_their_time(spark: SparkSession) -> None:
    """SCHEMA-4: a record from before a column does not lack it."""
    names = ((ColumnName("b"), ColumnName(ODD)),)
    column_rename = ColumnRename(at(9), renamed=names, added=(ColumnName("a"),))
    schema = TableSchema(SCHEMA.columns, column_renames=(column_rename,))
    found = canal(spark, "UPDATE", [{"b": "x"}], [{"b": "w"}], schema=schema)
    assert found == [("D", 0, (None, "w")), ("U", 1, (None, "x"))]


@pytest.mark.parametrize(
    ("op", "before", "after", "changes"),
    [
        ("c", None, {"a": 1, ODD: "x"}, [("U", 0, ("1", "x"))]),
        ("r", None, {"a": 1, ODD: None}, [("U", 0, ("1", None))]),
        ("d", {"a": 1, ODD: "x"}, None, [("D", 0, ("1", "x"))]),
        ("d", None, None, [("D", 0, None)]),
        ("u", {"a": 1}, {"a": 2}, [("D", 0, ("1", None)), ("U", 1, ("2", None))]),
        ("u", None, {"a": 2}, [("D", 0, None), ("U", 1, ("2", None))]),
    ],
)
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_debezium(  # noqa: PLR0913  a table of cases
    spark: SparkSession,
    op: str,
    before: Values | None,
    after: Values | None,
    changes: Sequence[Change],
    *,
    is_wrapped: bool,
) -> None:
    """KEY-15, and which of the rows at its place a change is (POS-14)."""
    content = {"op": op, "before": before, "after": after, "source": {"row": 3}}
    content["transaction"] = {"id": "1", "total_order": 8, "data_collection_order": 2}
    value = {"schema": {}, "payload": content} if is_wrapped else content
    events = spark.createDataFrame(
        [
            (
                *(at(5), "D" if op == "d" else "U", 8, 1 if is_wrapped else None),
                bytearray(json.dumps(value).encode()),
            )
        ],
        "position STRING, op STRING, event_order LONG, schema_id LONG, value BINARY",
    )
    for has_order, occurrence, table_order in ((False, "3", None), (True, "8", 2)):
        rows = debezium_row_changes(
            events, SCHEMA, has_event_order=has_order, encoding=JsonEncoding()
        ).collect()
        assert changes_of(rows) == changes
        assert {row["occurrence"] for row in rows} == {occurrence}
        assert {row["table_order"] for row in rows} == {table_order}
