"""The engine's checks of versions and changes find every way in which a fold can go wrong."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tidemark.model.columns import (
    END_POSITION,
    OPERATION,
    POSITION,
    ROW,
    STAGED_OP,
    SourceColumn,
    TableSchema,
    ValueEncoding,
)
from tidemark.model.ends import End
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.model.target_mode import TargetMode
from tidemark.quality.version_checks import check_appended, check_truncates, check_versions

KEY = (ColumnName("at"), ColumnName("rows"))
SCHEMA = TableSchema(
    (
        SourceColumn(KEY[0], "int", ValueEncoding.INTEGER, "int"),
        SourceColumn(KEY[1], "string", ValueEncoding.TEXT, "text"),
    ),
    KEY,
    mode=TargetMode.HISTORY,
)
STAGED = f"at INT, rows STRING, {STAGED_OP} STRING, {POSITION} STRING, {END_POSITION} STRING"
TABLE = f"at INT, rows STRING, {POSITION} STRING, {END_POSITION} STRING"
BEGINS = (1, "x", "U", "B", None)


@pytest.mark.parametrize(
    ("staged", "table", "failed"),
    [
        pytest.param(
            [BEGINS, (1, "x", "D", "B", "B")],
            [(1, "x", "A", "B"), (1, "x", "B", None), (2, "x", "A", None)],
            [],
            id="one ends and one begins",
        ),
        pytest.param([BEGINS], [], ["every version is there"], id="lost version"),
        pytest.param(
            [BEGINS],
            [(1, "x", "A", None), (1, "x", "B", None)],
            ["no key has two open versions"],
            id="two open ones",
        ),
        pytest.param(
            [BEGINS],
            [(1, "x", "A", "C"), (1, "x", "B", None)],
            ["no versions of a key overlap"],
            id="ended too late",
        ),
        pytest.param(
            [BEGINS],
            [(1, "x", "B", "B"), (1, "x", "B", None)],
            ["no version is there twice"],
            id="doubled version",
        ),
        pytest.param(
            [(1, "x", "D", "B", "B")], [(1, "x", "A", None)], ["every end is there"], id="lost end"
        ),
        pytest.param(
            [(None, "x", "D", "B", "B")],
            [],
            ["no key is null", "every end is there"],
            id="null in a key",
        ),
    ],
)
def test_versions(
    spark: SparkSession,
    staged: list[tuple[object, ...]],
    table: list[tuple[object, ...]],
    failed: list[str],
) -> None:
    """KEY-11."""
    checks = check_versions(
        spark.createDataFrame(staged, STAGED), spark.createDataFrame(table, TABLE), SCHEMA
    )
    assert [check.name for check in checks if not check.success] == failed
    assert len(checks) == 6


@pytest.mark.parametrize(
    ("there", "failed"),
    [
        (["a", "b", "c"], []),
        (["a"], ["every change is there"]),
        (["a", "a", "b"], ["no change stands twice"]),
    ],
)
def test_changes(spark: SparkSession, there: list[str], failed: list[str]) -> None:
    """KEY-14."""
    staged, table = (
        spark.createDataFrame([(row,) for row in rows], f"{ROW} STRING")
        for rows in (["a", "b"], there)
    )
    checks = check_appended(staged, table)
    assert [check.name for check in checks if not check.success] == failed


@pytest.mark.parametrize(
    ("there", "success"),
    [
        ([("truncate", 1)], True),
        ([("truncate", 2)], True),
        ([("upsert", 1)], False),
        ([("truncate", 1), ("truncate", 2)], False),
        ([], False),
    ],
)
def test_truncates(spark: SparkSession, there: list[tuple[str, int]], success: bool) -> None:
    """TRUNC-12: copies of one differ in their offset alone."""
    place = "000100000009" + "0" * 16 + "1"
    ends = [End(Position(f"{place}{offset:016X}")) for offset in (1, 2)]
    rows = [(op, f"{place}{offset:016X}") for op, offset in there]
    table = spark.createDataFrame(rows, f"{OPERATION} STRING, {POSITION} STRING")
    assert check_truncates(table, ends).success is success
