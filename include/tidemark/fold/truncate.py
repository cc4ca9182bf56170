"""What a truncate ended goes away by position, wherever and whenever it arrived (TRUNC-2)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.model.position import Position


def after_truncate(events: DataFrame, truncated_at: Position | None) -> DataFrame:
    """Drop the events of a table below the position of its newest truncate."""
    if truncated_at is None:
        return events
    return events.where(F.col("position") > truncated_at)
