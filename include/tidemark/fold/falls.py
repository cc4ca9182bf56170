"""Whether positions fall, which shows that a source's log has started over (POS-16)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.model.event import Kind
from tidemark.model.log_end import LogEnd
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place
from tidemark.model.summary import PLACE

STREAMED = f"kind IN ('{Kind.ROW}', '{Kind.TRUNCATE}') AND snapshot IS NULL"
MILLIS = "unix_millis(commit_time)"


def falls(events: DataFrame, end: LogEnd, gated_landing: int) -> bool:
    """Whether a change is newer than all that its partition held before it, and stands lower.

    events: changelog rows. end: of the log that is published; gated_landing: the newest landing
    that an earlier cut has gated. Costs a job, and a sort of narrow columns.
    """
    earlier = Window.partitionBy("topic", "partition").orderBy("offset")
    before = earlier.rowsBetween(Window.unboundedPreceding, -1)
    placed = events.where(f"{STREAMED} AND position IS NOT NULL").select(
        "topic",
        "partition",
        "offset",
        "landing",
        F.expr(PLACE).alias("place"),
        F.expr(MILLIS).alias("millis"),
    )
    highest = F.greatest(F.max("place").over(before), _settled(end.streamed))
    newest = F.greatest(F.max("millis").over(before), F.lit(end.newest_ms))
    is_below_read = (F.col("place") < F.col("read")) & (F.col("millis") > end.read_until_ms)
    is_fall = (
        ((F.col("place") < F.col("highest")) | is_below_read)
        & (F.col("millis") > F.col("newest"))
        & (F.col("landing") > gated_landing)
    )
    tops = {"highest": highest, "newest": newest, "read": _settled(end.reached)}
    return bool(placed.withColumns(tops).where(F.coalesce(is_fall, F.lit(False))).count())


def _settled(places: Mapping[TopicPartition, Place]) -> Column:
    """The one of ``places`` that is of a row's partition; null where none is."""
    # A literal and no join, which would be a job of its own.
    known = F.lit(json.dumps({str(at): place for at, place in places.items()}))
    by_partition = F.from_json(known, "MAP<STRING, STRING>")
    return F.try_element_at(by_partition, F.concat_ws("-", "topic", "partition"))
