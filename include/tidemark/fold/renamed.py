"""Events under the names that their tables have now, whatever they were called when it happened."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.renames import Rename, steps


def under_new_names(events: DataFrame, renames: Sequence[Rename]) -> DataFrame:
    """Rows and truncates of renamed tables under their new names (SCHEMA-31, SCHEMA-34).

    In: changelog rows. Out: the same. renames: in their order; those of one statement count at
    once. What stood under a name before the renamed table got it was another table, and is of none
    that is known.
    """
    schema, table = F.col("source_schema"), F.col("source_table")
    for position, names in steps(renames):
        moves = F.col("kind").isin(Kind.ROW.value, Kind.TRUNCATE.value)
        told: list[tuple[Column, str, str | None]] = [
            (is_table(old), new.schema, new.table) for old, new in names.items()
        ]
        if position is not None:
            moves &= F.col("position") <= position
            gone = [new for new in names.values() if new not in names]
            told += [(is_table(new), new.schema, None) for new in gone]
        new_schema, new_table = (
            reduce(lambda rest, one: F.when(one[0], F.lit(one[at])).otherwise(rest), told, now)
            for at, now in ((1, schema), (2, table))
        )
        events = events.withColumns(
            {
                "source_schema": F.when(moves, new_schema).otherwise(schema),
                "source_table": F.when(moves, new_table).otherwise(table),
            }
        )
    return events


def is_table(table: TableName) -> Column:
    """Whether a changelog row belongs to ``table``."""
    return (F.col("source_schema") == table.schema) & (F.col("source_table") == table.table)
