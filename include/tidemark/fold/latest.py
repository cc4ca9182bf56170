"""One event per key: the newest by position, whatever the order of arrival (POS-13).

What a reduction drops is marked first, so that it can be counted for itself (ACC-1).
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.model.names import SYSTEM_PREFIX
from tidemark.model.reduction import newest_first

IS_NEWEST = "is_kept"
ROW_HASH = f"{SYSTEM_PREFIX}row_hash"
# A sort compares numbers first where it can; keys are structs, and their texts are long.
OF_KEY = f"PARTITION BY {ROW_HASH}, row_key"
"""The window of a key's changes, over `hashed` ones."""


def hashed(changes: DataFrame) -> DataFrame:
    """``changes`` with ROW_HASH, as a column: windows that are named by it share one shuffle."""
    if ROW_HASH in changes.columns:
        return changes
    return changes.withColumn(ROW_HASH, F.xxhash64("row_key"))


def mark_latest(changes: DataFrame, counts: str) -> DataFrame:
    """Mark the newest event of each ``row_key`` that counts; counts: SQL that is never null.

    In: one row per change. Out: same, IS_NEWEST.
    """
    rank = f"row_number() OVER ({OF_KEY} ORDER BY {newest_first(counts)})"
    marked = hashed(changes).withColumn(IS_NEWEST, F.expr(f"{rank} = 1 AND ({counts})"))
    return marked.drop(ROW_HASH)


def only_newest(marked: DataFrame, dropped: Observation | None = None) -> DataFrame:
    """Rows with IS_NEWEST, without it; ``dropped`` counts the others."""
    if dropped is not None:
        others = F.count(F.when(~F.col(IS_NEWEST), 1))
        marked = marked.observe(dropped, others.alias("dropped"))
    return marked.where(IS_NEWEST).drop(IS_NEWEST)


def latest_events(changes: DataFrame, counts: str) -> DataFrame:
    """The events that `mark_latest` marks: at most one per ``row_key``."""
    return changes.transform(mark_latest, counts).transform(only_newest)
