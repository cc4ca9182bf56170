"""One event per key: the newest by position, whatever the order of arrival (POS-13).

What a reduction drops is marked first, so that it can be counted for itself (ACC-1).
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.model.reduction import NEWEST_FIRST

IS_KEPT = "is_kept"
# A sort compares numbers first where it can; keys are structs, and their texts are long.
RANK = f"row_number() OVER (PARTITION BY xxhash64(row_key), row_key ORDER BY {NEWEST_FIRST})"


def mark_latest(changes: DataFrame) -> DataFrame:
    """Mark the newest event of each ``row_key``. In: one row per change. Out: same, IS_KEPT."""
    return changes.withColumn(IS_KEPT, F.expr(f"{RANK} = 1"))


def only_kept(marked: DataFrame, dropped: Observation | None = None) -> DataFrame:
    """Rows with IS_KEPT, without it; ``dropped`` counts the others."""
    if dropped is not None:
        others = F.count(F.when(~F.col(IS_KEPT), 1))
        marked = marked.observe(dropped, others.alias("dropped"))
    return marked.where(IS_KEPT).drop(IS_KEPT)


def latest_events(changes: DataFrame) -> DataFrame:
    """The newest event of each ``row_key``. In: one row per change. Out: same, one per key."""
    return changes.transform(mark_latest).transform(only_kept)
