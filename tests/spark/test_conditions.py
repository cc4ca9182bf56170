"""Many conditions as one: more than the stack of Spark's analyzer bears as a chain."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.conditions import all_of, any_of

COLUMNS = 1_000


def test_a_table_may_have_a_thousand_columns(spark: SparkSession) -> None:
    """UNAV-4: one condition for each, in a filter and beside the row."""
    of_row = [(F.col("id") + n).alias(f"c{n}") for n in range(COLUMNS)]
    rows = spark.range(3).select("id", *of_row).localCheckpoint()
    is_thousand = any_of(rows[f"c{n}"] == COLUMNS for n in range(COLUMNS))
    assert [row.id for row in rows.where(is_thousand).select("id").collect()] == [1, 2]
    is_small = all_of(rows[f"c{n}"] <= COLUMNS for n in range(COLUMNS))
    assert [row[0] for row in rows.select(is_small).collect()] == [True, True, False]


@pytest.mark.parametrize("values", [[], [None], [True, None], [False, None], [False, True]])
def test_nulls_are_those_of_sql(spark: SparkSession, values: list[bool | None]) -> None:
    """Beside what Spark makes of the same texts."""
    conditions = [F.lit(value).cast("boolean") for value in values]
    texts = [f"cast({'null' if v is None else v} as boolean)" for v in values]
    told = spark.sql(f"SELECT {' OR '.join(texts) or 'false'}, {' AND '.join(texts) or 'true'}")
    shown = spark.range(1).select(any_of(conditions), all_of(conditions))
    assert tuple(shown.collect()[0]) == tuple(told.collect()[0])
