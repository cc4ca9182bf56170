"""Events under the names that their tables have now, whatever they were called when it happened."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.renames import Rename, names_now

RENAMED = (Kind.ROW.value, Kind.TRUNCATE.value)
"""Kinds of rows that get the name of now; others have that of their record."""


def under_new_names(events: DataFrame, renames: Sequence[Rename]) -> DataFrame:
    """Rows and truncates of renamed tables under their new names (SCHEMA-31, SCHEMA-34).

    In: changelog rows. Out: the same. renames: in their order; those of one statement count at
    once. What stood under a name before the renamed table got it was another table, and is of none
    that is known.
    """
    known = list(names_now(renames))
    if not known:
        return events
    moves = F.col("kind").isin(*RENAMED)
    schema, table = F.when(~moves, F.col("source_schema")), F.when(~moves, F.col("source_table"))
    for then, until, now in known:
        holds = is_table(then)
        if until is not None:
            holds &= F.col("position") <= until
        schema = schema.when(holds, F.lit(now.schema if now else then.schema))
        table = table.when(holds, F.lit(now.table if now else None))
    return events.withColumns(
        {
            "source_schema": schema.otherwise(F.col("source_schema")),
            "source_table": table.otherwise(F.col("source_table")),
        }
    )


def is_table(table: TableName) -> Column:
    """Whether a changelog row belongs to ``table``."""
    return (F.col("source_schema") == table.schema) & (F.col("source_table") == table.table)
