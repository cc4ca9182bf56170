"""One event per key: the newest by position, whatever the order of arrival (POS-13)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def newest_first() -> list[Column]:
    """The one order of a key's events.

    Total: the position ends in the offset, and the upsert half of one update comes after its
    delete half (``part``), so arrival and redelivery cannot change a result.
    """
    return [F.col("position").desc(), F.col("part").desc(), F.col("partition").desc()]


def latest_events(changes: DataFrame) -> DataFrame:
    """The newest event of each ``row_key``. In: one row per change. Out: same, one per key."""
    # A sort compares numbers first where it can; keys are structs, and their texts are long.
    by_key = Window.partitionBy(F.xxhash64("row_key"), "row_key").orderBy(*newest_first())
    return (
        changes.withColumn("_rank", F.row_number().over(by_key))
        .where(F.col("_rank") == 1)
        .drop("_rank")
    )
