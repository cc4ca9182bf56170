"""One event per key: the newest by position, whatever the order of arrival (POS-13)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.model.reduction import newest_first

# A sort compares numbers first where it can; keys are structs, and their texts are long.
_KEY = "PARTITION BY xxhash64(row_key), row_key"


def latest_events(changes: DataFrame, counts: str) -> DataFrame:
    """The newest event of each ``row_key`` that counts; counts: SQL that is never null.

    In: one row per change. Out: same, at most one per key.
    """
    # The filter comes last: Spark leaves out of a plan what it finds to be empty, and with it what
    # was to be observed there.
    rank = f"row_number() OVER ({_KEY} ORDER BY {newest_first(counts)})"
    return (
        changes.withColumn("_rank", F.expr(rank)).where(f"_rank = 1 AND ({counts})").drop("_rank")
    )
