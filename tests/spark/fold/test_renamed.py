"""Names by position: compared with the statements done one after the other, in plain Python."""

from __future__ import annotations

import itertools

from pyspark.sql import SparkSession

from tidemark.fold.renamed import under_new_names
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.renames import Rename

A, B, C = (TableName("shop", name) for name in "abc")
HISTORIES = [
    [Rename(A, B, Position("3"))],
    [Rename(A, B, Position("3")), Rename(B, C, Position("5"))],
    [Rename(A, B, Position("3")), Rename(B, A, Position("5"))],
    [Rename(A, B, Position("3")), Rename(B, A, Position("5")), Rename(A, B, Position("7"))],
    [Rename(B, C, Position("3")), Rename(A, B)],
    [Rename(A, B, Position("3")), Rename(B, A, Position("3"))],
    [Rename(A, B), Rename(B, A)],
    [
        *(Rename(A, B, Position("3")), Rename(B, C, Position("3")), Rename(C, A, Position("3"))),
        *(Rename(A, B, Position("5")), Rename(B, A, Position("5"))),
        Rename(C, TableName("shop", "d")),
    ],
    [Rename(*pair, Position(str(at))) for at in range(8) for pair in ((A, B), (B, A))],
]


def name_now(renames: list[Rename], name: str, position: str) -> str | None:
    """The name of today of the table that was called ``name`` then; None for one that lost it."""
    called: str | None = name
    for at in sorted({rename.position for rename in renames}, key=lambda at: at or "~"):
        if at is not None and position > at:
            continue
        now = {one.old.table: one.new.table for one in renames if one.position == at}
        is_taken = at is not None and called in now.values()
        called = now.get(called or "", None if is_taken else called)
    return called


def test_names(spark: SparkSession) -> None:
    """SCHEMA-31, SCHEMA-34: statements keep theirs."""
    rows = [
        ("shop", name, str(position), kind)
        for name, position, kind in itertools.product("abcd", range(9), ("row", "truncate", "ddl"))
    ]
    columns = "source_schema STRING, source_table STRING, position STRING, kind STRING"
    events = spark.createDataFrame(rows, columns).selectExpr("*", "source_table AS told")
    for renames in HISTORIES:
        for row in under_new_names(events, renames).collect():
            expected = row["told"]
            if row["kind"] != "ddl":
                expected = name_now(renames, row["told"], row["position"])
            assert row["source_table"] == expected, (renames, row)
