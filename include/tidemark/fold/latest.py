"""One event per key: the newest by position, whatever the order of arrival (POS-13)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.model.reduction import NEWEST_FIRST

# A sort compares numbers first where it can; keys are structs, and their texts are long.
RANK = f"row_number() OVER (PARTITION BY xxhash64(row_key), row_key ORDER BY {NEWEST_FIRST})"


def latest_events(changes: DataFrame) -> DataFrame:
    """The newest event of each ``row_key``. In: one row per change. Out: same, one per key."""
    return changes.withColumn("_rank", F.expr(RANK)).where(F.col("_rank") == 1).drop("_rank")
