"""Whether positions fall, which shows that a source's log has started over (POS-16)."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from tidemark.model.event import Kind
from tidemark.model.progress import Progress
from tidemark.model.summary import PLACE

STREAMED = f"kind IN ('{Kind.ROW}', '{Kind.TRUNCATE}') AND snapshot IS NULL"
MILLIS = "unix_millis(commit_time)"


def falls(events: DataFrame, progress: Progress) -> bool:
    """Whether a change is newer than all that its partition held before it, and stands lower.

    events: changelog rows. Costs a job, and a sort of narrow columns.
    """
    earlier = Window.partitionBy("topic", "partition").orderBy("offset")
    before = earlier.rowsBetween(Window.unboundedPreceding, -1)
    # A literal and no join, which would be a job of its own.
    known = {str(at): place for at, place in progress.frontier.reached.items()}
    settled = F.from_json(F.lit(json.dumps(known)), "MAP<STRING, STRING>")
    reached = F.try_element_at(settled, F.concat_ws("-", "topic", "partition"))
    placed = events.where(f"{STREAMED} AND position IS NOT NULL").select(
        "topic",
        "partition",
        "offset",
        "landing",
        F.expr(PLACE).alias("place"),
        F.expr(MILLIS).alias("millis"),
    )
    highest = F.greatest(F.max("place").over(before), reached)
    newest = F.greatest(F.max("millis").over(before), F.lit(progress.newest_ms))
    is_fall = (
        (F.col("place") < F.col("highest"))
        & (F.col("millis") > F.col("newest"))
        & (F.col("landing") > progress.landing)
    )
    fallen = placed.withColumns({"highest": highest, "newest": newest}).where(is_fall)
    return bool(fallen.count())
