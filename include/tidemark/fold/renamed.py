"""Events under the names that their tables have now, whatever they were called when it happened."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.renames import Rename


def under_new_names(events: DataFrame, renames: Sequence[Rename]) -> DataFrame:
    """Rows and truncates of renamed tables under their new names (SCHEMA-31).

    In: changelog rows. Out: the same. renames: in their order. What stood under a name before the
    renamed table got it was another table, and is of none that is known.
    """
    for rename in renames:
        is_change = F.col("kind").isin(Kind.ROW.value, Kind.TRUNCATE.value)
        is_told = F.lit(rename.position is not None)
        is_before = F.col("position") <= F.lit(rename.position or "")
        moves = is_change & is_table(rename.old) & (is_before | ~is_told)
        is_other = is_change & is_table(rename.new) & is_before & is_told
        schema, table = F.col("source_schema"), F.col("source_table")
        events = events.withColumns(
            {
                "source_schema": F.when(moves, rename.new.schema).otherwise(schema),
                "source_table": F.when(moves, rename.new.table)
                .when(is_other, F.lit(None))
                .otherwise(table),
            }
        )
    return events


def is_table(table: TableName) -> Column:
    """Whether a changelog row belongs to ``table``."""
    return (F.col("source_schema") == table.schema) & (F.col("source_table") == table.table)
