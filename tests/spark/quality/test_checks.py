"""The engine's checks find every way in which a fold can go wrong."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tidemark.model.columns import POSITION, STAGED_OP, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.quality.checks import check_ended, check_winners

STAGED = f"a INT, rows STRING, {STAGED_OP} STRING, {POSITION} STRING"
TABLE = f"a INT, rows STRING, {POSITION} STRING"
KEY = (ColumnName("a"), ColumnName("rows"))
SCHEMA = TableSchema(
    (
        SourceColumn(KEY[0], "int", ValueEncoding.INTEGER, "int"),
        SourceColumn(KEY[1], "string", ValueEncoding.TEXT, "text"),
    ),
    KEY,
)


@pytest.mark.parametrize(
    ("staged", "table", "failed"),
    [
        pytest.param([(1, "x", "U", "B")], [(1, "x", "B")], [], id="upsert is there"),
        pytest.param([(1, "x", "U", "B")], [(1, "x", "C")], [], id="a newer one is there"),
        pytest.param([(1, "x", "D", "B")], [(2, "x", "A")], [], id="delete is gone"),
        pytest.param([(1, "x", "D", "B")], [(1, "x", "C")], [], id="it came back later"),
        pytest.param([(1, "x", "U", "B")], [], ["every upsert is there"], id="lost upsert"),
        pytest.param(
            [(1, "x", "U", "B")],
            [(1, "x", "A")],
            ["no upsert is older than its change"],
            id="old image kept",
        ),
        pytest.param(
            [(1, "x", "D", "B")], [(1, "x", "A")], ["every delete is gone"], id="delete undone"
        ),
        pytest.param(
            [(1, "x", "U", "B")],
            [(1, "x", "B"), (1, "x", "B")],
            ["no key stands twice"],
            id="doubled row",
        ),
        pytest.param(
            [(None, "x", "D", "B")], [(1, "x", "B")], ["no key is null"], id="null in a key"
        ),
    ],
)
def test_checks(
    spark: SparkSession,
    staged: list[tuple[object, ...]],
    table: list[tuple[object, ...]],
    failed: list[str],
) -> None:
    there = spark.createDataFrame(table, TABLE)
    checks = check_winners(spark.createDataFrame(staged, STAGED), there, SCHEMA, len(staged))
    assert [check.name for check in checks if not check.success] == failed
    assert len(checks) == 6


def test_staged_rows_that_are_not_read_are_not_checked(spark: SparkSession) -> None:
    """ACC-4: of rows that nobody reads none breaks a rule."""
    nothing, there = spark.createDataFrame([], STAGED), spark.createDataFrame([], TABLE)
    checks = check_winners(nothing, there, SCHEMA, 3)
    failed = [(check.name, check.observed) for check in checks if not check.success]
    assert failed == [("every staged row is checked", "0 of 3 staged rows")]


@pytest.mark.parametrize(
    ("positions", "success", "observed"),
    [
        ([], True, "0 rows"),
        (["0C", "0B"], True, "0 rows"),
        (["0C", "0A"], False, "1 rows"),
        (["0C", None], False, "1 rows"),
    ],
)
def test_what_a_truncate_left(
    spark: SparkSession, positions: list[str | None], success: bool, observed: str
) -> None:
    """TRUNC-2, TRUNC-11: older rows and rows without a position are what it ended."""
    table = spark.createDataFrame([(position,) for position in positions], f"{POSITION} STRING")
    check = check_ended(table, Position("0B"))
    assert (check.success, check.observed) == (success, observed)
